//! Panics inside an op, and in the code that describes one.

use crate::row::{Fault, Row, ended};
use std::panic::catch_unwind;
use trace_runtime::{DType, Device, Session, TensorLike, TensorSink, traced_op};

pub(crate) const FAULTS: &[Fault] = &[
    ("panic in an op", panic_in_an_op),
    ("panic in `describe`", panic_in_describe),
    ("panic in `flops`", panic_in_flops),
    ("panic in `Drop`", panic_in_drop),
    ("panic while unwinding", panic_while_unwinding),
    ("op inside of `describe`", op_in_describe),
];

const TIMES: u64 = 1000;

#[traced_op]
fn inner(x: &[f32]) -> f32 {
    x[0]
}

fn call_inner() {
    inner(&[1.0]);
    ended();
}

fn quietly() {
    std::panic::set_hook(Box::new(|_| {}));
}

#[traced_op]
fn panics(x: &[f32]) {
    call_inner();
    let _ = x[x.len()];
}

fn panic_in_an_op() -> Row {
    quietly();
    let session = Session::start().unwrap();
    for _ in 0..TIMES {
        assert!(catch_unwind(|| panics(&[1.0])).is_err());
        ended();
    }
    Row::of(&session.finish())
}

struct Broken;

impl TensorLike for Broken {
    fn describe(&self, sink: &mut TensorSink) {
        sink.tensor(&[3], DType::F32, Device::Cpu);
        panic!("no shape");
    }
}

#[traced_op]
fn undescribed(x: &Broken) -> Broken {
    let _ = x;
    call_inner();
    Broken
}

fn panic_in_describe() -> Row {
    let session = Session::start().unwrap();
    for _ in 0..TIMES {
        undescribed(&Broken);
        ended();
    }
    let trace = session.finish();
    assert!(trace.metadata["panicked.describe.undescribed"].starts_with("2000 no shape"));
    Row::of(&trace)
}

fn cannot_be_computed() -> u64 {
    panic!("no number")
}

#[traced_op(flops = cannot_be_computed())]
fn uncounted() {
    call_inner();
}

fn panic_in_flops() -> Row {
    let session = Session::start().unwrap();
    for _ in 0..TIMES {
        uncounted();
        ended();
    }
    let trace = session.finish();
    assert!(trace.metadata["panicked.flops.uncounted"].starts_with("1000 no number"));
    Row::of(&trace)
}

struct PanicsAtTheEnd;

impl Drop for PanicsAtTheEnd {
    fn drop(&mut self) {
        call_inner();
        panic!("in `Drop`");
    }
}

#[traced_op]
fn drops() {
    drop(PanicsAtTheEnd);
}

fn panic_in_drop() -> Row {
    quietly();
    let session = Session::start().unwrap();
    for _ in 0..TIMES {
        assert!(catch_unwind(drops).is_err());
        ended();
    }
    Row::of(&session.finish())
}

/// Its destructor runs ops that cannot be described, while the thread unwinds.
struct Recovers;

impl Drop for Recovers {
    fn drop(&mut self) {
        undescribed(&Broken);
        ended();
    }
}

#[traced_op]
fn unwinds() {
    let _recovers = Recovers;
    panic!("in an op");
}

fn panic_while_unwinding() -> Row {
    quietly();
    let session = Session::start().unwrap();
    for _ in 0..TIMES {
        assert!(catch_unwind(unwinds).is_err());
        ended();
    }
    Row::of(&session.finish())
}

struct Computes;

impl TensorLike for Computes {
    fn describe(&self, sink: &mut TensorSink) {
        call_inner();
        sink.tensor(&[3], DType::F32, Device::Cpu);
    }
}

#[traced_op]
fn described(x: &Computes) {
    let _ = x;
}

fn op_in_describe() -> Row {
    let session = Session::start().unwrap();
    for _ in 0..TIMES {
        described(&Computes);
        ended();
    }
    Row::of(&session.finish())
}
