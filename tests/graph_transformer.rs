//! The trace of the transformer has the ops, nesting and shapes that follow from its configuration.
#![cfg(feature = "enabled")]

#[path = "../examples/transformer/graph.rs"]
mod graph;
mod tree;

use graph::{Cache, Config, Run, Transformer};
use std::collections::BTreeMap;
use trace_runtime::{RecordedExecutionTrace, record};

const SMALL: Run = Run {
    config: Config {
        width: 24,
        heads: 3,
        layers: 2,
        hidden: 40,
        vocabulary: 50,
        context: 16,
    },
    prompt: 5,
    written: 4,
};

fn generate() -> (Vec<u32>, RecordedExecutionTrace) {
    let model = Transformer::new(SMALL.config, 42);
    record(|| model.generate(&SMALL.prompt(), SMALL.written, 7))
}

#[test]
fn the_trace_is_the_graph() {
    let (_, trace) = generate();
    check_counts(&trace, &SMALL);
    check_nesting(&trace);
    check_products(&trace, &SMALL);
}

#[test]
#[ignore = "reads a file that the example writes: `scripts/examples.sh` runs it"]
fn the_trace_that_the_example_wrote_is_the_graph() {
    let trace = RecordedExecutionTrace::read("traces-out/transformer/trace.json")
        .expect("run the example first");
    check_counts(&trace, &Run::EXAMPLE);
    check_nesting(&trace);
    check_products(&trace, &Run::EXAMPLE);
}

/// Checks the number of entries of each op of the graph.
fn check_counts(trace: &RecordedExecutionTrace, run: &Run) {
    let passes = run.written;
    let blocks = passes * run.config.layers;
    let per_head = blocks * run.config.heads;
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
    assert_eq!(tree::counts(trace), expected);
}

/// Ops are nested as the calls are.
fn check_nesting(trace: &RecordedExecutionTrace) {
    assert_eq!(tree::depth(trace), 5);
    for entry in &trace.entries {
        let caller = tree::caller(trace, entry);
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
            expected.contains(&caller),
            "{} in {caller:?}",
            entry.operation
        );
    }
}

/// Every product has the dims and the FLOPs of the formula, in the order of the graph.
fn check_products(trace: &RecordedExecutionTrace, run: &Run) {
    let mut expected = products(&run.config, run.prompt, 0);
    for before in run.prompt..run.prompt + run.written - 1 {
        expected.extend(products(&run.config, 1, before));
    }
    let seen: Vec<_> = tree::of(trace, "matmul")
        .map(|entry| entry.input_shapes.clone())
        .collect();
    assert_eq!(seen, expected);
    tree::assert_matmuls_follow_the_formula(trace);
}

/// The two factors of every product of one pass over `new` tokens that follow `before` others, in order.
fn products(config: &Config, new: usize, before: usize) -> Vec<[[usize; 2]; 2]> {
    let &Config {
        width,
        heads,
        layers,
        hidden,
        vocabulary,
        ..
    } = config;
    let (head, all) = (width / heads, before + new);
    let mut products = Vec::new();
    for _ in 0..layers {
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
fn reading_the_prompt_at_once_or_token_by_token_gives_the_same_logits() {
    let model = Transformer::new(SMALL.config, 42);
    let prompt = SMALL.prompt();
    let at_once = model.forward(&prompt, &mut Cache::new(&SMALL.config));
    let mut cache = Cache::new(&SMALL.config);
    let mut one_by_one = at_once.clone();
    for &token in &prompt {
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
    assert_eq!(generate().0[..SMALL.prompt], SMALL.prompt());
}
