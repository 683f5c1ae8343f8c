//! Pauses: times within an op in which it did not work.

use super::PauseKind;
use super::json_struct::OnWire;
use std::fmt;
use std::str::FromStr;

/// A time within an entry in which it did not work: an async op was suspended, or an op waited for its device in the
/// expression of its option `sync`.
///
/// Its text form, in every file format, is `sync 20000+980000`: the kind, the start since the entry began and the
/// length, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Pause {
    /// The reason.
    pub kind: PauseKind,
    /// The start, in nanoseconds since the entry began.
    pub start_ns: u64,
    /// The length, in nanoseconds.
    pub length_ns: u64,
}

impl Pause {
    /// A pause that began `start_ns` after its entry.
    pub fn new(kind: PauseKind, start_ns: u64, length_ns: u64) -> Pause {
        Pause {
            kind,
            start_ns,
            length_ns,
        }
    }
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}+{}",
            self.kind.name(),
            self.start_ns,
            self.length_ns
        )
    }
}

/// The error of parsing a text that is not a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAPause;

impl fmt::Display for NotAPause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a pause such as `sync 20000+980000`")
    }
}

impl std::error::Error for NotAPause {}

impl FromStr for Pause {
    type Err = NotAPause;

    fn from_str(text: &str) -> Result<Pause, NotAPause> {
        let parse = || {
            let (kind, times) = text.split_once(' ')?;
            let (start, length) = times.split_once('+')?;
            let kind = PauseKind::ALL.into_iter().find(|one| one.name() == kind)?;
            Some(Pause::new(kind, start.parse().ok()?, length.parse().ok()?))
        };
        parse().ok_or(NotAPause)
    }
}

impl OnWire for Pause {
    fn write<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }

    fn read<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The pauses of an entry in one text; empty for none.
pub(crate) fn pauses_text(pauses: &[Pause]) -> String {
    let each: Vec<String> = pauses.iter().map(Pause::to_string).collect();
    each.join(", ")
}

/// The pauses in a text that [`pauses_text`] wrote. Kinds of pauses that this version does not know are left out.
pub(crate) fn pauses_in(text: &str) -> Vec<Pause> {
    text.split(", ")
        .filter_map(|one| one.parse().ok())
        .collect()
}
