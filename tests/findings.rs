//! Each rule of the findings on the smallest trace that shows it, and on one that does not.

use std::fmt::Write as _;
use trace_runtime::analyze::{Finding, FindingKind, Findings, Whole, findings};
use trace_runtime::model::{NewEntry, TraceStoreBuilder};
use trace_runtime::{DType, OpKind, TraceStore, read};

/// Events of a profiler, as Chrome JSON; times in microseconds.
#[derive(Default)]
struct Profile(String);

impl Profile {
    fn event(&mut self, cat: &str, name: &str, (pid, tid): (u32, u32), at: (u64, u64), args: &str) {
        let comma = if self.0.is_empty() { "" } else { ",\n" };
        let (ts, dur) = at;
        write!(
            self.0,
            r#"{comma}{{"ph":"X","cat":"{cat}","name":"{name}","pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur},"args":{{{args}}}}}"#
        )
        .unwrap();
    }

    fn op(&mut self, name: &str, start: u64, duration: u64) -> &mut Self {
        self.event("cpu_op", name, (1, 1), (start, duration), "");
        self
    }

    fn step(&mut self, number: u32, start: u64, duration: u64) -> &mut Self {
        let name = format!("ProfilerStep#{number}");
        self.event("user_annotation", &name, (1, 1), (start, duration), "");
        self
    }

    /// A launch at `start` and what it launches.
    fn launch(
        &mut self,
        start: u64,
        id: u64,
        kernel: &str,
        (at, duration): (u64, u64),
    ) -> &mut Self {
        let correlation = format!(r#""correlation":{id}"#);
        self.event(
            "cuda_runtime",
            "cudaLaunchKernel",
            (1, 1),
            (start, 4),
            &correlation,
        );
        let cat = if kernel.starts_with("Memcpy") {
            "gpu_memcpy"
        } else {
            "kernel"
        };
        let args = format!(r#"{correlation},"stream":7,"device":0"#);
        self.event(cat, kernel, (0, 7), (at, duration), &args);
        self
    }

    fn synchronise(&mut self, start: u64, duration: u64) -> &mut Self {
        self.event(
            "cuda_runtime",
            "cudaDeviceSynchronize",
            (1, 1),
            (start, duration),
            "",
        );
        self
    }

    fn read(&self) -> TraceStore {
        let text = format!(r#"{{"traceEvents":[{}]}}"#, self.0);
        read::from_slice(text.as_bytes()).unwrap()
    }
}

fn of_kind(found: &Findings, kind: FindingKind) -> Option<&Finding> {
    found.list.iter().find(|finding| finding.kind == kind)
}

fn kinds(trace: &TraceStore) -> Vec<FindingKind> {
    findings(trace).list.iter().map(|one| one.kind).collect()
}

fn near(share: f64, expected: f64) -> bool {
    (share - expected).abs() < 0.005
}

/// A device with a kernel of `busy` in every 100 µs, while the host prepares the next one.
fn kernels(busy: u64) -> Profile {
    let mut profile = Profile::default();
    for round in 0..10 {
        let start = round * 100;
        profile.op("aten::mm", start, 8);
        profile.launch(start + 2, round + 1, "sgemm", (start + 6, busy));
        profile.op("prepare", start + 10, 90);
    }
    profile
}

#[test]
fn an_idle_device_is_host_bound_and_names_the_host_op() {
    let trace = kernels(20).read();
    let found = findings(&trace);
    let first = &found.list[0];
    assert_eq!(first.kind, FindingKind::HostBound);
    assert_eq!(first.subject, "cuda:0");
    assert!(near(first.share, 0.8), "{}", first.share);
    assert_eq!(first.parts[0].name, "prepare");
    assert!(near(first.parts[0].share, 0.74), "{}", first.parts[0].share);
    assert!(
        first.sentence.contains("prepare (74 %)"),
        "{}",
        first.sentence
    );
    let op = of_kind(&found, FindingKind::HostOp).unwrap();
    assert_eq!(op.subject, "prepare");
    // The headline does not repeat what its first sentence names.
    assert_eq!(found.headline().len(), 1);
}

#[test]
fn a_busy_device_is_not_host_bound_and_its_work_is_named() {
    let found = findings(&kernels(100).read());
    assert!(of_kind(&found, FindingKind::HostBound).is_none());
    let work = of_kind(&found, FindingKind::DeviceCategory).unwrap();
    assert_eq!(work.subject, "matmul");
    assert!(near(work.share, 0.994), "{}", work.share);
    assert_eq!(work.parts[0].name, "sgemm");
    // A category of one kernel is one finding.
    assert!(of_kind(&found, FindingKind::DeviceOp).is_none());
    assert!(!kinds(&kernels(20).read()).contains(&FindingKind::DeviceCategory));
}

#[test]
fn one_of_several_kernels_is_a_finding_of_its_own() {
    let mut profile = Profile::default();
    profile.op("aten::mm", 0, 1000);
    profile.launch(0, 1, "sgemm_128", (10, 600));
    profile.launch(5, 2, "sgemm_64", (610, 390));
    let found = findings(&profile.read());
    let category = of_kind(&found, FindingKind::DeviceCategory).unwrap();
    let kernel = of_kind(&found, FindingKind::DeviceOp).unwrap();
    assert_eq!(
        (category.subject.as_str(), kernel.subject.as_str()),
        ("matmul", "sgemm_128")
    );
}

#[test]
fn a_device_without_a_host_is_idle_for_an_unknown_reason() {
    let mut builder = TraceStoreBuilder::new();
    let stream = builder.thread(Some(7), None, None);
    for start in [0, 900] {
        let kernel = NewEntry {
            device_id: Some("cuda:0"),
            ..NewEntry::new("gemm", stream, start, 100)
        };
        builder.push(&kernel).unwrap();
    }
    let found = findings(&builder.finish());
    let idle = of_kind(&found, FindingKind::DeviceIdle).unwrap();
    assert!(near(idle.share, 0.8));
    assert!(of_kind(&found, FindingKind::HostBound).is_none());
}

#[test]
fn many_short_kernels_are_launch_bound_and_long_ones_are_not() {
    let launched = |length: u64| {
        let mut profile = Profile::default();
        for round in 0..40 {
            let start = round * 50;
            profile.op("aten::add", start, 45);
            profile.launch(start + 5, round + 1, "add_kernel", (start + 10, length));
        }
        profile.read()
    };
    let found = findings(&launched(2));
    let bound = of_kind(&found, FindingKind::LaunchBound).unwrap();
    assert_eq!(bound.subject, "cuda:0");
    assert!(near(bound.share, 0.48), "{}", bound.share);
    assert!(!kinds(&launched(45)).contains(&FindingKind::LaunchBound));
    assert!(!kinds(&launched(24)).contains(&FindingKind::LaunchBound));
}

#[test]
fn a_device_that_runs_dry_at_a_synchronisation_is_found() {
    let profile = |synchronises: bool| {
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
    let found = findings(&profile(true));
    let dry = of_kind(&found, FindingKind::Synchronisation).unwrap();
    assert_eq!(dry.subject, "aten::item");
    // Four gaps of 100 µs, and 10 µs after the last kernel.
    assert!(near(dry.share, 410.0 / 920.0), "{}", dry.share);
    assert!(!kinds(&profile(false)).contains(&FindingKind::Synchronisation));
}

/// Kernels on one stream and communication on another, 300 of 1000 ns apart from each other or under it.
fn communicating(hidden: bool) -> TraceStore {
    let mut builder = TraceStoreBuilder::new();
    let (compute, comm) = (
        builder.thread(Some(7), None, None),
        builder.thread(Some(8), None, None),
    );
    let device = Some("cuda:0");
    let computing = if hidden { 1000 } else { 700 };
    let kernel = NewEntry {
        device_id: device,
        kind: Some(OpKind::Compute),
        ..NewEntry::new("gemm", compute, 0, computing)
    };
    builder.push(&kernel).unwrap();
    let reduce = NewEntry {
        device_id: device,
        kind: Some(OpKind::Communication),
        ..NewEntry::new(
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            comm,
            600,
            400,
        )
    };
    builder.push(&reduce).unwrap();
    builder.finish()
}

#[test]
fn communication_counts_where_nothing_hides_it() {
    let found = findings(&communicating(false));
    let exposed = of_kind(&found, FindingKind::ExposedCommunication).unwrap();
    assert!(near(exposed.share, 0.3));
    assert!(
        exposed
            .sentence
            .contains("AllReduce (ncclDevKernel_AllReduce_Sum_f32_RING_LL)"),
        "{}",
        exposed.sentence
    );
    assert!(!kinds(&communicating(true)).contains(&FindingKind::ExposedCommunication));
}

#[test]
fn communication_of_a_host_counts_too() {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(None, None, None);
    for (name, start, ns) in [("matmul", 0, 600), ("all_reduce", 600, 400)] {
        builder
            .push(&NewEntry::new(name, thread, start, ns))
            .unwrap();
    }
    let found = findings(&builder.finish());
    let exposed = of_kind(&found, FindingKind::ExposedCommunication).unwrap();
    assert_eq!(exposed.subject, "all_reduce");
    assert!(near(exposed.share, 0.4));
    let op = of_kind(&found, FindingKind::HostOp).unwrap();
    assert_eq!((op.subject.as_str(), near(op.share, 0.6)), ("matmul", true));
}

/// Two devices of one process that sum gradients after computing for as long as given.
fn two_devices(computing: [u64; 2]) -> TraceStore {
    let mut builder = TraceStoreBuilder::new();
    for (device, ns) in ["npu:0", "npu:1"].into_iter().zip(computing) {
        let thread = builder.thread(None, None, None);
        let entry = |name, kind, start, ns| NewEntry {
            device_id: Some(device),
            kind: Some(kind),
            ..NewEntry::new(name, thread, start, ns)
        };
        builder
            .push(&entry("matmul", OpKind::Compute, 0, ns))
            .unwrap();
        let wait = entry("all_reduce", OpKind::Communication, ns as i64, 1000 - ns);
        builder.push(&wait).unwrap();
    }
    builder.finish()
}

#[test]
fn the_slowest_device_is_named_and_its_waiting_is_not_communication() {
    let found = findings(&two_devices([300, 950]));
    let straggler = of_kind(&found, FindingKind::Straggler).unwrap();
    assert_eq!(straggler.subject, "npu:1");
    assert!(near(straggler.share, 0.65), "{}", straggler.share);
    assert_eq!(straggler.parts[0].name, "npu:0");
    assert!(of_kind(&found, FindingKind::ExposedCommunication).is_none());
    assert!(!kinds(&two_devices([800, 850])).contains(&FindingKind::Straggler));
}

#[test]
fn the_rank_that_arrives_last_is_named() {
    let ranks = |late: [i64; 2]| {
        let mut builder = TraceStoreBuilder::new();
        for (rank, late) in [0, 1].into_iter().zip(late) {
            let thread = builder.thread(None, Some(rank), None);
            let entry = |name, kind, start, ns| NewEntry {
                device_id: Some("cuda:0"),
                kind: Some(kind),
                ..NewEntry::new(name, thread, start, ns)
            };
            builder
                .push(&entry("matmul", OpKind::Compute, 0, late as u64))
                .unwrap();
            let ns = (1000 - late) as u64;
            let wait = entry("ncclKernel_AllReduce", OpKind::Communication, late, ns);
            builder.push(&wait).unwrap();
        }
        builder.finish()
    };
    let found = findings(&ranks([900, 500]));
    let straggler = of_kind(&found, FindingKind::Straggler).unwrap();
    assert_eq!(straggler.subject, "cuda:0 of rank 0");
    assert!(near(straggler.share, 0.4), "{}", straggler.share);
    assert!(!kinds(&ranks([900, 900])).contains(&FindingKind::Straggler));
}

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
        let entry = NewEntry {
            inputs,
            ..NewEntry::new(name, thread, at, ns)
        };
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
fn copies_count_where_nothing_hides_them() {
    let copying = |kernel: (u64, u64)| {
        let mut profile = Profile::default();
        profile.op("aten::copy_", 0, 1000);
        profile.launch(0, 1, "sgemm", kernel);
        profile.launch(5, 2, "Memcpy HtoD (Pageable -> Device)", (600, 400));
        profile.read()
    };
    let found = findings(&copying((0, 600)));
    let copies = of_kind(&found, FindingKind::Copies).unwrap();
    assert_eq!(copies.subject, "Memcpy HtoD (Pageable -> Device)");
    assert!(near(copies.share, 0.4), "{}", copies.share);
    assert!(!kinds(&copying((0, 1000))).contains(&FindingKind::Copies));
}

#[test]
fn products_with_one_row_are_slow_beside_large_ones() {
    let products = |small_ns: u64| {
        let mut builder = TraceStoreBuilder::new();
        let thread = builder.thread(None, None, None);
        let mut push = |a: &[usize; 2], b: &[usize; 2], at: i64, ns: u64| {
            let inputs: &[(&[usize], DType)] = &[(a, DType::F32), (b, DType::F32)];
            let entry = NewEntry {
                inputs,
                ..NewEntry::new("matmul", thread, at, ns)
            };
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
        (fetch.start_us, fetch.duration_us) = (Some(0.0), 1000.0);
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
fn findings_survive_json_and_unknown_kinds_are_read() {
    let found = findings(&kernels(20).read());
    let json = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<Findings>(&json).unwrap(), found);
    let newer = json.replace("host_bound", "made_of_cheese");
    let read: Findings = serde_json::from_str(&newer).unwrap();
    assert_eq!(read.list[0].kind, FindingKind::Other);
}

#[test]
fn an_empty_trace_has_no_findings() {
    let found = findings(&trace_runtime::RecordedExecutionTrace::new());
    assert!(found.list.is_empty() && found.headline().is_empty());
}
