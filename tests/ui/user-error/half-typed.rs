//! A body that is being typed still leaves the function there: only the hole is reported.

use trace_runtime::traced_op;

#[traced_op]
fn typing(x: &[f32]) -> usize {
    x.
}

fn main() {
    typing(&[]);
}
