//! ndarray: owned, shared and copy-on-write arrays, views of either kind, and references to layouts.

use super::element_name::dtype_of;
use crate::Device;
use crate::{TensorLike, TensorSink};
use ndarray::{ArrayBase, ArrayRef, Dimension, LayoutRef, RawData, RawRef};

impl<S, D> TensorLike for ArrayBase<S, D>
where
    S: RawData,
    D: Dimension,
{
    #[inline]
    fn describe(&self, sink: &mut TensorSink) {
        AsRef::<LayoutRef<S::Elem, D>>::as_ref(self).describe(sink);
    }

    #[inline]
    fn __can_panic(&self) -> bool {
        false
    }
}

impl<A, D: Dimension> TensorLike for ArrayRef<A, D> {
    #[inline]
    fn describe(&self, sink: &mut TensorSink) {
        AsRef::<LayoutRef<A, D>>::as_ref(self).describe(sink);
    }

    #[inline]
    fn __can_panic(&self) -> bool {
        false
    }
}

impl<A, D: Dimension> TensorLike for RawRef<A, D> {
    #[inline]
    fn describe(&self, sink: &mut TensorSink) {
        AsRef::<LayoutRef<A, D>>::as_ref(self).describe(sink);
    }

    #[inline]
    fn __can_panic(&self) -> bool {
        false
    }
}

impl<A, D: Dimension> TensorLike for LayoutRef<A, D> {
    #[inline]
    fn describe(&self, sink: &mut TensorSink) {
        sink.tensor(self.shape(), dtype_of::<A>(), Device::Cpu);
    }

    #[inline]
    fn __can_panic(&self) -> bool {
        false
    }
}
