use trace_runtime::traced_op;

#[traced_op(name = "a")]
#[traced_op(kind = compute)]
fn f() {}

fn main() {
    f();
}
