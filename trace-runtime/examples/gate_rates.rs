//! Measures how often `analyze::diff` is wrong, on recorded runs; `scripts/gate-check.sh` records them.
//!
//! ```text
//! cargo run --release -p trace-runtime --example gate_rates FOLDER COMPARISONS
//! ```
//!
//! The folder has traces named `series.number.json`, with numbers in the order of time. A series `X` compared with
//! itself must pass. Compared with a series `X+…` it must fail; in all comparisons, if that name is `X+seen-…`. Each
//! comparison takes runs that follow each other, as a CI job would record them, and no two comparisons of a row have
//! the same runs. With *groups*, all runs of one side come before all of the other; *turns* alternate. Further
//! arguments: `show` prints each false alarm, and `lenient` accepts the errors that a few recordings on a busy machine
//! may have.
//!
//! `gate_rates reduce FOLDER` replaces the traces by baselines with the same figures, to save space.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use trace_runtime::analyze::{Design, DiffSettings, Gate, RunGroup, RunSummary, diff};

/// As in the documented workflow, but stricter on ops: 5 % instead of 10 %.
const GATE: Gate = Gate::new().with_total(0.05).with_op(0.05);
/// Runs a side, and how they were made.
const PLANS: [(usize, Design); 4] = [
    (1, Design::Groups),
    (3, Design::Groups),
    (5, Design::Groups),
    (5, Design::Pairs),
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(folder), Some(comparisons)) = (args.next(), args.next()) else {
        return Err("usage: gate_rates FOLDER COMPARISONS".into());
    };
    if folder == "reduce" {
        return reduce(Path::new(&comparisons));
    }
    let comparisons: usize = comparisons.parse()?;
    let flags: Vec<String> = args.collect();
    let verbose = flags.iter().any(|flag| flag == "show");
    let lenient = flags.iter().any(|flag| flag == "lenient");
    let (most_alarms, least_found) = if lenient { (3, 50) } else { (1, 95) };
    let series = load(Path::new(&folder))?;
    println!(
        "{:<32} {:>5} {:>9} {:>9}",
        "series", "runs", "elapsed", "÷ quiet"
    );
    for (name, runs) in &series {
        let (elapsed, slowed) = disturbance(runs);
        println!(
            "{name:<32} {:>5} {elapsed:>6.0} ms {slowed:>9.2}",
            runs.len()
        );
    }
    println!(
        "\n{:<32} {:>5} {:>7} {:>6} {:>5}",
        "comparison", "runs", "made in", "fails", "of"
    );
    let mut wrong = 0;
    let mut line = |name: &str, (size, design), fails: usize, of: usize, is_wrong: bool| {
        wrong += usize::from(is_wrong);
        let design = match design {
            Design::Pairs => "turns",
            Design::Groups => "groups",
        };
        let mark = if is_wrong {
            "  worse than promised"
        } else {
            ""
        };
        println!("{name:<32} {size:>5} {design:>7} {fails:>6} {of:>5}{mark}");
    };
    for (name, runs) in series.iter().filter(|(name, _)| !name.contains('+')) {
        for plan in PLANS {
            let pairs = same(runs, plan, comparisons);
            let shown = verbose.then_some(name.as_str());
            let fails = pairs
                .iter()
                .filter(|pair| fails(pair, plan.1, shown))
                .count();
            let is_wrong = fails * 100 > pairs.len() * most_alarms;
            line(name, plan, fails, pairs.len(), is_wrong);
        }
    }
    for (name, after) in &series {
        let before = name.split_once('+').and_then(|(base, _)| series.get(base));
        let Some(before) = before else {
            continue;
        };
        for plan in PLANS {
            let pairs = planted(before, after, plan.0, comparisons);
            let found = pairs
                .iter()
                .filter(|pair| fails(pair, plan.1, None))
                .count();
            let needed = match (name.contains("+seen-"), lenient) {
                (true, false) => 100,
                (false, true) => 0,
                _ => least_found,
            };
            let is_wrong = plan.0 == 5 && found * 100 < pairs.len() * needed;
            line(name, plan, found, pairs.len(), is_wrong);
        }
    }
    if wrong > 0 {
        return Err(format!("{wrong} rates are worse than promised").into());
    }
    Ok(())
}

/// The median elapsed time of runs in milliseconds, and its ratio to calls × a quiet call.
fn disturbance(runs: &[RunSummary]) -> (f64, f64) {
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let elapsed = |run: &RunSummary| run.total_ns as f64;
    let quiet = |run: &RunSummary| -> f64 {
        let rows = run.rows.iter();
        rows.map(|row| row.figures.count as f64 * row.figures.quiet_ns as f64)
            .sum()
    };
    (
        median(runs.iter().map(elapsed).collect()) / 1e6,
        median(runs.iter().map(|run| elapsed(run) / quiet(run)).collect()),
    )
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
        series
            .entry(of.to_owned())
            .or_default()
            .extend(group(&file.path())?.runs);
    }
    Ok(series)
}

/// The run of a trace, or the runs of a baseline.
fn group(path: &Path) -> Result<RunGroup, Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    if RunGroup::is_baseline(&bytes) {
        return Ok(RunGroup::from_baseline(&bytes)?);
    }
    let trace = trace_runtime::read::from_slice(&bytes)?;
    Ok([RunSummary::of(&trace)].into_iter().collect())
}

/// Replaces each trace of a folder by its baseline, which has the same figures in a thousandth of the bytes.
fn reduce(folder: &Path) -> Result<(), Box<dyn Error>> {
    for file in std::fs::read_dir(folder)? {
        let path = file?.path();
        let start = std::fs::read(&path)?;
        if !RunGroup::is_baseline(&start) {
            std::fs::write(&path, group(&path)?.to_baseline()?)?;
        }
    }
    Ok(())
}

type Sides = (RunGroup, RunGroup);

/// Runs of one series that follow each other, as two sides that have no run in common. The sides swap every second
/// time.
fn same(runs: &[RunSummary], (size, design): (usize, Design), comparisons: usize) -> Vec<Sides> {
    let mut all = Vec::new();
    // In each round, one more run between the sides is left out.
    for gap in 0.. {
        let starts = (runs.len() + 1).saturating_sub(2 * size + gap);
        if starts == 0 || all.len() >= comparisons {
            break;
        }
        for start in 0..starts {
            let window = &runs[start..start + 2 * size + gap];
            let (one, two): Sides = match design {
                Design::Groups => (
                    window[..size].iter().cloned().collect(),
                    window[size + gap..].iter().cloned().collect(),
                ),
                Design::Pairs => {
                    let window = &window[gap..];
                    let turn = |first: usize| window.iter().skip(first).step_by(2).cloned();
                    (turn(0).collect(), turn(1).collect())
                }
            };
            let swap = all.len() % 2 == 1;
            all.push(if swap { (two, one) } else { (one, two) });
        }
        // With turns, there is only one way to leave out a run.
        if design == Design::Pairs {
            break;
        }
    }
    all.truncate(comparisons);
    all
}

/// Runs with and without a slowdown, which were recorded in turns.
fn planted(
    before: &[RunSummary],
    after: &[RunSummary],
    size: usize,
    comparisons: usize,
) -> Vec<Sides> {
    let starts = (before.len().min(after.len()) + 1).saturating_sub(size);
    let mut all = Vec::new();
    for shift in 0..starts {
        for start in 0..starts - shift {
            all.push((
                before[start + shift..][..size].iter().cloned().collect(),
                after[start..][..size].iter().cloned().collect(),
            ));
        }
    }
    all.truncate(comparisons);
    all
}

fn fails((before, after): &Sides, design: Design, shown: Option<&str>) -> bool {
    let settings = DiffSettings::default().with_design(design);
    let failures = diff(before, after, &settings).failures(&GATE);
    if let (Some(name), Some(first)) = (shown, failures.first()) {
        println!("  {name}: {} {}", first.what, first.reason);
    }
    !failures.is_empty()
}
