//! Arrays of ndarray 0.16 are recorded, also next to those of 0.17.

use ndarray_0_16::{
    Array1, Array2, ArrayD, ArrayView2, ArrayViewMut1, CowArray, Ix2, LinalgScalar, RawArrayView,
    array, s,
};
use trace_runtime::{DType, RecordedTraceEntry, record, traced_op};

fn only(body: impl FnOnce()) -> RecordedTraceEntry {
    let ((), trace) = record(body);
    assert_eq!(trace.entries.len(), 1);
    trace.entries.into_iter().next().expect("there is one")
}

#[test]
fn a_product_has_the_dims_of_its_factors_and_result() {
    #[traced_op]
    fn matmul(a: ArrayView2<'_, f32>, b: &Array2<f32>) -> Array2<f32> {
        a.dot(b)
    }
    let (a, b) = (Array2::ones((4, 6)), Array2::ones((3, 5)));
    let entry = only(|| drop(matmul(a.slice(s![.., ..;2]), &b)));
    assert_eq!(entry.input_shapes, [[4, 3], [3, 5]]);
    assert_eq!(entry.input_dtypes, [DType::F32; 2]);
    assert_eq!(entry.output_shape, [4, 5]);
    assert_eq!(entry.memory_bytes, 4 * 4 * 5);
    assert_eq!(entry.device_id.as_deref(), Some("cpu"));
}

#[test]
fn every_storage_is_recorded() {
    #[traced_op]
    fn every_storage(
        shared: &ndarray_0_16::ArcArray1<u16>,
        cow: &CowArray<'_, u32, Ix2>,
        raw: RawArrayView<i8, Ix2>,
        dynamic: &ArrayD<u8>,
    ) -> usize {
        shared.len() + cow.len() + raw.len() + dynamic.len()
    }
    let (cow, raw) = (array![[1u32], [2]], Array2::<i8>::zeros((2, 4)));
    let entry = only(|| {
        let dynamic = ArrayD::zeros(&[2, 1, 3][..]);
        let count = every_storage(
            &Array1::zeros(5).into_shared(),
            &CowArray::from(&cow),
            raw.raw_view(),
            &dynamic,
        );
        assert_eq!(count, 21);
    });
    let expected: [&[usize]; 4] = [&[5], &[2, 1], &[2, 4], &[2, 1, 3]];
    assert_eq!(entry.input_shapes, expected);
    let dtypes = [DType::U16, DType::U32, DType::I8, DType::U8];
    assert_eq!(entry.input_dtypes, dtypes);
}

#[test]
fn generic_elements_lists_and_arguments_written_in_place_are_recorded() {
    #[traced_op]
    fn product<A: LinalgScalar>(a: &Array2<A>, b: &Array2<A>) -> Array2<A> {
        a.dot(b)
    }
    #[traced_op]
    fn fill(mut row: ArrayViewMut1<'_, f64>, from: &[Array1<f64>]) {
        row.assign(&from[0]);
    }
    let eye = Array2::<i32>::eye(3);
    let entry = only(|| assert_eq!(product(&eye, &eye), eye));
    assert_eq!(entry.output_dtypes, [DType::I32]);
    let mut table = Array2::zeros((2, 4));
    let entry = only(|| fill(table.row_mut(1), &[Array1::ones(4)]));
    assert_eq!(entry.input_shapes, [[4], [4]]);
}

#[test]
fn both_versions_are_recorded_in_one_function() {
    #[traced_op]
    fn convert(x: &Array1<f32>) -> ndarray::Array1<f32> {
        x.iter().copied().collect()
    }
    let entry = only(|| drop(convert(&Array1::zeros(7))));
    assert_eq!(entry.input_shapes, [[7]]);
    assert_eq!(entry.output_shape, [7]);
}
