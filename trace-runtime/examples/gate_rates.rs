//! How often `analyze::diff` is wrong, measured on recorded runs; `scripts/gate-check.sh` records them.
//!
//! ```text
//! cargo run --release -p trace-runtime --example gate_rates FOLDER COMPARISONS
//! ```
//!
//! The folder has traces named `series.number.json`, with numbers in the order of time. A series `X` compared with
//! itself must pass; compared with a series `X+…` it must fail, in all comparisons if its name is `X+seen-…`. Each
//! comparison takes runs that follow each other, as a CI job would record them. Further arguments: `show` prints each false alarm,
//! `lenient` accepts what a few recordings on a busy machine allow.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use trace_runtime::analyze::{DiffSettings, Gate, RunGroup, RunSummary, diff};

/// As in the documented workflow, but stricter on ops: 5 % instead of 10 %.
const GATE: Gate = Gate {
    total: Some(0.05),
    min_change_ns: 0,
    op: Some(0.05),
};
const SIZES: [usize; 3] = [1, 3, 5];

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(folder), Some(comparisons)) = (args.next(), args.next()) else {
        return Err("usage: gate_rates FOLDER COMPARISONS".into());
    };
    let comparisons: usize = comparisons.parse()?;
    let flags: Vec<String> = args.collect();
    let verbose = flags.iter().any(|flag| flag == "show");
    let lenient = flags.iter().any(|flag| flag == "lenient");
    let (most_alarms, least_found) = if lenient { (3, 50) } else { (1, 95) };
    let series = load(Path::new(&folder))?;
    let mut wrong = 0;
    println!(
        "{:<44} {:>6} {:>6} {:>9}",
        "comparison", "runs", "fails", "of"
    );
    for (name, runs) in &series {
        if !name.contains('+') {
            for size in SIZES.into_iter().filter(|size| 2 * size <= runs.len()) {
                let fails = (0..comparisons)
                    .filter(|&index| {
                        let (before, after) = neighbours(runs, runs, size, index, comparisons);
                        fails(&before, &after, verbose.then_some(name.as_str()))
                    })
                    .count();
                wrong += usize::from(fails * 100 > comparisons * most_alarms);
                println!("{name:<44} {size:>6} {fails:>6} {comparisons:>9}");
            }
        }
    }
    for (name, after) in &series {
        let Some((base, _)) = name.split_once('+') else {
            continue;
        };
        let Some(before) = series.get(base) else {
            continue;
        };
        for size in SIZES
            .into_iter()
            .filter(|&size| size <= before.len().min(after.len()))
        {
            let found = (0..comparisons)
                .filter(|&index| {
                    let (before, after) = neighbours(before, after, size, index, comparisons);
                    fails(&before, &after, None)
                })
                .count();
            let needed = match (name.contains("+seen-"), lenient) {
                (true, false) => 100,
                (false, true) => 0,
                _ => least_found,
            };
            wrong += usize::from(size == 5 && found * 100 < comparisons * needed);
            println!("{name:<44} {size:>6} {found:>6} {comparisons:>9}");
        }
    }
    if wrong > 0 {
        return Err(format!("{wrong} rates are worse than promised").into());
    }
    Ok(())
}

fn load(folder: &Path) -> Result<BTreeMap<String, Vec<RunSummary>>, Box<dyn Error>> {
    let mut files: Vec<_> = std::fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    files.sort_by_key(std::fs::DirEntry::file_name);
    let mut series: BTreeMap<String, Vec<RunSummary>> = BTreeMap::new();
    for file in files {
        let name = file.file_name().to_string_lossy().into_owned();
        let Some((of, _)) = name
            .strip_suffix(".json")
            .and_then(|name| name.rsplit_once('.'))
        else {
            continue;
        };
        let trace = trace_runtime::read::open(file.path())?;
        series
            .entry(of.to_owned())
            .or_default()
            .push(RunSummary::of(&trace));
    }
    Ok(series)
}

/// Runs that follow each other: one side, then the other. From one series they do not overlap, and the sides swap
/// every second time.
fn neighbours(
    before: &[RunSummary],
    after: &[RunSummary],
    size: usize,
    index: usize,
    of: usize,
) -> (RunGroup, RunGroup) {
    let group = |runs: &[RunSummary]| -> RunGroup { runs.iter().cloned().collect() };
    if std::ptr::eq(before, after) {
        let start = index * (before.len() - 2 * size) / of.max(2).saturating_sub(1);
        let start = start.min(before.len() - 2 * size);
        let (one, two) = before[start..start + 2 * size].split_at(size);
        return if index.is_multiple_of(2) {
            (group(one), group(two))
        } else {
            (group(two), group(one))
        };
    }
    let shorter = before.len().min(after.len());
    let start = index % (shorter - size + 1);
    (
        group(&before[start..start + size]),
        group(&after[start..start + size]),
    )
}

fn fails(before: &RunGroup, after: &RunGroup, shown: Option<&str>) -> bool {
    let found = diff(before, after, &DiffSettings::default());
    let failures = found.failures(&GATE);
    if let (Some(name), Some(first)) = (shown, failures.first()) {
        println!("  {name}: {} {}", first.what, first.reason);
    }
    !failures.is_empty()
}
