//! A function that is never called is dead code, with or without the attribute.

#![deny(dead_code)]

use trace_runtime::traced_op;

#[traced_op]
fn never_called(x: &[f32]) -> usize {
    x.len()
}

struct Linear;

impl Linear {
    #[traced_op]
    async fn never_called(&self) {}
}

#[traced_op]
impl Linear {
    fn never_called_either(&self) {}
}

fn main() {
    let _ = Linear;
}
