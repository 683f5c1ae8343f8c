#[traced_op]
fn matmul(a: &Tensor, b: &Tensor) -> Tensor {
    a.matmul(b)
}
