//! The memory of the examples, op by op: weights, activations that are held for the backward pass, and temporaries.
#![cfg(feature = "enabled")]
#![allow(
    clippy::duplicate_mod,
    reason = "both examples have the same modules, and are used as they are"
)]

#[path = "../examples/train_mlp/graph.rs"]
#[allow(dead_code, reason = "the tests use a part of the example")]
mod mlp;
#[path = "../examples/transformer/graph.rs"]
#[allow(dead_code, reason = "as above")]
mod transformer;

use mlp::{BATCH, CLASSES, HIDDEN, INPUTS};
use std::alloc::System;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use trace_runtime::analyze::{FindingKind, HeapRow, findings, heap_by_shape, live_memory};
use trace_runtime::{RecordedExecutionTrace, Session, TracedAlloc};
use transformer::{Config, Run, Transformer};

#[global_allocator]
static ALLOC: TracedAlloc = TracedAlloc::new(System);

/// There is one session at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of this many `f32`.
const fn floats(count: usize) -> u64 {
    4 * count as u64
}

fn row<'a>(rows: &'a [HeapRow], operation: &str, shapes: &[&[usize]]) -> &'a HeapRow {
    let mut found = rows.iter().filter(|row| {
        let dims = row.input_shapes.iter().map(Vec::as_slice);
        row.operation.as_deref() == Some(operation) && dims.eq(shapes.iter().copied())
    });
    match (found.next(), found.next()) {
        (Some(row), None) => row,
        _ => panic!("{operation} {shapes:?}: {rows:#?}"),
    }
}

fn ops(rows: &[HeapRow]) -> BTreeSet<&str> {
    rows.iter()
        .filter_map(|row| row.operation.as_deref())
        .collect()
}

const STEPS: usize = 6;

fn train() -> RecordedExecutionTrace {
    let session = Session::start().unwrap();
    mlp::train(STEPS, mlp::Walk::Rows);
    session.finish()
}

#[test]
fn training_keeps_the_results_of_each_op_and_nothing_after_a_step() {
    let _alone = alone();
    let trace = train();
    let rows = heap_by_shape(&trace);
    let calls = STEPS as u64;
    // The result of each op, which outlives the op.
    let kept = [
        (
            "matmul",
            &[[BATCH, INPUTS], [INPUTS, HIDDEN]][..],
            BATCH * HIDDEN,
        ),
        (
            "matmul",
            &[[BATCH, HIDDEN], [HIDDEN, CLASSES]],
            BATCH * CLASSES,
        ),
        (
            "matmul",
            &[[HIDDEN, BATCH], [BATCH, CLASSES]],
            HIDDEN * CLASSES,
        ),
        (
            "matmul",
            &[[BATCH, CLASSES], [CLASSES, HIDDEN]],
            BATCH * HIDDEN,
        ),
        (
            "matmul",
            &[[INPUTS, BATCH], [BATCH, HIDDEN]],
            INPUTS * HIDDEN,
        ),
        ("linear", &[[BATCH, INPUTS]], BATCH * HIDDEN),
        ("linear", &[[BATCH, HIDDEN]], BATCH * CLASSES),
        ("forward", &[[BATCH, INPUTS]], BATCH * (HIDDEN + CLASSES)),
    ];
    for (operation, shapes, elements) in kept {
        let shapes: Vec<&[usize]> = shapes.iter().map(<[usize; 2]>::as_slice).collect();
        let row = row(&rows, operation, &shapes);
        assert_eq!(row.calls, calls, "{row:?}");
        assert_eq!(row.retained_bytes, calls * floats(elements), "{row:?}");
        assert_eq!(row.live_bytes, 0, "{row:?}");
    }
    let slope = row(&rows, "cross_entropy", &[&[BATCH, CLASSES], &[BATCH]]);
    assert_eq!(slope.allocated_bytes, calls * floats(BATCH * CLASSES));
    assert_eq!(slope.retained_bytes, slope.allocated_bytes);
    // The gradients of both layers outlive the backward pass, the slope of the activations does not.
    let inputs: [&[usize]; 3] = [&[BATCH, INPUTS], &[BATCH, HIDDEN], &[BATCH, CLASSES]];
    let backward = row(&rows, "backward", &inputs);
    let gradients = INPUTS * HIDDEN + HIDDEN * CLASSES + HIDDEN + CLASSES;
    assert_eq!(backward.retained_bytes, calls * floats(gradients));
    assert!(backward.temporary_bytes >= calls * floats(BATCH * HIDDEN));
    // A step leaves nothing: the weights are changed in place.
    let step = row(&rows, "train_step", &[&[BATCH, INPUTS], &[BATCH]]);
    assert_eq!((step.retained_bytes, step.live_bytes), (0, 0), "{step:?}");
    assert!(step.peak_bytes >= floats(BATCH * HIDDEN + gradients));
    // These work in place.
    for operation in ["relu", "relu_backward", "adam"] {
        assert!(!ops(&rows).contains(operation), "{operation} allocates");
    }
}

#[test]
fn the_peak_of_training_has_weights_and_activations() {
    let _alone = alone();
    let trace = train();
    let [memory] = &live_memory(&trace)[..] else {
        panic!("one device");
    };
    let weights = 3 * (INPUTS * HIDDEN + HIDDEN * CLASSES);
    let held = |operation: Option<&str>, shapes: &[[usize; 2]]| -> u64 {
        let holders = memory.holders.iter().filter(|holder| {
            holder.operation.as_deref() == operation && holder.input_shapes.iter().eq(shapes.iter())
        });
        holders.map(|holder| holder.bytes).sum()
    };
    assert!(held(None, &[]) >= floats(weights), "{:?}", memory.holders);
    let activations = held(Some("matmul"), &[[BATCH, INPUTS], [INPUTS, HIDDEN]]);
    assert!(
        activations >= floats(BATCH * HIDDEN),
        "{:?}",
        memory.holders
    );
    // The curve rises and falls with every step.
    let half = memory.peak_bytes.midpoint(floats(weights));
    let rises = memory
        .curve
        .windows(2)
        .filter(|pair| pair[0].1 < half && pair[1].1 >= half)
        .count();
    assert!(rises >= STEPS, "{rises} rises: {:?}", memory.curve);
    assert!(memory.peak_bytes >= floats(weights + BATCH * HIDDEN));
}

const RUN: Run = Run {
    config: Config {
        width: 192,
        heads: 3,
        layers: 2,
        hidden: 768,
        vocabulary: 300,
        context: 32,
    },
    prompt: 4,
    written: 10,
};

fn generate(run: Run) -> RecordedExecutionTrace {
    let model = Transformer::new(run.config, 42);
    let session = Session::start().unwrap();
    model.generate(&run.prompt(), run.written, 7);
    session.finish()
}

#[test]
fn generating_keeps_one_row_of_keys_and_values_per_token() {
    let _alone = alone();
    let trace = generate(RUN);
    let rows = heap_by_shape(&trace);
    let Config { width, hidden, .. } = RUN.config;
    let (layers, passes) = (RUN.config.layers as u64, RUN.written as u64);
    // The passes after the first read one token.
    let blocks = layers * (passes - 1);
    let up = row(&rows, "matmul", &[&[1, width], &[width, hidden]]);
    assert_eq!(
        (up.calls, up.retained_bytes),
        (blocks, blocks * floats(hidden))
    );
    let mlp = row(&rows, "mlp", &[&[1, width]]);
    assert_eq!(mlp.retained_bytes, blocks * floats(width));
    let norm = row(&rows, "layer_norm", &[&[1, width]]);
    assert_eq!(norm.allocated_bytes, norm.calls * floats(width));
    for before in RUN.prompt..RUN.prompt + RUN.written - 1 {
        let append = row(&rows, "cache_append", &[&[before, width], &[1, width]]);
        assert_eq!(append.calls, 2 * layers);
        assert_eq!(
            append.retained_bytes,
            2 * layers * floats((before + 1) * width)
        );
    }
    for operation in ["gelu", "add", "causal_softmax"] {
        assert!(!ops(&rows).contains(operation), "{operation} allocates");
    }
    // Outside of ops, the threads of the test harness allocate too.
    let of_ops = rows.iter().filter(|row| row.operation.is_some());
    let live: u64 = of_ops.map(|row| row.live_bytes).sum();
    assert_eq!(live, 0, "everything is freed with the cache");
}

#[test]
fn a_product_that_copies_its_weights_is_a_finding() {
    let _alone = alone();
    let copies = |run| {
        let found = findings(&generate(run));
        let of_kind = |one: &trace_runtime::analyze::Finding| {
            one.kind == FindingKind::RepeatedAllocation && one.subject == "matmul"
        };
        found.list.into_iter().find(of_kind)
    };
    let found = copies(RUN).expect("a product packs its second factor");
    assert!(
        found.sentence.contains("frees it before it returns"),
        "{}",
        found.sentence
    );
    // Matrices of a few kilobytes do not justify a buffer.
    let small = Run {
        config: Config {
            width: 24,
            hidden: 40,
            vocabulary: 50,
            ..RUN.config
        },
        ..RUN
    };
    assert_eq!(copies(small), None);
}
