//! Kinds of runs, each with the conclusion that an expert would draw.

use crate::{Profile, kinds, near, of_kind};
use trace_runtime::analyze::{CausalModel, FindingKind, findings};
use trace_runtime::{OpKind, TraceStore, read, traced_op};

/// Ten rounds of `item` on a device that is busy for 100 of 200 µs.
fn reads_results(waits: bool) -> TraceStore {
    let mut profile = Profile::default();
    for round in 0..10 {
        let start = round * 200;
        profile.op("aten::mm", start, 10);
        profile.launch(start + 2, 2 * round + 1, "sgemm", (start + 10, 100));
        profile.op("aten::item", start + 15, 105);
        profile.op("aten::_local_scalar_dense", start + 16, 103);
        if waits {
            profile.call("cudaMemcpyAsync", (start + 17, 3), 2 * round + 2);
            profile.kernel(
                "Memcpy DtoH (Device -> Pageable)",
                (start + 110, 2),
                2 * round + 2,
            );
            profile.call("cudaStreamSynchronize", (start + 20, 95), 1000 + round);
        }
        profile.op("aten::add", start + 125, 75);
    }
    profile.read()
}

#[test]
fn a_loop_that_reads_every_result_waits_and_the_waiting_is_not_an_op_that_works() {
    let trace = reads_results(true);
    let found = findings(&trace);
    let dry = of_kind(&found, FindingKind::Synchronisation).unwrap();
    assert_eq!(dry.subject, "aten::_local_scalar_dense");
    let costly = |name: &str| {
        let ops = found.list.iter();
        let mut ops = ops.filter(|one| one.kind == FindingKind::HostOp);
        ops.any(|one| one.subject == name)
    };
    assert!(costly("aten::add") && !costly("aten::_local_scalar_dense"));
    let report = trace.report();
    let first = report.ops.iter().find(|row| !row.accelerator);
    assert_eq!(first.unwrap().operation, "aten::add");
    let read = report
        .ops
        .iter()
        .find(|row| row.operation == "aten::_local_scalar_dense");
    assert!(read.unwrap().waiting_ns >= 900_000);
    assert!(!kinds(&reads_results(false)).contains(&FindingKind::Synchronisation));
}

/// A graph of 50 kernels of 4 µs, launched every 220 µs, or after the host has prepared for 500 µs.
fn captured_graph(prepares: u64) -> TraceStore {
    let mut profile = Profile::default();
    let every = 220 + prepares;
    for round in 0..6 {
        let start = round * every;
        if prepares > 0 {
            profile.op("tokenize", start, prepares);
        }
        let launched = start + prepares;
        profile.call("cudaGraphLaunch", (launched, 8), round + 1);
        for kernel in 0..50 {
            let at = launched + 10 + kernel * 4;
            profile.kernel("ampere_fp16_s1688gemm", (at, 4), round + 1);
        }
    }
    profile.read()
}

#[test]
fn a_captured_graph_is_one_launch_of_many_kernels() {
    let busy = findings(&captured_graph(0));
    assert_eq!(busy.list[0].kind, FindingKind::DeviceCategory);
    assert_eq!(busy.list[0].subject, "matmul");
    assert!(of_kind(&busy, FindingKind::LaunchBound).is_none());
    let idle = findings(&captured_graph(500));
    assert_eq!(idle.list[0].kind, FindingKind::HostBound);
    assert_eq!(idle.list[0].parts[0].name, "tokenize");
    assert!(of_kind(&idle, FindingKind::LaunchBound).is_none());
    let launches = CausalModel::new(&captured_graph(500)).launches();
    assert_eq!(launches[0].launches, 300);
}

/// 60 of 100 µs are in the loader, 30 in a kernel.
fn loading(loader: &str) -> TraceStore {
    let mut profile = Profile::default();
    for round in 0..10 {
        let start = round * 100;
        profile.op(loader, start, 60);
        profile.op("aten::conv2d", start + 62, 10);
        profile.launch(
            start + 64,
            round + 1,
            "implicit_convolve_sgemm",
            (start + 70, 30),
        );
    }
    profile.read()
}

#[test]
fn a_device_that_waits_for_data_names_the_loader_and_the_advice_is_about_loading() {
    let found = findings(&loading(
        "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
    ));
    let data = of_kind(&found, FindingKind::DataLoading).unwrap();
    assert!(near(data.share, 0.6), "{}", data.share);
    assert!(found.list[0].kind == FindingKind::HostBound);
    assert!(
        found.list[0].advice.contains("load"),
        "{}",
        found.list[0].advice
    );
    let mut costly = found
        .list
        .iter()
        .filter(|one| one.kind == FindingKind::HostOp);
    assert!(costly.all(|one| !one.subject.contains("DataLoader")));
    let other = findings(&loading("augment"));
    assert!(of_kind(&other, FindingKind::DataLoading).is_none());
    assert_eq!(
        of_kind(&other, FindingKind::HostOp).unwrap().subject,
        "augment"
    );
}

#[traced_op(kind = io)]
fn read_shard() {
    std::thread::sleep(std::time::Duration::from_millis(10));
}

#[test]
#[cfg(feature = "enabled")]
fn an_op_of_the_kind_io_loads_data() {
    let trace = trace_runtime::record(read_shard).1;
    assert_eq!(trace.entries[0].kind, Some(OpKind::Io));
    let found = findings(&trace);
    assert_eq!(found.list[0].kind, FindingKind::DataLoading);
    assert_eq!(found.list[0].subject, "read_shard");
}

#[test]
fn one_giant_kernel_of_an_unknown_kind_is_named() {
    let mut profile = Profile::default();
    profile.op("custom::fused", 0, 20);
    profile.launch(5, 1, "my_fused_kernel", (10, 990));
    let found = findings(&profile.read());
    assert_eq!(found.list[0].kind, FindingKind::DeviceOp);
    assert_eq!(found.list[0].subject, "my_fused_kernel");
    assert!(near(found.list[0].share, 0.99));
    assert!(of_kind(&found, FindingKind::HostBound).is_none());
}

#[test]
fn a_run_that_moves_memory_is_headed_by_its_copies() {
    let mut profile = Profile::default();
    for round in 0..5 {
        let start = round * 200;
        profile.op("aten::copy_", start, 190);
        profile.call("cudaMemcpyAsync", (start + 5, 180), 2 * round + 1);
        profile.kernel(
            "Memcpy HtoD (Pageable -> Device)",
            (start + 10, 170),
            2 * round + 1,
        );
        profile.launch(start + 191, 2 * round + 2, "add_kernel", (start + 196, 4));
    }
    let found = findings(&profile.read());
    assert_eq!(found.list[0].kind, FindingKind::Copies);
    assert!(near(found.list[0].share, 0.85), "{}", found.list[0].share);
    // The op that calls it spends most of its time waiting.
    let op = of_kind(&found, FindingKind::HostOp);
    assert!(op.is_none_or(|op| op.share < 0.15), "{op:?}");
}

/// Kernels of an AMD GPU, synchronised by the HIP runtime.
#[test]
fn a_hip_device_is_one_device_and_its_synchronisation_is_waiting() {
    let mut profile = Profile::default();
    for round in 0..5 {
        let start = round * 1000;
        profile.op("aten::mm", start, 20);
        profile.call("hipLaunchKernel", (start + 5, 5), round + 1);
        let args = format!(r#""correlation":{},"stream":0,"device":2"#, round + 1);
        profile.event(
            "kernel",
            "Cijk_Ailk_Bljk_SB_MT64x64",
            (2, 0),
            (start + 15, 980),
            &args,
        );
        profile.call("hipDeviceSynchronize", (start + 21, 976), 100 + round);
    }
    let trace = profile.read();
    let found = findings(&trace);
    assert!(matches!(
        found.list[0].kind,
        FindingKind::DeviceCategory | FindingKind::DeviceOp
    ));
    assert!(of_kind(&found, FindingKind::HostBound).is_none());
    let path = CausalModel::new(&trace).critical_path();
    assert!(path.device_share() > 0.95, "{}", path.device_share());
    assert_eq!(trace.report().activity.ranks.len(), 1);
}

#[test]
fn a_compiled_model_launches_through_the_driver() {
    let mut profile = Profile::default();
    for round in 0..30 {
        let start = round * 100;
        profile.op("Torch-Compiled Region: 0/0", start, 80);
        let correlation = format!(r#""correlation":{}"#, round + 1);
        let at = (start + 60, 6);
        profile.event("cuda_driver", "cuLaunchKernel", (1, 1), at, &correlation);
        profile.kernel("triton_poi_fused_add_0", (start + 68, 3), round + 1);
    }
    let found = findings(&profile.read());
    assert_eq!(found.list[0].kind, FindingKind::HostBound);
    assert_eq!(found.list[0].parts[0].name, "Torch-Compiled Region: 0/0");
    assert!(of_kind(&found, FindingKind::LaunchBound).is_some());
}

#[test]
fn ops_of_an_xla_device_are_device_work() {
    let mut events = vec![
        r#"{"ph":"M","name":"process_name","pid":1,"args":{"name":"/device:GPU:0"}}"#.to_owned(),
        r#"{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"XLA Ops"}}"#.to_owned(),
        r#"{"ph":"M","name":"process_name","pid":7,"args":{"name":"/host:CPU"}}"#.to_owned(),
        r#"{"ph":"X","name":"PjitFunction(step)","pid":7,"tid":3,"ts":0,"dur":1000}"#.to_owned(),
    ];
    for round in 0..9 {
        let ts = 50 + round * 100;
        events.push(format!(
            r#"{{"ph":"X","name":"fusion.3","pid":1,"tid":2,"ts":{ts},"dur":95}}"#
        ));
    }
    let text = format!(r#"{{"traceEvents":[{}]}}"#, events.join(","));
    let found = findings(&read::from_slice(text.as_bytes()).unwrap());
    let kernel = of_kind(&found, FindingKind::DeviceOp).unwrap();
    assert_eq!(kernel.subject, "fusion.3");
    assert!(near(kernel.share, 0.855), "{}", kernel.share);
}

#[test]
fn inference_on_the_cpu_is_headed_by_its_products() {
    let mut profile = Profile::default();
    for round in 0..4 {
        let start = round * 100;
        profile.op("aten::linear", start, 70);
        profile.op("aten::addmm", start + 2, 66);
        profile.op("aten::t", start + 70, 10);
        profile.op("aten::softmax", start + 80, 20);
    }
    let trace = profile.read();
    let found = findings(&trace);
    assert_eq!(found.list[0].kind, FindingKind::HostOp);
    assert_eq!(found.list[0].subject, "aten::addmm");
    // A view moves no data, so it is not a copy.
    assert!(of_kind(&found, FindingKind::Copies).is_none());
}

/// An op with the option `sync` and an op that only prepares.
#[test]
fn our_trace_with_sync_gives_the_same_findings_as_a_profiler_trace() {
    use trace_runtime::model::{NewEntry, Pause, PauseKind, TraceStoreBuilder};
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(None, None, None);
    let pauses = [Pause::new(PauseKind::Sync, 10_000, 390_000)];
    for round in 0..5 {
        let start = round * 1_000_000;
        let mut gemm = NewEntry::new("matmul", thread, start, 400_000);
        gemm.device_id = Some("cuda:0");
        gemm.pauses = &pauses;
        builder.push(&gemm).unwrap();
        let prepare = NewEntry::new("prepare", thread, start + 400_000, 600_000);
        builder.push(&prepare).unwrap();
    }
    let trace = builder.finish();
    let found = findings(&trace);
    assert_eq!(found.list[0].kind, FindingKind::HostBound);
    assert_eq!(found.list[0].parts[0].name, "prepare");
    let dry = of_kind(&found, FindingKind::Synchronisation).unwrap();
    assert_eq!(dry.subject, "matmul");
    let path = CausalModel::new(&trace).critical_path();
    assert_eq!((path.device_ns, path.host_ns), (1_950_000, 3_050_000));
}

/// Each of ten rounds loads data for 60 of 100 µs, of which 40 are in ops that the loader calls.
#[test]
fn ops_that_a_loader_calls_are_loading() {
    let loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
    let mut profile = Profile::default();
    for round in 0..10 {
        let start = round * 100;
        profile.op(loader, start, 60);
        profile.op("aten::div", start + 10, 20);
        profile.op("aten::copy_", start + 35, 20);
        profile.op("aten::conv2d", start + 62, 10);
        let kernel = "implicit_convolve_sgemm";
        profile.launch(start + 64, round + 1, kernel, (start + 70, 30));
    }
    let found = findings(&profile.read());
    let data = of_kind(&found, FindingKind::DataLoading).unwrap();
    assert_eq!(data.subject, loader);
    assert!(near(data.share, 0.6), "{}", data.share);
    assert_eq!(found.list[0].kind, FindingKind::HostBound);
    assert_eq!(found.list[0].advice, data.advice);
    let mut subjects = found.list.iter().map(|one| one.subject.as_str());
    assert!(subjects.all(|subject| !subject.starts_with("aten::div")));
}

/// 20 rounds of `aten::empty`; the first call takes `first` µs, the others 10.
fn first_use(first: u64) -> TraceStore {
    let mut profile = Profile::default();
    let mut start = 0;
    for round in 0..20 {
        let takes = if round == 0 { first } else { 10 };
        profile.op("aten::empty", start, takes);
        profile.op("aten::add", start + takes, 10);
        profile.launch(start + takes + 2, round + 1, "add", (start + takes + 8, 5));
        start += takes + 20;
    }
    profile.read()
}

#[test]
fn one_long_call_of_many_is_named_as_such() {
    let found = findings(&first_use(20_000));
    let op = of_kind(&found, FindingKind::HostOp).unwrap();
    assert_eq!(
        op.sentence,
        "aten::empty takes 98 % of the time while the device is idle; one of its 20 calls takes 20.0 ms, the median 10.0 µs"
    );
    assert!(op.advice.contains("first use"), "{}", op.advice);
    assert_eq!(found.list[0].kind, FindingKind::HostBound);
    assert_eq!(found.list[0].advice, op.advice);
    let found = findings(&first_use(40));
    assert!(
        found
            .list
            .iter()
            .all(|one| !one.advice.contains("first use"))
    );
}
