#[traced_op]
fn split(x: (Tensor, Config), at: usize) -> Result<(Tensor, Tensor, Instant), Error> {
    x.0.split(at, &x.1)
}
