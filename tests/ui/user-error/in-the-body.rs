//! Mistakes in the body are reported at their position, as without the attribute.

use trace_runtime::traced_op;

#[traced_op]
fn wrong_type(x: &[f32]) -> usize {
    x
}

#[traced_op]
fn wrong_type_of_return(x: &[f32]) -> usize {
    if x.is_empty() {
        return "none";
    }
    x.len()
}

#[traced_op]
fn unit_with_a_value(x: &[f32]) {
    x.len()
}

#[traced_op]
fn unit_returns_a_value(x: &[f32]) {
    return x.len();
}

#[traced_op]
async fn wrong_type_later(x: &[f32]) -> usize {
    x
}

#[traced_op]
fn unknown_name(x: &[f32]) -> usize {
    x.len() + y
}

#[traced_op]
fn moved(x: Vec<f32>) -> Vec<f32> {
    drop(x);
    x
}

fn main() {}
