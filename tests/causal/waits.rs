//! Waits of the host for devices, and of streams for each other.

use crate::run::{self, Run};
use crate::{causes, host, idle, named, ops_on_path};
use trace_runtime::analyze::CausalModel;

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
fn a_synchronisation_with_an_empty_stream_does_not_wait_for_another() {
    let trace = run::simulate(&[
        run::Call::Launch {
            stream: 8,
            ns: 1,
            delay: 9,
            work: 14,
        },
        run::Call::Pause { ns: 10 },
        run::Call::Launch {
            stream: 8,
            ns: 9,
            delay: 0,
            work: 1,
        },
        run::Call::SyncStream { stream: 7 },
    ]);
    assert_eq!(host(&trace).waiting_ns, 0);
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
        call.stream = Some(7);
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

    // Nothing was queued, so the call prepared the copy until the copy began.
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
        // The device was busy all the time, except for 5 ns after the event.
        let device = &idle(&trace)[0];
        assert_eq!(causes(device), [("launch delay", 5)]);
        assert_eq!((device.busy_ns, device.idle_ns), (190, 5));
    }
}
