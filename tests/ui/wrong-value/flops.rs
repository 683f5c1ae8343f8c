use trace_runtime::traced_op;

#[traced_op(flops = "many")]
fn text() {}

fn main() {
    text();
}
