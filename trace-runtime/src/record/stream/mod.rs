//! Recordings in a mapped file, which outlive the process: [`SessionBuilder::stream_to`](super::SessionBuilder).

mod dump;
mod dumper;
mod fork;
mod mapping;
mod on_signal;
mod panics;
mod part;
mod ring;
mod signals;
mod slow_ops;
mod table_stream;
mod tail;

use super::flight::{KeepLast, Triggers};
use crate::model::optrace::header::{FINISHED, FileHeader, HEADER_BYTES, RECORDING, live};
use crate::model::optrace::ring_block::{BLOCK_BYTES, SLOT_BYTES};
use crate::model::optrace::{self, tables};
use crate::model::whole_file::{create_beside, write_whole};
use crate::model::{TraceError, TraceErrorKind, TraceStore};
use dumper::Dumper;
pub(super) use fork::{forked_from, watch_forks};
use mapping::Mapping;
pub(super) use on_signal::OnSignal;
use part::Parts;
pub(super) use part::Rotation;
use ring::{Ring, WhenFull};
use slow_ops::SlowOps;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use table_stream::TableStream;
use tail::Tail;
use trace_core::__engine::clock::{Clock, wall_clock_ns};
use trace_core::__engine::storage::Storage;

/// The bytes of the ring if none are set: 2.7 million ops.
pub(super) const DEFAULT_RING: usize = 64 << 20;
/// The time that the writer sleeps when there is little to do.
const PAUSE: Duration = Duration::from_millis(10);
/// The shortest time between two dumps of slow ops.
const BETWEEN_DUMPS: Duration = Duration::from_secs(1);
/// The largest number of threads whose open ops are kept.
const SLOTS: u64 = 256;

/// The settings of a recording into a ring.
#[derive(Debug, Clone)]
pub(super) struct StreamSettings {
    /// None for a ring that is in memory only.
    pub(super) path: Option<PathBuf>,
    pub(super) ring_bytes: usize,
    pub(super) keep: Option<KeepLast>,
    pub(super) rotation: Option<Rotation>,
    pub(super) triggers: Triggers,
}

impl StreamSettings {
    /// True if a setting was made that only recordings into a ring have.
    pub(super) fn is_set(&self) -> bool {
        self.rotation.is_some() || self.triggers.needs_path().is_some()
    }
}

/// A recording in a ring, and in a file if it has one.
#[derive(Debug)]
pub(super) struct Stream {
    path: Option<PathBuf>,
    ring: Arc<Ring>,
    dumper: Arc<Dumper>,
    keeps_last: bool,
    is_ending: Arc<AtomicBool>,
    writer: Option<JoinHandle<Option<Tail>>>,
}

impl Stream {
    /// Creates the file and starts its writer.
    pub(super) fn start(
        settings: &StreamSettings,
        clock: &Clock,
        base: u64,
        metadata: &HashMap<String, String>,
    ) -> Result<Stream, TraceError> {
        if let (Some(setting), None) = (settings.triggers.needs_path(), &settings.triggers.path) {
            let message = format!("`{setting}` needs a file to dump to; set one with `dump_to`");
            return Err(TraceError::new(TraceErrorKind::InvalidInput, message));
        }
        if settings.keep.is_none() && settings.triggers.needs_path().is_some() {
            let message = "a dump has the ops that `keep_last` keeps; set how much that is";
            return Err(TraceError::new(TraceErrorKind::InvalidInput, message));
        }
        if settings.rotation.is_some() && (settings.path.is_none() || settings.keep.is_some()) {
            let message = "`rotate` splits the file of `stream_to`, and cannot be used without it or with `keep_last`";
            return Err(TraceError::new(TraceErrorKind::InvalidInput, message));
        }
        let Some(path) = &settings.path else {
            return Stream::create(settings, None, clock, base, metadata).map_err(|error| {
                let message = format!("memory for `keep_last` cannot be mapped: {error}");
                TraceError::new(TraceErrorKind::Write, message)
            });
        };
        let write_error = |error| TraceError::write(path, error);
        if cfg!(target_endian = "big") {
            return Err(unavailable(path, "this machine is big-endian"));
        }
        put_aside(path)?;
        let (partial, file) = create_beside(path).map_err(write_error)?;
        let started = Stream::create(settings, Some((&partial, file)), clock, base, metadata);
        if started.is_err() {
            // The error of the creation is returned, not that of the cleanup.
            drop(fs::remove_file(&partial));
        }
        started.map_err(write_error)
    }

    fn create(
        settings: &StreamSettings,
        file: Option<(&Path, File)>,
        clock: &Clock,
        base: u64,
        metadata: &HashMap<String, String>,
    ) -> io::Result<Stream> {
        let header = FileHeader {
            block_bytes: BLOCK_BYTES as u64,
            blocks: 0,
            slot_bytes: SLOT_BYTES as u64,
            slots: SLOTS,
            base_ticks: base,
            rate: clock.scale(base).ns_in_2_pow_32_ticks(),
            start_unix_ns: u64::try_from(wall_clock_ns()).unwrap_or(u64::MAX),
            pid: u64::from(std::process::id()),
        };
        let ring_bytes = match settings.keep {
            Some(KeepLast::Bytes(bytes)) => bytes,
            _ => settings.ring_bytes,
        };
        let (bytes, header) = Ring::layout(ring_bytes, header);
        let mapping = match &file {
            Some((_, file)) => {
                mapping::lock(file)?;
                Mapping::of_file(file, bytes)?
            }
            None => Mapping::anonymous(bytes)?,
        };
        let keeps_last = settings.keep.is_some();
        let when_full = if keeps_last {
            WhenFull::ReplaceOldest
        } else {
            WhenFull::Drop
        };
        let tables = TableStream::new(keeps_last || settings.rotation.is_some(), file.is_some());
        let ring = Arc::new(Ring::new(mapping, header, when_full, tables));
        for (key, value) in metadata {
            ring.publish_words(&tables::encode_metadata(key, value));
        }
        let tail = match (file, &settings.path) {
            (Some((partial, file)), Some(path)) => {
                fs::rename(partial, path)?;
                let parts = settings.rotation.map(|rotation| Parts::new(path, rotation));
                Some(Tail::new(file, header.tail_at(), parts))
            }
            _ => None,
        };
        let keep = match settings.keep {
            Some(KeepLast::For(duration)) => Some(duration),
            _ => None,
        };
        let triggers = &settings.triggers;
        let dumper = Dumper::new(ring.clone(), clock.clone(), keep, triggers.path.clone());
        let dumper = Arc::new(dumper);
        if triggers.on_panic {
            panics::dump_on_panic(&dumper);
        }
        if triggers.on_signal {
            signals::install()?;
        }
        let is_ending = Arc::new(AtomicBool::new(false));
        let writer = Writer {
            ring: ring.clone(),
            tail,
            clock: clock.clone(),
            is_ending: is_ending.clone(),
            dumper: dumper.clone(),
            slow_ops: SlowOps::new(&triggers.slower, |limit| dumper::ticks_in(clock, limit)),
            requests: triggers.on_signal.then(signals::requests),
        };
        let writer = std::thread::Builder::new()
            .name("optrace writer".into())
            .spawn(move || writer.run())?;
        ring.set_writer(writer.thread().clone());
        Ok(Stream {
            path: settings.path.clone(),
            ring,
            dumper,
            keeps_last,
            is_ending,
            writer: Some(writer),
        })
    }

    pub(super) fn storage(&self) -> Arc<dyn Storage> {
        self.ring.clone()
    }

    /// Adds a step to the file.
    pub(super) fn step(&self, number: u64, start: u64, end: u64) {
        self.ring
            .publish_words(&tables::encode_step(number, start, end));
    }

    /// Adds a fact about the run to the file.
    pub(super) fn metadata(&self, key: &str, value: &str) {
        self.ring
            .publish_words(&tables::encode_metadata(key, value));
    }

    /// Writes the counts of the session to the file: ops that were dropped outside the ring, and those that were
    /// left out.
    pub(super) fn set_counts(&self, dropped: u64, sampled_out: u64, filtered_out: u64) {
        self.ring
            .live(live::DROPPED)
            .fetch_add(dropped, Ordering::Relaxed);
        for (word, count) in [
            (live::SAMPLED_OUT, sampled_out),
            (live::FILTERED_OUT, filtered_out),
        ] {
            self.ring.live(word).store(count, Ordering::Relaxed);
        }
    }

    /// Writes everything to the tail and ends the writer. Rows that cannot be written stay in the ring, which is in the
    /// file.
    pub(super) fn finish(&mut self) -> Result<(), TraceError> {
        let Some(writer) = self.writer.take() else {
            return Ok(());
        };
        self.is_ending.store(true, Ordering::Release);
        writer.thread().unpark();
        let Ok(tail) = writer.join() else {
            return Err(self.write_error(io::Error::other("the writer's thread panicked")));
        };
        self.ring.close();
        if let Some(mut tail) = tail {
            if !tail.write_rest(&self.ring) {
                let error = tail.take_error();
                return Err(self.write_error(error.unwrap_or_else(|| io::Error::other("unknown"))));
            }
            self.ring
                .live(live::STATE)
                .store(FINISHED, Ordering::Release);
            let ring_end = self.ring.file_header().tail_at();
            if tail.end() - ring_end < ring_end {
                // Without its ring the file has half of its size or less. If the removal fails, the file is only larger
                // than needed.
                drop(self.remove_ring(tail.file(), tail.end()));
            }
        }
        self.dumper.take_error().map_or(Ok(()), Err)
    }

    /// Writes the trace so far to another file.
    pub(super) fn dump(&self, path: &Path) -> Result<(), TraceError> {
        if self.keeps_last {
            return self.dumper.dump(path);
        }
        let Some(own) = self.path.as_ref().filter(|_| is_recording(path)) else {
            return crate::export::write_file(&self.read()?, path);
        };
        // The bytes of a recording can be copied at any time.
        let mut from = File::open(own).map_err(|error| TraceError::reading(error).in_file(own))?;
        write_whole(path, |file| io::copy(&mut from, file).map(drop))
    }

    /// Replaces the file by one without a ring. The ring cannot be cut off in place, because a thread may still write
    /// to it.
    fn remove_ring(&self, file: &File, end: u64) -> io::Result<()> {
        let header = self.ring.file_header();
        let tail_at = header.tail_at();
        let small = header.without_ring();
        let small_end = small.tail_at() + (end - tail_at);
        let Some(path) = &self.path else {
            return Ok(());
        };
        let (partial, new) = create_beside(path)?;
        let filled = (|| {
            let mut words = small.words(FINISHED, small_end);
            self.ring.copy_counts(&mut words);
            let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            bytes.resize(HEADER_BYTES, 0);
            new.write_all_at(&bytes, 0)?;
            let mut from = tail_at;
            let mut buffer = vec![0; 1 << 20];
            while from < end {
                let len = buffer.len().min((end - from) as usize);
                file.read_exact_at(&mut buffer[..len], from)?;
                new.write_all_at(&buffer[..len], from - tail_at + small.tail_at())?;
                from += len as u64;
            }
            fs::rename(&partial, path)
        })();
        if filled.is_err() {
            drop(fs::remove_file(&partial));
        }
        filled
    }

    /// The trace as it is now.
    pub(super) fn read(&self) -> Result<TraceStore, TraceError> {
        match &self.path {
            Some(path) if !self.keeps_last => optrace::open(path),
            _ => self.dumper.read(),
        }
    }

    fn write_error(&self, error: io::Error) -> TraceError {
        TraceError::write(self.path.as_deref().unwrap_or(Path::new("")), error)
    }
}

/// A session that is dropped completes its file too.
impl Drop for Stream {
    fn drop(&mut self) {
        drop(self.finish());
    }
}

/// The thread that writes the tail, and makes the requested dumps.
struct Writer {
    ring: Arc<Ring>,
    tail: Option<Tail>,
    clock: Clock,
    is_ending: Arc<AtomicBool>,
    dumper: Arc<Dumper>,
    slow_ops: SlowOps,
    /// Number of requests by signal that have been served; `None` without `dump_on_signal`.
    requests: Option<u32>,
}

impl Writer {
    fn run(mut self) -> Option<Tail> {
        // Pages that one thread may use until the writer wakes up again, and more if more were used.
        const AHEAD: u32 = 128;
        let mut populated = 0;
        let mut most_used = 0;
        let mut last_dump: Option<Instant> = None;
        loop {
            let is_ending = self.is_ending.load(Ordering::Acquire);
            self.beat();
            let has_written = match &mut self.tail {
                Some(tail) => tail.write_sealed(&self.ring),
                None => false,
            };
            let is_slow = self.slow_ops.look(&self.ring);
            let may_dump = last_dump.is_none_or(|last| last.elapsed() >= BETWEEN_DUMPS);
            if self.is_requested() || (is_slow && may_dump) {
                self.dumper.dump_now();
                last_dump = Some(Instant::now());
            }
            if is_ending {
                return self.tail;
            }
            most_used = self.ring.used().max(most_used);
            let wanted = (2 * most_used + AHEAD).min(self.ring.blocks());
            if populated < wanted {
                self.ring.populate(populated..wanted);
                populated = wanted;
            } else if !has_written {
                std::thread::park_timeout(PAUSE);
            }
        }
    }

    /// Writes the time to the header. If the process is killed, this is the end of its open ops.
    fn beat(&mut self) {
        let now = self.clock.now();
        self.ring.live(live::NOW).store(now, Ordering::Relaxed);
    }

    fn is_requested(&mut self) -> bool {
        let Some(served) = &mut self.requests else {
            return false;
        };
        let requests = signals::requests();
        std::mem::replace(served, requests) != requests
    }
}

/// Checks the path of a new recording. The unfinished recording of a process that has ended is renamed, because a
/// program that is started again after a crash must not destroy its last recording.
fn put_aside(path: &Path) -> Result<(), TraceError> {
    let Ok(existing) = fs::metadata(path) else {
        return Ok(());
    };
    if !existing.is_file() {
        let message = "is not a regular file, and a recording must be mapped; name another file";
        return Err(TraceError::new(TraceErrorKind::Write, message).in_file(path));
    }
    let Ok(mut file) = File::open(path) else {
        // A file that cannot be read can still be replaced.
        return Ok(());
    };
    let mut bytes = Vec::with_capacity(HEADER_BYTES);
    let read = file
        .by_ref()
        .take(HEADER_BYTES as u64)
        .read_to_end(&mut bytes);
    if read.is_err() || !bytes.starts_with(&optrace::MAGIC) {
        return Ok(());
    }
    let Ok((header, words)) = FileHeader::parse(&bytes) else {
        return Ok(());
    };
    if !mapping::lock(&file).unwrap_or(true) {
        let message = format!(
            "process {} is recording to this file; use another name, or `{{pid}}` in it",
            header.pid
        );
        return Err(TraceError::new(TraceErrorKind::Write, message).in_file(path));
    }
    if words[live::STATE] == RECORDING {
        let kept = path.with_extension(format!("{}.optrace", header.pid));
        fs::rename(path, kept).map_err(|error| TraceError::write(path, error))?;
    }
    Ok(())
}

fn is_recording(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("optrace"))
}

fn unavailable(path: &Path, reason: &str) -> TraceError {
    let message = format!("cannot be recorded to: {reason}; use `output` instead");
    TraceError::new(TraceErrorKind::Write, message).in_file(path)
}
