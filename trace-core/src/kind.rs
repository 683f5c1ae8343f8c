//! The kind of an op, its pauses, and its outcome.

use std::fmt;

/// The kind of work that an op does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum OpKind {
    /// Arithmetic on tensors.
    Compute,
    /// Collectives and point-to-point transfers between devices or ranks.
    Communication,
    /// Copies, allocation, layout changes.
    Memory,
    /// Files, networks, input pipelines.
    Io,
    /// Anything else.
    Other,
}

impl OpKind {
    /// Every kind, in the order reports list them.
    pub const ALL: [OpKind; 5] = [
        OpKind::Compute,
        OpKind::Communication,
        OpKind::Memory,
        OpKind::Io,
        OpKind::Other,
    ];

    /// The name as written in `#[traced_op(kind = …)]` and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            OpKind::Compute => "compute",
            OpKind::Communication => "communication",
            OpKind::Memory => "memory",
            OpKind::Io => "io",
            OpKind::Other => "other",
        }
    }
}

impl fmt::Display for OpKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The reason of a pause of an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PauseKind {
    /// An async op was not polled.
    Suspended,
    /// The expression of the option `sync` ran: the op waited for its device.
    Sync,
}

impl PauseKind {
    /// Every kind.
    pub const ALL: [PauseKind; 2] = [PauseKind::Suspended, PauseKind::Sync];

    /// The name as written in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            PauseKind::Suspended => "suspended",
            PauseKind::Sync => "sync",
        }
    }
}

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Outcome {
    /// The function returned.
    #[default]
    Ok,
    /// The function returned `Err`, directly or through `?`.
    Error,
    /// The function panicked. Recording does not stop the panic.
    Panicked,
    /// The future was dropped before it was done.
    Cancelled,
    /// The op was still running when the recording was read.
    Unfinished,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Outcome; 5] = [
        Outcome::Ok,
        Outcome::Error,
        Outcome::Panicked,
        Outcome::Cancelled,
        Outcome::Unfinished,
    ];

    /// The name as written in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Error => "error",
            Outcome::Panicked => "panicked",
            Outcome::Cancelled => "cancelled",
            Outcome::Unfinished => "unfinished",
        }
    }

    #[cfg(feature = "engine")]
    pub(crate) const fn code(self) -> u8 {
        self as u8
    }

    #[cfg(feature = "engine")]
    pub(crate) fn from_code(code: u8) -> Outcome {
        Self::ALL
            .get(usize::from(code))
            .copied()
            .unwrap_or_default()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(feature = "serde")]
mod by_name {
    use super::{OpKind, Outcome};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    macro_rules! written_by_name {
        ($type:ident, $what:literal) => {
            impl Serialize for $type {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.serialize_str(self.name())
                }
            }

            impl<'de> Deserialize<'de> for $type {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    let name = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                    $type::ALL
                        .iter()
                        .copied()
                        .find(|one| one.name() == name)
                        .ok_or_else(|| {
                            let known: Vec<_> = $type::ALL.iter().map(|one| one.name()).collect();
                            serde::de::Error::custom(format_args!(
                                concat!("`{}` is no ", $what, "; expected one of {}"),
                                name.escape_debug(),
                                known.join(", "),
                            ))
                        })
                }
            }
        };
    }

    written_by_name!(OpKind, "kind of op");
    written_by_name!(Outcome, "outcome");
}
