use trace_runtime::traced_op;

#[traced_op(nmae = "conv2d", kidn = compute)]
fn both_are_reported(x: &[f32]) -> usize {
    x.len()
}

fn main() {
    both_are_reported(&[]);
}
