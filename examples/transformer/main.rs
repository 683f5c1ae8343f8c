//! A small decoder-only transformer writes some tokens while it is recorded.
//!
//! ```text
//! cargo run --release --example transformer
//! ```
//!
//! With `OPTRACE=trace.json` it only writes that trace, for `optrace compare` and `optrace diff`.

#[path = "../shown/files.rs"]
mod files;
mod graph;
#[path = "../shown/report.rs"]
mod report;

use graph::{Cache, Run, Transformer};
use std::alloc::System;
use std::error::Error;
use trace_runtime::analyze::by_shape;
use trace_runtime::report::rate;
use trace_runtime::{RecordedExecutionTrace, Session, TracedAlloc};

/// Charges heap memory to ops while a session records.
#[global_allocator]
static ALLOC: TracedAlloc = TracedAlloc::new(System);

const RUN: Run = Run::EXAMPLE;

fn main() -> Result<(), Box<dyn Error>> {
    let model = Transformer::new(RUN.config, 42);
    let prompt = RUN.prompt();
    if std::env::var_os("OPTRACE").is_some() {
        model.generate(&prompt, RUN.written / 4, 7);
        let session = Session::from_env()?;
        model.generate(&prompt, RUN.written, 7);
        drop(session);
        return Ok(());
    }

    let session = Session::start()?;
    let text = model.generate(&prompt, RUN.written, 7);
    let trace = session.finish();

    check(&model, &text)?;
    println!("Read {} tokens, wrote {}.\n", RUN.prompt, RUN.written);
    report::print(&trace, 10);
    report::print_slowest(&trace, 5);
    report::print_flame(&trace);
    compare_one_row_with_many(&trace);
    files::write_all("transformer", &trace)?;
    Ok(())
}

/// The same weights are multiplied by the whole prompt and by single tokens, at very different speeds.
fn compare_one_row_with_many(trace: &RecordedExecutionTrace) {
    let (rows, many) = (by_shape(trace), RUN.prompt);
    let speed = |tokens: usize| {
        let shapes = [
            vec![tokens, RUN.config.width],
            vec![RUN.config.width, RUN.config.hidden],
        ];
        let product = rows
            .iter()
            .find(|row| row.input_shapes.as_deref() == Some(&shapes[..]));
        product.and_then(|row| row.flops_per_s)
    };
    if let (Some(at_once), Some(single)) = (speed(many), speed(1)) {
        println!(
            "The perceptron's first product runs at {} for the {many} tokens of the prompt, and at\n{} \
             for one token: each weight that is read from memory is then used once.\nThat is why \
             servers batch.\n",
            rate(at_once, "FLOP"),
            rate(single, "FLOP"),
        );
    }
}

/// Reads the whole text at once and token by token: the key/value cache must make no difference.
fn check(model: &Transformer, text: &[u32]) -> Result<(), String> {
    let at_once = model.forward(text, &mut Cache::new(&RUN.config));
    let mut cache = Cache::new(&RUN.config);
    let mut one_by_one = at_once.clone();
    for &token in text {
        one_by_one = model.forward(&[token], &mut cache);
    }
    let error = (&at_once - &one_by_one)
        .mapv(f32::abs)
        .fold(0.0, |a: f32, &b| a.max(b));
    if at_once.iter().all(|logit| logit.is_finite()) && error < 1e-3 {
        Ok(())
    } else {
        Err(format!(
            "logits with and without the cache differ by {error}"
        ))
    }
}
