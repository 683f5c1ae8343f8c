//! Waits between threads and ranks, async ops, and the definition of a lane.

use crate::run::Run;
use crate::{host, named, ops_on_path};
use trace_runtime::TraceView;
use trace_runtime::analyze::{CausalModel, activity, task_times};

#[test]
fn the_thread_that_requested_a_backward_pass_waits_for_it() {
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
fn a_thread_that_continues_does_not_wait_for_another() {
    let mut run = Run::new();
    for start in (0..200).step_by(20) {
        run.op("main", start, start + 15);
    }
    run.on_thread(2);
    run.op("AddBackward0", 10, 190);
    assert_eq!(host(&run.finish()).waiting_ns, 0);
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

    // A send that ended before its receive began did not wait.
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
