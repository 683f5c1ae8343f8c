//! Compares groups of runs: which changes are found, which are not, and that the parts add up.

mod random_traces;

use proptest::prelude::*;
use random_traces::{flat_trace, nested_trace};
use std::time::Duration;
use trace_runtime::analyze::diff::{OUTSIDE, OVERLAP};
use trace_runtime::analyze::{
    Design, DiffRow, DiffSettings, Gate, RunGroup, TraceDiff, Verdict, diff,
};
use trace_runtime::{RecordedExecutionTrace, RecordedTraceEntry, TraceStep};

const GATE: Gate = Gate::new().with_total(0.05).with_op(0.05);

/// A run: ops one after the other on one thread, each with the durations of its calls in microseconds.
fn run(ops: &[(&str, Vec<f64>)]) -> RecordedExecutionTrace {
    let mut trace = RecordedExecutionTrace::new();
    let longest = ops.iter().map(|(_, calls)| calls.len()).max().unwrap_or(0);
    let mut at = 0.0;
    for call in 0..longest {
        for (name, calls) in ops.iter().filter(|(_, calls)| call < calls.len()) {
            let step = trace.entries.len();
            let mut entry = RecordedTraceEntry::new(step, *name)
                .with_input_shapes(vec![vec![8, 8]])
                .with_duration(Duration::from_nanos((calls[call] * 1000.0) as u64));
            entry.set_start_us(Some(at));
            entry.thread = Some(1);
            at += entry.duration_us + 0.1;
            trace.add_entry(entry);
        }
    }
    trace
}

/// Calls of about `us`, with noise that differs by run, and a few interrupted calls.
fn calls(count: usize, us: f64, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let of_run = 1.0 + 0.02 * random();
    (0..count)
        .map(|_| {
            let interrupted = if random() < 0.01 { 3.0 } else { 1.0 };
            us * of_run * (1.0 + 0.05 * random()) * interrupted
        })
        .collect()
}

/// Five runs of a program with ops of several lengths; `change` may change each run's ops.
fn five(seed: u64, change: impl Fn(&mut Vec<(&'static str, Vec<f64>)>)) -> RunGroup {
    let runs: Vec<RecordedExecutionTrace> = (0..5)
        .map(|index| {
            let seed = seed + index * 100;
            let mut ops = vec![
                ("matmul", calls(200, 50.0, seed + 1)),
                ("softmax", calls(100, 20.0, seed + 2)),
                ("gelu", calls(100, 20.0, seed + 3)),
                ("norm", calls(200, 5.0, seed + 4)),
                ("sample", calls(4, 500.0, seed + 5)),
            ];
            change(&mut ops);
            run(&ops)
        })
        .collect();
    runs.iter().collect()
}

fn compare(before: &RunGroup, after: &RunGroup) -> TraceDiff {
    diff(before, after, &DiffSettings::default())
}

fn failing(found: &TraceDiff) -> Vec<String> {
    let failures = found.failures(&GATE).into_iter();
    failures.map(|failure| failure.what).collect()
}

fn op<'a>(found: &'a TraceDiff, name: &str) -> &'a DiffRow {
    found
        .ops
        .iter()
        .find(|row| row.operation == name)
        .expect(name)
}

#[test]
fn the_same_program_passes() {
    for seed in 0..40 {
        let found = compare(
            &five(seed * 10_000, |_| {}),
            &five(seed * 10_000 + 5000, |_| {}),
        );
        assert_eq!(failing(&found), [""; 0], "{seed}: {:?}", found.notes);
    }
}

#[test]
fn ten_percent_in_an_op_with_a_tenth_of_the_time_is_found() {
    let mut found = 0;
    for seed in 0..40 {
        let after = five(seed * 10_000 + 5000, |ops| {
            ops[1].1.iter_mut().for_each(|us| *us *= 1.1);
        });
        let result = compare(&five(seed * 10_000, |_| {}), &after);
        found += usize::from(
            failing(&result)
                .iter()
                .any(|what| what.starts_with("softmax")),
        );
    }
    assert!(found >= 38, "{found} of 40");
}

#[test]
fn an_op_with_four_calls_that_takes_ten_times_as_long_fails() {
    let after = five(7, |ops| ops[4].1.iter_mut().for_each(|us| *us *= 10.0));
    let found = compare(&five(1, |_| {}), &after);
    assert_eq!(op(&found, "sample").verdict, Verdict::Slower);
    assert_eq!(failing(&found), ["total", "sample [8×8]"]);
}

#[test]
fn an_op_that_is_called_twice_as_often_fails_by_its_calls() {
    let after = five(7, |ops| {
        let again = ops[2].1.clone();
        ops[2].1.extend(again);
    });
    let found = compare(&five(1, |_| {}), &after);
    let gelu = op(&found, "gelu");
    assert_eq!((gelu.verdict, gelu.count), (Verdict::Slower, (100, 200)));
    assert!(
        gelu.more_calls_ns > 5 * gelu.slower_calls_ns.abs(),
        "{gelu:?}"
    );
    let failures = found.failures(&GATE);
    let failure = failures
        .iter()
        .find(|one| one.what.starts_with("gelu"))
        .expect("gelu");
    assert!(
        failure.reason.contains("is called 100 → 200 times"),
        "{failure:?}"
    );
}

#[test]
fn a_tail_with_an_equal_median_fails() {
    let tail = |ops: &mut Vec<(&str, Vec<f64>)>| {
        ops[1].1.iter_mut().step_by(12).for_each(|us| *us *= 100.0);
    };
    let found = compare(&five(1, |_| {}), &five(7, tail));
    assert!(
        failing(&found).contains(&"softmax [8×8]".to_owned()),
        "{found:?}"
    );
    let row = found
        .rows
        .iter()
        .find(|row| row.operation == "softmax")
        .expect("softmax");
    let verdict = |metric: &str| {
        row.evidence
            .iter()
            .find(|one| one.metric == metric)
            .expect(metric)
            .verdict
    };
    assert_eq!(verdict("median call"), Verdict::Same);
    assert_eq!(verdict("p95 call"), Verdict::Slower);
}

#[test]
fn one_very_long_call_in_each_of_five_runs_is_a_tail() {
    let long = |ops: &mut Vec<(&str, Vec<f64>)>| ops[1].1[40] *= 500.0;
    let found = compare(&five(1, |_| {}), &five(7, long));
    assert!(
        failing(&found).contains(&"softmax [8×8]".to_owned()),
        "{found:?}"
    );
    let runs = std::cell::Cell::new(0);
    let once = |ops: &mut Vec<(&str, Vec<f64>)>| {
        runs.set(runs.get() + 1);
        if runs.get() != 3 {
            long(ops);
        }
    };
    let found = compare(&five(1, |_| {}), &five(7, once));
    assert_eq!(failing(&found), [""; 0], "four of five runs are not enough");
}

#[test]
fn an_added_op_fails_and_a_renamed_one_does_not() {
    let added = five(7, |ops| ops.push(("copy", calls(100, 20.0, 3))));
    let found = compare(&five(1, |_| {}), &added);
    assert_eq!(op(&found, "copy").verdict, Verdict::Added);
    assert!(
        failing(&found).contains(&"copy".to_owned()),
        "{:?}",
        failing(&found)
    );
    let renamed = five(7, |ops| ops[1].0 = "soft_max");
    let found = compare(&five(1, |_| {}), &renamed);
    assert_eq!(op(&found, "softmax").verdict, Verdict::Removed);
    assert_eq!(failing(&found), [""; 0]);
}

#[test]
fn a_uniform_slowdown_is_one_of_the_total_and_blames_no_op() {
    let slower = five(7, |ops| {
        for (_, calls) in ops {
            for us in calls {
                *us *= 1.2;
            }
        }
    });
    let found = compare(&five(1, |_| {}), &slower);
    assert_eq!(failing(&found), ["total"]);
    assert!(
        (0.15..0.25).contains(&found.method.common),
        "{:?}",
        found.method
    );
}

#[test]
fn disturbed_runs_do_not_fail() {
    // Another program takes half of the calls' time in all runs of one side.
    let disturbed = five(7, |ops| {
        for (_, calls) in ops {
            calls.iter_mut().step_by(3).for_each(|us| *us *= 4.0);
        }
    });
    let found = compare(&five(1, |_| {}), &disturbed);
    assert_eq!(failing(&found), [""; 0], "{:?}", found.total);
}

#[test]
fn a_change_of_all_ops_is_found_in_turns_and_may_be_the_machine_in_groups() {
    let before = five(1, |_| {});
    let after = five(7, |ops| {
        for (_, calls) in ops {
            for us in calls {
                *us *= 1.1;
            }
        }
    });
    let of = |design| {
        let settings = DiffSettings::default().with_design(design);
        diff(&before, &after, &settings).total
    };
    let (pairs, groups) = (of(Design::Pairs), of(Design::Groups));
    assert_eq!(pairs.verdict, Verdict::Slower, "{pairs:?}");
    assert_eq!(groups.verdict, Verdict::Noise, "{groups:?}");
}

#[test]
fn slow_runs_do_not_count() {
    // The machine is slow in the last two of five runs of one side.
    let mut slow = five(7, |_| {});
    for run in &mut slow.runs[3..] {
        run.total_ns = run.total_ns * 14 / 10;
        for row in &mut run.rows {
            row.figures.self_ns = row.figures.self_ns * 14 / 10;
            row.figures.quiet_ns = row.figures.quiet_ns * 14 / 10;
            row.figures.p50_ns = row.figures.p50_ns * 14 / 10;
        }
    }
    let found = compare(&five(1, |_| {}), &slow);
    assert_eq!(failing(&found), [""; 0], "{:?}", found.total);
    assert_eq!(found.total.verdict, Verdict::Same);
    // Nor do they hide a change.
    for run in &mut slow.runs {
        let row = &mut run.rows[0].figures;
        row.self_ns = row.self_ns * 12 / 10;
        row.quiet_ns = row.quiet_ns * 12 / 10;
        row.p50_ns = row.p50_ns * 12 / 10;
    }
    let found = compare(&five(1, |_| {}), &slow);
    assert_eq!(op(&found, "matmul").verdict, Verdict::Slower);
}

#[test]
fn one_run_a_side_finds_a_large_change_and_reports_how_little_it_can_find() {
    let one = |trace: RecordedExecutionTrace| -> RunGroup { [trace].iter().collect() };
    let steady = |us: f64| {
        one(run(&[(
            "item",
            (0..30).map(|call| us + f64::from(call % 5)).collect(),
        )]))
    };
    let tail = one(run(&[(
        "item",
        (0..30)
            .map(|call| if call % 5 == 0 { 30_000.0 } else { 1000.0 })
            .collect(),
    )]));
    let found = compare(&steady(1000.0), &tail);
    assert_eq!(found.total.verdict, Verdict::Slower, "{:?}", found.total);
    assert_eq!(
        found
            .rows
            .iter()
            .find(|row| row.operation == "item")
            .unwrap()
            .verdict,
        Verdict::Slower
    );
    let found = compare(&steady(1000.0), &steady(1100.0));
    assert_eq!(found.total.verdict, Verdict::Noise);
    assert!(
        found.notes[0].starts_with("one run a side"),
        "{:?}",
        found.notes
    );
    // One call that was interrupted for long is not a change of the op.
    let interrupted = one(run(&[(
        "item",
        (0..30)
            .map(|call| if call == 7 { 400_000.0 } else { 1000.0 })
            .collect(),
    )]));
    let found = compare(&steady(1000.0), &interrupted);
    assert_eq!(found.total.verdict, Verdict::Noise, "{:?}", found.total);
}

#[test]
fn times_are_per_step_where_there_are_steps() {
    let with_steps = |steps: u64| {
        let mut trace = RecordedExecutionTrace::new();
        for number in 0..steps {
            let start = number as f64 * 100.0;
            let mut entry = RecordedTraceEntry::new(number as usize, "op")
                .with_duration(Duration::from_micros(60));
            entry.set_start_us(Some(start + 10.0));
            trace.add_entry(entry);
            let ns = start as i64 * 1000;
            trace.steps.push(TraceStep::new(number, ns, ns + 100_000));
        }
        trace
    };
    let before: RunGroup = [with_steps(10)].iter().collect();
    let after: RunGroup = [with_steps(30)].iter().collect();
    let found = compare(&before, &after);
    assert_eq!(
        (found.total.before_ns, found.total.after_ns),
        (100_000, 100_000)
    );
    assert_eq!(
        (op(&found, "op").self_ns, op(&found, OUTSIDE).self_ns),
        ((60_000, 60_000), (40_000, 40_000))
    );
    assert_eq!(found.method.per, "step");
}

#[test]
fn a_baseline_reads_back_as_the_runs_it_was_written_from() {
    let runs = five(1, |_| {});
    let json = runs.to_baseline().unwrap();
    assert!(RunGroup::is_baseline(json.as_bytes()));
    assert!(!RunGroup::is_baseline(b"{\"traceEvents\": []}"));
    let read = RunGroup::from_baseline(json.as_bytes()).unwrap();
    assert_eq!(read.runs.len(), 5);
    let (after, slower) = (
        five(7, |_| {}),
        five(7, |ops| ops[1].1.iter_mut().for_each(|us| *us *= 1.2)),
    );
    assert_eq!(failing(&compare(&read, &after)), [""; 0]);
    assert_eq!(
        failing(&compare(&read, &slower)),
        failing(&compare(&runs, &slower))
    );
    // The run that is shown is kept exactly.
    assert_eq!(
        compare(&read, &slower).total.before_ns,
        compare(&runs, &slower).total.before_ns
    );
    let newer = json.replacen(": 3,", ": 9,", 1);
    let error = RunGroup::from_baseline(newer.as_bytes())
        .unwrap_err()
        .to_string();
    assert!(error.contains("version 9"), "{error}");
    assert!(RunGroup::from_baseline(b"{\"optrace_baseline\": 1}").is_err());
}

#[test]
fn a_baseline_of_a_thousand_rows_is_small() {
    let trace = |seed: u64| {
        let mut trace = RecordedExecutionTrace::new();
        for step in 0..4000 {
            let shapes = vec![vec![32, step % 1000, 128], vec![128, step % 1000]];
            let name = ["aten::convolution_backward", "volta_sgemm_128x64_tn_kernel"][step % 2];
            let ns = 1_234_567 + (step as u64 * seed * 7919) % 900_000;
            trace.add_entry(
                RecordedTraceEntry::new(step, name)
                    .with_input_shapes(shapes)
                    .with_duration(Duration::from_nanos(ns)),
            );
        }
        trace
    };
    for runs in [1, 5, 10] {
        let group: RunGroup = (1..=runs).map(trace).collect::<Vec<_>>().iter().collect();
        assert_eq!(group.runs[0].rows.len(), 1000);
        let size = group.to_baseline().unwrap().len();
        assert!(size <= 200_000, "{runs} runs: {size} bytes");
        let read = RunGroup::from_baseline(group.to_baseline().unwrap().as_bytes()).unwrap();
        assert_eq!(read.runs.len() as u64, runs.min(3));
    }
}

#[test]
fn another_machine_or_program_is_noted() {
    let on = |cpu: &str, program: &str| {
        let mut group = five(1, |_| {});
        for run in &mut group.runs {
            run.facts.insert("cpu".to_owned(), cpu.to_owned());
            run.facts.insert("program".to_owned(), program.to_owned());
        }
        group
    };
    let notes = |before: &RunGroup, after: &RunGroup| compare(before, after).notes.join("\n");
    let here = on("A", "train");
    assert_eq!(notes(&here, &here), "");
    assert!(notes(&here, &on("B", "train")).contains("different machines"));
    assert!(notes(&here, &on("A", "infer")).contains("different programs"));
}

fn groups() -> impl Strategy<Value = (RunGroup, RunGroup)> {
    let traces = || {
        let one = prop_oneof![flat_trace(), nested_trace()];
        prop::collection::vec(one, 1..5).prop_map(|traces| traces.iter().collect::<RunGroup>())
    };
    (traces(), traces())
}

proptest! {
    #[test]
    fn rows_add_up_to_the_change_of_the_total((before, after) in groups()) {
        let found = compare(&before, &after);
        for rows in [&found.rows, &found.ops] {
            let changes: i64 = rows.iter().map(|row| row.change_ns).sum();
            prop_assert_eq!(changes, found.total.change_ns);
            let before: i64 = rows.iter().map(|row| row.self_ns.0).sum();
            let after: i64 = rows.iter().map(|row| row.self_ns.1).sum();
            prop_assert_eq!((before, after), (found.total.before_ns, found.total.after_ns));
        }
        for row in found.rows.iter().chain(&found.ops) {
            prop_assert_eq!(row.more_calls_ns + row.slower_calls_ns, row.change_ns);
            prop_assert_eq!(row.self_ns.1 - row.self_ns.0, row.change_ns);
            prop_assert!(row.self_ns.0 >= 0 && row.self_ns.1 >= 0 || row.operation == OVERLAP, "{:?}", row);
        }
    }

    #[test]
    fn nothing_that_shrinks_is_slower_nor_the_reverse((before, after) in groups()) {
        let found = diff(&before, &after, &DiffSettings::default().with_threshold(0.0).with_min_weight(0.0).with_design(Design::Groups));
        let total = &found.total;
        for (change, verdict) in found.rows.iter().chain(&found.ops).map(|row| (row.change_ns, row.verdict))
            .chain([(total.change_ns, total.verdict)])
        {
            match verdict {
                Verdict::Slower | Verdict::Added => prop_assert!(change >= 0 && (change > 0 || verdict == Verdict::Added)),
                Verdict::Faster | Verdict::Removed => prop_assert!(change <= 0 && (change < 0 || verdict == Verdict::Removed)),
                _ => {}
            }
        }
    }

    #[test]
    fn a_trace_compared_with_itself_is_the_same((group, _) in groups()) {
        let found = compare(&group, &group);
        prop_assert_eq!(found.total.change_ns, 0);
        prop_assert_eq!(failing(&found), Vec::<String>::new());
    }
}
