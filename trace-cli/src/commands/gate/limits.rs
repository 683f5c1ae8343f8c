//! The limits above which a change fails.

use crate::args::share;
use trace_runtime::analyze::{Design, DiffSettings, Gate};

/// A change fails only if it is significant, larger than its limit, and heavy enough.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct Limits {
    /// Exit with 1 if the total gets slower by more than this
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    pub(crate) fail_over: Option<f64>,
    /// Exit with 1 if an op gets slower by more than this, or if a new op is not below `--min-weight`
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    pub(crate) fail_op_over: Option<f64>,
    /// Do not fail for a change of the total below this time per step or run, such as `2ms`
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = nanoseconds)]
    pub(crate) min_change: u64,
    /// Do not test ops with a smaller share of the total, before and after
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = share)]
    pub(crate) min_weight: f64,
    /// Call changes up to this the same
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = share)]
    pub(crate) same_within: f64,
}

impl Limits {
    pub(crate) fn gate(&self) -> Gate {
        let mut gate = Gate::new();
        gate.total = self.fail_over;
        gate.min_change_ns = self.min_change;
        gate.op = self.fail_op_over;
        gate
    }

    pub(crate) fn are_set(&self) -> bool {
        self.fail_over.is_some() || self.fail_op_over.is_some()
    }

    /// The settings of the comparison. A limit below `--same-within` lowers that too, so that a change that fails is
    /// not called the same.
    pub(crate) fn settings(&self, design: Design) -> DiffSettings {
        let limits = [self.fail_over, self.fail_op_over];
        DiffSettings::default()
            .with_threshold(
                limits
                    .into_iter()
                    .flatten()
                    .fold(self.same_within, f64::min),
            )
            .with_min_weight(self.min_weight)
            .with_design(design)
    }
}

/// Parses a time such as `500us`, `2ms` or `1.5s` into nanoseconds; a number alone is in nanoseconds.
fn nanoseconds(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, f64); 5] = [
        ("ns", 1.0),
        ("us", 1e3),
        ("µs", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
    ];
    let text = text.trim();
    let (number, unit) = UNITS
        .iter()
        .find_map(|(unit, ns)| Some((text.strip_suffix(unit)?, *ns)))
        .unwrap_or((text, 1.0));
    match number.trim().parse::<f64>() {
        Ok(number) if number >= 0.0 && number.is_finite() => Ok((number * unit).round() as u64),
        _ => Err("expected a time such as `500us`, `2ms` or `1.5s`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(nanoseconds("2ms"), Ok(2_000_000));
        assert_eq!(nanoseconds("1.5s"), Ok(1_500_000_000));
        assert_eq!(nanoseconds("7 us"), Ok(7_000));
        assert_eq!(nanoseconds("12"), Ok(12));
        for wrong in ["", "ms", "-1ms", "fast", "inf s"] {
            assert!(nanoseconds(wrong).is_err(), "{wrong}");
        }
    }
}
