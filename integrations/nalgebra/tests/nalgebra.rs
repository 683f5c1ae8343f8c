//! Matrices of nalgebra are recorded when they are passed and returned, for every storage.
#![allow(
    clippy::needless_pass_by_value,
    clippy::float_cmp,
    reason = "arguments of every form are the subject, and small whole numbers are exact"
)]

#[path = "../../../tests/counting/mod.rs"]
mod counting;

use nalgebra::{
    Complex, Const, DMatrix, DMatrixView, DVector, Dim, Dyn, Matrix, Matrix3, MatrixViewMut,
    OMatrix, RealField, SMatrix, Storage, Vector3,
};
use trace_runtime::{DType, RecordedTraceEntry, record, traced_op};

fn only(body: impl FnOnce()) -> RecordedTraceEntry {
    let ((), trace) = record(body);
    assert_eq!(trace.entries.len(), 1);
    trace.entries.into_iter().next().expect("there is one")
}

#[traced_op]
fn multiply(a: DMatrixView<'_, f64>, b: &SMatrix<f64, 3, 5>) -> OMatrix<f64, Dyn, Const<5>> {
    a * b
}

#[test]
fn a_product_has_the_dims_of_its_factors_and_result() {
    let a = DMatrix::from_element(4, 6, 1.0);
    let b = SMatrix::from_element(2.0);
    let entry = only(|| assert_eq!(multiply(a.columns(1, 3), &b)[(3, 4)], 6.0));
    assert_eq!(entry.input_shapes, [[4, 3], [3, 5]]);
    assert_eq!(entry.input_dtypes, [DType::F64; 2]);
    assert_eq!(entry.output_shape, [4, 5]);
    assert_eq!(entry.memory_bytes, 8 * 20);
    assert_eq!(entry.device_id.as_deref(), Some("cpu"));
}

#[traced_op]
fn solve(a: &DMatrix<f32>, b: &DVector<f32>) -> Option<DVector<f32>> {
    a.clone().lu().solve(b)
}

#[test]
fn a_vector_is_a_matrix_of_one_column() {
    let a = DMatrix::identity(3, 3) * 2.0;
    let entry = only(|| assert_eq!(solve(&a, &DVector::from_element(3, 4.0)).unwrap()[2], 2.0));
    assert_eq!(entry.input_shapes, [[3, 3], [3, 1]]);
    assert_eq!(entry.output_shape, [3, 1]);
    assert_eq!(entry.output_dtypes, [DType::F32]);
}

#[traced_op]
fn scale(
    mut block: MatrixViewMut<'_, u8, Const<2>, Const<3>, Const<1>, Dyn>,
    axis: Vector3<i16>,
) -> Matrix3<i16> {
    block *= 2;
    Matrix3::from_diagonal(&axis)
}

#[test]
fn static_matrices_and_mutable_views_are_seen() {
    let mut bytes = DMatrix::from_element(5, 5, 1_u8);
    let entry = only(|| {
        let block = bytes.fixed_view_mut::<2, 3>(1, 1);
        let _ = scale(block, Vector3::new(1, 2, 3));
    });
    assert_eq!(entry.input_shapes, [[2, 3], [3, 1]]);
    assert_eq!(entry.input_dtypes, [DType::U8, DType::I16]);
    assert_eq!(entry.output_shape, [3, 3]);
}

#[traced_op]
fn norm<T: RealField, R: Dim, C: Dim, S: Storage<T, R, C>>(x: &Matrix<T, R, C, S>) -> T {
    x.norm()
}

#[traced_op]
fn conjugate(x: &DMatrix<Complex<f64>>) -> DMatrix<Complex<f64>> {
    x.conjugate()
}

#[test]
fn generic_and_complex_elements_have_their_dtype() {
    let entry = only(|| assert_eq!(norm(&Vector3::new(0.0_f32, 3.0, 4.0)), 5.0));
    assert_eq!(entry.input_dtypes, [DType::F32]);
    let entry = only(|| drop(conjugate(&DMatrix::from_element(2, 2, Complex::i()))));
    assert_eq!(entry.output_dtypes, [DType::C128]);
}

#[traced_op]
fn look(view: DMatrixView<'_, f64>, axis: Vector3<i16>, owned: DMatrix<f32>) -> DMatrix<f32> {
    assert!(view.nrows() > axis.nrows());
    owned
}

#[test]
fn describing_matrices_allocates_nothing() {
    let (matrix, owned) = (
        DMatrix::from_element(4, 6, 1.0),
        DMatrix::from_element(2, 5, 1.0),
    );
    let axis = Vector3::new(1, 2, 3);
    let (allocated, trace) = record(|| {
        let owned = look(matrix.columns(1, 3), axis, owned);
        counting::during(|| drop(look(matrix.columns(1, 3), axis, owned)))
    });
    assert_eq!(allocated.calls, 0);
    assert_eq!(trace.entries.len(), 2);
    assert_eq!(trace.entries[1].input_shapes, [[4, 3], [3, 1], [2, 5]]);
}
