use trace_runtime::traced_op;

#[traced_op(flops = 2 * m * n)]
fn matmul(m: usize) -> usize {
    m
}

fn main() {
    matmul(1);
}
