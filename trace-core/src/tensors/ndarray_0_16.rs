//! ndarray 0.16: owned, shared and copy-on-write arrays, and views.

use super::element_name::dtype_of;
use crate::{Device, TensorLike, TensorSink};
use ndarray_0_16::{ArrayBase, Dimension, RawData};

impl<S, D> TensorLike for ArrayBase<S, D>
where
    S: RawData,
    D: Dimension,
{
    #[inline]
    fn describe(&self, sink: &mut TensorSink) {
        sink.tensor(self.shape(), dtype_of::<S::Elem>(), Device::Cpu);
    }

    #[inline]
    fn __can_panic(&self) -> bool {
        false
    }
}
