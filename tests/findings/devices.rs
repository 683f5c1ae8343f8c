//! Rules about devices: idle, busy, launches, synchronisations, copies.

use crate::{Profile, kinds, near, of_kind};
use trace_runtime::analyze::{FindingKind, Findings, findings};
use trace_runtime::model::{NewEntry, TraceStoreBuilder};

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
    // The headline does not repeat the op that its first sentence names.
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
    // A category with only one kernel is one finding.
    assert!(of_kind(&found, FindingKind::DeviceOp).is_none());
    assert!(!kinds(&kernels(20).read()).contains(&FindingKind::DeviceCategory));
}

#[test]
fn one_of_several_kernels_is_a_separate_finding() {
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
        let kernel = NewEntry::new("gemm", stream, start, 100).with_device_id("cuda:0");
        builder.push(&kernel).unwrap();
    }
    let found = findings(&builder.finish());
    let idle = of_kind(&found, FindingKind::DeviceIdle).unwrap();
    assert!(near(idle.share, 0.8));
    assert!(of_kind(&found, FindingKind::HostBound).is_none());
    // If the host is in the trace, the reason is known. A busy device needs no explanation.
    assert!(!kinds(&kernels(20).read()).contains(&FindingKind::DeviceIdle));
    assert!(!kinds(&kernels(100).read()).contains(&FindingKind::DeviceIdle));
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
fn a_device_that_runs_out_of_work_at_a_synchronisation_is_found() {
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
    // Four gaps of 100 µs after waits of 85 µs, which cost at most their own length, and 10 µs after the last kernel.
    assert!(near(dry.share, 350.0 / 920.0), "{}", dry.share);
    assert!(!kinds(&profile(false)).contains(&FindingKind::Synchronisation));
}

#[test]
fn copies_count_if_they_do_not_overlap_with_work() {
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
fn findings_survive_json_and_unknown_kinds_are_read() {
    let found = findings(&kernels(20).read());
    let json = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<Findings>(&json).unwrap(), found);
    let newer = json.replace("host_bound", "made_of_cheese");
    let read: Findings = serde_json::from_str(&newer).unwrap();
    assert_eq!(read.list[0].kind, FindingKind::Other);
}

#[test]
fn two_streams_of_one_category_take_no_more_than_the_busy_time() {
    let mut profile = Profile::default();
    profile.op("aten::mm", 0, 20);
    for (stream, id) in [(7, 1), (21, 2)] {
        profile.call("cudaLaunchKernel", (id, 1), id);
        let args = format!(r#""correlation":{id},"stream":{stream},"device":0"#);
        profile.event("kernel", "sgemm", (0, stream), (20, 980), &args);
    }
    let found = findings(&profile.read());
    let matmul = of_kind(&found, FindingKind::DeviceCategory).unwrap();
    assert_eq!(matmul.cost_ns, 980_000);
    assert!(found.list.iter().all(|one| one.share <= 1.0));
}

#[test]
fn elementwise_kernels_are_to_be_fused() {
    let mut profile = Profile::default();
    profile.op("aten::add", 0, 20);
    profile.launch(2, 1, "vectorized_elementwise_kernel", (10, 990));
    let found = findings(&profile.read());
    let work = of_kind(&found, FindingKind::DeviceCategory).unwrap();
    assert_eq!(work.subject, "elementwise");
    assert!(work.advice.starts_with("fuse"), "{}", work.advice);
}
