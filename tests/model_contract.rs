//! The names, fields and results of the owned entry and trace that user code relies on.

use std::time::Duration;
use trace_runtime::{DType, RecordedExecutionTrace, RecordedTraceEntry};

fn lasting(step: usize, micros: u64) -> RecordedTraceEntry {
    RecordedTraceEntry::new(step, format!("op{step}")).with_duration(Duration::from_micros(micros))
}

#[test]
fn a_new_entry_knows_its_step_and_name_only() {
    let entry = RecordedTraceEntry::new(3, "matmul");
    assert_eq!((entry.step, entry.operation.as_str()), (3, "matmul"));
    assert_eq!(entry.device_id, None);
    assert!(entry.input_shapes.is_empty() && entry.output_shape.is_empty());
    assert_eq!(
        (entry.duration_us, entry.output_elements, entry.memory_bytes),
        (0.0, 0, 0)
    );
}

#[test]
fn an_output_shape_sets_elements_and_eight_bytes_each() {
    let entry = RecordedTraceEntry::new(1, "conv2d")
        .with_device_id("gpu:0")
        .with_input_shapes(vec![vec![1, 3, 32, 32], vec![16, 3, 3, 3]])
        .with_output_shape(vec![1, 16, 30, 30])
        .with_duration(Duration::from_micros(500));
    assert_eq!(entry.device_id.as_deref(), Some("gpu:0"));
    assert_eq!(entry.input_shapes.len(), 2);
    assert_eq!(entry.output_elements, 14_400);
    assert_eq!(entry.memory_bytes, 115_200);
    assert_eq!(entry.duration_us, 500.0);
}

#[test]
fn a_dtype_decides_the_bytes_before_or_after_the_shape() {
    let entry = RecordedTraceEntry::new(0, "a");
    let after = entry
        .clone()
        .with_output_shape(vec![3, 5])
        .with_output_dtype(DType::F16);
    let before = entry
        .with_output_dtype(DType::F16)
        .with_output_shape(vec![3, 5]);
    assert_eq!((after.memory_bytes, before.memory_bytes), (30, 30));
}

#[test]
fn an_enormous_shape_saturates() {
    let entry = RecordedTraceEntry::new(0, "a").with_output_shape(vec![usize::MAX, 2]);
    assert_eq!(
        (entry.output_elements, entry.memory_bytes),
        (usize::MAX, usize::MAX)
    );
}

#[test]
fn throughput_is_elements_per_microsecond_and_zero_in_no_time() {
    let entry = RecordedTraceEntry::new(0, "add").with_output_shape(vec![1000]);
    assert_eq!(entry.throughput_elements_per_us(), 0.0);
    let entry = entry.with_duration(Duration::from_micros(100));
    assert_eq!(entry.throughput_elements_per_us(), 10.0);
}

#[test]
fn every_figure_of_an_empty_trace_is_zero() {
    let trace = RecordedExecutionTrace::new();
    assert_eq!(trace.step_count(), 0);
    assert_eq!(
        (trace.total_memory_bytes(), trace.peak_memory_bytes()),
        (0, 0)
    );
    assert_eq!(trace.total_duration_us, 0.0);
    assert!(trace.slowest_ops(5).is_empty());
}

#[test]
fn adding_an_entry_adds_its_time() {
    let mut trace = RecordedExecutionTrace::new();
    trace.add_entry(lasting(0, 100));
    trace.add_entry(lasting(1, 200));
    assert_eq!((trace.step_count(), trace.total_duration_us), (2, 300.0));
}

#[test]
fn a_child_adds_no_time_unless_it_runs_on_another_thread() {
    let mut trace = RecordedExecutionTrace::new();
    trace.add_entry(lasting(0, 100).with_thread(1));
    trace.add_entry(lasting(1, 60).with_thread(1).with_parent(0));
    assert_eq!(trace.total_duration_us, 100.0);
    trace.add_entry(lasting(2, 30).with_thread(2).with_parent(0));
    assert_eq!(trace.total_duration_us, 130.0);
}

#[test]
fn memory_is_summed_and_its_peak_is_the_largest_entry() {
    let mut trace = RecordedExecutionTrace::new();
    for elements in [10, 30, 20] {
        trace.add_entry(RecordedTraceEntry::new(0, "a").with_output_shape(vec![elements]));
    }
    assert_eq!(
        (trace.total_memory_bytes(), trace.peak_memory_bytes()),
        (480, 240)
    );
    trace.add_entry(RecordedTraceEntry::new(0, "a").with_output_shape(vec![usize::MAX]));
    assert_eq!(trace.total_memory_bytes(), usize::MAX);
}

#[test]
fn the_slowest_come_first_and_a_nan_last() {
    let mut trace = RecordedExecutionTrace::new();
    for (step, micros) in [50, 200, 100].into_iter().enumerate() {
        trace.add_entry(lasting(step, micros));
    }
    trace.entries.push(RecordedTraceEntry {
        duration_us: f64::NAN,
        ..lasting(3, 0)
    });
    let steps = |n| {
        trace
            .slowest_ops(n)
            .iter()
            .map(|entry| entry.step)
            .collect::<Vec<_>>()
    };
    assert_eq!(steps(2), [1, 2]);
    assert_eq!(steps(100), [1, 2, 0, 3]);
}

#[test]
fn metadata_is_kept() {
    let trace = RecordedExecutionTrace::new()
        .with_metadata("model", "tiny")
        .with_metadata("n", "1");
    assert_eq!(trace.metadata["model"], "tiny");
    assert_eq!(trace.metadata.len(), 2);
}
