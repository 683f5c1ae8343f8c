#[traced_op]
fn load(path: String) -> Pin<Box<dyn Future<Output = Tensor> + Send>> {
    Box::pin(async move { read(path).await })
}
