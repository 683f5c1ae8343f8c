use trace_runtime::traced_op;

#[traced_op(skip(wieghts, bias))]
fn matmul(x: &[f32], weights: &[f32]) -> usize {
    x.len() + weights.len()
}

#[traced_op(skip(x))]
fn nothing_to_skip() {}

#[traced_op(skip())]
fn skips_nothing(x: &[f32]) -> usize {
    x.len()
}

#[traced_op(skip(x), inputs(y))]
fn both(x: &[f32], y: &[f32]) -> usize {
    x.len() + y.len()
}

fn main() {
    matmul(&[], &[]);
    nothing_to_skip();
    skips_nothing(&[]);
    both(&[], &[]);
}
