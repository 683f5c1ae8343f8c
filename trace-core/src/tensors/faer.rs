//! faer: dense matrices, columns and rows, each owned or borrowed.

use super::element_name::dtype_of;
use crate::Device;
use crate::{TensorLike, TensorSink};
use faer::{Col, ColMut, ColRef, Mat, MatMut, MatRef, Row, RowMut, RowRef, Shape, Stride};

macro_rules! matrices {
    ($([$($lifetime:lifetime,)? $($stride:ident),*] $matrix:ty;)*) => {
        $(impl<$($lifetime,)? T, R: Shape, C: Shape, $($stride: Stride),*> TensorLike for $matrix {
            #[inline]
            fn describe(&self, sink: &mut TensorSink) {
                let dims = [self.nrows().unbound(), self.ncols().unbound()];
                sink.tensor(&dims, dtype_of::<T>(), Device::Cpu);
            }

            #[inline]
            fn __can_panic(&self) -> bool {
                false
            }
        })*
    };
}

matrices! {
    [] Mat<T, R, C>;
    ['a, RS, CS] MatRef<'a, T, R, C, RS, CS>;
    ['a, RS, CS] MatMut<'a, T, R, C, RS, CS>;
}

macro_rules! vectors {
    ($($length:ident: [$($lifetime:lifetime,)? $($stride:ident)?] $vector:ty;)*) => {
        $(impl<$($lifetime,)? T, N: Shape, $($stride: Stride)?> TensorLike for $vector {
            #[inline]
            fn describe(&self, sink: &mut TensorSink) {
                sink.tensor(&[self.$length().unbound()], dtype_of::<T>(), Device::Cpu);
            }

            #[inline]
            fn __can_panic(&self) -> bool {
                false
            }
        })*
    };
}

vectors! {
    nrows: [] Col<T, N>;
    nrows: ['a, RS] ColRef<'a, T, N, RS>;
    nrows: ['a, RS] ColMut<'a, T, N, RS>;
    ncols: [] Row<T, N>;
    ncols: ['a, CS] RowRef<'a, T, N, CS>;
    ncols: ['a, CS] RowMut<'a, T, N, CS>;
}
