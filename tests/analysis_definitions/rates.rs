//! FLOPs, bytes and the rates derived from them.

use crate::on;
use std::time::Duration;
use trace_runtime::analyze::{MachinePeaks, by_op, device_times, roofline};
use trace_runtime::model::{NewEntry, TraceStoreBuilder};
use trace_runtime::{DType, OpKind, RecordedExecutionTrace, RecordedTraceEntry, TraceStore};

#[test]
fn an_op_is_bound_by_memory_below_the_ridge() {
    let mut trace = RecordedExecutionTrace::new();
    let mut matmul = RecordedTraceEntry::new(0, "matmul").with_duration(Duration::from_micros(1));
    (matmul.flops, matmul.bytes_moved) = (Some(4000), Some(100));
    let mut add = RecordedTraceEntry::new(1, "add").with_duration(Duration::from_micros(1));
    (add.flops, add.bytes_moved) = (Some(100), Some(400));
    trace.add_entry(matmul);
    trace.add_entry(add);
    let peaks = MachinePeaks::new(8e9, 8e8);
    let points = roofline(&by_op(&trace), &peaks);
    let shown: Vec<_> = points
        .iter()
        .map(|point| {
            (
                point.operation.as_str(),
                point.memory_bound,
                point.attainable_flops_per_s,
                point.efficiency,
            )
        })
        .collect();
    assert_eq!(
        shown,
        [("matmul", false, 8e9, 0.5), ("add", true, 2e8, 0.5)]
    );
}

#[test]
fn peaks_are_read_from_the_trace() {
    let trace = RecordedExecutionTrace::new()
        .with_metadata("peak_flops_per_s", "1e12")
        .with_metadata("peak_bytes_per_s", "5e10");
    let peaks = MachinePeaks::of(&trace).unwrap();
    assert_eq!((peaks.flops_per_s, peaks.bytes_per_s), (1e12, 5e10));
    assert_eq!(MachinePeaks::of(&RecordedExecutionTrace::new()), None);
}

#[test]
fn given_flops_replace_inferred_ones() {
    let mut trace = RecordedExecutionTrace::new();
    let entry = RecordedTraceEntry::new(0, "matmul")
        .with_input_shapes(vec![vec![2, 3], vec![3, 5]])
        .with_duration(Duration::from_nanos(30));
    trace.add_entry(entry.clone());
    let inferred = &by_op(&trace)[0];
    assert_eq!((inferred.flops, inferred.flops_inferred), (60, true));
    assert_eq!(inferred.flops_per_s, Some(2e9));
    trace.entries[0].flops = Some(7);
    let given = &by_op(&trace)[0];
    assert_eq!((given.flops, given.flops_inferred), (7, false));
}

/// A layer whose matmul of 60 FLOPs and 124 bytes launches a kernel of 65 ns, and a relu that launches nothing;
/// `linked` is false if the launch is missing in the trace.
fn launched(linked: bool) -> TraceStore {
    let mut builder = TraceStoreBuilder::new();
    let (host, stream) = (
        builder.thread(Some(1), None, None),
        builder.thread(Some(7), None, None),
    );
    let inputs: &[(&[usize], DType)] = &[(&[2, 3], DType::F32), (&[3, 5], DType::F32)];
    let outer = builder.push(&NewEntry::new("layer", host, 0, 100)).unwrap();
    let matmul = NewEntry::new("matmul", host, 10, 20)
        .with_inputs(inputs)
        .with_parent(outer);
    let matmul = builder.push(&matmul).unwrap();
    let kernel = on("cuda:0", stream, OpKind::Compute, "gemm", 25, 90);
    builder
        .push(&kernel.with_parent(linked.then_some(matmul)))
        .unwrap();
    let relu = NewEntry::new("relu", host, 40, 12)
        .with_inputs(&inputs[..1])
        .with_parent(outer);
    builder.push(&relu).unwrap();
    builder.finish()
}

#[test]
fn the_rate_of_an_op_is_that_of_the_device_work_it_launched() {
    let rows = by_op(&launched(true));
    let row = |name: &str| rows.iter().find(|row| row.operation == name).unwrap();
    let matmul = row("matmul");
    assert_eq!((matmul.flops, matmul.bytes_moved), (60, 24 + 60 + 40));
    assert_eq!((matmul.device_self_ns, matmul.device_total_ns), (65, 65));
    assert_eq!(matmul.flops_per_s, Some(60.0 / 65.0 * 1e9));
    assert_eq!(matmul.bytes_per_s, Some(124.0 / 65.0 * 1e9));
    let layer = row("layer");
    assert_eq!((layer.device_self_ns, layer.device_total_ns), (0, 65));
    // It ran on the host, so its own time is used.
    assert_eq!(row("relu").flops_per_s, Some(6.0 / 12.0 * 1e9));
    let kernel = row("gemm");
    assert_eq!((kernel.device_self_ns, kernel.device_ns()), (0, Some(65)));
    assert_eq!(
        (row("relu").device_ns(), matmul.device_ns()),
        (None, Some(65))
    );
}

#[test]
fn without_launches_host_ops_have_no_rate() {
    let trace = launched(false);
    let rows = by_op(&trace);
    let matmul = rows.iter().find(|row| row.operation == "matmul").unwrap();
    assert_eq!(
        (matmul.flops, matmul.flops_per_s, matmul.bytes_per_s),
        (60, None, None)
    );
    assert_eq!(device_times(&trace).unattributed_ns(), 65);
    assert_eq!(trace.report().unattributed_device_ns, 65);
}

#[test]
fn an_outer_product_moves_its_output_and_a_transpose_nothing() {
    let mut trace = RecordedExecutionTrace::new();
    let mut mm = RecordedTraceEntry::new(0, "aten::mm")
        .with_input_shapes(vec![vec![1024, 1], vec![1, 1024]])
        .with_duration(Duration::from_millis(1));
    mm.input_dtypes.push(DType::F32);
    mm.input_dtypes.push(DType::F32);
    trace.add_entry(mm);
    trace.add_entry(
        RecordedTraceEntry::new(1, "aten::transpose")
            .with_input_shapes(vec![vec![4096, 4096]])
            .with_duration(Duration::from_micros(1)),
    );
    let rows = by_op(&trace);
    assert_eq!(rows[0].bytes_moved, 2 * 4096 + (4 << 20));
    assert_eq!(rows[0].bytes_per_s, Some(rows[0].bytes_moved as f64 * 1e3));
    assert!((rows[0].arithmetic_intensity.unwrap() - 0.499).abs() < 0.001);
    assert_eq!((rows[1].bytes_moved, rows[1].bytes_per_s), (0, None));
}
