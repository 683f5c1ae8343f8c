//! The tensors of one entry, borrowed from any storage.

use super::signature::{Parts, Role, elements};
use super::{DType, Device};

/// One tensor of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TensorView<'a> {
    /// The dims, outermost first; none for a scalar.
    pub dims: &'a [usize],
    /// The element type.
    pub dtype: DType,
    /// The device that holds it, if that was recorded.
    pub device: Device,
}

impl TensorView<'_> {
    /// The number of elements, saturating.
    pub fn elements(&self) -> usize {
        elements(self.dims)
    }

    /// The size in bytes, saturating; 8 per element if the dtype is unknown.
    pub fn bytes(&self) -> usize {
        self.dtype.bytes(self.elements())
    }
}

/// The input or output tensors of an entry, in order.
#[derive(Debug, Clone)]
pub struct Tensors<'a>(Source<'a>);

#[derive(Debug, Clone)]
enum Source<'a> {
    Owned {
        first: Option<&'a [usize]>,
        shapes: &'a [Vec<usize>],
        dtypes: &'a [DType],
    },
    Stored {
        parts: Parts<'a>,
        role: Role,
    },
}

impl<'a> Tensors<'a> {
    pub(super) fn owned(
        first: Option<&'a [usize]>,
        shapes: &'a [Vec<usize>],
        dtypes: &'a [DType],
    ) -> Self {
        Tensors(Source::Owned {
            first,
            shapes,
            dtypes,
        })
    }

    pub(super) fn stored(parts: Parts<'a>, role: Role) -> Self {
        Tensors(Source::Stored { parts, role })
    }
}

impl<'a> Iterator for Tensors<'a> {
    type Item = TensorView<'a>;

    fn next(&mut self) -> Option<TensorView<'a>> {
        match &mut self.0 {
            Source::Owned {
                first,
                shapes,
                dtypes,
            } => {
                let dims = match first.take() {
                    Some(dims) => dims,
                    None => shapes.split_off_first()?,
                };
                let dtype = dtypes.split_off_first().copied().unwrap_or_default();
                Some(TensorView {
                    dims,
                    dtype,
                    device: Device::Unknown,
                })
            }
            Source::Stored { parts, role } => {
                parts
                    .find(|(header, _)| header.role() == *role)
                    .map(|(header, dims)| TensorView {
                        dims,
                        dtype: header.dtype(),
                        device: header.device(),
                    })
            }
        }
    }
}
