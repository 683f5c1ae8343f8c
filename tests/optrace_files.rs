//! `.optrace` files are read at any length and with any damage: undamaged parts are read, and the others are listed.

#![cfg(all(unix, feature = "enabled"))]

use std::collections::HashSet;
use std::fs;
use trace_runtime::model::TraceErrorKind;
use trace_runtime::model::wire::metadata as keys;
use trace_runtime::{
    Device, Session, TensorLike, TensorSink, TraceStore, TraceView, read, traced_op,
};

struct OnNpu(usize);

impl TensorLike for OnNpu {
    fn describe(&self, sink: &mut TensorSink) {
        sink.tensor(
            &[self.0],
            trace_runtime::DType::BF16,
            Device::named("npu:3"),
        );
    }
}

#[traced_op(label = "layers.3")]
fn inner(x: &[f32]) -> f32 {
    x.iter().sum()
}

#[traced_op(meta(batch = x.0))]
fn outer(x: &OnNpu) -> Option<f32> {
    (x.0 > 0).then(|| inner(&[1.0]))
}

/// A recording as it is on disk while it is written, when it is finished, and the trace.
fn recordings() -> (Vec<u8>, Vec<u8>, TraceStore) {
    let path = std::env::temp_dir().join(format!("optrace-files-{}.optrace", std::process::id()));
    let mut session = Session::builder()
        .stream_to(&path)
        .stream_buffer(256 << 10)
        .rank(2)
        .metadata("model", "tiny")
        .start()
        .expect("a session");
    for op in 0..1_600 {
        outer(&OnNpu(op % 5));
        if op % 400 == 399 {
            session.step();
            // Gives the writer time: a quarter of a megabyte is soon full.
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }
    let live = fs::read(&path).expect("a file");
    let trace = session.finish_store();
    let finished = fs::read(&path).expect("a file");
    fs::remove_file(&path).expect("removed");
    (live, finished, trace)
}

fn texts(trace: &TraceStore) -> Vec<String> {
    trace
        .views()
        .map(|view| {
            let shapes: Vec<_> = view.inputs().map(|tensor| tensor.dims.to_vec()).collect();
            let devices: Vec<_> = view
                .inputs()
                .map(|tensor| tensor.device.to_string())
                .collect();
            format!(
                "{} {shapes:?} {devices:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
                view.operation(),
                view.label(),
                view.location(),
                view.start_ns(),
                view.duration_ns(),
                view.thread(),
                view.rank(),
                view.outcome(),
                view.meta()
            )
        })
        .collect()
}

/// Start and duration of each row.
fn times(trace: &TraceStore) -> HashSet<(Option<i64>, u64)> {
    trace
        .views()
        .map(|view| (view.start_ns(), view.duration_ns()))
        .collect()
}

#[test]
fn recordings_are_read_as_they_were_recorded_whole_or_in_part() {
    let (live, finished, trace) = recordings();
    let whole = texts(&trace);
    let all: HashSet<String> = whole.iter().cloned().collect();
    assert_eq!(all.len(), whole.len());
    assert_eq!(trace.metadata()[keys::DROPPED], "0");
    assert_eq!(trace.len(), 1_600 + 1_280);
    assert_eq!(trace.steps().len(), 4);
    let in_this_file = |location: &str| location.starts_with(concat!(file!(), ":"));
    assert!(
        trace
            .views()
            .all(|view| view.location().is_some_and(in_this_file))
    );
    assert_eq!(
        trace
            .view(1)
            .inputs()
            .next()
            .expect("one")
            .device
            .to_string(),
        "npu:3"
    );
    assert_eq!(&trace.view(0).meta().expect("some")["batch"], "0");

    let from_live = read::from_slice(&live).expect("a trace");
    assert_eq!(texts(&from_live), whole);
    assert_eq!(from_live.metadata()[keys::UNFINISHED], "true");
    let from_finished = read::from_reader(finished.as_slice()).expect("a trace");
    assert_eq!(texts(&from_finished), whole);
    assert!(!from_finished.metadata().contains_key(keys::UNFINISHED));

    prefixes_are_read(&live, &all);
    prefixes_are_read(&finished, &all);
    flipped_bytes_are_noticed(&finished, &all);
    any_flip_does_no_harm(&live);
}

/// Any prefix gives an error about the header, or the first part of the rows and the position at which the file ends.
fn prefixes_are_read(file: &[u8], whole: &HashSet<String>) {
    let mut last = 0;
    for len in (0..file.len())
        .step_by(1 + file.len() / 60)
        .chain([4095, 4096, file.len() - 1])
    {
        match read::from_slice(&file[..len]) {
            Err(error) if len < 8 => assert_eq!(error.kind(), TraceErrorKind::NotATrace),
            Err(error) => {
                assert_eq!(error.kind(), TraceErrorKind::Truncated, "{error}");
                assert!(len < 4096 && error.to_string().contains(&format!("byte {len}")));
            }
            Ok(trace) => {
                let at: usize = trace.metadata()[keys::READ_TRUNCATED_AT]
                    .parse()
                    .expect("a number");
                assert_eq!(at, len);
                assert!(!trace.metadata().contains_key(keys::READ_DAMAGED), "{len}");
                let texts = texts(&trace);
                assert!(texts.iter().all(|text| whole.contains(text)), "{len}");
                assert!(!texts.iter().any(|text| text.contains("lost")), "{len}");
                last = last.max(trace.len());
            }
        }
    }
    assert!(last > 0, "no prefix had a row");
}

/// A flipped bit in a finished file is detected, and every row that is read is one that was recorded. Damaged tables
/// lose names, but never times.
fn flipped_bytes_are_noticed(file: &[u8], whole: &HashSet<String>) {
    let recorded = times(&read::from_slice(file).expect("a trace"));
    // The last bytes of a record's header have no meaning yet.
    let mut headers = file.windows(4).enumerate();
    let header = headers.rfind(|(_, word)| word == b"ROWS").expect("rows").0;
    let bytes = (0..file.len()).step_by(1 + file.len() / 100);
    for at in bytes.chain([9, 80, header + 36, header + 39]) {
        let mut damaged = file.to_vec();
        damaged[at] ^= 0x10;
        match read::from_slice(&damaged) {
            Err(error) => assert!(at < 88, "{at}: {error}"),
            Ok(trace) if at >= 4096 => {
                let ranges = &trace.metadata()[keys::READ_DAMAGED];
                let (from, to) = ranges.split_once('-').expect("a range");
                let (from, to): (usize, usize) = (
                    from.parse().expect("a number"),
                    to.parse().expect("a number"),
                );
                assert!((from..to).contains(&at), "{at} is not in {ranges}");
                if &file[from..from + 4] == b"TABL" {
                    assert!(times(&trace).is_subset(&recorded), "{at}");
                } else {
                    let texts = texts(&trace);
                    assert!(texts.iter().all(|text| whole.contains(text)), "{at}");
                }
                let lost: usize = trace
                    .metadata()
                    .get(keys::READ_LOST_OPS)
                    .map_or(0, |lost| lost.parse().expect("a number"));
                // If a header is damaged, the number of rows in its record is not known.
                assert!(trace.len() + lost <= whole.len());
            }
            Ok(_) => {}
        }
    }
}

fn any_flip_does_no_harm(file: &[u8]) {
    for at in (0..file.len()).step_by(1 + file.len() / 40) {
        for bit in [0x01, 0x80] {
            let mut damaged = file.to_vec();
            damaged[at] ^= bit;
            if let Ok(trace) = read::from_slice(&damaged) {
                assert!(trace.len() <= 3_000, "{at}");
                assert!(trace.total_duration_us().is_finite());
            }
        }
    }
}
