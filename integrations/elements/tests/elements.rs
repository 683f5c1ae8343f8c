//! Half floats and complex numbers can be elements of tensors.
#![allow(
    clippy::needless_pass_by_value,
    clippy::float_cmp,
    reason = "arguments of every form are the subject, and small whole numbers are exact"
)]

#[path = "../../../tests/counting/mod.rs"]
mod counting;

use half::{bf16, f16};
use ndarray::{Array1, Array2};
use num_complex::{Complex32, Complex64};
use trace_runtime::{DType, RecordedTraceEntry, record, traced_op};

fn only(body: impl FnOnce()) -> RecordedTraceEntry {
    let ((), trace) = record(body);
    assert_eq!(trace.entries.len(), 1);
    trace.entries.into_iter().next().expect("there is one")
}

#[traced_op]
fn widen(x: &[f16], table: [[bf16; 4]; 2]) -> Vec<f32> {
    let rows = table.iter().flatten().map(|x| x.to_f32());
    x.iter().map(|x| x.to_f32()).chain(rows).collect()
}

#[test]
fn slices_and_arrays_of_half_floats_are_tensors() {
    let entry = only(|| {
        let wide = widen(&[f16::ONE; 3], [[bf16::ONE; 4]; 2]);
        assert_eq!(wide, [1.0; 11]);
    });
    assert_eq!(entry.input_shapes, [vec![3], vec![2, 4]]);
    assert_eq!(entry.input_dtypes, [DType::F16, DType::BF16]);
    assert_eq!(entry.output_shape, [11]);
}

#[traced_op]
fn narrow(x: &[f32]) -> Vec<bf16> {
    x.iter().copied().map(bf16::from_f32).collect()
}

#[test]
fn a_half_float_takes_two_bytes() {
    let entry = only(|| drop(narrow(&[1.0; 5])));
    assert_eq!(entry.output_dtypes, [DType::BF16]);
    assert_eq!(entry.memory_bytes, 10);
}

#[traced_op]
fn rotate(signal: &[Complex32], by: Complex32) -> Vec<Complex64> {
    let rotated = signal.iter().map(|x| x * by);
    rotated
        .map(|x| Complex64::new(x.re.into(), x.im.into()))
        .collect()
}

#[test]
fn a_slice_of_complex_numbers_is_a_tensor_and_one_alone_is_not() {
    let entry = only(|| {
        let rotated = rotate(&[Complex32::ONE; 4], Complex32::I);
        assert_eq!(rotated, [Complex64::I; 4]);
    });
    assert_eq!(entry.input_shapes, [[4]]);
    assert_eq!(entry.input_dtypes, [DType::C64]);
    assert_eq!(entry.output_dtypes, [DType::C128]);
    assert_eq!(entry.memory_bytes, 64);
}

#[traced_op]
fn outer(a: &Array1<f16>, b: &Array1<Complex64>) -> Array2<Complex64> {
    Array2::from_shape_fn((a.len(), b.len()), |(row, column)| {
        b[column] * a[row].to_f64()
    })
}

#[test]
fn arrays_have_them_as_elements_too() {
    let (a, b) = (
        Array1::from_elem(2, f16::ONE),
        Array1::from_elem(3, Complex64::I),
    );
    let entry = only(|| assert_eq!(outer(&a, &b)[[1, 2]], Complex64::I));
    assert_eq!(entry.input_dtypes, [DType::F16, DType::C128]);
    assert_eq!(entry.output_shape, [2, 3]);
    assert_eq!(entry.memory_bytes, 6 * 16);
}

#[traced_op]
fn look(halves: &[f16], table: &Array2<bf16>, owned: Vec<Complex32>) -> Vec<Complex32> {
    assert!(halves.len() < table.len());
    owned
}

#[test]
fn describing_tensors_allocates_nothing() {
    let (table, owned) = (
        Array2::from_elem((2, 3), bf16::ONE),
        vec![Complex32::ONE; 7],
    );
    let (allocated, trace) = record(|| {
        let owned = look(&[f16::ONE; 3], &table, owned);
        counting::during(|| drop(look(&[f16::ONE; 3], &table, owned)))
    });
    assert_eq!(allocated.calls, 0);
    assert_eq!(trace.entries.len(), 2);
    assert_eq!(
        trace.entries[1].input_shapes,
        [vec![3], vec![2, 3], vec![7]]
    );
}
