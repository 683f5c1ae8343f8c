//! Arrays of ndarray are recorded when they are passed and returned, for every storage and rank.
#![cfg(feature = "enabled")]
#![allow(
    clippy::needless_pass_by_value,
    clippy::float_cmp,
    reason = "arguments of every form are the subject, and small whole numbers are exact"
)]

mod counting;

use ndarray::linalg::general_mat_mul;
use ndarray::{
    Array, Array1, Array2, Array3, Array4, Array5, Array6, ArrayD, ArrayRef, ArrayRef2, ArrayView2,
    ArrayViewMut1, Axis, CowArray, Dimension, Ix2, LinalgScalar, NdFloat, RawArrayView, arr0,
    array, s,
};
use trace_runtime::{DType, RecordedTraceEntry, record, traced_op};

fn only(body: impl FnOnce()) -> RecordedTraceEntry {
    let ((), trace) = record(body);
    assert_eq!(trace.entries.len(), 1);
    trace.entries.into_iter().next().expect("there is one")
}

#[traced_op]
fn matmul(a: ArrayView2<'_, f32>, b: &Array2<f32>) -> Array2<f32> {
    a.dot(b)
}

#[test]
fn a_product_has_the_dims_of_its_factors_and_result() {
    let (a, b) = (Array2::ones((4, 6)), Array2::ones((3, 5)));
    let entry = only(|| {
        let product = matmul(a.slice(s![.., ..;2]), &b);
        assert_eq!(product[[0, 0]], 3.0);
    });
    assert_eq!(entry.operation, "matmul");
    assert_eq!(entry.input_shapes, [[4, 3], [3, 5]]);
    assert_eq!(entry.input_dtypes, [DType::F32, DType::F32]);
    assert_eq!(entry.output_shape, [4, 5]);
    assert_eq!(entry.output_dtypes, [DType::F32]);
    assert_eq!(entry.memory_bytes, 4 * 4 * 5);
    assert_eq!(entry.device_id.as_deref(), Some("cpu"));
}

#[traced_op]
fn flatten<D: Dimension>(x: &Array<i64, D>) -> Array1<i64> {
    x.iter().copied().collect()
}

#[test]
fn every_rank_is_seen() {
    let shapes = |entry: RecordedTraceEntry| (entry.input_shapes, entry.output_shape);
    let flat = |dims: &[usize]| {
        let dynamic = ArrayD::<i64>::zeros(dims);
        shapes(only(|| drop(flatten(&dynamic))))
    };
    assert_eq!(flat(&[]), (vec![vec![]], vec![1]));
    assert_eq!(
        flat(&[2, 3, 1, 4, 1, 2, 1]),
        (vec![vec![2, 3, 1, 4, 1, 2, 1]], vec![48])
    );
    let scalar = shapes(only(|| drop(flatten(&arr0(7)))));
    assert_eq!(scalar, (vec![vec![]], vec![1]));
    let cube = shapes(only(|| drop(flatten(&Array3::zeros((2, 0, 3))))));
    assert_eq!(cube, (vec![vec![2, 0, 3]], vec![0]));
    let mut fixed = Vec::new();
    fixed.push(only(|| drop(flatten(&Array1::zeros(2)))));
    fixed.push(only(|| drop(flatten(&Array2::zeros((2, 3))))));
    fixed.push(only(|| drop(flatten(&Array4::zeros((2, 3, 4, 5))))));
    fixed.push(only(|| drop(flatten(&Array5::zeros((2, 3, 4, 5, 6))))));
    fixed.push(only(|| drop(flatten(&Array6::zeros((2, 3, 4, 5, 6, 1))))));
    for (entry, rank) in fixed.into_iter().zip([1, 2, 4, 5, 6]) {
        assert_eq!(entry.input_shapes, [[2, 3, 4, 5, 6, 1][..rank].to_vec()]);
    }
}

#[traced_op]
fn every_storage(
    owned: Array1<u8>,
    shared: &ndarray::ArcArray1<u16>,
    cow: &CowArray<'_, u32, Ix2>,
    raw: RawArrayView<i8, Ix2>,
    reference: &ArrayRef2<i16>,
) -> usize {
    owned.len() + shared.len() + cow.len() + raw.len() + reference.len()
}

#[test]
fn every_storage_is_seen() {
    let (cow, reference) = (array![[1u32], [2]], array![[1i16, 2]]);
    let raw = Array2::<i8>::zeros((2, 4));
    let entry = only(|| {
        let count = every_storage(
            Array1::zeros(3),
            &Array1::zeros(5).into_shared(),
            &CowArray::from(&cow),
            raw.raw_view(),
            &reference,
        );
        assert_eq!(count, 20);
    });
    let expected: [&[usize]; 5] = [&[3], &[5], &[2, 1], &[2, 4], &[1, 2]];
    assert_eq!(entry.input_shapes, expected);
    let dtypes = [DType::U8, DType::U16, DType::U32, DType::I8, DType::I16];
    assert_eq!(entry.input_dtypes, dtypes);
}

#[traced_op]
fn generic_norm<A: NdFloat>(x: &ArrayRef<A, Ix2>) -> A {
    x.iter()
        .map(|&x| x * x)
        .fold(A::zero(), |sum, x| sum + x)
        .sqrt()
}

#[traced_op]
fn generic_product<A: LinalgScalar>(a: &Array2<A>, b: &Array2<A>) -> Array2<A> {
    a.dot(b)
}

#[test]
fn an_array_of_a_generic_element_has_its_dtype() {
    let entry = only(|| assert_eq!(generic_norm(&*array![[3.0, 4.0]]), 5.0));
    assert_eq!(entry.input_dtypes, [DType::F64]);
    let a = Array2::<i32>::eye(3);
    let entry = only(|| assert_eq!(generic_product(&a, &a), a));
    assert_eq!(entry.output_dtypes, [DType::I32]);
    assert_eq!(entry.memory_bytes, 4 * 9);
}

#[test]
fn indices_in_an_array_are_data() {
    #[traced_op]
    fn take(x: &Array2<f32>, rows: &Array1<usize>) -> Array2<f32> {
        x.select(Axis(0), &rows.to_vec())
    }
    let x = Array2::zeros((9, 2));
    let entry = only(|| drop(take(&x, &array![1, 1, 5])));
    assert_eq!(entry.input_shapes, [vec![9, 2], vec![3]]);
    assert_eq!(entry.input_dtypes, [DType::F32, DType::U64]);
    assert_eq!(entry.output_shape, [3, 2]);
}

#[test]
fn an_op_that_writes_into_its_argument_has_it_as_output() {
    #[traced_op]
    fn accumulate(a: &Array2<f32>, b: &Array2<f32>, into: &mut Array2<f32>) {
        general_mat_mul(1.0, a, b, 1.0, into);
    }
    #[traced_op]
    fn fill(mut x: ArrayViewMut1<'_, f32>) {
        x.fill(1.0);
    }
    let (a, b) = (Array2::ones((2, 3)), Array2::ones((3, 4)));
    let mut sum = Array2::zeros((2, 4));
    let entry = only(|| accumulate(&a, &b, &mut sum));
    assert_eq!(entry.input_shapes, [[2, 3], [3, 4], [2, 4]]);
    assert_eq!(entry.output_shape, [2, 4]);
    let entry = only(|| fill(sum.row_mut(1)));
    assert_eq!(entry.input_shapes, [[4]]);
}

#[test]
fn arrays_in_lists_and_options_are_recorded() {
    #[traced_op]
    fn stack(parts: &[Array1<f32>], bias: Option<&Array1<f32>>) -> (Array2<f32>, usize) {
        let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
        let mut rows = ndarray::stack(Axis(0), &views).expect("equal lengths");
        if let Some(bias) = bias {
            rows += bias;
        }
        (rows, parts.len())
    }
    let parts = [Array1::zeros(4), Array1::zeros(4)];
    let entry = only(|| drop(stack(&parts, Some(&Array1::ones(4)))));
    assert_eq!(entry.input_shapes, [[4], [4], [4]]);
    assert_eq!(entry.output_shape, [2, 4]);
}

#[traced_op]
fn look(view: ArrayView2<'_, f32>, dynamic: &ArrayD<u8>, owned: Array3<i64>) -> Array3<i64> {
    assert!(view.ndim() < dynamic.ndim());
    owned
}

#[test]
fn describing_arrays_allocates_nothing() {
    let (table, dynamic, owned) = (
        Array2::ones((4, 6)),
        ArrayD::zeros(&[2, 1, 2, 1, 2, 1, 2][..]),
        Array3::zeros((2, 2, 2)),
    );
    let view = table.slice(s![.., ..;2]);
    let (allocated, trace) = record(|| {
        let owned = look(view, &dynamic, owned);
        counting::during(|| drop(look(view, &dynamic, owned)))
    });
    assert_eq!(allocated.calls, 0);
    assert_eq!(trace.entries.len(), 2);
    let expected: [&[usize]; 3] = [&[4, 3], &[2, 1, 2, 1, 2, 1, 2], &[2, 2, 2]];
    assert_eq!(trace.entries[1].input_shapes, expected);
}
