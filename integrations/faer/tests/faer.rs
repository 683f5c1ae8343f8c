//! Matrices, columns and rows of faer are recorded as they are passed and returned.
#![allow(
    clippy::needless_pass_by_value,
    clippy::float_cmp,
    reason = "arguments of every form are the subject, and small whole numbers are exact"
)]

#[path = "../../../tests/counting/mod.rs"]
mod counting;

use faer::linalg::matmul::matmul;
use faer::prelude::Solve;
use faer::{Accum, Col, ColRef, Mat, MatMut, MatRef, Par, Row, RowRef, c32, c64};
use trace_runtime::{DType, RecordedTraceEntry, record, traced_op};

fn only(body: impl FnOnce()) -> RecordedTraceEntry {
    let ((), trace) = record(body);
    assert_eq!(trace.entries.len(), 1);
    trace.entries.into_iter().next().expect("there is one")
}

#[traced_op]
fn multiply(a: &Mat<f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    a * b
}

#[test]
fn a_product_has_the_dims_of_its_factors_and_result() {
    let (a, b) = (Mat::<f64>::ones(4, 3), Mat::<f64>::ones(3, 9));
    let entry = only(|| assert_eq!(multiply(&a, b.subcols(2, 5))[(3, 4)], 3.0));
    assert_eq!(entry.input_shapes, [[4, 3], [3, 5]]);
    assert_eq!(entry.input_dtypes, [DType::F64; 2]);
    assert_eq!(entry.output_shape, [4, 5]);
    assert_eq!(entry.memory_bytes, 8 * 20);
    assert_eq!(entry.device_id.as_deref(), Some("cpu"));
}

#[traced_op]
fn multiply_into(into: MatMut<'_, f32>, a: MatRef<'_, f32>, b: MatRef<'_, f32>) {
    matmul(into, Accum::Replace, a, b, 1.0, Par::Seq);
}

#[test]
fn a_mutable_view_is_seen() {
    let (a, b) = (Mat::<f32>::ones(2, 3), Mat::<f32>::ones(3, 4));
    let mut product = Mat::zeros(2, 4);
    let entry = only(|| multiply_into(product.as_mut(), a.as_ref(), b.transpose().transpose()));
    assert_eq!(product[(1, 3)], 3.0);
    assert_eq!(entry.input_shapes, [[2, 4], [2, 3], [3, 4]]);
    assert_eq!(entry.input_dtypes, [DType::F32; 3]);
}

#[traced_op]
fn solve(a: &Mat<f64>, b: &Col<f64>) -> Col<f64> {
    a.partial_piv_lu().solve(b)
}

#[traced_op]
fn dot(row: RowRef<'_, f32>, column: ColRef<'_, f32>) -> f32 {
    row * column
}

#[test]
fn columns_and_rows_have_one_dim() {
    let a = Mat::from_fn(3, 3, |i, j| if i == j { 2.0 } else { 0.0 });
    let entry = only(|| assert_eq!(solve(&a, &Col::full(3, 4.0))[2], 2.0));
    assert_eq!(entry.input_shapes, [vec![3, 3], vec![3]]);
    assert_eq!(entry.output_shape, [3]);
    let (row, column) = (Row::<f32>::ones(5), Col::<f32>::ones(5));
    let entry = only(|| assert_eq!(dot(row.as_ref(), column.as_ref()), 5.0));
    assert_eq!(entry.input_shapes, [[5], [5]]);
}

#[traced_op]
fn adjoint(x: &Mat<c32>) -> Mat<c64> {
    Mat::from_fn(x.ncols(), x.nrows(), |i, j| {
        c64::new(x[(j, i)].re.into(), -f64::from(x[(j, i)].im))
    })
}

#[test]
fn complex_elements_have_their_dtype() {
    let entry = only(|| drop(adjoint(&Mat::zeros(2, 3))));
    assert_eq!(entry.input_dtypes, [DType::C64]);
    assert_eq!(entry.output_dtypes, [DType::C128]);
    assert_eq!(entry.memory_bytes, 16 * 6);
}

#[traced_op]
fn look(view: MatRef<'_, f64>, row: RowRef<'_, f32>, owned: Mat<c32>) -> Mat<c32> {
    assert!(view.nrows() < row.ncols());
    owned
}

#[test]
fn describing_matrices_allocates_nothing() {
    let (matrix, row, owned) = (
        Mat::<f64>::ones(4, 3),
        Row::<f32>::ones(5),
        Mat::<c32>::zeros(2, 2),
    );
    let (allocated, trace) = record(|| {
        let owned = look(matrix.subcols(1, 2), row.as_ref(), owned);
        counting::during(|| drop(look(matrix.subcols(1, 2), row.as_ref(), owned)))
    });
    assert_eq!(allocated.calls, 0);
    assert_eq!(trace.entries.len(), 2);
    assert_eq!(
        trace.entries[1].input_shapes,
        [vec![4, 2], vec![5], vec![2, 2]]
    );
}
