//! A crate that renames the dependency.

#![forbid(unsafe_code, warnings)]
#![deny(clippy::all, clippy::pedantic, clippy::nursery)]
#![cfg_attr(not(feature = "enabled"), allow(clippy::missing_const_for_fn))]

use tracer::{TensorLike, op, traced_op};

#[derive(Debug, TensorLike)]
#[tensor_like(crate = tracer)]
pub struct Weights {
    rows: Vec<[f32; 4]>,
}

#[traced_op(crate = tracer)]
#[must_use]
pub fn sum(x: &[f32]) -> f32 {
    op!("inner", inputs = [x], { x.iter().sum() })
}

#[traced_op(crate = ::tracer)]
pub async fn later(x: &mut Vec<f32>) {
    std::future::ready(()).await;
    x.clear();
}

#[traced_op(crate = tracer)]
impl Weights {
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(all(test, feature = "enabled"))]
mod tests {
    #[test]
    fn it_records() {
        let (_, trace) = tracer::record(|| super::sum(&[1.0, 2.0]));
        assert_eq!(trace.entries[1].operation, "inner");
        assert_eq!(trace.entries[1].parent, Some(0));
        let weights = super::Weights { rows: vec![[0.0; 4]; 3] };
        let (_, trace) = tracer::record(|| weights.len());
        assert_eq!(trace.entries[0].operation, "Weights::len");
        assert_eq!(trace.entries[0].input_shapes, [[3, 4]]);
    }
}
