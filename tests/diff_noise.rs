//! Compares runs of a busy machine: interrupted calls must not hide a change, and must not look like one.

use std::cell::Cell;
use std::time::Duration;
use trace_runtime::analyze::diff::{LONG_CALLS, OUTSIDE};
use trace_runtime::analyze::{DiffRow, DiffSettings, Gate, RunGroup, TraceDiff, Verdict, diff};
use trace_runtime::{RecordedExecutionTrace, RecordedTraceEntry};

const GATE: Gate = Gate::new().with_total(0.05).with_op(0.05);

/// Random numbers from 0 to 1.
struct Random(Cell<u64>);

impl Random {
    fn new(seed: u64) -> Random {
        Random(Cell::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1))
    }

    fn next(&self) -> f64 {
        let mut state = self.0.get();
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.0.set(state);
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A run of one thread. Ops take turns; each has a name, a number of calls and the length of a call in microseconds.
/// `extra` is added to the length of a call; `gap` is the time after it.
fn run(
    ops: &[(&str, usize, f64)],
    random: &Random,
    extra: impl Fn() -> f64,
    gap: impl Fn() -> f64,
) -> RecordedExecutionTrace {
    let mut trace = RecordedExecutionTrace::new();
    let longest = ops.iter().map(|op| op.1).max().unwrap_or(0);
    let of_run = 1.0 + 0.01 * random.next();
    let mut at = 0.0;
    for call in 0..longest {
        for &(name, _, us) in ops.iter().filter(|op| call < op.1) {
            let us = us * of_run * (1.0 + 0.03 * random.next()) + extra();
            let mut entry = RecordedTraceEntry::new(trace.entries.len(), name)
                .with_duration(Duration::from_nanos((us * 1000.0) as u64));
            entry.start_us = Some(at).into();
            entry.thread = Some(1);
            at += entry.duration_us + gap();
            trace.add_entry(entry);
        }
    }
    trace
}

const OPS: [(&str, usize, f64); 5] = [
    ("matmul", 200, 50.0),
    ("softmax", 100, 20.0),
    ("gelu", 100, 20.0),
    ("norm", 200, 5.0),
    ("sample", 4, 500.0),
];

fn group(count: usize, one: impl Fn() -> RecordedExecutionTrace) -> RunGroup {
    let runs: Vec<RecordedExecutionTrace> = (0..count).map(|_| one()).collect();
    runs.iter().collect()
}

fn compare(before: &RunGroup, after: &RunGroup) -> TraceDiff {
    let found = diff(before, after, &DiffSettings::default());
    for rows in [&found.rows, &found.ops] {
        let changes: i64 = rows.iter().map(|row| row.change_ns).sum();
        assert_eq!(changes, found.total.change_ns);
        for row in rows {
            assert!(row.verdict != Verdict::Slower || row.change_ns > 0);
            assert!(row.verdict != Verdict::Faster || row.change_ns < 0);
        }
    }
    found
}

fn failing(found: &TraceDiff) -> Vec<String> {
    let failures = found.failures(&GATE).into_iter();
    failures.map(|failure| failure.what).collect()
}

fn op<'a>(found: &'a TraceDiff, name: &str) -> Option<&'a DiffRow> {
    found.ops.iter().find(|row| row.operation == name)
}

#[test]
fn interrupted_calls_do_not_hide_a_slower_op() {
    let (mut found, mut apart) = (0, 0);
    for seed in 0..40 {
        let random = Random::new(seed + 1);
        // Most of the elapsed time is that of interrupted calls.
        let interrupted = || {
            if random.next() < 0.06 {
                1000.0 + 2000.0 * random.next()
            } else {
                0.0
            }
        };
        let mut slower = OPS;
        slower[1].2 *= 1.12;
        let before = group(5, || run(&OPS, &random, interrupted, || 0.1));
        let after = group(5, || run(&slower, &random, interrupted, || 0.1));
        let again = group(5, || run(&OPS, &random, interrupted, || 0.1));
        let result = compare(&before, &after);
        let softmax = op(&result, "softmax").unwrap();
        found += usize::from(softmax.verdict == Verdict::Slower);
        apart += usize::from(op(&result, LONG_CALLS).is_some());
        assert_eq!(failing(&compare(&before, &again)), [""; 0], "{seed}");
    }
    assert!(found >= 38, "{found} of 40");
    assert!(apart > 5, "{apart} of 40");
}

#[test]
fn a_proven_tail_that_explains_the_total_makes_it_slower() {
    let random = Random::new(7);
    let tail = Cell::new(0);
    let five = |long_us: f64| {
        group(5, || {
            let mut trace = run(&OPS, &random, || 0.0, || 0.1);
            let mut late = 0.0;
            for entry in &mut trace.entries {
                tail.set(tail.get() + usize::from(entry.operation == "gelu"));
                entry.start_us = entry.start_us.get().map(|at| at + late).into();
                if entry.operation == "gelu" && tail.get().is_multiple_of(20) {
                    entry.duration_us += long_us;
                    late += long_us;
                }
            }
            trace
        })
    };
    let found = compare(&five(0.0), &five(2000.0));
    assert_eq!(op(&found, "gelu").unwrap().verdict, Verdict::Slower);
    assert_eq!(found.total.verdict, Verdict::Slower, "{:?}", found.total);
    assert!((0.2..0.9).contains(&found.total.size), "{:?}", found.total);
}

#[test]
fn an_op_with_one_call_is_judged_by_what_the_runs_agree_on() {
    let random = Random::new(7);
    let with = |us: f64| {
        let mut ops = OPS.to_vec();
        ops.push(("load", 1, us));
        ops
    };
    let five = |us: f64| group(5, || run(&with(us), &random, || 0.0, || 0.1));
    assert_eq!(failing(&compare(&five(1000.0), &five(1000.0))), [""; 0]);
    let found = compare(&five(1000.0), &five(5000.0));
    assert_eq!(op(&found, "load").unwrap().verdict, Verdict::Slower);
    // Interrupted in some of the runs only, so the op has not changed.
    let count = Cell::new(0);
    let after = group(5, || {
        count.set(count.get() + 1);
        let us = if count.get() % 2 == 0 {
            20_000.0
        } else {
            1000.0
        };
        run(&with(us), &random, || 0.0, || 0.1)
    });
    assert_eq!(failing(&compare(&five(1000.0), &after)), [""; 0]);
}

#[test]
fn time_outside_of_ops_fails_if_it_grows_everywhere() {
    let random = Random::new(7);
    let five = |gap: f64| group(5, || run(&OPS, &random, || 0.0, || gap));
    let found = compare(&five(10.0), &five(20.0));
    assert!(
        failing(&found).contains(&OUTSIDE.to_owned()),
        "{:?}",
        failing(&found)
    );
    // The program was interrupted between two ops.
    let interrupted = || {
        if random.next() < 0.002 {
            30_000.0
        } else {
            10.0
        }
    };
    let after = group(5, || run(&OPS, &random, || 0.0, interrupted));
    assert_eq!(failing(&compare(&five(10.0), &after)), [""; 0]);
}

#[test]
fn one_run_does_not_blame_an_op_that_was_interrupted_as_much_as_the_others() {
    let random = Random::new(7);
    let interrupted = || if random.next() < 0.03 { 3000.0 } else { 0.0 };
    let mut slower = OPS;
    slower[4].2 *= 5.0;
    let busy = group(1, || run(&OPS, &random, interrupted, || 0.1));
    let after = group(1, || run(&slower, &random, interrupted, || 0.1));
    assert_eq!(failing(&compare(&busy, &after)), [""; 0]);
    // On an idle machine the change is found.
    slower[4].2 *= 2.0;
    let quiet = group(1, || run(&OPS, &random, || 0.0, || 0.1));
    let after = group(1, || run(&slower, &random, || 0.0, || 0.1));
    assert!(failing(&compare(&quiet, &after)).contains(&"sample".to_owned()));
}

#[test]
fn a_change_of_half_of_the_ops_is_not_common() {
    let random = Random::new(7);
    let one = |slow: f64| {
        let ops = [
            ("a", 100, 20.0),
            ("b", 100, 20.0),
            ("c", 100, 20.0 * slow),
            ("d", 100, 20.0 * slow),
        ];
        group(1, || run(&ops, &random, || 0.0, || 0.1))
    };
    let mut found = failing(&compare(&one(1.0), &one(8.0)));
    found.sort();
    assert_eq!(found, ["c", "d", "total"]);
}
