//! Checks that the trace of ResNet-18 shows the network of the paper.

#[path = "../src/resnet.rs"]
mod resnet;
#[path = "../../../tests/tree/mod.rs"]
mod tree;

use resnet::{CLASSES, ResNet, noise};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use trace_runtime::{RecordedExecutionTrace, record};

/// The smallest side that the network accepts: a seventh of the paper's.
const SIDE: usize = 32;

/// Shared by the tests: creating eleven million random weights is slow.
static CLASSIFIED: LazyLock<(Vec<f32>, RecordedExecutionTrace)> = LazyLock::new(classify);

fn classify() -> (Vec<f32>, RecordedExecutionTrace) {
    let model = ResNet::new(1).expect("the layers fit");
    let image = noise(1, SIDE, 2).expect("the dims fit");
    let (logits, trace) = record(|| model.forward(&image));
    let logits = logits.expect("the layers fit").flatten_all();
    (
        logits
            .and_then(|logits| logits.to_vec1())
            .expect("they are floats"),
        trace,
    )
}

#[test]
fn every_layer_runs_as_often_as_in_the_paper() {
    let (_, trace) = &*CLASSIFIED;
    let expected = BTreeMap::from([
        ("resnet18", 1),
        ("stage", 4),
        ("residual", 8),
        ("conv2d", 20),
        ("batch_norm", 20),
        ("relu", 17),
        ("add", 8),
        ("max_pool", 1),
        ("average_pool", 1),
        ("linear", 1),
    ]);
    assert_eq!(tree::counts(trace), expected);
    assert_eq!(tree::depth(trace), 4);
}

#[test]
fn every_convolution_has_the_dims_and_flops_of_the_formula() {
    let (_, trace) = &*CLASSIFIED;
    // Input channels, output channels, kernel, stride, side of the input.
    let mut expected = vec![[3, 64, 7, 2, SIDE]];
    expected.extend([[64, 64, 3, 1, 8]; 4]);
    for (outputs, side) in [(128, 8), (256, 4), (512, 2)] {
        let half = side / 2;
        expected.push([outputs / 2, outputs, 3, 2, side]);
        expected.push([outputs, outputs, 3, 1, half]);
        expected.push([outputs / 2, outputs, 1, 2, side]);
        expected.extend([[outputs, outputs, 3, 1, half]; 2]);
    }
    let mut multiplications = 0;
    for (entry, [inputs, outputs, kernel, stride, side]) in tree::of(trace, "conv2d").zip(expected)
    {
        let out = side / stride;
        assert_eq!(
            entry.input_shapes,
            [[1, inputs, side, side], [outputs, inputs, kernel, kernel]]
        );
        assert_eq!(entry.output_shape, [1, outputs, out, out]);
        let each = inputs * outputs * kernel * kernel * out * out;
        assert_eq!(entry.flops, Some(2 * each as u64));
        multiplications += each;
    }
    // With images of 224 pixels per side, each convolution has 49 times as many pixels.
    assert_eq!(49 * multiplications + 512 * CLASSES, 1_814_073_344);
}

#[test]
fn logits_are_finite_and_the_same_for_the_same_seed() {
    let (logits, _) = &*CLASSIFIED;
    assert_eq!(logits.len(), CLASSES);
    assert!(logits.iter().all(|logit| logit.is_finite()));
    assert_eq!(logits, &classify().0);
}
