//! A wrong last expression is one error, as in a function without the attribute.

use std::pin::Pin;
use trace_runtime::traced_op;

#[traced_op]
fn typed(x: &[f32]) -> Vec<f32> {
    x.len()
}

#[traced_op]
fn unknown_type(x: &[f32]) -> Vec<Unknown> {
    x.len()
}

#[traced_op]
fn opaque(x: &[f32]) -> impl Iterator<Item = f32> {
    unknown_of(x)
}

#[traced_op]
fn in_place(x: &mut Vec<f32>) -> Result<(), Unknown> {
    x.clear();
    Ok(())
}

#[traced_op]
fn tuple(x: &[f32]) -> Option<(Vec<f32>, Unknown)> {
    unknown_of(x)
}

#[traced_op(output(result))]
fn given(x: &[f32]) -> impl Iterator<Item = f32> {
    unknown_of(x)
}

#[traced_op]
async fn later(x: &[f32]) -> Vec<f32> {
    x.len()
}

#[traced_op]
fn boxed(x: &[f32]) -> Pin<Box<dyn Future<Output = f32>>> {
    x.len()
}

fn main() {}
