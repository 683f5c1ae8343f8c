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
use trace_runtime::Session;

const BATCH: usize = 2;
const LENGTH: usize = 128;

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::flex();
    device.seed(42);
    let model = Bert::new(&MINI, &device);
    let tokens = Tensor::<1, Int>::arange(0..(BATCH * LENGTH) as i64, &device);
    let tokens = tokens.mul_scalar(37).reshape([BATCH, LENGTH]);
    // The first pass draws the weights, which burn does when they are first used.
    model.forward(&tokens);

    let session = Session::start()?;
    let pooled = model.forward(&tokens);
    let trace = session.finish();

    let pooled: Vec<f32> = pooled.into_data().try_into_vec()?;
    if !pooled.iter().all(|x| x.abs() <= 1.0) {
        return Err("a hyperbolic tangent is at most one".into());
    }
    println!(
        "BERT-mini, {} parameters, {BATCH} sequences of {LENGTH} tokens.\n",
        model.num_params()
    );
    report::print(&trace, 12);
    report::print_flame(&trace);
    files::write_all("burn_model", &trace)
}
