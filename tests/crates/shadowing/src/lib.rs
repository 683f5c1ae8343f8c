//! A crate that defines its own items with the names of the prelude.

#![forbid(unsafe_code)]
#![allow(dead_code, unused_macros, non_snake_case, missing_docs, reason = "the names are the test")]

mod std {}
mod core {}
mod alloc {}
mod __private {}

pub struct Option<T>(T);
pub struct Result<T>(T);
pub struct Vec;
pub struct Box;
pub struct String;
pub struct Op;
pub struct __Here;
pub trait Fn {}
pub trait FnOnce {}
pub trait Sized {}
pub trait Drop {}
pub trait Deref {}
pub trait TensorLike {}

/// Methods of every type, with the names of methods that expanded code calls.
pub trait Describe {
    fn describe(&self) {}
    fn record(&self) {}
    fn end(&self) {}
    fn run(&self) {}
    fn is_recording(&self) {}
    fn start(&self) {}
    fn begin(&self) {}
    fn poll(&self) {}
    fn take(&self) {}
}

impl<T> Describe for T {}

pub fn Some() {}
pub fn None() {}
pub fn Ok() {}
pub fn Err() {}
pub fn drop() {}
pub fn begin() {}
pub fn probe() {}
pub fn outcome() {}
pub fn unreached() {}
pub fn call() {}
pub fn success() {}
pub fn starting() {}
pub fn running() {}
pub fn follow() {}
pub fn described_by() {}
pub const NAME: u8 = 3;

macro_rules! panic { () => {}; }
macro_rules! stringify { () => {}; }
macro_rules! concat { () => {}; }
macro_rules! compile_error { () => {}; }

#[derive(trace_runtime::TensorLike)]
pub struct Tensors {
    pub first: [f32; 2],
    pub second: [[f64; 2]; 3],
}

#[trace_runtime::traced_op(flops = 1, meta(k = 1), sync = call())]
pub fn plain(x: &Tensors) -> ::std::result::Result<&[f32], u8> {
    if x.first[0] > 0.0 {
        return ::std::result::Result::Err(NAME);
    }
    ::std::result::Result::Ok(&x.first)
}

#[trace_runtime::traced_op]
pub fn own(x: &Tensors) -> Result<Option<u8>> {
    Result(Option(x.first.len() as u8))
}

#[trace_runtime::traced_op]
pub fn in_place(x: &mut [f32]) {
    for x in x {
        *x = 0.0;
    }
}

#[trace_runtime::traced_op]
pub async fn later(x: &Tensors) -> usize {
    x.first.len()
}

#[trace_runtime::traced_op]
pub fn boxed(x: [f32; 2]) -> ::std::pin::Pin<::std::boxed::Box<dyn Future<Output = [f32; 2]>>> {
    ::std::boxed::Box::pin(async move { x })
}

#[trace_runtime::traced_op]
pub fn named_like_a_future(x: &mut [f32]) -> BoxFuture {
    x[0] = 1.0;
    BoxFuture
}

pub struct BoxFuture;

#[trace_runtime::traced_op]
pub fn part_of_a_tuple(x: (Tensors, Op)) -> (Op, Tensors) {
    (x.1, x.0)
}

#[trace_runtime::traced_op]
pub fn opaque() -> impl Iterator<Item = u8> {
    [1].into_iter()
}

#[trace_runtime::traced_op]
impl Tensors {
    pub fn sum(&self) -> f32 {
        self.first[0] + self.first[1]
    }
}

pub fn block(x: &Tensors) -> f32 {
    trace_runtime::op!("block", kind = compute, inputs = [x], meta = [k = 1], { x.first[0] })
}

#[cfg(all(test, feature = "enabled"))]
mod tests {
    #[test]
    fn it_records() {
        let x = super::Tensors { first: [0.0; 2], second: [[0.0; 2]; 3] };
        let (_, trace) = trace_runtime::record(|| {
            let _ = super::plain(&x);
            super::block(&x);
            x.sum();
        });
        for entry in &trace.entries {
            assert_eq!(entry.input_shapes, [::std::vec![2], ::std::vec![3, 2]]);
        }
        assert_eq!(trace.entries[0].output_shape, [2]);
    }
}
