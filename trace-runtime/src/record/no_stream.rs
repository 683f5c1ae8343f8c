//! Replaces `stream` on systems and in builds without it: every recording to a file is an error.

use super::flight::{KeepLast, Triggers};
use crate::model::{TraceError, TraceErrorKind, TraceStore};
use std::collections::HashMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trace_core::__engine::clock::Clock;
use trace_core::__engine::storage::Storage;

pub(super) const DEFAULT_RING: usize = 0;

/// The settings of a recording into a ring, which are an error here.
#[derive(Debug, Clone)]
pub(super) struct StreamSettings {
    pub(super) path: Option<PathBuf>,
    pub(super) ring_bytes: usize,
    pub(super) keep: Option<KeepLast>,
    pub(super) rotation: Option<Rotation>,
    pub(super) triggers: Triggers,
}

impl StreamSettings {
    pub(super) fn is_set(&self) -> bool {
        self.rotation.is_some() || self.triggers.needs_path().is_some()
    }
}

#[derive(Debug, Clone, Copy)]
#[allow(dead_code, reason = "read by the feature")]
pub(super) struct Rotation {
    pub(super) max_bytes: u64,
    pub(super) max_files: usize,
}

pub(super) fn forked_from() -> Option<u32> {
    None
}

pub(super) fn watch_forks() {}

/// Has no values.
#[derive(Debug)]
pub(super) struct OnSignal(Infallible);

impl OnSignal {
    pub(super) fn install(_write: impl Fn() + Send + 'static) -> std::io::Result<OnSignal> {
        Err(std::io::Error::other(
            "`output_on_signal` needs Unix and the feature `stream` of `trace-runtime`",
        ))
    }
}

/// Has no values.
#[derive(Debug)]
pub(super) struct Stream(Infallible);

impl Stream {
    pub(super) fn start(
        settings: &StreamSettings,
        _clock: &Clock,
        _base: u64,
        _metadata: &HashMap<String, String>,
    ) -> Result<Stream, TraceError> {
        let message = "this build cannot record into a ring or a mapped file, which needs Unix and the feature \
                       `stream` of `trace-runtime`; use `output` with another ending, such as `.json`";
        let error = TraceError::new(TraceErrorKind::UnknownFormat, message);
        Err(match &settings.path {
            Some(path) => error.in_file(path),
            None => error,
        })
    }

    pub(super) fn dump(&self, _path: &Path) -> Result<(), TraceError> {
        match self.0 {}
    }

    pub(super) fn storage(&self) -> Arc<dyn Storage> {
        match self.0 {}
    }

    pub(super) fn step(&self, _number: u64, _start: u64, _end: u64) {
        match self.0 {}
    }

    pub(super) fn metadata(&self, _key: &str, _value: &str) {
        match self.0 {}
    }

    pub(super) fn set_counts(&self, _dropped: u64, _sampled_out: u64, _filtered_out: u64) {
        match self.0 {}
    }

    pub(super) fn finish(&mut self) -> Result<(), TraceError> {
        match self.0 {}
    }

    pub(super) fn read(&self) -> Result<TraceStore, TraceError> {
        match self.0 {}
    }
}
