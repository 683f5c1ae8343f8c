//! The facts that findings name in addition to their cost, and advice that fits the cause.

use crate::{Profile, kinds, of_kind};
use trace_runtime::analyze::{FindingKind, findings};
use trace_runtime::model::{NewEntry, TraceStoreBuilder};
use trace_runtime::{DType, TraceStore};

/// The advice of the first finding of a kind.
fn advice(trace: &TraceStore, kind: FindingKind) -> String {
    of_kind(&findings(trace), kind).unwrap().advice.clone()
}

#[test]
fn a_slow_step_names_the_time_outside_of_ops() {
    let stepping = |op_in_slow: u64| {
        let mut profile = Profile::default();
        let mut at = 0;
        for (number, length, op) in [
            (5, 100, 90),
            (6, 100, 90),
            (7, 300, op_in_slow),
            (8, 100, 90),
        ] {
            profile.step(number, at, length);
            profile.op("aten::mm", at, op);
            at += length + 50;
        }
        let found = findings(&profile.read());
        of_kind(&found, FindingKind::SlowStep)
            .unwrap()
            .sentence
            .clone()
    };
    let outside = stepping(90);
    assert!(
        outside.contains("outside of traced ops for 200 µs longer"),
        "{outside}"
    );
    let inside = stepping(290);
    assert!(
        inside.contains("aten::mm takes") && !inside.contains("outside"),
        "{inside}"
    );
}

#[test]
fn a_kernel_with_one_long_call_names_it() {
    let sentence = |last: u64| {
        let mut profile = Profile::default();
        profile.op("aten::mm", 0, 90 + last);
        for round in 0..9 {
            profile.launch(round * 5, round + 1, "sgemm", (10 + round * 10, 10));
        }
        profile.launch(60, 10, "sgemm", (100, last));
        let found = findings(&profile.read());
        let work = of_kind(&found, FindingKind::DeviceCategory).unwrap();
        work.sentence.clone()
    };
    let long = sentence(500);
    assert!(
        long.contains("one of its 10 calls takes 500 µs, the median 10.0 µs"),
        "{long}"
    );
    assert!(!sentence(10).contains("one of its"), "{}", sentence(10));
}

#[test]
fn a_device_that_runs_out_of_work_at_synchronisations_gets_advice_about_them() {
    let trace = |synchronises: bool| {
        let mut profile = Profile::default();
        for round in 0..5 {
            let start = round * 200;
            profile.op("aten::mm", start, 20);
            profile.launch(start + 2, round + 1, "sgemm", (start + 10, 100));
            profile.op("aten::item", start + 30, 90);
            if synchronises {
                profile.synchronise(start + 31, 85);
            }
        }
        profile.read()
    };
    let less_often = "less often";
    let advised = advice(&trace(true), FindingKind::HostBound);
    assert!(advised.contains(less_often), "{advised}");
    let advised = advice(&trace(false), FindingKind::HostBound);
    assert!(!advised.contains(less_often), "{advised}");
}

#[test]
fn idle_time_without_launches_gets_the_advice_to_record_runtime_calls() {
    let mut profile = Profile::default();
    for round in 0..5 {
        profile.op("prepare", round * 100, 95);
        profile.kernel("sgemm", (round * 100 + 50, 10), round + 1);
    }
    let advised = advice(&profile.read(), FindingKind::DeviceIdle);
    assert!(advised.contains("record the runtime calls"), "{advised}");
}

#[test]
fn slow_products_of_matrices_are_not_advised_as_vectors() {
    let products = |rows: usize| {
        let mut builder = TraceStoreBuilder::new();
        let thread = builder.thread(None, None, None);
        let mut push = |a: [usize; 2], at: i64, ns: u64| {
            let inputs: &[(&[usize], DType)] = &[(&a, DType::F32), (&[64, 64], DType::F32)];
            let entry = NewEntry::new("matmul", thread, at, ns).with_inputs(inputs);
            builder.push(&entry).unwrap();
        };
        push([64, 64], 0, 5_000);
        for round in 0..10 {
            push([rows, 64], 5_000 + round * 10_000, 10_000);
        }
        advice(&builder.finish(), FindingKind::SlowProducts)
    };
    assert!(products(1).contains("one row or column"));
    let advised = products(8);
    assert!(advised.contains("layout"), "{advised}");
}

#[test]
fn a_sentence_has_the_first_shapes_without_scalars() {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(None, None, None);
    for (at, ns, last) in [(0, 600, 6), (600, 400, 7)] {
        let last = [last, last];
        let inputs: &[(&[usize], DType)] = &[
            (&[2, 2], DType::F32),
            (&[], DType::F32),
            (&[3, 3], DType::F32),
            (&[4, 4], DType::F32),
            (&[5, 5], DType::F32),
            (&last, DType::F32),
        ];
        let entry = NewEntry::new("fused", thread, at, ns).with_inputs(inputs);
        builder.push(&entry).unwrap();
    }
    let found = findings(&builder.finish());
    let sentence = &of_kind(&found, FindingKind::HostOp).unwrap().sentence;
    assert!(
        sentence.contains("[2×2]·[3×3]·[4×4]·[5×5]·… ("),
        "{sentence}"
    );
}

#[test]
fn short_ops_that_cost_nothing_give_a_note_and_not_a_finding() {
    let mut builder = TraceStoreBuilder::new();
    builder.metadata("overhead_ns", "40");
    let thread = builder.thread(None, None, None);
    builder
        .push(&NewEntry::new("tiny", thread, 0, 300))
        .unwrap();
    let long = NewEntry::new("matmul", thread, 1000, 10_000_000);
    builder.push(&long).unwrap();
    let trace = builder.finish();
    assert!(!kinds(&trace).contains(&FindingKind::TooShort));
    let report = trace.report().to_string();
    assert!(report.contains("too short to trust"), "{report}");
}

#[test]
fn copies_within_a_device_get_no_advice_about_pinned_memory() {
    let copying = |copy: &str| {
        let mut profile = Profile::default();
        profile.op("aten::copy_", 0, 1000);
        profile.launch(0, 1, "sgemm", (10, 500));
        profile.call("cudaMemcpyAsync", (20, 5), 2);
        profile.kernel(copy, (510, 490), 2);
        advice(&profile.read(), FindingKind::Copies)
    };
    assert!(copying("Memcpy HtoD (Pageable -> Device)").contains("pinned"));
    let advised = copying("Memcpy DtoD (Device -> Device)");
    assert!(!advised.contains("pinned"), "{advised}");
}
