//! Arrays of ndarray 0.16 are recorded, even together with arrays of 0.17.

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

#[test]
fn arrays_of_another_version_are_named_in_a_note() {
    #[traced_op]
    fn norm(x: &ndarray_0_15::Array1<f32>, scale: f32) -> f32 {
        scale * x.iter().map(|x| x * x).sum::<f32>().sqrt()
    }
    #[traced_op]
    fn list(parts: Vec<ndarray_0_15::Array1<f32>>) -> Result<ndarray_0_15::Array1<f32>, String> {
        parts
            .into_iter()
            .next()
            .ok_or_else(|| "no parts".to_owned())
    }
    #[traced_op]
    fn recorded(x: &Array1<f32>, scale: f32) -> f32 {
        scale * x.sum()
    }
    let array = || ndarray_0_15::Array1::from_vec(vec![3.0, 4.0]);
    let note = |body: &dyn Fn()| {
        let ((), trace) = record(body);
        assert!(
            trace.entries.len() == 2
                && trace.entries[0].input_shapes == trace.entries[1].input_shapes
        );
        let mut notes = trace.report().notes;
        notes.retain(|note| note.contains("are not recorded"));
        (notes, trace)
    };
    let (notes, trace) = note(&|| {
        assert!((norm(&array(), 2.0) - 10.0).abs() < 1e-6);
        norm(&array(), 2.0);
    });
    assert!(
        notes[0].starts_with("tensors of ndarray in `norm` are not recorded"),
        "{notes:?}"
    );
    assert!(trace.entries[0].input_shapes.is_empty());

    let (notes, _) = note(&|| {
        list(vec![array()]).unwrap();
        list(vec![array()]).unwrap();
    });
    assert!(notes[0].contains("in `list`"), "{notes:?}");

    // Each recording has its own notes.
    let (notes, _) = note(&|| {
        recorded(&Array1::ones(3), 2.0);
        recorded(&Array1::ones(3), 2.0);
    });
    assert_eq!(notes, [""; 0]);
}
