//! The judgement on a change.

use std::fmt;

/// The judgement on one change: of the total, of an op, or of one metric of it.
///
/// A time or count that shrinks is never [`Slower`](Verdict::Slower) or [`More`](Verdict::More), and one that grows is
/// never [`Faster`](Verdict::Faster) or [`Fewer`](Verdict::Fewer), even if the statistics of the runs suggest it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Verdict {
    /// The change is smaller than the threshold.
    #[default]
    Same,
    /// The change is larger than the threshold, but chance explains it.
    Noise,
    /// The op or the total takes longer, by more than the threshold and by more than chance explains.
    Slower,
    /// The op or the total takes less time, by more than the threshold and by more than chance explains.
    Faster,
    /// The op is called more often, by more than the threshold and by more than chance explains. Only a verdict on the
    /// number of calls.
    More,
    /// The op is called less often, by more than the threshold and by more than chance explains. Only a verdict on the
    /// number of calls.
    Fewer,
    /// Only the runs after the change have it.
    Added,
    /// Only the runs before the change have it.
    Removed,
    /// The op's share of the total is below the minimum weight before and after, so the op is not tested.
    Small,
}

impl Verdict {
    const ALL: [Verdict; 9] = [
        Verdict::Same,
        Verdict::Noise,
        Verdict::Slower,
        Verdict::Faster,
        Verdict::More,
        Verdict::Fewer,
        Verdict::Added,
        Verdict::Removed,
        Verdict::Small,
    ];

    /// The name in reports and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Same => "same",
            Verdict::Noise => "noise",
            Verdict::Slower => "slower",
            Verdict::Faster => "faster",
            Verdict::More => "more",
            Verdict::Fewer => "fewer",
            Verdict::Added => "added",
            Verdict::Removed => "removed",
            Verdict::Small => "small",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl crate::model::json_struct::OnWire for Verdict {
    fn write<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }

    fn read<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
        let known = Self::ALL.into_iter().find(|verdict| verdict.name() == name);
        known.ok_or_else(|| {
            serde::de::Error::custom(format_args!("`{}` is not a verdict", name.escape_debug()))
        })
    }
}
