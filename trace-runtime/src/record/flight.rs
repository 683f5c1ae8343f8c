//! The settings of a flight recorder: the amount of ops that it keeps, and when it dumps them.

use std::path::PathBuf;
use std::time::Duration;

/// The ops that a [flight recorder](super::SessionBuilder::keep_last) keeps: those that fit into a number of bytes, or
/// those of the last seconds.
///
/// ```
/// use std::time::Duration;
/// use trace_runtime::{KeepLast, Session};
///
/// let by_size = Session::builder().keep_last(16 << 20);
/// let by_time = Session::builder().keep_last(Duration::from_secs(30));
/// assert_eq!(KeepLast::from(16 << 20), KeepLast::Bytes(16 << 20));
/// # let _ = (by_size, by_time);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeepLast {
    /// The ops that fit into this many bytes: about 40,000 per MiB.
    Bytes(usize),
    /// The ops that ended within this time, if they fit into the [buffer](super::SessionBuilder::stream_buffer).
    For(Duration),
}

impl From<usize> for KeepLast {
    fn from(bytes: usize) -> KeepLast {
        KeepLast::Bytes(bytes)
    }
}

impl From<Duration> for KeepLast {
    fn from(duration: Duration) -> KeepLast {
        KeepLast::For(duration)
    }
}

/// The events at which a flight recorder dumps its ops.
#[derive(Debug, Clone, Default)]
pub(super) struct Triggers {
    /// The file, in which `{n}` is the number of the dump.
    pub(super) path: Option<PathBuf>,
    pub(super) on_panic: bool,
    pub(super) on_signal: bool,
    pub(super) slower: Vec<(String, Duration)>,
}

impl Triggers {
    /// The name of a setting that needs the path of `dump_to`, if one was made.
    pub(super) fn needs_path(&self) -> Option<&'static str> {
        let settings = [
            (self.on_panic, "dump_on_panic"),
            (self.on_signal, "dump_on_signal"),
            (!self.slower.is_empty(), "dump_if_slower"),
        ];
        settings
            .iter()
            .find(|(made, _)| *made)
            .map(|(_, name)| *name)
    }
}
