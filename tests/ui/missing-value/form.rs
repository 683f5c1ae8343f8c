use trace_runtime::traced_op;

#[traced_op(name("conv2d"), skip = x, kind)]
fn three_mistakes(x: &[f32]) -> usize {
    x.len()
}

#[traced_op("conv2d")]
fn without_a_key() {}

#[traced_op(name = )]
fn nothing_behind_it() {}

#[traced_op(meta(layer))]
fn key_alone() {}

#[traced_op(name = "a" kind = compute)]
fn no_comma() {}

fn main() {
    three_mistakes(&[]);
    without_a_key();
    nothing_behind_it();
    key_alone();
    no_comma();
}
