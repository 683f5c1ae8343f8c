#[traced_op(kind = compute)]
impl<T: Float> Layer for Linear<T> {
    type Output = Tensor<T>;

    fn forward(&self, x: &Tensor<T>) -> Self::Output {
        x.matmul(&self.weight)
    }

    #[traced_op(skip)]
    fn name(&self) -> &str {
        "linear"
    }
}
