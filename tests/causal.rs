//! The causal model: each rule on the smallest trace that shows it, to the nanosecond, and random runs of a host
//! and its device against slow, obvious versions.

#[path = "causal/run.rs"]
mod run;

use proptest::prelude::*;
use run::{Call, Run};
use trace_runtime::analyze::{CausalModel, DeviceIdle, IdleClass, LaneTime, activity, task_times};
use trace_runtime::{OpKind, TraceStore, TraceView};

fn idle(trace: &TraceStore) -> Vec<DeviceIdle> {
    CausalModel::new(trace).idle_causes()
}

fn causes(device: &DeviceIdle) -> Vec<(&str, u64)> {
    let causes = device.causes.iter();
    causes
        .map(|cause| (cause.cause.as_str(), cause.ns))
        .collect()
}

fn host(trace: &TraceStore) -> LaneTime {
    CausalModel::new(trace).lanes().remove(0)
}

fn ops_on_path(trace: &TraceStore) -> Vec<(String, u64)> {
    let path = CausalModel::new(trace).critical_path();
    path.ops
        .into_iter()
        .map(|op| (op.operation, op.path_ns))
        .collect()
}

fn named(list: &[(&str, u64)]) -> Vec<(String, u64)> {
    list.iter()
        .map(|&(name, ns)| (name.to_owned(), ns))
        .collect()
}

#[test]
fn a_synchronisation_is_waiting_and_the_kernel_is_the_path() {
    for sync in [
        "cudaDeviceSynchronize",
        "cudaStreamSynchronize",
        "cudaEventSynchronize",
        "hipDeviceSynchronize",
        "hipStreamSynchronize",
        "hipEventSynchronize",
        "cuCtxSynchronize",
        "cuStreamSynchronize",
        "cudaFree",
    ] {
        let mut run = Run::new();
        run.op("step", 0, 1000);
        run.op("aten::mm", 5, 15);
        let launch = run.call("cudaLaunchKernel", 7, 12);
        run.kernel("gemm", 7, 15, 995, launch);
        run.call(sync, 20, 998);
        let trace = run.finish();
        let model = CausalModel::new(&trace);
        let path = model.critical_path();
        assert_eq!((path.device_ns, path.host_ns), (980, 14), "{sync}");
        assert_eq!(path.span_ns, 1000);
        assert_eq!(
            ops_on_path(&trace),
            named(&[("gemm", 980), ("aten::mm", 7), ("step", 7)])
        );
        let crossed: Vec<_> = path
            .crossed
            .iter()
            .map(|one| (one.what.as_str(), one.ns))
            .collect();
        assert_eq!(
            crossed,
            [("launch delay", 3), ("return from the device", 3)]
        );
        let lane = host(&trace);
        assert_eq!(
            (lane.working_ns, lane.waiting_ns, lane.outside_ns),
            (22, 978, 0)
        );
        assert_eq!(lane.waits[0].waits_for, "cuda:0 stream 7");
        assert!(model.missing().is_empty());
    }
}

#[test]
fn a_synchronisation_with_nothing_to_wait_for_is_work() {
    let mut run = Run::new();
    run.op("step", 0, 100);
    let launch = run.call("cudaLaunchKernel", 5, 10);
    run.kernel("k", 7, 12, 20, launch);
    run.call("cudaDeviceSynchronize", 30, 40);
    let lane = host(&run.finish());
    assert_eq!((lane.working_ns, lane.waiting_ns), (100, 0));
}

#[test]
fn a_stream_synchronisation_waits_for_its_stream_alone() {
    let mut run = Run::new();
    run.op("step", 0, 300);
    let first = run.call("cudaLaunchKernel", 0, 10);
    run.kernel("short", 7, 10, 60, first);
    let second = run.call("cudaLaunchKernel", 10, 20);
    run.kernel("long", 8, 20, 250, second);
    run.call_with("cudaStreamSynchronize", 30, 65, |call| {
        call.stream = Some(7)
    });
    let trace = run.finish();
    let lane = host(&trace);
    assert_eq!(lane.waiting_ns, 35);
    assert_eq!(lane.waits[0].waits_for, "cuda:0 stream 7");
    // 10 of launch, 50 of kernel, and from the end of the synchronisation on the host.
    assert_eq!(
        CausalModel::new(&trace).critical_path().length_ns,
        10 + 50 + 235
    );
}

#[test]
fn an_event_covers_what_was_launched_before_it_was_recorded() {
    let mut run = Run::new();
    run.op("step", 0, 300);
    let first = run.call("cudaLaunchKernel", 0, 10);
    run.kernel("before", 7, 10, 60, first);
    let record = run.call("cudaEventRecord", 10, 12);
    let second = run.call("cudaLaunchKernel", 20, 30);
    run.kernel("after", 7, 60, 200, second);
    run.call_with("cudaEventSynchronize", 40, 61, |call| {
        call.event = record;
        call.event_stream = Some(7);
    });
    let trace = run.finish();
    assert_eq!(host(&trace).waiting_ns, 21);
    assert_eq!(
        CausalModel::new(&trace).critical_path().length_ns,
        10 + 50 + 239
    );
}

#[test]
fn the_caller_of_a_copy_waits_if_the_copy_ended_before_the_call() {
    let mut run = Run::new();
    run.op("aten::copy_", 0, 100);
    let launch = run.call("cudaLaunchKernel", 0, 5);
    run.kernel("k", 7, 5, 50, launch);
    let copy = run.call("cudaMemcpyAsync", 10, 70);
    run.copy("Memcpy DtoH", 7, 50, 65, copy);
    let lane = host(&run.finish());
    assert_eq!((lane.working_ns, lane.waiting_ns), (45, 55));

    // Nothing was queued: the call prepared the copy until it began.
    let mut run = Run::new();
    run.op("aten::copy_", 0, 100);
    let copy = run.call("cudaMemcpyAsync", 10, 70);
    run.copy("Memcpy HtoD", 7, 50, 65, copy);
    let lane = host(&run.finish());
    assert_eq!((lane.working_ns, lane.waiting_ns), (85, 15));

    let mut run = Run::new();
    run.op("aten::copy_", 0, 100);
    let copy = run.call("cudaMemcpyAsync", 10, 20);
    run.copy("Memcpy HtoD", 7, 15, 65, copy);
    assert_eq!(host(&run.finish()).waiting_ns, 0);
}

#[test]
fn an_op_that_reads_a_value_waits_where_no_synchronisation_was_traced() {
    let mut run = Run::new();
    run.op("aten::_local_scalar_dense", 0, 100);
    let copy = run.call("cudaMemcpyAsync", 10, 20);
    run.copy("Memcpy DtoH", 7, 30, 90, copy);
    let trace = run.finish();
    let lane = host(&trace);
    assert_eq!((lane.working_ns, lane.waiting_ns), (30, 70));
    let model = CausalModel::new(&trace);
    assert!(model.missing()[0].contains("no synchronisation calls"));
}

#[test]
fn a_stream_waits_for_the_event_of_another() {
    for named in [true, false] {
        let mut run = Run::new();
        run.op("step", 0, 60);
        let first = run.call("cudaLaunchKernel", 0, 10);
        run.kernel("produce", 7, 10, 100, first);
        run.call("cudaEventRecord", 12, 13);
        run.call_with("cudaStreamWaitEvent", 15, 16, |call| {
            if named {
                call.stream = Some(8);
                call.event_stream = Some(7);
            }
        });
        let second = run.call("cudaLaunchKernel", 20, 30);
        run.kernel("consume", 8, 105, 205, second);
        let trace = run.finish();
        let model = CausalModel::new(&trace);
        let path = model.critical_path();
        assert_eq!(path.length_ns, 10 + 90 + 100, "named: {named}");
        assert_eq!(path.crossed[0].what, "between device work");
        let guessed = |note: &String| note.contains("do not name their event");
        assert_eq!(model.missing().iter().any(guessed), !named);
        // The device was busy all the time but for 5 ns after the event.
        let device = &idle(&trace)[0];
        assert_eq!(causes(device), [("launch delay", 5)]);
        assert_eq!((device.busy_ns, device.idle_ns), (190, 5));
    }
}

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
        // Launched at 20 to 30, waiting until 100, then 5 late; before, the host was in `step`.
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
    // On an empty queue, 5 late, and shorter than its launch.
    let first = run.call("cudaLaunchKernel", 0, 20);
    run.kernel("a", 7, 25, 35, first);
    // A graph: two kernels from one call, the second queued after the first.
    let graph = run.call("cudaGraphLaunch", 40, 60);
    run.kernel("b", 7, 70, 150, graph);
    run.kernel("c", 7, 150, 200, graph);
    // Launched while two are queued.
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
fn the_thread_that_asked_for_a_backward_pass_waits_for_it() {
    for name in [
        "autograd::engine::evaluate_function: MulBackward0",
        "CudnnConvolutionBackward",
        "torch::autograd::AccumulateGrad",
    ] {
        let mut run = Run::new();
        run.op("forward", 0, 40);
        run.op("## backward ##", 50, 200);
        run.on_thread(2);
        run.op(name, 60, 100);
        run.op(name, 110, 190);
        let trace = run.finish();
        let lane = host(&trace);
        assert_eq!(
            (lane.working_ns, lane.waiting_ns, lane.outside_ns),
            (60, 130, 10),
            "{name}"
        );
        assert_eq!(
            (lane.waits[0].operation.as_str(), lane.waits[0].count),
            ("## backward ##", 1)
        );
        let path = CausalModel::new(&trace).critical_path();
        assert_eq!(path.length_ns, 40 + 10 + 120 + 10);
    }
}

#[test]
fn a_thread_that_goes_on_does_not_wait_for_another() {
    let mut run = Run::new();
    for start in (0..200).step_by(20) {
        run.op("main", start, start + 15);
    }
    run.on_thread(2);
    run.op("AddBackward0", 10, 190);
    assert_eq!(host(&run.finish()).waiting_ns, 0);
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
fn a_receive_waits_for_its_send_and_a_send_for_its_receive() {
    // The sender is late.
    let mut run = Run::new();
    run.rank(0);
    run.op("compute", 0, 60);
    run.op("send", 60, 80);
    run.rank(1);
    run.op("recv", 10, 80);
    run.op("use", 80, 100);
    let trace = run.finish();
    let model = CausalModel::new(&trace);
    // 60 of computing, 20 of transfer, 20 on the other rank.
    assert_eq!(model.critical_path().length_ns, 100);
    let receiver = &model.lanes()[1];
    assert_eq!((receiver.waiting_ns, receiver.working_ns), (50, 40));
    assert_eq!(receiver.waits[0].waits_for, "rank 0");

    // The receiver is late.
    let mut run = Run::new();
    run.rank(0);
    run.op("send", 0, 80);
    run.rank(1);
    run.op("compute", 0, 60);
    run.op("recv", 60, 80);
    let trace = run.finish();
    let sender = &CausalModel::new(&trace).lanes()[0];
    assert_eq!((sender.waiting_ns, sender.working_ns), (60, 20));
    assert_eq!(sender.waits[0].waits_for, "rank 1");

    // A send that was over before its receive began did not wait.
    let mut run = Run::new();
    run.rank(0);
    run.op("send", 0, 10);
    run.rank(1);
    run.op("recv", 60, 80);
    let trace = run.finish();
    assert!(
        CausalModel::new(&trace)
            .lanes()
            .iter()
            .all(|lane| lane.waiting_ns == 0)
    );
}

#[test]
fn an_async_op_runs_or_is_suspended_and_its_device_is_busy_while_it_runs() {
    let mut run = Run::new();
    run.task("fetch", 0, 51_000, 50_000);
    run.task("fetch", 100, 1_100, 600);
    let trace = run.finish();
    let times = task_times(&trace);
    assert_eq!(times.len(), 1);
    let fetch = &times[0];
    assert_eq!(fetch.count, 2);
    assert_eq!(
        (fetch.wall_ns, fetch.running_ns, fetch.suspended_ns),
        (52_000, 1_400, 50_600)
    );
    let path = CausalModel::new(&trace).critical_path();
    assert_eq!(path.length_ns, 1_000);
    let cpu = &activity(&trace).devices[0];
    assert_eq!((cpu.device.as_str(), cpu.busy_ns), ("cpu", 1_000));
    assert_eq!(cpu.compute_ns, 1_000);
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

#[test]
fn between_its_ops_the_thread_of_a_step_is_at_work_on_the_step() {
    let json = br#"[
        {"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":100},
        {"ph":"X","cat":"user_annotation","name":"ProfilerStep#2","pid":1,"tid":1,"ts":120,"dur":10},
        {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":40,"dur":10},
        {"ph":"X","cat":"cpu_op","name":"other","pid":1,"tid":2,"ts":0,"dur":50}]"#;
    let trace = trace_runtime::read::from_slice(json).unwrap();
    assert_eq!(
        ops_on_path(&trace),
        named(&[("outside of ops", 100_000), ("aten::mm", 10_000)])
    );
    let crossed = CausalModel::new(&trace).critical_path().crossed;
    assert_eq!(
        (crossed[0].what.as_str(), crossed[0].ns),
        ("outside of ops", 20_000)
    );
    let lanes = CausalModel::new(&trace).lanes();
    let lane = lanes.iter().find(|lane| lane.thread == Some(1)).unwrap();
    assert_eq!(
        (lane.span_ns, lane.working_ns, lane.outside_ns),
        (130_000, 10_000, 120_000)
    );
}

#[test]
fn rows_that_repeat_the_time_of_others_are_not_lanes() {
    let json = br#"[
        {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":0,"dur":10},
        {"ph":"X","cat":"python_function","name":"f","pid":1,"tid":1,"ts":0,"dur":50},
        {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":2,"dur":5,"args":{"correlation":7}},
        {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":12,"dur":80,"args":{"device":0,"stream":7,"correlation":7}}]"#;
    let plain = trace_runtime::read::from_slice(json).unwrap();
    let reader = trace_runtime::read::Reader::new()
        .with_frames()
        .with_runtime_calls();
    let all = reader.from_slice(json).unwrap();
    assert!(all.entry_count() > plain.entry_count());
    let (plain, all) = (CausalModel::new(&plain), CausalModel::new(&all));
    assert_eq!(plain.lanes(), all.lanes());
    assert_eq!(plain.critical_path(), all.critical_path());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_random_run_agrees_with_the_slow_versions(calls in prop::collection::vec(run::any_call(), 1..25)) {
        let trace = run::simulate(&calls);
        let model = CausalModel::new(&trace);
        let path = model.critical_path();
        prop_assert!(path.length_ns <= path.span_ns);
        prop_assert_eq!(path.length_ns, run::slow_longest_chain(&trace));
        prop_assert_eq!(path.ops.iter().map(|op| op.path_ns).sum::<u64>(), path.length_ns);
        prop_assert_eq!(path.host_ns + path.device_ns, path.length_ns);

        // The steps follow each other, and what is between them adds up.
        let steps: Vec<_> = model.critical_steps().collect();
        let mut at = None;
        for step in &steps {
            if let Some(at) = at {
                prop_assert_eq!(step.start_ns - at, step.gap_ns as i64);
            }
            at = Some(step.start_ns + step.ns as i64);
        }
        let crossed: u64 = path.crossed.iter().map(|one| one.ns).sum();
        prop_assert_eq!(crossed, steps.iter().map(|step| step.gap_ns).sum::<u64>());

        let devices = activity(&trace).devices;
        let idle = model.idle_causes();
        prop_assert_eq!(idle.len(), devices.iter().filter(|device| device.device != "cpu").count());
        for (device, known) in idle.iter().zip(devices.iter().filter(|device| device.device != "cpu")) {
            prop_assert_eq!(device.idle_ns, known.idle_ns);
            prop_assert_eq!(device.busy_ns, known.busy_ns);
            prop_assert_eq!(device.causes.iter().map(|cause| cause.ns).sum::<u64>(), device.idle_ns);
            for cause in &device.causes {
                prop_assert_eq!(cause.ops.iter().map(|op| op.1).sum::<u64>(), cause.ns);
            }
            for stream in &device.streams {
                prop_assert_eq!(stream.causes.iter().map(|cause| cause.ns).sum::<u64>(), stream.idle_ns);
            }
        }

        for lane in model.lanes() {
            prop_assert_eq!(lane.working_ns + lane.waiting_ns + lane.outside_ns, lane.span_ns);
            prop_assert_eq!(lane.waits.iter().map(|wait| wait.ns).sum::<u64>(), lane.waiting_ns);
        }
        let host = &model.lanes()[0];
        prop_assert_eq!(host.waiting_ns, run::slow_host_waiting(&trace));
        let _: &[Call] = &calls;
    }
}
