//! The trace of the transformer is the graph that its configuration describes.
#![cfg(feature = "enabled")]

#[path = "../examples/transformer/graph.rs"]
mod graph;
mod tree;

use graph::{Cache, Config, Transformer};
use std::collections::BTreeMap;
use trace_runtime::{RecordedExecutionTrace, record};

const CONFIG: Config = Config {
    width: 24,
    heads: 3,
    layers: 2,
    hidden: 40,
    vocabulary: 50,
    context: 16,
};
const PROMPT: [u32; 5] = [3, 14, 15, 9, 26];
const GENERATED: usize = 4;

fn generate() -> (Vec<u32>, RecordedExecutionTrace) {
    let model = Transformer::new(CONFIG, 42);
    record(|| model.generate(&PROMPT, GENERATED, 7))
}

#[test]
fn every_op_of_the_graph_is_there_as_often_as_it_runs() {
    let (_, trace) = generate();
    let passes = GENERATED;
    let blocks = passes * CONFIG.layers;
    let per_head = blocks * CONFIG.heads;
    let expected = BTreeMap::from([
        ("generate", 1),
        ("forward", passes),
        ("embed", passes),
        ("sample", passes),
        ("block", blocks),
        ("attention", blocks),
        ("mlp", blocks),
        ("gelu", blocks),
        ("add", 2 * blocks),
        ("cache_append", 2 * blocks),
        ("layer_norm", 2 * blocks + passes),
        ("causal_softmax", per_head),
        // Queries, keys, values, output, up and down; scores and mixing per head; the logits.
        ("matmul", 6 * blocks + 2 * per_head + passes),
    ]);
    assert_eq!(tree::counts(&trace), expected);
}

#[test]
fn ops_lie_in_one_another_as_the_calls_do() {
    let (_, trace) = generate();
    assert_eq!(tree::depth(&trace), 5);
    for entry in &trace.entries {
        let around = tree::around(&trace, entry);
        let expected: &[Option<&str>] = match entry.operation.as_str() {
            "generate" => &[None],
            "forward" | "sample" => &[Some("generate")],
            "embed" | "block" => &[Some("forward")],
            "attention" | "mlp" | "add" => &[Some("block")],
            "layer_norm" => &[Some("block"), Some("forward")],
            "gelu" => &[Some("mlp")],
            "causal_softmax" | "cache_append" => &[Some("attention")],
            "matmul" => &[Some("attention"), Some("mlp"), Some("forward")],
            other => panic!("`{other}` is not in the graph"),
        };
        assert!(
            expected.contains(&around),
            "{} in {around:?}",
            entry.operation
        );
    }
}

/// The two factors of every product of one pass over `new` tokens behind `before` others, in order.
fn products(new: usize, before: usize) -> Vec<[[usize; 2]; 2]> {
    let Config {
        width,
        heads,
        hidden,
        vocabulary,
        ..
    } = CONFIG;
    let (head, all) = (width / heads, before + new);
    let mut products = Vec::new();
    for _ in 0..CONFIG.layers {
        products.extend([[[new, width], [width, width]]; 3]);
        for _ in 0..heads {
            products.push([[new, head], [head, all]]);
            products.push([[new, all], [all, head]]);
        }
        products.push([[new, width], [width, width]]);
        products.push([[new, width], [width, hidden]]);
        products.push([[new, hidden], [hidden, width]]);
    }
    products.push([[1, width], [width, vocabulary]]);
    products
}

#[test]
fn every_product_has_the_dims_and_flops_of_the_formula() {
    let (_, trace) = generate();
    let mut expected = products(PROMPT.len(), 0);
    for before in PROMPT.len()..PROMPT.len() + GENERATED - 1 {
        expected.extend(products(1, before));
    }
    let seen: Vec<_> = tree::of(&trace, "matmul")
        .map(|entry| entry.input_shapes.clone())
        .collect();
    assert_eq!(seen, expected);
    tree::assert_matmuls_follow_the_formula(&trace);
}

#[test]
fn reading_the_prompt_at_once_or_token_by_token_gives_the_same_logits() {
    let model = Transformer::new(CONFIG, 42);
    let at_once = model.forward(&PROMPT, &mut Cache::new(&CONFIG));
    let mut cache = Cache::new(&CONFIG);
    let mut one_by_one = at_once.clone();
    for token in PROMPT {
        one_by_one = model.forward(&[token], &mut cache);
    }
    let largest = (&at_once - &one_by_one)
        .mapv(f32::abs)
        .fold(0.0, |a: f32, &b| a.max(b));
    assert!(largest < 1e-4, "they differ by {largest}");
    assert!(at_once.iter().all(|logit| logit.is_finite()));
}

#[test]
fn the_same_seed_writes_the_same_text() {
    assert_eq!(generate().0, generate().0);
    assert_eq!(generate().0[..PROMPT.len()], PROMPT);
}
