//! Checks that the trace of BERT shows the network of the paper.

#[path = "../src/bert.rs"]
mod bert;
#[path = "../../../tests/tree/mod.rs"]
mod tree;

use bert::{Bert, Config, MINI, attention_flops};
use burn::module::Module;
use burn::tensor::{Device, Int, Tensor};
use std::collections::BTreeMap;
use trace_runtime::{DType, RecordedExecutionTrace, record};

const CONFIG: Config = Config {
    width: 32,
    heads: 2,
    layers: 3,
    vocabulary: 100,
    context: 16,
};
const BATCH: usize = 2;
const LENGTH: usize = 8;

fn encode() -> (Vec<f32>, RecordedExecutionTrace) {
    let device = Device::flex();
    device.seed(3);
    let model = Bert::new(&CONFIG, &device);
    let tokens: Tensor<2, Int> =
        Tensor::arange(0..(BATCH * LENGTH) as i64, &device).reshape([BATCH, LENGTH]);
    let (pooled, trace) = record(|| model.forward(&tokens));
    assert_eq!(pooled.dims(), [BATCH, CONFIG.width]);
    let pooled = pooled.into_data().try_into_vec().expect("they are floats");
    (pooled, trace)
}

#[test]
fn the_published_size_has_the_published_parameters() {
    let model = Bert::new(&MINI, &Device::flex());
    assert_eq!(model.num_params(), 11_170_560);
}

#[test]
fn every_module_runs_as_often_as_in_the_paper() {
    let (_, trace) = encode();
    let layers = CONFIG.layers;
    let expected = BTreeMap::from([
        ("bert", 1),
        ("embed", 1),
        ("layer", layers),
        ("attention", layers),
        ("feed_forward", layers),
        ("gelu", layers),
        ("add", 2 * layers),
        ("layer_norm", 2 * layers + 1),
        ("linear", 2 * layers + 1),
    ]);
    assert_eq!(tree::counts(&trace), expected);
    assert_eq!(tree::depth(&trace), 4);
}

#[test]
fn every_product_has_the_dims_and_flops_of_the_formula() {
    let (_, trace) = encode();
    let Config { width, layers, .. } = CONFIG;
    let hidden = 4 * width;
    let mut expected = Vec::new();
    for _ in 0..layers {
        expected.push([vec![BATCH, LENGTH, width], vec![width, hidden]]);
        expected.push([vec![BATCH, LENGTH, hidden], vec![hidden, width]]);
    }
    expected.push([vec![BATCH, 1, width], vec![width, width]]);
    let seen: Vec<_> = tree::of(&trace, "linear").collect();
    assert_eq!(seen.len(), expected.len());
    for (entry, [x, weight]) in seen.into_iter().zip(expected) {
        assert_eq!(entry.input_shapes, [x.clone(), weight.clone()]);
        assert_eq!(entry.output_shape, [x[0], x[1], weight[1]]);
        let flops = 2 * x.iter().product::<usize>() * weight[1];
        assert_eq!(entry.flops, Some(flops as u64));
    }
    for entry in tree::of(&trace, "attention") {
        assert_eq!(entry.input_shapes, [[BATCH, LENGTH, width]]);
        assert_eq!(entry.output_shape, [BATCH, LENGTH, width]);
        assert_eq!(entry.input_dtypes, [DType::F32]);
        let projections = 4 * 2 * BATCH * LENGTH * width * width;
        let mixing = 2 * 2 * BATCH * LENGTH * LENGTH * width;
        assert_eq!(entry.flops, Some((projections + mixing) as u64));
        assert_eq!(
            projections + mixing,
            attention_flops([BATCH, LENGTH, width])
        );
    }
}

#[test]
fn tokens_are_integers_and_the_result_is_in_range() {
    let (pooled, trace) = encode();
    assert!(pooled.iter().all(|x| x.abs() <= 1.0));
    assert!(pooled.iter().any(|x| x.abs() > 1e-3));
    let bert = &trace.entries[0];
    assert_eq!(bert.input_shapes, [[BATCH, LENGTH]]);
    assert!(matches!(bert.input_dtypes[..], [DType::I32 | DType::I64]));
    assert_eq!(bert.device_id.as_deref(), Some("cpu"));
}
