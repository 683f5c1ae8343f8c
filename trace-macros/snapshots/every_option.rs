#[traced_op(
    name = "conv2d",
    kind = compute,
    device = "cuda:0",
    inputs(x, self.weight),
    output(result.value),
    flops = 2 * self.weight.len() * x.len(),
    bytes = x.bytes(),
    meta(layer = self.index),
    sync = self.stream.synchronize(),
    crate = framework::trace
)]
fn conv2d(&self, x: &Tensor) -> Activation {
    self.run(x)
}
