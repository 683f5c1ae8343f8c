use trace_runtime::traced_op;

#[traced_op(crate = "trace_runtime")]
fn quoted() {}

fn main() {
    quoted();
}
