//! ResNet-18 on candle classifies an image of noise while it is recorded.
//!
//! ```text
//! cargo run --release -p candle_model
//! ```

#[path = "../../shown/files.rs"]
mod files;
#[path = "../../shown/report.rs"]
mod report;
mod resnet;

use resnet::{CLASSES, ResNet, noise};
use std::error::Error;
use trace_runtime::analyze::by_shape;
use trace_runtime::report::rate;
use trace_runtime::{RecordedExecutionTrace, Session};

fn main() -> Result<(), Box<dyn Error>> {
    let model = ResNet::new(1)?;
    let image = noise(1, 224, 2)?;
    // Not recorded, because the first pass starts the thread pool and uses new memory.
    model.forward(&image)?;

    let session = Session::start()?;
    let logits = model.forward(&image)?;
    let trace = session.finish();

    let logits: Vec<f32> = logits.flatten_all()?.to_vec1()?;
    if logits.len() != CLASSES || !logits.iter().all(|logit| logit.is_finite()) {
        return Err("the logits should be finite, one for each class".into());
    }
    let flops: u64 = trace.entries.iter().filter_map(|entry| entry.flops).sum();
    println!(
        "ResNet-18 at 224 × 224 pixels: {:.2} GFLOP.\n",
        flops as f64 / 1e9
    );
    report::print(&trace, 12);
    report::print_flame(&trace);
    compare_stages(&trace);
    files::write_all("candle_model", &trace)
}

/// Each stage has a quarter of the pixels and twice the channels of the one before, so it has the same amount of work.
fn compare_stages(trace: &RecordedExecutionTrace) {
    let rows = by_shape(trace);
    let mut speeds: Vec<f64> = rows
        .iter()
        .filter(|row| {
            let weight = row.input_shapes.as_ref().and_then(|shapes| shapes.get(1));
            matches!(weight.map(Vec::as_slice), Some([to, from, 3, 3]) if to == from)
        })
        .filter_map(|row| row.flops_per_s)
        .collect();
    speeds.sort_by(f64::total_cmp);
    if let [slowest, .., fastest] = speeds[..] {
        println!(
            "A 3 × 3 convolution that keeps its channels is the same work in each of the {} stages, and runs \
             at\n{} in the slowest and {} in the fastest.\n",
            speeds.len(),
            rate(slowest, "FLOP"),
            rate(fastest, "FLOP"),
        );
    }
}
