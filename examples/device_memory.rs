//! A library reports the memory of its device, and the report finds the op that leaks some of it in every step.
//!
//! ```text
//! cargo run --release --example device_memory
//! ```
//!
//! The device is a stand-in: its buffers have addresses, but nothing is computed. A real library calls
//! `memory::allocated` and `memory::freed` at the same two places, where it takes a buffer and where it gives it back.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use trace_runtime::analyze::{live_memory, memory_growth};
use trace_runtime::report::{Colour, memory_tables};
use trace_runtime::{
    DType, Device, RecordedExecutionTrace, Session, TensorLike, TensorSink, memory, traced_op,
};

const DEVICE: Device = Device::Cuda(0);

/// A matrix of `f32` in the memory of the device.
struct Buffer {
    address: usize,
    dims: [usize; 2],
}

impl Buffer {
    fn new(dims: [usize; 2]) -> Buffer {
        // A device hands addresses out.
        static NEXT: AtomicUsize = AtomicUsize::new(0x7f00_0000);
        let bytes = 4 * dims[0] * dims[1];
        let address = NEXT.fetch_add(bytes, Ordering::Relaxed);
        memory::allocated(address, bytes, DEVICE);
        Buffer { address, dims }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        memory::freed(self.address, DEVICE);
    }
}

impl TensorLike for Buffer {
    fn describe(&self, sink: &mut TensorSink) {
        sink.tensor(&self.dims, DType::F32, DEVICE);
    }
}

const WIDTH: usize = 512;
const BATCH: usize = 64;
const STEPS: usize = 8;

#[traced_op]
fn init_weights(layers: usize) -> Vec<Buffer> {
    (0..layers).map(|_| Buffer::new([WIDTH, WIDTH])).collect()
}

#[traced_op]
fn matmul(a: &Buffer, b: &Buffer) -> Buffer {
    Buffer::new([a.dims[0], b.dims[1]])
}

#[traced_op]
fn forward(x: &Buffer, weights: &[Buffer]) -> Vec<Buffer> {
    let mut activations = vec![matmul(x, &weights[0])];
    for weight in &weights[1..] {
        activations.push(matmul(activations.last().unwrap_or(x), weight));
    }
    activations
}

/// Keeps a copy of each result for a curve that is never drawn: the leak.
#[traced_op(skip(results))]
fn remember(results: &mut Vec<Buffer>, result: &Buffer) {
    results.push(Buffer::new(result.dims));
}

fn train(session: &mut Session) {
    let weights = init_weights(4);
    let mut results = Vec::new();
    for _ in 0..STEPS {
        let x = Buffer::new([BATCH, WIDTH]);
        let activations = forward(&x, &weights);
        remember(&mut results, &activations[activations.len() - 1]);
        drop((x, activations));
        session.step();
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut session = Session::start()?;
    train(&mut session);
    let trace = session.finish();
    let (live, growth) = (live_memory(&trace), memory_growth(&trace));
    for table in memory_tables(&live, &[], &growth, None, 10) {
        println!("{}", table.to_text(100, Colour::Off));
    }
    check(&trace)
}

/// The peak is in the last step: weights, all activations, and a copy of each result.
fn check(trace: &RecordedExecutionTrace) -> Result<(), Box<dyn Error>> {
    let activation = 4 * BATCH * WIDTH;
    let peak = 4 * 4 * WIDTH * WIDTH + (1 + 4 + STEPS) * activation;
    let live = live_memory(trace);
    let [device] = &live[..] else {
        return Err(format!("one device has memory, not {}", live.len()).into());
    };
    if device.peak_bytes != peak as u64 {
        return Err(format!("peak of {} bytes, not {peak}", device.peak_bytes).into());
    }
    let growth = memory_growth(trace);
    let [leak] = &growth[..] else {
        return Err(format!("one op leaks, not {growth:?}").into());
    };
    let found = (leak.operation.as_deref(), leak.bytes_per_step);
    if found != (Some("remember"), activation as u64) {
        return Err(format!("`remember` leaks {activation} bytes a step, not {found:?}").into());
    }
    Ok(())
}
