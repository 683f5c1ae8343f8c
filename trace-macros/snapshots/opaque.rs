#[traced_op]
fn chunks<T: Copy>(x: &[T], len: usize) -> impl Iterator<Item = &[T]> {
    x.chunks(len)
}
