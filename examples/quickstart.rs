//! Annotate a function, record, read the report: `cargo run --release --example quickstart`.

use ndarray::Array2;
use trace_runtime::{record, traced_op};

#[traced_op]
pub(crate) fn layer(x: &Array2<f32>, weight: &Array2<f32>) -> Array2<f32> {
    x.dot(weight).mapv_into(|x| x.max(0.0))
}

fn main() {
    let (x, weight) = (
        Array2::ones((32, 256)),
        Array2::from_elem((256, 256), 1.0 / 256.0),
    );
    let (y, trace) = record(|| (0..8).fold(x, |x, _| layer(&x, &weight)));
    assert!(y.iter().all(|y| (y - 1.0).abs() < 1e-3));
    println!("{}", trace.report());
}
