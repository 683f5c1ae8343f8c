#[traced_op]
async fn all_reduce(mut x: Tensor, group: &Group) -> Result<Tensor, Error> {
    group.reduce(&mut x).await?;
    Ok(x)
}
