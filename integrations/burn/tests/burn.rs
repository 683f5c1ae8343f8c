//! Tensors of burn are recorded when they are passed and returned, for every rank and kind.
#![allow(
    clippy::needless_pass_by_value,
    clippy::float_cmp,
    reason = "arguments of every form are the subject, and small whole numbers are exact"
)]

#[path = "../../../tests/counting/mod.rs"]
mod counting;

use burn_tensor::activation::softmax;
use burn_tensor::quantization::{QuantScheme, QuantValue};
use burn_tensor::{Bool, Device, FloatDType, Int, IntDType, Tensor};
use trace_runtime::{DType, RecordedTraceEntry, record, traced_op};

fn only<R>(body: impl FnOnce() -> R) -> (R, RecordedTraceEntry) {
    let (result, trace) = record(body);
    assert_eq!(trace.entries.len(), 1);
    (
        result,
        trace.entries.into_iter().next().expect("there is one"),
    )
}

#[traced_op]
fn attention(query: &Tensor<3>, key: Tensor<3>, value: &Tensor<3>) -> Tensor<3> {
    softmax(query.clone().matmul(key.transpose()), 2).matmul(value.clone())
}

#[test]
fn an_op_has_the_dims_dtype_and_device_of_its_tensors() {
    let device = Device::flex();
    let ones = |dims: [usize; 3]| Tensor::<3>::ones(dims, &device);
    let (query, key, value) = (ones([2, 4, 8]), ones([2, 6, 8]), ones([2, 6, 3]));
    let (mixed, entry) = only(|| attention(&query, key, &value));
    let sum: f32 = mixed.sum().into_scalar();
    assert!((sum - 24.0).abs() < 1e-4);
    assert_eq!(entry.input_shapes, [[2, 4, 8], [2, 6, 8], [2, 6, 3]]);
    assert_eq!(entry.input_dtypes, [DType::F32; 3]);
    assert_eq!(entry.output_shape, [2, 4, 3]);
    assert_eq!(entry.memory_bytes, 4 * 24);
    assert_eq!(entry.device_id.as_deref(), Some("cpu"));
}

#[traced_op]
fn above(x: Tensor<2>, bound: f32) -> (Tensor<2, Bool>, Tensor<2, Int>) {
    let mask = x.greater_elem(bound);
    (mask.clone(), mask.int())
}

#[test]
fn every_kind_is_known() {
    let x = Tensor::<2>::from_floats([[1.0, 5.0, 9.0]], &Device::flex());
    let ((_, counted), entry) = only(|| above(x, 3.0));
    assert_eq!(counted.sum().into_scalar::<i32>(), 2);
    assert_eq!(entry.output_shape, [1, 3]);
    assert_eq!(entry.more_outputs, [[1, 3]]);
    assert_eq!(entry.output_dtypes, [DType::Bool, DType::I32]);
    assert_eq!(entry.memory_bytes, 3 + 12);
}

#[traced_op]
fn loss(weight: &Tensor<2>, x: &Tensor<2>) -> Tensor<1> {
    x.clone().matmul(weight.clone()).powi_scalar(2).sum()
}

#[test]
fn a_tensor_that_records_gradients_is_seen_like_any_other() {
    let device = Device::flex().autodiff();
    let weight = Tensor::<2>::ones([3, 2], &device).require_grad();
    let x = Tensor::<2>::ones([5, 3], &device);
    let (loss, entry) = only(|| loss(&weight, &x));
    let slope = weight.grad(&loss.backward()).expect("it is a leaf");
    assert_eq!(slope.dims(), [3, 2]);
    assert_eq!(entry.input_shapes, [[3, 2], [5, 3]]);
    assert_eq!(entry.output_shape, [1]);
    assert_eq!(entry.device_id.as_deref(), Some("cpu"));
}

#[traced_op]
fn quantize(x: Tensor<2>, scheme: &QuantScheme) -> Tensor<2> {
    x.quantize_dynamic(scheme)
}

#[test]
fn a_quantised_tensor_has_the_type_that_it_stores() {
    let scheme = QuantScheme::default().with_value(QuantValue::Q8S);
    let x = Tensor::<2>::ones([4, 32], &Device::flex());
    let (_, entry) = only(|| quantize(x, &scheme));
    assert_eq!(entry.input_dtypes, [DType::F32]);
    assert_eq!(entry.output_dtypes, [DType::I8]);
    assert_eq!(entry.memory_bytes, 4 * 32);
}

#[traced_op]
fn ranks(one: &Tensor<1>, four: Tensor<4, Bool>, six: &Tensor<6, Int>) -> usize {
    one.rank() + four.rank() + six.rank()
}

#[test]
fn every_rank_is_seen() {
    let device = Device::flex();
    let one = Tensor::<1>::ones([7], &device);
    let four = Tensor::<4>::ones([1, 2, 3, 4], &device).greater_elem(0.5);
    let six = Tensor::<6, Int>::zeros([2, 1, 2, 1, 2, 1], &device);
    let (sum, entry) = only(|| ranks(&one, four, &six));
    assert_eq!(sum, 11);
    let expected: [&[usize]; 3] = [&[7], &[1, 2, 3, 4], &[2, 1, 2, 1, 2, 1]];
    assert_eq!(entry.input_shapes, expected);
    assert_eq!(entry.input_dtypes, [DType::F32, DType::Bool, DType::I32]);
}

#[traced_op]
fn cast_float(x: Tensor<2>, dtype: FloatDType) -> Tensor<2> {
    x.cast(dtype)
}

#[traced_op]
fn cast_int(x: Tensor<2, Int>, dtype: IntDType) -> Tensor<2, Int> {
    x.cast(dtype)
}

#[test]
fn every_dtype_has_its_size() {
    let device = Device::flex();
    for (theirs, ours, bytes) in [
        (FloatDType::F64, DType::F64, 48),
        (FloatDType::F32, DType::F32, 24),
        (FloatDType::F16, DType::F16, 12),
        (FloatDType::BF16, DType::BF16, 12),
    ] {
        let (_, entry) = only(|| cast_float(Tensor::ones([2, 3], &device), theirs));
        assert_eq!(entry.output_dtypes, [ours]);
        assert_eq!(entry.memory_bytes, bytes);
    }
    for (theirs, ours, bytes) in [
        (IntDType::I64, DType::I64, 48),
        (IntDType::I32, DType::I32, 24),
        (IntDType::I16, DType::I16, 12),
        (IntDType::I8, DType::I8, 6),
        (IntDType::U64, DType::U64, 48),
        (IntDType::U32, DType::U32, 24),
        (IntDType::U16, DType::U16, 12),
        (IntDType::U8, DType::U8, 6),
    ] {
        let (_, entry) = only(|| cast_int(Tensor::ones([2, 3], &device), theirs));
        assert_eq!(entry.output_dtypes, [ours]);
        assert_eq!(entry.memory_bytes, bytes);
    }
}

#[traced_op]
fn look(x: &Tensor<5>, mask: &Tensor<1, Bool>, owned: Tensor<2, Int>) -> Tensor<2, Int> {
    assert!(x.rank() > mask.rank());
    owned
}

#[test]
fn describing_tensors_allocates_nothing() {
    let device = Device::flex();
    let x = Tensor::<5>::ones([1, 2, 3, 4, 5], &device);
    let mask = Tensor::<1>::ones([9], &device).greater_elem(0.0);
    let owned = Tensor::<2, Int>::zeros([3, 3], &device);
    let (allocated, trace) = record(|| {
        let owned = look(&x, &mask, owned);
        counting::during(|| drop(look(&x, &mask, owned)))
    });
    assert_eq!(allocated.calls, 0);
    assert_eq!(trace.entries.len(), 2);
    let expected: [&[usize]; 3] = [&[1, 2, 3, 4, 5], &[9], &[3, 3]];
    assert_eq!(trace.entries[1].input_shapes, expected);
    assert_eq!(trace.entries[1].output_shape, [3, 3]);
}
