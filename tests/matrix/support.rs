//! A tensor, an executor, and a trace as text.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use trace_runtime::{
    DType, Device, RecordedExecutionTrace, RecordedTraceEntry, TensorLike, TensorSink, record,
};

/// A tensor with a shape and no data.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tensor {
    pub dims: Vec<usize>,
}

pub fn tensor<const N: usize>(dims: [usize; N]) -> Tensor {
    Tensor {
        dims: dims.to_vec(),
    }
}

impl TensorLike for Tensor {
    fn describe(&self, sink: &mut TensorSink) {
        sink.tensor(&self.dims, DType::BF16, Device::Cuda(0));
    }
}

/// Runs a row, compares its trace, and returns its result.
#[track_caller]
pub fn recorded<R>(expected: &[&str], run: impl FnOnce() -> R) -> R {
    let (result, trace) = record(run);
    if cfg!(feature = "enabled") {
        assert_eq!(tree(&trace), expected);
    } else {
        assert!(trace.entries.is_empty());
    }
    result
}

fn tree(trace: &RecordedExecutionTrace) -> Vec<String> {
    let parent_of = |entry: &RecordedTraceEntry| entry.parent.map(|parent| &trace.entries[parent]);
    let indented = |entry| {
        let depth = std::iter::successors(parent_of(entry), |parent| parent_of(parent)).count();
        format!("{}{}", "  ".repeat(depth), line(entry))
    };
    trace.entries.iter().map(indented).collect()
}

fn line(entry: &RecordedTraceEntry) -> String {
    let shape = |dims: &Vec<usize>, dtype: &DType| format!("{dtype}{dims:?}");
    let inputs: Vec<String> = entry
        .input_shapes
        .iter()
        .zip(&entry.input_dtypes)
        .map(|(dims, dtype)| shape(dims, dtype))
        .collect();
    let mut line = format!("{}({})", entry.operation, inputs.join(", "));
    let outputs = std::iter::once(&entry.output_shape).chain(&entry.more_outputs);
    let outputs: Vec<String> = outputs
        .zip(&entry.output_dtypes)
        .map(|(dims, dtype)| shape(dims, dtype))
        .collect();
    if !outputs.is_empty() {
        line += &format!(" -> {}", outputs.join(", "));
    }
    if let Some(device) = &entry.device_id {
        line += &format!(" @{device}");
    }
    if entry.outcome != trace_runtime::Outcome::Ok {
        line += &format!(" !{}", entry.outcome);
    }
    line
}

/// Polls until it is done.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return result;
        }
    }
}

/// Pending once, then ready.
#[derive(Default)]
pub struct Yield(bool);

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

pub fn is_send<T: Send>(value: T) -> T {
    value
}
