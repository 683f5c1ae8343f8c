//! nalgebra: a matrix of any storage; a vector is a matrix with one column, and is recorded as one.

use super::element_name::dtype_of;
use crate::Device;
use crate::{TensorLike, TensorSink};
use nalgebra::{Dim, Matrix, RawStorage};

impl<T, R, C, S> TensorLike for Matrix<T, R, C, S>
where
    R: Dim,
    C: Dim,
    S: RawStorage<T, R, C>,
{
    #[inline]
    fn describe(&self, sink: &mut TensorSink) {
        let (rows, columns) = self.shape();
        sink.tensor(&[rows, columns], dtype_of::<T>(), Device::Cpu);
    }
}
