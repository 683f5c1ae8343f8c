//! Any change to a recording is read without a panic, by the reader and by the follower.
//!
//! The input is a list of changes to a recording that this program makes once. A change is a position in four bytes,
//! and a byte that replaces the one at that position. A third of the changed recordings is read as it is. A third is
//! read with corrected checksums, so that the changes are not detected by them. A third is also cut off. An input that
//! is a recording itself (`examples/recordings.rs` writes the first ones) is read as it is, and with corrected
//! checksums.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;
use trace_runtime::read::Follower;
use trace_runtime::{Session, TraceView, read, traced_op};

#[traced_op(label = "layers.3", meta(batch = x.len()))]
fn inner(x: &[f32]) -> f32 {
    x.iter().sum()
}

#[traced_op]
fn outer(x: &[f32]) -> f32 {
    inner(x) + inner(&x[1..])
}

fn path() -> PathBuf {
    std::env::temp_dir().join(format!("fuzz-{}.optrace", std::process::id()))
}

/// A recording as it is on disk while it is written: a ring, open ops and a tail.
fn recording() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let mut session = Session::builder()
            .stream_to(path())
            .stream_buffer(1)
            .metadata("model", "tiny")
            .start()
            .expect("a session");
        let data = [1.0; 9];
        for op in 0..1500 {
            outer(&data[..2 + op % 7]);
            if op % 300 == 299 {
                session.step();
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        std::fs::read(path()).expect("a file")
    })
}

fn word(bytes: &[u8], at: usize) -> usize {
    let word = bytes.get(at..at + 8).and_then(|bytes| bytes.first_chunk());
    word.map_or(0, |word| usize::try_from(u64::from_le_bytes(*word)).unwrap_or(0))
}

fn put(bytes: &mut [u8], at: usize, checksum: u32) {
    if let Some(place) = bytes.get_mut(at..at + 4) {
        place.copy_from_slice(&checksum.to_le_bytes());
    }
}

/// Corrects the checksums of the header and of all records.
fn correct(bytes: &mut [u8]) {
    let Some(checksum) = bytes.get(..80).map(crc32fast::hash) else {
        return;
    };
    put(bytes, 80, checksum);
    let (blocks, slots) = (word(bytes, 24), word(bytes, 40));
    let Some(mut at) = blocks
        .checked_mul(32 << 10)
        .and_then(|ring| ring.checked_add(4096 + slots.checked_mul(4096)?))
    else {
        return;
    };
    while let Some(size) = bytes.get(at.saturating_add(4)..).and_then(|rest| rest.first_chunk()) {
        let size = u32::from_le_bytes(*size) as usize;
        let Some(payload) = bytes.get(at + 40..(at + 40).saturating_add(size)) else {
            return;
        };
        let checksum = crc32fast::hash(payload);
        put(bytes, at + 28, checksum);
        let checksum = crc32fast::hash(&bytes[at..at + 32]);
        put(bytes, at + 32, checksum);
        at += 40 + size;
    }
}

fn changed(input: &[u8]) -> Vec<u8> {
    let mut bytes = recording().to_vec();
    let (changes, rest) = input.as_chunks::<5>();
    for [position @ .., byte] in changes {
        let at = u32::from_le_bytes(*position) as usize % bytes.len();
        bytes[at] = *byte;
    }
    match rest.first().map_or(0, |byte| byte % 3) {
        0 => {}
        1 => correct(&mut bytes),
        _ => {
            correct(&mut bytes);
            let at = input.iter().fold(0usize, |sum, byte| sum.wrapping_mul(31) + usize::from(*byte));
            bytes.truncate(at % (bytes.len() + 1));
        }
    }
    bytes
}

fuzz_target!(|input: &[u8]| {
    if input.starts_with(b"\x89OPTRACE") {
        let mut bytes = input.to_vec();
        read_and_follow(&bytes);
        correct(&mut bytes);
        if bytes != input {
            read_and_follow(&bytes);
        }
    } else {
        read_and_follow(&changed(input));
    }
});

fn read_and_follow(bytes: &[u8]) {
    if let Ok(trace) = read::from_slice(bytes) {
        for view in trace.views() {
            assert!(view.parent().is_none_or(|parent| parent < trace.len()));
        }
        let _ = trace.report().to_text(&Default::default());
    }
    let path = path().with_extension("changed.optrace");
    std::fs::write(&path, bytes).expect("a file");
    if let Ok(follower) = Follower::open(&path) {
        let mut follower = follower.keeping(1000);
        for _ in 0..3 {
            if follower.update().is_err() {
                break;
            }
        }
        let _ = (follower.ops(), follower.open_threads(), follower.recent());
    }
}
