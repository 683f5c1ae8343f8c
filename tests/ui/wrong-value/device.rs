use trace_runtime::traced_op;

#[traced_op(device = 0)]
fn number() {}

#[traced_op(device = "  ")]
fn empty() {}

#[traced_op(device = 1.5 + 1.0)]
fn no_device() {}

fn main() {
    number();
    empty();
    no_device();
}
