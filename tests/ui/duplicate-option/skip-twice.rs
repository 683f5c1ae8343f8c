use trace_runtime::traced_op;

#[traced_op(skip(x, y, x))]
fn f(x: &[f32], y: &[f32]) -> usize {
    x.len() + y.len()
}

fn main() {
    f(&[], &[]);
}
