//! The trace of a training run shows its forward pass, its backward pass and its optimiser.
#![cfg(feature = "enabled")]

#[path = "../examples/train_mlp/graph.rs"]
mod graph;
mod tree;

use graph::{BATCH, CLASSES, HIDDEN, INPUTS, Walk, train};
use std::collections::BTreeMap;
use trace_runtime::record;

#[test]
fn a_step_is_a_forward_pass_a_backward_pass_and_two_updates() {
    let (_, trace) = record(|| train(3, Walk::Rows));
    let expected = BTreeMap::from([
        ("init_weights", 2),
        ("train_step", 3),
        ("forward", 3),
        ("backward", 3),
        ("cross_entropy", 3),
        ("linear", 6),
        ("relu", 3),
        ("relu_backward", 3),
        ("adam", 6),
        ("matmul", 15),
    ]);
    assert_eq!(tree::counts(&trace), expected);
    assert_eq!(tree::depth(&trace), 4);
}

#[test]
fn every_product_has_the_dims_and_flops_of_the_formula() {
    let (_, trace) = record(|| train(1, Walk::Rows));
    let shapes: Vec<_> = tree::of(&trace, "matmul")
        .map(|entry| entry.input_shapes.clone())
        .collect();
    let expected = [
        [[BATCH, INPUTS], [INPUTS, HIDDEN]],
        [[BATCH, HIDDEN], [HIDDEN, CLASSES]],
        [[HIDDEN, BATCH], [BATCH, CLASSES]],
        [[BATCH, CLASSES], [CLASSES, HIDDEN]],
        [[INPUTS, BATCH], [BATCH, HIDDEN]],
    ];
    assert_eq!(shapes, expected);
    tree::assert_matmuls_follow_the_formula(&trace);
}

#[test]
fn the_optimiser_writes_into_the_weights_and_their_moments() {
    let (_, trace) = record(|| train(1, Walk::Columns));
    let adam = tree::of(&trace, "adam").next().expect("there are two");
    assert_eq!(adam.input_shapes, [[INPUTS, HIDDEN]; 4]);
    assert_eq!(adam.output_shape, [INPUTS, HIDDEN]);
    assert_eq!(adam.more_outputs, [[INPUTS, HIDDEN]; 2]);
}

#[test]
fn training_lowers_the_loss_and_the_slow_walk_learns_the_same() {
    let fast = train(20, Walk::Rows);
    assert!(fast[19] < 0.75 * fast[0], "{} to {}", fast[0], fast[19]);
    assert_eq!(fast, train(20, Walk::Columns));
}
