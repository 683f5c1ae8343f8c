//! The causes of idle time of devices, and the launches of their work.

use crate::run::Run;
use crate::{causes, idle, named};
use trace_runtime::OpKind;
use trace_runtime::analyze::{CausalModel, IdleClass};

#[test]
fn an_idle_stream_waits_for_another_stream_or_for_communication() {
    for (kind, class) in [
        (OpKind::Compute, IdleClass::OtherStream),
        (OpKind::Communication, IdleClass::Communication),
    ] {
        let mut run = Run::new();
        run.op("step", 0, 60);
        let zeroth = run.call("cudaLaunchKernel", 0, 2);
        run.kernel("warm up", 8, 2, 4, zeroth);
        let first = run.call("cudaLaunchKernel", 4, 10);
        run.work("produce", kind, 7, 10, 100, first);
        run.call_with("cudaStreamWaitEvent", 15, 16, |call| {
            call.stream = Some(8);
            call.event_stream = Some(7);
        });
        let second = run.call("cudaLaunchKernel", 20, 30);
        run.kernel("consume", 8, 105, 205, second);
        let trace = run.finish();
        let device = &idle(&trace)[0];
        let stream = device
            .streams
            .iter()
            .find(|one| one.stream == "cuda:0 stream 8")
            .unwrap();
        let found: Vec<_> = stream
            .causes
            .iter()
            .map(|cause| (cause.cause.as_str(), cause.ns))
            .collect();
        // Until 20, the host was in `step`. The launch took from 20 to 30. The work was queued until 100, and began 5
        // later.
        assert_eq!(
            found,
            [
                (class.name(), 70),
                ("nothing launched", 16),
                ("launch delay", 15)
            ]
        );
        assert_eq!(stream.idle_ns, 101);
        assert_eq!(stream.causes[0].ops, [("produce".to_owned(), 70)]);
    }
}

#[test]
fn an_idle_device_names_the_host_op_that_ran() {
    let mut run = Run::new();
    let first = run.call("cudaLaunchKernel", 0, 10);
    run.kernel("a", 7, 12, 20, first);
    run.op("prepare", 25, 75);
    run.op("launch", 80, 95);
    let second = run.call("cudaLaunchKernel", 85, 90);
    run.kernel("b", 7, 97, 100, second);
    let trace = run.finish();
    let device = &idle(&trace)[0];
    assert_eq!(
        (device.span_ns, device.busy_ns, device.idle_ns),
        (88, 11, 77)
    );
    assert_eq!(
        causes(device),
        [("nothing launched", 65), ("launch delay", 12)]
    );
    assert_eq!(
        device.causes[0].ops,
        named(&[("prepare", 50), ("", 10), ("launch", 5)])
    );
    assert_eq!(device.of(IdleClass::NothingLaunched), 65);
}

#[test]
fn a_delay_that_no_launch_takes_has_an_unknown_reason() {
    let late = |start: i64| {
        let mut run = Run::new();
        run.op("step", 0, 60);
        let first = run.call("cudaLaunchKernel", 0, 10);
        run.kernel("a", 7, 12, 20, first);
        let second = run.call("cudaLaunchKernel", 25, 30);
        run.kernel("b", 7, start, start + 10, second);
        let trace = run.finish();
        let device = idle(&trace).remove(0);
        [
            IdleClass::NothingLaunched,
            IdleClass::LaunchDelay,
            IdleClass::HeldUp,
        ]
        .map(|class| device.of(class))
    };
    assert_eq!(late(2_000_030), [5, 5, 2_000_000]);
    assert_eq!(late(900_030), [5, 900_005, 0]);
}

#[test]
fn work_without_a_launch_has_an_unknown_cause() {
    let mut run = Run::new();
    run.op("step", 0, 100);
    run.kernel("a", 7, 10, 20, None);
    run.kernel("b", 7, 50, 60, None);
    let trace = run.finish();
    assert_eq!(causes(&idle(&trace)[0]), [("launch unknown", 30)]);
    let model = CausalModel::new(&trace);
    assert_eq!(
        model.missing(),
        [
            "the trace has no runtime calls: launch delays and waits for devices are not known",
            "the launch of 2 of 2 pieces of device work is not in the trace"
        ]
    );
}

#[test]
fn launches_are_counted_with_their_queue_and_their_delay() {
    let mut run = Run::new();
    run.op("step", 0, 300);
    // Launched on an empty queue, begins 5 late, and is shorter than its launch.
    let first = run.call("cudaLaunchKernel", 0, 20);
    run.kernel("a", 7, 25, 35, first);
    // A graph: two kernels from one call, the second queued after the first.
    let graph = run.call("cudaGraphLaunch", 40, 60);
    run.kernel("b", 7, 70, 150, graph);
    run.kernel("c", 7, 150, 200, graph);
    // Launched while two others are queued.
    let last = run.call("cudaLaunchKernel", 80, 90);
    run.kernel("d", 7, 200, 260, last);
    let trace = run.finish();
    let summary = CausalModel::new(&trace).launches().remove(0);
    assert_eq!((summary.launches, summary.unknown), (4, 0));
    assert_eq!((summary.launch_ns, summary.work_ns), (50, 200));
    assert_eq!(summary.shorter_than_launch, 1);
    assert_eq!(summary.on_empty_queue, 2);
    assert_eq!(
        (
            summary.delay_p50_ns,
            summary.delay_p95_ns,
            summary.delay_max_ns
        ),
        (5, 10, 10)
    );
    assert_eq!((summary.queue_max, summary.queue_mean), (2, 0.75));
    assert!(!summary.is_launch_bound());
}

#[test]
fn a_device_waits_for_a_slower_rank_through_its_event() {
    let mut run = Run::new();
    run.rank(0);
    run.op("step", 0, 60);
    let warm = run.call("cudaLaunchKernel", 0, 2);
    run.kernel("warm up", 8, 2, 4, warm);
    let reduce = run.call("cudaLaunchKernel", 4, 10);
    run.work(
        "ncclKernel_AllReduce",
        OpKind::Communication,
        7,
        10,
        100,
        reduce,
    );
    run.call_with("cudaStreamWaitEvent", 15, 16, |call| {
        call.stream = Some(8);
        call.event_stream = Some(7);
    });
    let next = run.call("cudaLaunchKernel", 20, 30);
    run.kernel("next", 8, 100, 120, next);
    run.rank(1);
    run.op("slow", 0, 80);
    let reduce = run.call("cudaLaunchKernel", 75, 80);
    run.work(
        "ncclKernel_AllReduce",
        OpKind::Communication,
        7,
        80,
        100,
        reduce,
    );
    let trace = run.finish();
    let device = &idle(&trace)[0];
    let stream = device
        .streams
        .iter()
        .find(|one| one.stream == "cuda:0 stream 8")
        .unwrap();
    let found: Vec<_> = stream
        .causes
        .iter()
        .map(|cause| (cause.cause.as_str(), cause.ns))
        .collect();
    assert_eq!(
        found,
        [
            ("waiting for a slower rank", 50),
            ("waiting for communication", 20),
            ("nothing launched", 16),
            ("launch delay", 10)
        ]
    );
    let model = CausalModel::new(&trace);
    // 80 of the slow rank, 20 of transfer, 20 of the next kernel on the other rank.
    assert_eq!(model.critical_path().length_ns, 120);
    let waits: Vec<_> = model
        .lanes()
        .into_iter()
        .flat_map(|lane| lane.waits)
        .map(|wait| (wait.waits_for, wait.ns))
        .collect();
    assert_eq!(waits, named(&[("rank 1", 70)]));
}

#[test]
fn work_that_host_threads_ran_for_a_device_counts_as_the_devices() {
    let mut run = Run::new();
    run.op("load", 0, 30);
    run.op_on("matmul", "cuda:0", 30, 100);
    run.op("store", 100, 120);
    run.op_on("matmul", "cuda:0", 120, 200);
    let trace = run.finish();
    let path = CausalModel::new(&trace).critical_path();
    assert_eq!((path.device_ns, path.host_ns), (150, 50));
    let device = &idle(&trace)[0];
    assert_eq!(causes(device), [("nothing launched", 20)]);
    assert_eq!(device.causes[0].ops, named(&[("store", 20)]));
}
