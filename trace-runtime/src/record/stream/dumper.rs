//! Dumps a flight recorder to numbered files.

use super::dump;
use super::ring::Ring;
use crate::model::{TraceError, TraceStore};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use trace_core::__engine::clock::Clock;

/// The data that any thread needs to make a dump.
#[derive(Debug)]
pub(super) struct Dumper {
    ring: Arc<Ring>,
    clock: Clock,
    /// Ops that ended earlier than this before the dump are left out.
    keep: Option<Duration>,
    /// The file for automatic dumps.
    path: Option<PathBuf>,
    dumps: AtomicU32,
    /// The error of the latest automatic dump, which had no caller to return it to.
    error: Mutex<Option<TraceError>>,
}

impl Dumper {
    pub(super) fn new(
        ring: Arc<Ring>,
        clock: Clock,
        keep: Option<Duration>,
        path: Option<PathBuf>,
    ) -> Dumper {
        Dumper {
            ring,
            clock,
            keep,
            path,
            dumps: AtomicU32::new(0),
            error: Mutex::new(None),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let now = self.clock.clone().now();
        let kept = self.keep.map_or(now, |keep| ticks_in(&self.clock, keep));
        dump::dump(&self.ring, now.saturating_sub(kept))
    }

    /// Writes the kept ops to a file.
    pub(super) fn dump(&self, path: &Path) -> Result<(), TraceError> {
        dump::write(&self.bytes(), path)
    }

    /// The kept ops, as a trace.
    pub(super) fn read(&self) -> Result<TraceStore, TraceError> {
        dump::read(&self.bytes())
    }

    /// Writes the kept ops to the file for automatic dumps.
    pub(super) fn dump_now(&self) {
        let Some(path) = &self.path else {
            return;
        };
        let number = self.dumps.fetch_add(1, Ordering::Relaxed) + 1;
        let path = match path.to_str() {
            Some(text) => PathBuf::from(text.replace("{n}", &number.to_string())),
            None => path.clone(),
        };
        if let (Err(error), Ok(mut last)) = (self.dump(&path), self.error.lock()) {
            *last = Some(error);
        }
    }

    pub(super) fn take_error(&self) -> Option<TraceError> {
        self.error.lock().ok()?.take()
    }
}

pub(super) fn ticks_in(clock: &Clock, duration: Duration) -> u64 {
    clock.ticks_in(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}
