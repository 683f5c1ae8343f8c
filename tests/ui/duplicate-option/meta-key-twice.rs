use trace_runtime::traced_op;

#[traced_op(meta(layer = 1, index = 2, layer = 3))]
fn f() {}

fn main() {
    f();
}
