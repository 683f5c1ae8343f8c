//! Rules about communication and slower ranks or devices.

use crate::{kinds, near, of_kind};
use trace_runtime::analyze::{FindingKind, findings};
use trace_runtime::model::{NewEntry, TraceStoreBuilder};
use trace_runtime::{OpKind, TraceStore};

/// Kernels on one stream, and communication on another for 300 of 1000 ns: after the kernels, or at the same time.
fn communicating(hidden: bool) -> TraceStore {
    let mut builder = TraceStoreBuilder::new();
    let (compute, comm) = (
        builder.thread(Some(7), None, None),
        builder.thread(Some(8), None, None),
    );
    let device = Some("cuda:0");
    let computing = if hidden { 1000 } else { 700 };
    let kernel = NewEntry::new("gemm", compute, 0, computing)
        .with_device_id(device)
        .with_kind(OpKind::Compute);
    builder.push(&kernel).unwrap();
    let reduce = NewEntry::new(
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        comm,
        600,
        400,
    )
    .with_device_id(device)
    .with_kind(OpKind::Communication);
    builder.push(&reduce).unwrap();
    builder.finish()
}

#[test]
fn communication_counts_if_it_does_not_overlap_with_computation() {
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

/// Two devices of one process that compute for the given times and then sum gradients.
fn two_devices(computing: [u64; 2]) -> TraceStore {
    let mut builder = TraceStoreBuilder::new();
    for (device, ns) in ["npu:0", "npu:1"].into_iter().zip(computing) {
        let thread = builder.thread(None, None, None);
        let entry = |name, kind, start, ns| {
            NewEntry::new(name, thread, start, ns)
                .with_device_id(device)
                .with_kind(kind)
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
            let entry = |name, kind, start, ns| {
                NewEntry::new(name, thread, start, ns)
                    .with_device_id("cuda:0")
                    .with_kind(kind)
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

/// Four ranks in two stages, whose ranks compute for these times and wait outside of their ops for messages.
fn pipeline(computing: [u64; 2]) -> TraceStore {
    let mut builder = TraceStoreBuilder::new();
    for rank in 0..4u32 {
        let thread = builder.thread(Some(1), Some(rank), None);
        let stage = (rank / 2) as usize;
        for round in 0..10 {
            let start = round * 1000 + stage as i64 * 400;
            let entry = NewEntry::new("forward-compute", thread, start, computing[stage]);
            builder.push(&entry).unwrap();
        }
    }
    let mut trace = builder.finish();
    for rank in 0..4u32 {
        trace.insert_metadata(format!("rank.{rank}.stage"), (rank / 2).to_string());
    }
    trace
}

#[test]
fn a_stage_with_more_work_is_named_where_ranks_wait_outside_of_ops() {
    let found = findings(&pipeline([300, 700]));
    let stage = &found.list[0];
    assert_eq!(stage.kind, FindingKind::Straggler);
    assert_eq!(stage.subject, "stage 1");
    // 7000 ns of work, 5000 on average, in 9700 ns.
    assert!(near(stage.share, 2.0 / 9.7), "{}", stage.share);
    let outside = of_kind(&found, FindingKind::OutsideOps).unwrap();
    assert!(
        outside.sentence.contains("other stages"),
        "{}",
        outside.sentence
    );
    assert!(!kinds(&pipeline([400, 400])).contains(&FindingKind::Straggler));
}

#[test]
fn a_reduce_scatter_is_not_a_copy() {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(None, None, None);
    for (name, start, ns) in [("matmul", 0, 600), ("grads-reduce-scatter", 600, 400)] {
        let mut entry = NewEntry::new(name, thread, start, ns);
        if name != "matmul" {
            entry = entry.with_kind(OpKind::Communication);
        }
        builder.push(&entry).unwrap();
    }
    let found = kinds(&builder.finish());
    assert!(found.contains(&FindingKind::ExposedCommunication));
    assert!(!found.contains(&FindingKind::Copies));
}
