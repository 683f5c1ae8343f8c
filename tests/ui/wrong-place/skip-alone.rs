use trace_runtime::traced_op;

#[traced_op(skip)]
fn f(x: &[f32]) -> usize {
    x.len()
}

fn main() {
    f(&[]);
}
