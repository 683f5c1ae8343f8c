//! Which ops a session records.

use std::time::Duration;

/// The ops that a session records: by name, and by duration. Without a filter it records all of them.
///
/// ```
/// use std::time::Duration;
/// use trace_runtime::Filter;
///
/// let filter = Filter::new().only("Linear::*").only("matmul").without("*::norm").min_duration(Duration::from_micros(5));
/// ```
///
/// In a pattern `*` matches any text, also none; everything else must be equal to the whole name of the op. An op
/// that is left out costs a few nanoseconds; the parent of an op inside it is the next op around it. Ops that code
/// begins by hand on a `TraceRecorder` are not filtered by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Filter {
    only: Vec<String>,
    without: Vec<String>,
    min_ns: u64,
}

impl Filter {
    /// Records everything.
    pub const fn new() -> Filter {
        Filter {
            only: Vec::new(),
            without: Vec::new(),
            min_ns: 0,
        }
    }

    /// Records only ops whose name fits this pattern, or that of another call of this method.
    pub fn only(mut self, pattern: impl Into<String>) -> Filter {
        self.only.push(pattern.into());
        self
    }

    /// Leaves out ops whose name fits this pattern.
    pub fn without(mut self, pattern: impl Into<String>) -> Filter {
        self.without.push(pattern.into());
        self
    }

    /// Leaves out executions that are shorter. They are measured, and counted in the trace's `filtered_out`.
    pub fn min_duration(mut self, duration: Duration) -> Filter {
        self.min_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self
    }

    /// Reads `Linear::*,matmul,!*::norm,min=5us`: patterns of ops to record, `!` before those to leave out, and a
    /// duration in `ns`, `us`, `ms` or `s`. None for anything else.
    pub fn parse(text: &str) -> Option<Filter> {
        let mut filter = Filter::new();
        for part in text.split(',').map(str::trim) {
            filter = match (part.strip_prefix("min="), part.strip_prefix('!')) {
                (Some(duration), _) => filter.min_duration(parse_duration(duration)?),
                (None, Some(pattern)) if !pattern.is_empty() => filter.without(pattern),
                (None, None) if !part.is_empty() => filter.only(part),
                _ => return None,
            };
        }
        Some(filter)
    }

    /// Whether ops of this name are recorded.
    pub(crate) fn keeps(&self, name: &str) -> bool {
        let fits = |pattern: &String| fits(pattern, name);
        (self.only.is_empty() || self.only.iter().any(fits)) && !self.without.iter().any(fits)
    }

    pub(crate) fn min_ns(&self) -> u64 {
        self.min_ns
    }
}

fn parse_duration(text: &str) -> Option<Duration> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(unit_at);
    let number: u64 = number.parse().ok()?;
    match unit {
        "ns" => Some(Duration::from_nanos(number)),
        "us" | "µs" => Some(Duration::from_micros(number)),
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        _ => None,
    }
}

/// Whether the whole name fits a pattern in which `*` matches any text.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_text() {
        for (pattern, name) in [
            ("matmul", "matmul"),
            ("*", ""),
            ("Linear::*", "Linear::forward"),
            ("*::forward", "Linear::forward"),
            ("L*::*d", "Linear::forward"),
            ("**", "x"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("matmul", "matmul2"),
            ("mat", "matmul"),
            ("a*a", "a"),
            ("Linear::*", "Conv::forward"),
            ("a*b*c", "acb"),
        ] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn text_has_patterns_and_a_duration() {
        let filter = Filter::parse("Linear::*, !*::norm ,min=5us");
        let expected = Filter::new()
            .only("Linear::*")
            .without("*::norm")
            .min_duration(Duration::from_micros(5));
        assert_eq!(filter, Some(expected));
        for wrong in ["", "!", "a,,b", "min=5", "min=us", "min=-1s"] {
            assert_eq!(Filter::parse(wrong), None, "{wrong}");
        }
    }
}
