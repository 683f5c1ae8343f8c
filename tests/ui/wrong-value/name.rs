use trace_runtime::traced_op;

#[traced_op(name = 3)]
fn number() {}

#[traced_op(name = "")]
fn empty() {}

fn main() {
    number();
    empty();
}
