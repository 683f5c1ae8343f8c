use trace_runtime::traced_op;

#[traced_op(level = "info", skip_all)]
fn f(x: &[f32]) -> usize {
    x.len()
}

fn main() {
    f(&[]);
}
