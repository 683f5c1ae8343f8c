//! BERT-mini on burn encodes two sequences of tokens while it is recorded.
//!
//! ```text
//! cargo run --release -p burn_model
//! ```

mod bert;
#[path = "../../shown/files.rs"]
mod files;
#[path = "../../shown/report.rs"]
mod report;

use bert::{Bert, MINI};
use burn::module::Module as _;
use burn::tensor::{Device, Int, Tensor};
use std::error::Error;
use trace_runtime::analyze::by_op;
use trace_runtime::report::percent;
use trace_runtime::{RecordedExecutionTrace, Session};

const BATCH: usize = 2;
const LENGTH: usize = 128;

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::flex();
    device.seed(42);
    let model = Bert::new(&MINI, &device);
    let tokens = Tensor::<1, Int>::arange(0..(BATCH * LENGTH) as i64, &device);
    let tokens = tokens.mul_scalar(37).reshape([BATCH, LENGTH]);
    // Not recorded, because burn initialises the weights when they are first used.
    model.forward(&tokens);

    let session = Session::start()?;
    let pooled = model.forward(&tokens);
    let trace = session.finish();

    let pooled: Vec<f32> = pooled.into_data().try_into_vec()?;
    if !pooled.iter().all(|x| x.abs() <= 1.0) {
        return Err("an output of `tanh` is larger than one".into());
    }
    println!(
        "BERT-mini, {} parameters, {BATCH} sequences of {LENGTH} tokens.\n",
        model.num_params()
    );
    report::print(&trace, 12);
    report::print_flame(&trace);
    weigh_the_activation(&trace);
    files::write_all("burn_model", &trace)
}

/// Prints the share of FLOPs and the share of time of `gelu`, which differ.
fn weigh_the_activation(trace: &RecordedExecutionTrace) {
    let rows = by_op(trace);
    let (flops, time): (u64, u64) = rows.iter().fold((0, 0), |(flops, time), row| {
        (flops + row.flops, time + row.self_ns)
    });
    if let Some(gelu) = rows.iter().find(|row| row.operation == "gelu") {
        println!(
            "`gelu` is {} of the arithmetic and {} of the time: it reads and writes every activation for a few \
             operations each.\n",
            percent(gelu.flops as f64 / flops.max(1) as f64),
            percent(gelu.self_ns as f64 / time.max(1) as f64),
        );
    }
}
