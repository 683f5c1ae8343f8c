#[traced_op(kind = compute)]
impl Linear {
    #[cfg_attr(feature = "quiet", traced_op(skip))]
    fn forward(&self, x: &Tensor) -> Tensor {
        x.matmul(&self.weight)
    }
}
