//! `TensorLike::describe` that panics, or runs ops.
#![cfg(feature = "enabled")]

use std::cell::Cell;
use std::panic::catch_unwind;
use trace_runtime::{
    DType, Device, Outcome, RecordedExecutionTrace, Session, TensorLike, TensorSink, record,
    traced_op,
};

/// Its description panics after the first tensor if `panics` is true.
struct Fragile {
    len: usize,
    panics: Cell<bool>,
}

impl Fragile {
    fn new(len: usize) -> Fragile {
        let panics = Cell::new(false);
        Fragile { len, panics }
    }
}

impl TensorLike for Fragile {
    fn describe(&self, sink: &mut TensorSink) {
        sink.tensor(&[self.len, 1], DType::F32, Device::Cpu);
        assert!(!self.panics.get(), "a description that panics");
    }
}

#[traced_op]
fn inner(x: &[f32]) -> f32 {
    x.iter().sum()
}

#[traced_op]
fn takes(x: &Fragile) -> usize {
    inner(&[1.0, 2.0]);
    x.len
}

#[traced_op]
fn gives(x: &[f32], len: usize, panics: bool) -> Fragile {
    inner(x);
    let fragile = Fragile::new(len);
    fragile.panics.set(panics);
    fragile
}

fn outline(trace: &RecordedExecutionTrace) -> Vec<String> {
    trace
        .entries
        .iter()
        .map(|entry| {
            format!(
                "{} {:?} -> {:?} {:?} in {:?}",
                entry.operation,
                entry.input_shapes,
                entry.output_shape,
                entry.outcome,
                entry.parent
            )
        })
        .collect()
}

#[test]
fn an_op_whose_input_cannot_be_described_runs_as_any_other() {
    let fragile = Fragile::new(3);
    let ((), trace) = record(|| {
        for panics in [true, false, true, false] {
            fragile.panics.set(panics);
            assert_eq!(takes(&fragile), 3);
        }
        inner(&[1.0]);
    });
    assert_eq!(
        outline(&trace),
        [
            "takes [[3, 1]] -> [] Ok in None",
            "inner [[2]] -> [] Ok in Some(0)",
            "takes [[3, 1]] -> [] Ok in None",
            "inner [[2]] -> [] Ok in Some(2)",
            "takes [[3, 1]] -> [] Ok in None",
            "inner [[2]] -> [] Ok in Some(4)",
            "takes [[3, 1]] -> [] Ok in None",
            "inner [[2]] -> [] Ok in Some(6)",
            "inner [[1]] -> [] Ok in None",
        ]
    );
}

#[test]
fn an_op_whose_output_cannot_be_described_keeps_what_was_described() {
    let ((), trace) = record(|| {
        // The first and the last have a new signature; the others repeat one.
        for (len, panics) in [(4, true), (4, false), (4, true), (5, true), (4, false)] {
            assert_eq!(gives(&[1.0, 2.0], len, panics).len, len);
        }
    });
    let gives: Vec<String> = outline(&trace)
        .into_iter()
        .filter(|line| line.starts_with("gives"))
        .collect();
    assert_eq!(
        gives,
        [
            "gives [[2]] -> [4, 1] Ok in None",
            "gives [[2]] -> [4, 1] Ok in None",
            "gives [[2]] -> [4, 1] Ok in None",
            "gives [[2]] -> [5, 1] Ok in None",
            "gives [[2]] -> [4, 1] Ok in None",
        ]
    );
    assert_eq!(trace.entries.len(), 10);
}

#[traced_op(meta(panics = panics))]
async fn gives_later(x: &[f32], len: usize, panics: bool) -> Fragile {
    inner(x);
    let fragile = Fragile::new(len);
    fragile.panics.set(panics);
    fragile
}

#[test]
fn an_async_op_whose_output_cannot_be_described_is_not_lost() {
    let ((), trace) = record(|| {
        for (len, panics) in [(4, true), (4, false), (5, true), (4, false)] {
            let mut future = std::pin::pin!(gives_later(&[1.0, 2.0], len, panics));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(future.as_mut().poll(&mut context).is_ready());
        }
    });
    let gives: Vec<String> = outline(&trace)
        .into_iter()
        .filter(|line| line.starts_with("gives"))
        .collect();
    assert_eq!(
        gives,
        [
            "gives_later [[2]] -> [4, 1] Ok in None",
            "gives_later [[2]] -> [4, 1] Ok in None",
            "gives_later [[2]] -> [5, 1] Ok in None",
            "gives_later [[2]] -> [4, 1] Ok in None",
        ]
    );
    assert_eq!(trace.entries[0].meta["panics"], "true");
}

/// Runs an op in its description.
struct Busy;

impl TensorLike for Busy {
    fn describe(&self, sink: &mut TensorSink) {
        inner(&[1.0]);
        sink.tensor(&[7], DType::U8, Device::Cpu);
    }
}

#[traced_op]
fn looks_at(x: &Busy) -> Busy {
    let Busy = x;
    Busy
}

#[test]
fn an_op_in_a_description_is_counted_and_not_recorded() {
    let session = Session::start().unwrap();
    looks_at(&Busy);
    let trace = session.finish();
    assert_eq!(outline(&trace), ["looks_at [[7]] -> [7] Ok in None"]);
    assert_eq!(trace.metadata["dropped"], "2");
}

struct RunsOnDrop;

impl Drop for RunsOnDrop {
    fn drop(&mut self) {
        inner(&[1.0, 2.0, 3.0]);
    }
}

#[traced_op]
fn fails(x: &[f32]) -> f32 {
    let _runs_on_drop = RunsOnDrop;
    assert!(x.is_empty(), "not what was wanted");
    0.0
}

#[test]
fn an_op_that_runs_while_the_stack_unwinds_ends_normally() {
    let ((), trace) = record(|| {
        let failed = catch_unwind(|| fails(&[1.0]));
        assert!(failed.is_err());
    });
    assert_eq!(
        outline(&trace),
        [
            "fails [[1]] -> [] Panicked in None",
            "inner [[3]] -> [] Ok in Some(0)",
        ]
    );
    assert_eq!(trace.entries[0].outcome, Outcome::Panicked);
}

#[test]
fn names_at_one_address_are_distinguished() {
    const NAMES: &str = "attention";
    let ((), trace) = record(|| {
        for _ in 0..2 {
            trace_runtime::op!(&NAMES[..3], {});
            trace_runtime::op!(NAMES, {});
            trace_runtime::op!(NAMES, kind = io, {});
        }
    });
    let ops: Vec<_> = trace
        .entries
        .iter()
        .map(|entry| (entry.operation.as_str(), entry.kind))
        .collect();
    let io = Some(trace_runtime::OpKind::Io);
    let once = [("att", None), ("attention", None), ("attention", io)];
    assert_eq!(ops, [once, once].concat());
}
