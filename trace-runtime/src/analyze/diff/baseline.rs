//! A group of runs as a small file that can be committed.
//!
//! The quietest run is the one that is shown, so its figures are kept exactly. The other runs only show how much runs
//! vary, so their figures are kept as thousandths of the exact ones: four characters rather than ten.

use super::run_group::{Matched, RunGroup};
use super::run_summary::{RowFigures, RowSummary, RunSummary};
use crate::model::json_struct::json_struct;
use crate::model::{TraceError, TraceErrorKind};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// The version of the file format. It increases when an older reader would misread a newer file.
pub const BASELINE_VERSION: u32 = 3;
/// The first key of the file, by which it is recognised.
const MARK: &str = "optrace_baseline";
/// The largest size of the file; runs are left out to stay below it.
const MOST_BYTES: usize = 200_000;
/// At least this many runs are kept, even if the file is then too large: fewer would not show how much runs vary.
const FEWEST_RUNS: usize = 3;

#[derive(Debug, Clone, PartialEq, Default)]
struct RunTotals {
    steps: u64,
    total_ns: u64,
    overlap_ns: i64,
    elapsed: bool,
    outside: Vec<u64>,
    facts: BTreeMap<String, String>,
}

json_struct!(RunTotals {
    required: [total_ns, elapsed],
    optional: [steps, overlap_ns, outside, facts],
});

#[derive(Debug, Clone, PartialEq, Default)]
struct BaselineRow {
    /// Index of the op's name.
    op: usize,
    shapes: Vec<Vec<usize>>,
    accelerator: bool,
    /// The run that `exact` belongs to: the first run that has the row.
    run: usize,
    exact: Vec<u64>,
    /// The other runs in order, as thousandths of `exact`; empty for a run that does not have the row.
    others: Vec<Vec<u64>>,
}

json_struct!(BaselineRow {
    required: [op, exact],
    optional: [shapes, accelerator, run, others],
});

#[derive(Debug, Clone, PartialEq, Default)]
struct Content {
    optrace_baseline: u32,
    runs: Vec<RunTotals>,
    ops: Vec<String>,
    rows: Vec<BaselineRow>,
}

json_struct!(Content {
    required: [optrace_baseline, runs, ops, rows],
    optional: [],
});

impl RunGroup {
    /// True if a file that begins with these bytes is a baseline rather than a trace.
    pub fn is_baseline(start: &[u8]) -> bool {
        let object = start.trim_ascii_start().strip_prefix(b"{");
        let key = object.and_then(|text| text.trim_ascii_start().strip_prefix(b"\""));
        key.is_some_and(|key| key.starts_with(MARK.as_bytes()))
    }

    /// The group as a baseline file: JSON with one row a line, so that a changed op is a changed line in a review.
    ///
    /// Runs are left out if the file would exceed 200 kB, but three are always kept. With a thousand rows there is room
    /// for three.
    ///
    /// # Errors
    /// The figures cannot be written as JSON. This does not happen for groups of recorded runs.
    pub fn to_baseline(&self) -> Result<String, serde_json::Error> {
        let mut runs = self.runs.len();
        loop {
            let text = self.baseline_of(runs)?;
            if text.len() <= MOST_BYTES || runs <= FEWEST_RUNS {
                return Ok(text);
            }
            let fit = runs * MOST_BYTES / text.len();
            runs = fit.clamp(FEWEST_RUNS, runs - 1);
        }
    }

    fn baseline_of(&self, runs: usize) -> Result<String, serde_json::Error> {
        let kept: RunGroup = self
            .kept_runs(runs)
            .into_iter()
            .map(|run| self.runs[run].clone())
            .collect();
        let empty = RunGroup::default();
        let matched = Matched::of(&kept, &empty);
        let mut ops: Vec<&str> = Vec::new();
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut rows = Vec::new();
        for (&(operation, accelerator, shapes), runs) in matched.keys.iter().zip(&matched.figures) {
            let op = *numbers.entry(operation).or_insert_with(|| {
                ops.push(operation);
                ops.len() - 1
            });
            let run = runs.iter().position(Option::is_some).unwrap_or(0);
            let exact = runs[run].unwrap_or_default();
            let others = runs.iter().enumerate().filter(|&(other, _)| other != run);
            rows.push(BaselineRow {
                op,
                shapes: shapes.to_vec(),
                accelerator,
                run,
                exact: fields(&exact).to_vec(),
                others: others
                    .map(|(_, of)| of.map(|of| relative(&of, &exact)).unwrap_or_default())
                    .collect(),
            });
        }
        let runs: Vec<RunTotals> = kept.runs.iter().map(RunTotals::of).collect();
        Ok(format!(
            "{{\"{MARK}\": {BASELINE_VERSION},\n\"runs\": [\n{}\n],\n\"ops\": [\n{}\n],\n\"rows\": [\n{}\n]}}\n",
            lines(&runs)?,
            lines(&ops)?,
            lines(&rows)?
        ))
    }

    /// Reads what [`to_baseline`](Self::to_baseline) wrote.
    ///
    /// # Errors
    /// The text is not a baseline, or one of another version.
    pub fn from_baseline(json: &[u8]) -> Result<RunGroup, TraceError> {
        let wrong = |message: String| TraceError::new(TraceErrorKind::NotATrace, message);
        let version = serde_json::from_slice::<Version>(json)
            .map_err(|error| wrong(format!("not a baseline: {error}")))?
            .optrace_baseline;
        if version != BASELINE_VERSION {
            return Err(wrong(format!(
                "the baseline has version {version} and this program reads version {BASELINE_VERSION}; write the \
                 baseline again with `optrace baseline`"
            )));
        }
        let file: Content = serde_json::from_slice(json)
            .map_err(|error| wrong(format!("not a baseline: {error}")))?;
        let count = file.runs.len();
        let mut runs: Vec<RunSummary> = file.runs.into_iter().map(RunTotals::run).collect();
        for row in file.rows {
            let operation = file.ops.get(row.op).ok_or_else(|| {
                wrong(format!(
                    "not a baseline: there is no op {} in `ops`",
                    row.op
                ))
            })?;
            let exact = figures(&row.exact)
                .filter(|_| row.run < count)
                .ok_or_else(|| {
                    wrong(format!(
                        "not a baseline: the figures of `{operation}` are incomplete"
                    ))
                })?;
            let mut others = row.others.iter();
            for (index, run) in runs.iter_mut().enumerate() {
                let of_run = if index == row.run {
                    Some(exact)
                } else {
                    others.next().and_then(|other| absolute(other, &exact))
                };
                run.rows.extend(of_run.map(|figures| RowSummary {
                    operation: operation.clone(),
                    input_shapes: row.shapes.clone(),
                    accelerator: row.accelerator,
                    figures,
                }));
            }
        }
        Ok(RunGroup { runs })
    }

    /// The runs to keep, at most `most`: the quietest one, whose figures are kept exactly, then others in order.
    fn kept_runs(&self, most: usize) -> Vec<usize> {
        let Some(quiet) = self.quiet_run(self.runs.len()) else {
            return Vec::new();
        };
        let others: Vec<usize> = (0..self.runs.len()).filter(|&run| run != quiet).collect();
        let keep = others.len().min(most.saturating_sub(1));
        let spaced = (0..keep).map(|index| others[index * others.len() / keep]);
        std::iter::once(quiet).chain(spaced).collect()
    }
}

#[derive(Default)]
struct Version {
    optrace_baseline: u32,
}

json_struct!(Version {
    required: [optrace_baseline],
    optional: [],
});

impl RunTotals {
    fn of(run: &RunSummary) -> RunTotals {
        RunTotals {
            steps: run.steps,
            total_ns: run.total_ns,
            overlap_ns: run.overlap_ns,
            elapsed: run.elapsed,
            outside: if run.elapsed {
                fields(&run.outside).to_vec()
            } else {
                Vec::new()
            },
            facts: run.facts.clone(),
        }
    }

    fn run(self) -> RunSummary {
        RunSummary {
            steps: self.steps,
            total_ns: self.total_ns,
            overlap_ns: self.overlap_ns,
            elapsed: self.elapsed,
            outside: figures(&self.outside).unwrap_or_default(),
            rows: Vec::new(),
            facts: self.facts,
        }
    }
}

fn lines<T: Serialize>(values: &[T]) -> Result<String, serde_json::Error> {
    let lines: Result<Vec<String>, _> = values.iter().map(serde_json::to_string).collect();
    Ok(lines?.join(",\n"))
}

fn fields(of: &RowFigures) -> [u64; 8] {
    [
        of.count,
        of.self_ns,
        of.quiet_ns,
        of.p50_ns,
        of.p95_ns,
        of.max_ns,
        of.spread_ns,
        of.long_ns,
    ]
}

fn figures(fields: &[u64]) -> Option<RowFigures> {
    let &[
        count,
        self_ns,
        quiet_ns,
        p50_ns,
        p95_ns,
        max_ns,
        spread_ns,
        long_ns,
    ] = fields
    else {
        return None;
    };
    Some(RowFigures {
        count,
        self_ns,
        quiet_ns,
        p50_ns,
        p95_ns,
        max_ns,
        spread_ns,
        long_ns,
    })
}

/// For each field, the field of the exact run that it is stored as a multiple of. The last two are stored as multiples
/// of the self time, because they may be zero in one run and large in another; all others as multiples of the same
/// field.
const RELATIVE_TO: [usize; 8] = [0, 1, 2, 3, 4, 5, 1, 1];

/// The figures of another run as thousandths of the exact ones; the count is not converted.
fn relative(of: &RowFigures, exact: &RowFigures) -> Vec<u64> {
    let (of, exact) = (fields(of), fields(exact));
    let thousandths = |index: usize| {
        let share = of[index] as f64 / exact[RELATIVE_TO[index]].max(1) as f64;
        (share * 1000.0).round() as u64
    };
    let times = (1..of.len()).map(thousandths);
    std::iter::once(of[0]).chain(times).collect()
}

fn absolute(relative: &[u64], exact: &RowFigures) -> Option<RowFigures> {
    let exact = fields(exact);
    let time = |(index, &thousandths): (usize, &u64)| {
        let ns = exact[RELATIVE_TO[index]].max(1) as f64 * thousandths as f64 / 1000.0;
        ns.round() as u64
    };
    let times = relative.iter().enumerate().skip(1).map(time);
    let all: Vec<u64> = relative.first().copied().into_iter().chain(times).collect();
    figures(&all)
}
