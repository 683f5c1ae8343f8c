//! Lints work on an annotated function as on any other function.

#![deny(warnings)]

use trace_runtime::traced_op;

#[traced_op]
pub fn unused_variable(x: &[f32], y: &[f32]) -> usize {
    let z = 1;
    x.len()
}

#[traced_op]
pub fn unused_number(x: &[f32], n: usize) -> usize {
    x.len()
}

#[traced_op]
pub fn unused_in_place(x: &mut [f32], y: &mut [f32]) {
    x[0] = 1.0;
}

#[traced_op]
pub fn unused_mut(mut x: Vec<f32>) -> usize {
    x.len()
}

#[traced_op]
pub fn unreachable(x: &[f32]) -> usize {
    return x.len();
    x.len()
}

fn main() {}
