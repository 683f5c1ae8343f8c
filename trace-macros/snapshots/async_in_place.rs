#[traced_op]
async fn update(&mut self, mut x: &mut Tensor) {
    self.step(x).await;
}
