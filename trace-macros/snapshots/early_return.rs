#[traced_op]
pub fn window<'a>(x: &'a mut Tensor, at: usize) -> Result<&'a mut Tensor, Error> {
    if at == 0 {
        return Ok(x);
    }
    x.narrow(at)
}
