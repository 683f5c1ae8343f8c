//! A convolution over a rayon pool: the ops on worker threads are children of the op that started them.
//!
//! ```text
//! cargo run --release --example rayon_conv
//! ```

mod graph;
#[path = "../shown/report.rs"]
mod report;

use graph::{Dims, conv2d, direct};
use std::collections::BTreeSet;
use std::error::Error;
use trace_runtime::Session;

const DIMS: Dims = Dims {
    images: 24,
    channels: 16,
    side: 48,
    filters: 32,
    kernel: 3,
};

fn main() -> Result<(), Box<dyn Error>> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(4)
        .thread_name(|index| format!("worker {index}"))
        .build()?;
    let (images, filters) = DIMS.random_input(3);

    let session = Session::start()?;
    let result = pool.install(|| conv2d(&images, &filters));
    let trace = session.finish();

    let last = [DIMS.images - 1, DIMS.filters - 1, DIMS.output_side() - 1, 0];
    for at in [[0; 4], last] {
        let error = (result[at] - direct(&images, &filters, at)).abs();
        if error > 1e-3 {
            return Err(format!("the result at {at:?} is off by {error}").into());
        }
    }
    report::print(&trace, 8);
    report::print_flame(&trace);

    let images = trace
        .entries
        .iter()
        .filter(|entry| entry.operation == "conv_image");
    let (mut threads, mut adopted) = (BTreeSet::new(), 0);
    for image in images {
        threads.insert(image.thread);
        adopted += usize::from(image.parent == Some(0));
    }
    println!(
        "{adopted} of {} images have `conv2d` as their parent; {} threads worked on them, so that their \
         times add up to more than its own.",
        DIMS.images,
        threads.len()
    );
    Ok(())
}
