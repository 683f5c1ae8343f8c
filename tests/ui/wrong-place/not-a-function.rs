use trace_runtime::traced_op;

#[traced_op]
struct Linear;

#[traced_op]
pub(crate) enum Cache {
    Empty,
}

#[traced_op]
trait Layer {
    fn forward(&self);
}

#[traced_op]
mod nn {}

#[traced_op]
static LIMIT: usize = 3;

#[traced_op]
const SIZE: usize = 3;

#[traced_op]
type Shape = Vec<usize>;

#[traced_op]
use std::fmt::Debug;

#[traced_op]
unsafe extern "C" {
    fn dgemm();
}

fn main() {
    let _ = (Linear, Cache::Empty, LIMIT, SIZE, Shape::new());
    fn debug(_: impl Debug) {}
    debug(1);
}
