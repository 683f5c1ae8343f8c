//! A crate that uses a framework and does not depend on the runtime directly.

#![forbid(unsafe_code, warnings)]
#![deny(clippy::all, clippy::pedantic, clippy::nursery)]

use facade::trace::{op, traced_op, TensorLike};

#[derive(Debug, TensorLike)]
#[tensor_like(crate = facade::trace)]
pub struct Pair(Vec<f32>, Vec<f32>);

#[traced_op(crate = facade::trace)]
#[must_use]
pub fn longer(pair: &Pair) -> usize {
    if pair.0.len() > pair.1.len() {
        return pair.0.len();
    }
    op!("other", inputs = [&pair.1], { pair.1.len() })
}

#[cfg(all(test, feature = "enabled"))]
mod tests {
    #[test]
    fn it_records() {
        let pair = super::Pair(vec![1.0], vec![1.0, 2.0]);
        let (_, trace) = facade::trace::record(|| super::longer(&pair));
        assert_eq!(trace.entries[0].input_shapes, [[1], [2]]);
        assert_eq!(trace.entries[1].input_shapes, [[2]]);
    }
}
