//! [`TensorLike`] for the standard library's numbers, slices and collections.
//!
//! A slice of numbers is a tensor in host memory, and nested arrays are one tensor of higher rank. Other containers
//! describe the tensors in them. `usize` and `isize` are never elements: `&[usize]` holds dims, not data.

use crate::{DType, Device, Element, TensorLike, TensorSink};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime};

/// The dims of nested arrays, outermost first.
#[doc(hidden)]
#[derive(Debug)]
pub struct Dims {
    dims: [usize; Dims::MAX],
    rank: usize,
}

impl Dims {
    const MAX: usize = 8;

    #[inline]
    pub(crate) fn of(len: usize) -> Dims {
        let mut dims = [0; Dims::MAX];
        dims[0] = len;
        Dims { dims, rank: 1 }
    }

    /// Arrays that are nested deeper than eight have eight dims: the further ones are multiplied into the last.
    #[inline]
    pub(crate) fn push(&mut self, len: usize) {
        match self.dims.get_mut(self.rank) {
            Some(dim) => {
                *dim = len;
                self.rank += 1;
            }
            None => self.dims[Dims::MAX - 1] = self.dims[Dims::MAX - 1].saturating_mul(len),
        }
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[usize] {
        &self.dims[..self.rank]
    }
}

macro_rules! elements {
    ($($type:ty),* $(,)?) => {$(
        impl TensorLike for $type {
            #[inline]
            fn describe(&self, _: &mut TensorSink) {}

            #[inline]
            fn __can_panic(&self) -> bool {
                false
            }

            #[inline]
            fn __element(_: &mut Dims) -> Option<DType> {
                Some(<$type>::DTYPE)
            }
        }
    )*};
}

elements!(
    bool, u8, u16, u32, u64, u128, i8, i16, i32, i64, i128, f32, f64
);

macro_rules! no_tensors {
    ($($type:ty),* $(,)?) => {$(
        impl TensorLike for $type {
            #[inline]
            fn describe(&self, _: &mut TensorSink) {}

            #[inline]
            fn __can_panic(&self) -> bool {
                false
            }
        }
    )*};
}

no_tensors!(
    (),
    usize,
    isize,
    char,
    str,
    String,
    Duration,
    Instant,
    SystemTime,
    Path,
    PathBuf
);

impl<T: ?Sized> TensorLike for PhantomData<T> {
    #[inline]
    fn describe(&self, _: &mut TensorSink) {}

    #[inline]
    fn __can_panic(&self) -> bool {
        false
    }
}

/// Only the first tensors of a container are described, so that an op's entry stays small.
const MAX_PARTS: usize = 1024;

impl<T: TensorLike> TensorLike for [T] {
    #[inline]
    fn describe(&self, sink: &mut TensorSink) {
        let mut dims = Dims::of(self.len());
        if let Some(dtype) = T::__element(&mut dims) {
            sink.tensor(dims.as_slice(), dtype, Device::Cpu);
        } else {
            parts(self, sink);
        }
    }

    #[inline]
    fn __can_panic(&self) -> bool {
        self.first().is_some_and(T::__can_panic)
    }
}

fn parts<'a, T: TensorLike + 'a>(parts: impl IntoIterator<Item = &'a T>, sink: &mut TensorSink) {
    for part in parts.into_iter().take(MAX_PARTS) {
        part.describe(sink);
    }
}

impl<T: TensorLike, const N: usize> TensorLike for [T; N] {
    #[inline]
    fn describe(&self, sink: &mut TensorSink) {
        self.as_slice().describe(sink);
    }

    #[inline]
    fn __can_panic(&self) -> bool {
        self.as_slice().__can_panic()
    }

    #[inline]
    fn __element(dims: &mut Dims) -> Option<DType> {
        dims.push(N);
        T::__element(dims)
    }
}

impl<T: TensorLike> TensorLike for Vec<T> {
    #[inline]
    fn describe(&self, sink: &mut TensorSink) {
        self.as_slice().describe(sink);
    }

    #[inline]
    fn __can_panic(&self) -> bool {
        self.as_slice().__can_panic()
    }
}

impl<T: TensorLike> TensorLike for VecDeque<T> {
    fn describe(&self, sink: &mut TensorSink) {
        let mut dims = Dims::of(self.len());
        match T::__element(&mut dims) {
            Some(dtype) => sink.tensor(dims.as_slice(), dtype, Device::Cpu),
            None => parts(self, sink),
        }
    }

    #[inline]
    fn __can_panic(&self) -> bool {
        self.front().is_some_and(T::__can_panic)
    }
}

/// The values, in the order of their keys.
impl<K, V: TensorLike> TensorLike for BTreeMap<K, V> {
    fn describe(&self, sink: &mut TensorSink) {
        parts(self.values(), sink);
    }

    #[inline]
    fn __can_panic(&self) -> bool {
        self.values().next().is_some_and(V::__can_panic)
    }
}

impl<T: TensorLike> TensorLike for Option<T> {
    #[inline]
    fn describe(&self, sink: &mut TensorSink) {
        if let Some(value) = self {
            value.describe(sink);
        }
    }

    #[inline]
    fn __can_panic(&self) -> bool {
        self.as_ref().is_some_and(T::__can_panic)
    }
}

impl<T: TensorLike, E> TensorLike for Result<T, E> {
    #[inline]
    fn describe(&self, sink: &mut TensorSink) {
        if let Ok(value) = self {
            value.describe(sink);
        }
    }

    #[inline]
    fn __can_panic(&self) -> bool {
        self.as_ref().is_ok_and(T::__can_panic)
    }
}

/// The values, in the order of their keys, so that equal maps have equal descriptions.
impl<K: Ord, V: TensorLike, S> TensorLike for HashMap<K, V, S> {
    fn describe(&self, sink: &mut TensorSink) {
        if V::__element(&mut Dims::of(0)).is_some() {
            return;
        }
        // Sorting would cost more than everything else, and a map of this size is not described completely anyway.
        if self.len() > MAX_PARTS {
            return parts(self.values(), sink);
        }
        let mut entries: Vec<(&K, &V)> = self.iter().collect();
        entries.sort_unstable_by_key(|(key, _)| *key);
        parts(entries.into_iter().map(|(_, value)| value), sink);
    }
}

impl<B: TensorLike, C: TensorLike> TensorLike for ControlFlow<B, C> {
    fn describe(&self, sink: &mut TensorSink) {
        match self {
            ControlFlow::Break(value) => value.describe(sink),
            ControlFlow::Continue(value) => value.describe(sink),
        }
    }
}

impl<T: TensorLike> TensorLike for Poll<T> {
    fn describe(&self, sink: &mut TensorSink) {
        if let Poll::Ready(value) = self {
            value.describe(sink);
        }
    }
}

macro_rules! tuples {
    ($($($name:ident)+;)*) => {$(
        impl<$($name: TensorLike),+> TensorLike for ($($name,)+) {
            #[inline]
            #[allow(non_snake_case, reason = "the type parameters name the parts too")]
            fn describe(&self, sink: &mut TensorSink) {
                let ($($name,)+) = self;
                $($name.describe(sink);)+
            }

            #[inline]
            #[allow(non_snake_case, reason = "as above")]
            fn __can_panic(&self) -> bool {
                let ($($name,)+) = self;
                $($name.__can_panic())||+
            }
        }
    )*};
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
    A B C D E F G H I;
    A B C D E F G H I J;
    A B C D E F G H I J K;
    A B C D E F G H I J K L;
}

#[cfg(all(test, feature = "engine"))]
mod tests {
    use super::*;
    use crate::describe::Describe;
    use crate::engine::signature::Parts;
    use crate::probe;

    fn described(value: &(impl TensorLike + ?Sized)) -> Vec<(Vec<usize>, DType)> {
        let mut sink = TensorSink::new();
        value.describe(&mut sink);
        shapes(&sink)
    }

    fn shapes(sink: &TensorSink) -> Vec<(Vec<usize>, DType)> {
        Parts::new(sink.since(0))
            .map(|(header, dims)| (dims.to_vec(), header.dtype()))
            .collect()
    }

    #[test]
    fn nested_arrays_are_one_tensor() {
        assert_eq!(
            described(&[[[0f32; 4]; 3]; 2]),
            [(vec![2, 3, 4], DType::F32)]
        );
        assert_eq!(described(&vec![[0u8; 3]; 5]), [(vec![5, 3], DType::U8)]);
        assert_eq!(
            described(&[[[[[[[[[0f32; 2]; 1]; 1]; 1]; 1]; 1]; 1]; 3]; 5]),
            [(vec![5, 3, 1, 1, 1, 1, 1, 2], DType::F32)]
        );
    }

    #[test]
    fn containers_describe_their_parts() {
        let parts = (vec![vec![0f32; 2], vec![0f32; 3]], Some([0f64; 4]), 7);
        assert_eq!(
            described(&parts),
            [
                (vec![2], DType::F32),
                (vec![3], DType::F32),
                (vec![4], DType::F64)
            ]
        );
        assert_eq!(described(&vec![vec![0f32]; 5000]).len(), MAX_PARTS);
    }

    #[test]
    fn dims_are_not_data() {
        assert_eq!(described(&vec![1usize, 2]), []);
        assert_eq!(described(&[[1isize; 2]; 2]), []);
    }

    #[test]
    fn an_element_of_a_users_own_makes_tensors_too() {
        struct Fixed(#[expect(dead_code, reason = "only its type is read")] i16);
        impl Element for Fixed {
            const DTYPE: DType = DType::I16;
        }
        let mut sink = TensorSink::new();
        let found = [[Fixed(1), Fixed(2)]];
        Describe::describe(probe::probe(&Some(&found)).__tensors(), &mut sink);
        assert_eq!(shapes(&sink), [(vec![1, 2], DType::I16)]);
    }

    #[test]
    fn a_generic_element_is_known_by_its_name() {
        fn generic<T>(values: &[T]) -> Vec<(Vec<usize>, DType)> {
            let mut sink = TensorSink::new();
            Describe::describe(probe::probe(&values).__tensors(), &mut sink);
            shapes(&sink)
        }
        assert_eq!(generic(&[0f32; 3]), [(vec![3], DType::F32)]);
        assert_eq!(generic(&[[[0i64; 5]; 4]; 3]), [(vec![3, 4, 5], DType::I64)]);
        assert_eq!(generic(&[1usize]), []);
        assert_eq!(generic(&["no tensor"]), []);
    }
}
