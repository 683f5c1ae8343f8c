//! `#[derive(TensorLike)]`: a struct or an enum is described by the tensors in it. The impl also exists with the
//! feature off.

#![allow(dead_code, reason = "skipped fields are never read")]

use std::marker::PhantomData;
use trace_runtime::{DType, Device, TensorLike, TensorSink};

/// A tensor that does not depend on the impls for standard types.
#[derive(Debug)]
struct Tensor {
    dims: Vec<usize>,
}

impl TensorLike for Tensor {
    fn describe(&self, sink: &mut TensorSink) {
        sink.tensor(&self.dims, DType::F32, Device::Cpu);
    }
}

fn tensor(dims: &[usize]) -> Tensor {
    Tensor {
        dims: dims.to_vec(),
    }
}

fn is_tensor_like<T: TensorLike>() {}

#[derive(TensorLike)]
struct Named {
    weight: Tensor,
    label: String,
    bias: Option<Tensor>,
    untraced: std::net::Ipv4Addr,
    size: usize,
}

#[derive(TensorLike)]
struct Tuple(Tensor, f32, pub Vec<Tensor>);

#[derive(TensorLike)]
struct Unit;

#[derive(TensorLike)]
enum Never {}

#[derive(TensorLike)]
#[allow(clippy::large_enum_variant, reason = "the sizes do not matter here")]
enum Cache {
    Empty,
    One(Tensor),
    Pair {
        key: Tensor,
        value: Tensor,
        at: usize,
    },
}

#[derive(TensorLike)]
#[repr(u8)]
enum Numbered {
    Zero = 0,
    One = 1,
}

#[derive(TensorLike)]
struct Generic<'a, T: Clone = Vec<f32>, const N: usize = 2>
where
    T: Default,
{
    first: &'a T,
    rest: [T; N],
    marker: PhantomData<fn(T) -> T>,
}

#[derive(TensorLike)]
struct TupleWhere<T>(Vec<T>, usize)
where
    T: Copy;

#[derive(TensorLike)]
struct Skips<A> {
    weight: Tensor,
    #[tensor_like(skip)]
    copy: Tensor,
    #[tensor_like(skip)]
    activation: A,
}

#[derive(TensorLike)]
struct Recursive<T> {
    value: T,
    children: Vec<Recursive<T>>,
}

#[derive(TensorLike)]
struct ArrowsAndShifts<F: Fn(f32) -> f32, const N: usize> {
    weight: Tensor,
    #[tensor_like(skip)]
    apply: F,
    shape: [[f32; N]; 2],
}

#[derive(TensorLike)]
struct RawNames {
    r#type: Tensor,
    sink: Tensor,
}

#[derive(TensorLike)]
pub(crate) struct Shared(pub(crate) Tensor, pub(crate) Tensor);

#[test]
fn every_derived_type_is_tensor_like() {
    is_tensor_like::<Named>();
    is_tensor_like::<Tuple>();
    is_tensor_like::<Unit>();
    is_tensor_like::<Never>();
    is_tensor_like::<Cache>();
    is_tensor_like::<Numbered>();
    is_tensor_like::<Generic<'_, Vec<f32>>>();
    is_tensor_like::<TupleWhere<f32>>();
    is_tensor_like::<Skips<std::net::Ipv4Addr>>();
    is_tensor_like::<Recursive<Tensor>>();
    is_tensor_like::<RawNames>();
    is_tensor_like::<Shared>();
}

#[cfg(feature = "enabled")]
mod recorded {
    use super::*;
    use trace_runtime::{record, traced_op};

    #[traced_op]
    fn pass<T: TensorLike>(value: T) -> T {
        value
    }

    fn shapes<T: TensorLike>(value: T) -> Vec<Vec<usize>> {
        let (_, trace) = record(|| pass(value));
        trace.entries[0].input_shapes.clone()
    }

    #[test]
    fn fields_are_described_in_order_and_other_types_are_skipped() {
        let value = Named {
            weight: tensor(&[2, 3]),
            label: "named".into(),
            bias: Some(tensor(&[3])),
            untraced: std::net::Ipv4Addr::LOCALHOST,
            size: 7,
        };
        assert_eq!(shapes(value), [vec![2, 3], vec![3]]);
        let tuple = Tuple(tensor(&[1]), 0.5, vec![tensor(&[2]), tensor(&[3])]);
        assert_eq!(shapes(tuple), [[1], [2], [3]]);
        assert!(shapes(Unit).is_empty());
        assert_eq!(shapes(Shared(tensor(&[4]), tensor(&[5]))), [[4], [5]]);
    }

    #[test]
    fn an_enum_is_described_by_its_variant() {
        assert!(shapes(Cache::Empty).is_empty());
        assert_eq!(shapes(Cache::One(tensor(&[4]))), [[4]]);
        let pair = Cache::Pair {
            key: tensor(&[1]),
            value: tensor(&[2]),
            at: 0,
        };
        assert_eq!(shapes(pair), [[1], [2]]);
        assert!(shapes(Numbered::Zero).is_empty());
        assert!(shapes(Numbered::One).is_empty());
    }

    #[test]
    fn a_type_parameter_is_described_if_it_is_a_tensor() {
        let first = vec![0f32; 5];
        let generic = Generic {
            first: &first,
            rest: [vec![0f32; 6], vec![]],
            marker: PhantomData,
        };
        assert_eq!(shapes(generic), [[5], [6], [0]]);
        assert_eq!(shapes(TupleWhere(vec![1f64; 3], 3)), [[3]]);
        let leaf = Recursive {
            value: tensor(&[2]),
            children: vec![],
        };
        assert_eq!(
            shapes(Recursive {
                value: tensor(&[1]),
                children: vec![leaf]
            }),
            [[1], [2]]
        );
    }

    #[test]
    fn a_skipped_field_is_not_described_and_needs_no_bound() {
        let skips = Skips {
            weight: tensor(&[2]),
            copy: tensor(&[9]),
            activation: f32::exp,
        };
        assert_eq!(shapes(skips), [[2]]);
        let arrows = ArrowsAndShifts {
            weight: tensor(&[2]),
            apply: |x| x + 1.0,
            shape: [[0.0; 3]; 2],
        };
        assert_eq!((arrows.apply)(1.0), 2.0);
        assert_eq!(shapes(arrows), [vec![2], vec![2, 3]]);
        assert_eq!(
            shapes(RawNames {
                r#type: tensor(&[1]),
                sink: tensor(&[2])
            }),
            [[1], [2]]
        );
    }
}
