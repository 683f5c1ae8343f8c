//! Rules about host ops, steps, async ops and recording itself.

use crate::{Profile, kinds, near, of_kind};
use trace_runtime::analyze::{FindingKind, Whole, findings};
use trace_runtime::model::{NewEntry, TraceStoreBuilder};
use trace_runtime::{DType, TraceStore};

#[test]
fn a_host_op_is_ranked_over_all_its_shapes() {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(None, None, None);
    let mut at = 0;
    for (name, dims, ns) in [
        ("encode", [8, 8], 100),
        ("encode", [16, 16], 110),
        ("encode", [32, 32], 90),
        ("gelu", [64, 64], 200),
    ] {
        let inputs: &[(&[usize], DType)] = &[(&dims, DType::F32), (&dims, DType::F32)];
        let entry = NewEntry::new(name, thread, at, ns).with_inputs(inputs);
        builder.push(&entry).unwrap();
        at += ns as i64;
    }
    let found = findings(&builder.finish());
    assert_eq!(found.whole, Whole::Span);
    let first = &found.list[0];
    assert_eq!(
        (first.kind, first.subject.as_str()),
        (FindingKind::HostOp, "encode")
    );
    assert!(near(first.share, 0.6));
    assert_eq!(first.parts[0].input_shapes, Some(vec![vec![16, 16]; 2]));
    assert_eq!(found.list[1].subject, "gelu");
}

#[test]
fn many_small_host_ops_give_no_findings() {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(None, None, None);
    for (at, number) in (0..).step_by(40).zip(0..25) {
        let name = format!("op {number}");
        builder.push(&NewEntry::new(&name, thread, at, 40)).unwrap();
    }
    // Each takes 4 % of the time.
    assert!(!kinds(&builder.finish()).contains(&FindingKind::HostOp));
}

#[test]
fn a_trace_without_start_times_has_shares_of_the_time_in_ops() {
    let mut trace = trace_runtime::RecordedExecutionTrace::new();
    for (step, (name, us)) in [("matmul", 90), ("relu", 10)].into_iter().enumerate() {
        trace.add_entry(
            trace_runtime::RecordedTraceEntry::new(step, name)
                .with_duration(std::time::Duration::from_micros(us)),
        );
    }
    let found = findings(&trace);
    assert_eq!((found.whole, found.whole_ns), (Whole::Ops, 100_000));
    assert_eq!(found.list[0].subject, "matmul");
    assert!(near(found.list[0].share, 0.9));
}

#[test]
fn products_with_one_row_are_slow_compared_with_large_ones() {
    let products = |small_ns: u64| {
        let mut builder = TraceStoreBuilder::new();
        let thread = builder.thread(None, None, None);
        let mut push = |a: &[usize; 2], b: &[usize; 2], at: i64, ns: u64| {
            let inputs: &[(&[usize], DType)] = &[(a, DType::F32), (b, DType::F32)];
            let entry = NewEntry::new("matmul", thread, at, ns).with_inputs(inputs);
            builder.push(&entry).unwrap();
        };
        // 2 × 64³ FLOPs in 5 µs: 105 GFLOP/s.
        push(&[64, 64], &[64, 64], 0, 5_000);
        for round in 0..10 {
            // 2 × 64² FLOPs.
            push(&[1, 64], &[64, 64], 5_000 + round * 1000, small_ns);
        }
        builder.finish()
    };
    let found = findings(&products(1000));
    let slow = of_kind(&found, FindingKind::SlowProducts).unwrap();
    assert_eq!(
        slow.parts[0].input_shapes,
        Some(vec![vec![1, 64], vec![64, 64]])
    );
    assert!(
        near(slow.share, 10.0 / 15.0 * (1.0 - 8.192 / 104.857)),
        "{}",
        slow.share
    );
    // At the rate of the large one.
    assert!(!kinds(&products(80)).contains(&FindingKind::SlowProducts));
}

#[test]
fn one_slow_step_is_found_and_shares_are_of_the_steps() {
    let stepping = |slow: u64| {
        let mut profile = Profile::default();
        let mut at = 0;
        for (number, length) in [(5, 100), (6, 100), (7, slow), (8, 100)] {
            profile.step(number, at, length);
            profile.op("aten::mm", at, length);
            at += length + 50;
        }
        profile.read()
    };
    let found = findings(&stepping(300));
    assert_eq!((found.whole, found.whole_ns), (Whole::Steps, 600_000));
    let step = of_kind(&found, FindingKind::SlowStep).unwrap();
    assert_eq!(step.subject, "7");
    assert!(near(step.share, 200.0 / 600.0));
    assert!(!kinds(&stepping(120)).contains(&FindingKind::SlowStep));
}

#[test]
fn time_in_which_an_async_op_is_suspended_is_found() {
    let trace = |suspended_us: f64| {
        let mut trace = trace_runtime::RecordedExecutionTrace::new();
        let mut fetch = trace_runtime::RecordedTraceEntry::new(0, "fetch");
        fetch.set_start_us(Some(0.0));
        fetch.duration_us = 1000.0;
        fetch.suspended_us = suspended_us;
        trace.add_entry(fetch);
        TraceStore::try_from(&trace).unwrap()
    };
    let found = findings(&trace(950.0));
    let waits = of_kind(&found, FindingKind::Suspended).unwrap();
    assert_eq!(waits.subject, "fetch");
    assert!(near(waits.share, 0.95));
    assert!(!kinds(&trace(0.0)).contains(&FindingKind::Suspended));
}

#[test]
fn ops_that_are_too_short_cost_their_recording() {
    let trace = |ns: u64| {
        let mut builder = TraceStoreBuilder::new();
        builder.metadata("overhead_ns", "40");
        let thread = builder.thread(None, None, None);
        for round in 0..100 {
            builder
                .push(&NewEntry::new("tiny", thread, round * 1000, ns))
                .unwrap();
        }
        builder.finish()
    };
    let found = findings(&trace(300));
    let short = of_kind(&found, FindingKind::TooShort).unwrap();
    assert_eq!((short.subject.as_str(), short.cost_ns), ("tiny", 4000));
    assert!(!kinds(&trace(900)).contains(&FindingKind::TooShort));
}

#[test]
fn an_empty_trace_has_no_findings() {
    let found = findings(&trace_runtime::RecordedExecutionTrace::new());
    assert!(found.list.is_empty() && found.headline().is_empty());
}

/// Ten executions of an op, one every 100 µs. Each takes `op` µs.
fn ops_with_gaps(op: u64) -> Vec<FindingKind> {
    let mut profile = Profile::default();
    for round in 0..10 {
        profile.op("aten::add", round * 100, op);
    }
    profile.op("aten::add", 1000, 1);
    kinds(&profile.read())
}

#[test]
fn time_outside_of_ops_is_a_finding_where_it_is_most_of_the_time() {
    assert_eq!(ops_with_gaps(3), [FindingKind::OutsideOps]);
    assert_eq!(
        ops_with_gaps(60),
        [FindingKind::HostOp, FindingKind::OutsideOps]
    );
    assert_eq!(ops_with_gaps(90), [FindingKind::HostOp]);
}

#[test]
fn an_op_that_copies_is_part_of_the_copies_and_the_advice_is_about_the_host() {
    let mut profile = Profile::default();
    profile.op("aten::cat", 0, 400);
    profile.op("aten::copy_", 400, 100);
    profile.op("aten::mm", 500, 500);
    let found = findings(&profile.read());
    let copies = of_kind(&found, FindingKind::Copies).unwrap();
    assert!(!copies.advice.contains("pinned"), "{}", copies.advice);
    let cat = found
        .list
        .iter()
        .find(|one| one.kind == FindingKind::HostOp && one.subject == "aten::cat");
    let within = Some((FindingKind::Copies, "aten::cat".to_owned()));
    assert_eq!(cat.unwrap().within, within);
    // If one op makes all of the copies, there is only one finding.
    let mut profile = Profile::default();
    profile.op("aten::cat", 0, 400);
    profile.op("aten::mm", 400, 600);
    let found = kinds(&profile.read());
    assert_eq!(found, [FindingKind::Copies, FindingKind::HostOp]);
}
