use trace_runtime::traced_op;

#[traced_op(name = "a", kind = compute, name = "b")]
fn f() {}

fn main() {
    f();
}
