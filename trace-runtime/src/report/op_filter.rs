//! A choice of ops by name, for the tables of a report.

use super::Report;
use super::names::printable;
use crate::analyze::OpRow;
use crate::model::json_struct::json_struct;

/// The filter of [`Report::filtered_by`], and the time of all rows before it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct OpFilter {
    /// The pattern that names must match.
    pub pattern: String,
    /// Self time of all ops on accelerators, including those left out; shares refer to it.
    pub device_self_ns: u64,
    /// Self time of all ops on the host, including those left out; shares refer to it.
    pub host_self_ns: u64,
}

json_struct!(OpFilter {
    required: [pattern, device_self_ns, host_self_ns],
    optional: [],
});

impl OpFilter {
    /// The time that shares refer to: the self time of all ops on accelerators, or of all ops on the host.
    pub(super) fn whole_ns(&self, accelerator: bool) -> u64 {
        if accelerator {
            self.device_self_ns
        } else {
            self.host_self_ns
        }
    }
}

impl Report {
    /// Keeps only the ops whose name matches in [`ops`](Self::ops), [`shapes`](Self::shapes) and
    /// [`roofline`](Self::roofline). Shares still refer to all ops. Findings and other sections do not change.
    ///
    /// A name matches if it contains the pattern, in any case; `*` matches any text in between: `mm` and
    /// `aten::*backward` match `aten::mm_backward`.
    #[must_use]
    pub fn filtered_by(mut self, pattern: &str) -> Report {
        let whole = |rows: &[OpRow], accelerator: bool| {
            let rows = rows.iter().filter(|row| row.accelerator == accelerator);
            rows.fold(0u64, |sum, row| sum.saturating_add(row.working_ns()))
        };
        let filter = OpFilter {
            pattern: pattern.to_owned(),
            device_self_ns: whole(&self.ops, true),
            host_self_ns: whole(&self.ops, false),
        };
        let all = self.ops.len();
        self.ops.retain(|row| matches(pattern, &row.operation));
        self.shapes.retain(|row| matches(pattern, &row.operation));
        self.roofline
            .retain(|point| matches(pattern, &point.operation));
        let pattern = printable(pattern);
        self.notes.push(match self.ops.len() {
            0 => format!("none of the {all} ops matches `{pattern}`"),
            some => {
                format!("the tables of ops show only those that match `{pattern}`: {some} of {all}")
            }
        });
        self.filter = Some(filter);
        self
    }
}

/// True if a name contains the parts of the pattern in their order, in any case.
fn matches(pattern: &str, name: &str) -> bool {
    let name = name.to_lowercase();
    let mut rest = name.as_str();
    pattern.to_lowercase().split('*').all(|part| {
        let found = rest.find(part);
        if let Some(at) = found {
            rest = &rest[at + part.len()..];
        }
        found.is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_contained_in_any_case_and_a_star_matches_anything() {
        for (pattern, name, expected) in [
            ("mm", "aten::MM", true),
            ("ADDMM", "aten::addmm", true),
            ("aten::*backward", "aten::mm_backward", true),
            ("a*b*c", "xaybzc", true),
            ("a*b*c", "xaybz", false),
            ("b*a", "ab", false),
            ("aa*a", "aa", false),
            ("", "anything", true),
            ("*", "", true),
            ("ß*日", "STRASSE ß 日本", true),
            ("conv", "aten::mm", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
