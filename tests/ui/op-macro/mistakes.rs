use trace_runtime::op;

fn main() {
    let x = [1.0_f32];
    op!("no block", inputs = [&x]);
    op!("unknown option", input = [&x], { x.len() });
    op!("unknown kind", kind = gpu, { x.len() });
    op!({ x.len() });
    op!("twice", kind = compute, kind = memory, { x.len() });
}
