//! The example that users copy first.
#![cfg(feature = "enabled")]

#[allow(dead_code, reason = "its `main` prints")]
#[path = "../examples/quickstart.rs"]
mod quickstart;

use ndarray::Array2;
use trace_runtime::{DType, record};

#[test]
fn a_layer_is_recorded_with_its_shapes() {
    let (x, weight) = (Array2::ones((2, 3)), Array2::ones((3, 4)));
    let (y, trace) = record(|| quickstart::layer(&x, &weight));
    assert!(y.iter().all(|y| (y - 3.0).abs() < 1e-6));
    let [layer] = &trace.entries[..] else {
        panic!("{} entries", trace.entries.len());
    };
    assert_eq!(layer.operation, "layer");
    assert_eq!(layer.input_shapes, [[2, 3], [3, 4]]);
    assert_eq!(layer.output_shape, [2, 4]);
    assert_eq!(layer.output_dtypes, [DType::F32]);
}
