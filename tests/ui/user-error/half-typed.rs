//! If a body is incomplete, the function still exists: only the incomplete part is reported.

use trace_runtime::traced_op;

#[traced_op]
fn typing(x: &[f32]) -> usize {
    x.
}

fn main() {
    typing(&[]);
}
