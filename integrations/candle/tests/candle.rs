//! Tensors of candle are recorded as they are passed and returned, with their dtype and device.
#![allow(
    clippy::needless_pass_by_value,
    clippy::float_cmp,
    reason = "arguments of every form are the subject, and small whole numbers are exact"
)]

#[path = "../../../tests/counting/mod.rs"]
mod counting;

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{D, DType as CandleDType, Device, Result, Tensor, Var};
use trace_runtime::{DType, Outcome, RecordedTraceEntry, record, traced_op};

fn only<R>(body: impl FnOnce() -> R) -> (R, RecordedTraceEntry) {
    let (result, trace) = record(body);
    assert_eq!(trace.entries.len(), 1);
    (
        result,
        trace.entries.into_iter().next().expect("there is one"),
    )
}

#[traced_op]
fn attention(query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Tensor> {
    let scores = query.matmul(&key.transpose(D::Minus1, D::Minus2)?)?;
    scores.matmul(value)
}

#[test]
fn an_op_has_the_dims_dtype_and_device_of_its_tensors() -> Result<()> {
    let tensor = |dims: &[usize]| Tensor::ones(dims, CandleDType::F32, &Device::Cpu);
    let (query, key, value) = (
        tensor(&[2, 4, 8])?,
        tensor(&[2, 6, 8])?,
        tensor(&[2, 6, 3])?,
    );
    let (mixed, entry) = only(|| attention(&query, &key, &value));
    assert_eq!(
        mixed?.sum_all()?.to_scalar::<f32>()?,
        2.0 * 4.0 * 3.0 * 8.0 * 6.0
    );
    assert_eq!(entry.input_shapes, [[2, 4, 8], [2, 6, 8], [2, 6, 3]]);
    assert_eq!(entry.input_dtypes, [DType::F32; 3]);
    assert_eq!(entry.output_shape, [2, 4, 3]);
    assert_eq!(entry.memory_bytes, 4 * 24);
    assert_eq!(entry.device_id.as_deref(), Some("cpu"));
    assert_eq!(entry.outcome, Outcome::Ok);
    Ok(())
}

#[test]
fn an_op_that_fails_is_recorded_as_failed() -> Result<()> {
    let tensor = |dims: (usize, usize)| Tensor::ones(dims, CandleDType::F32, &Device::Cpu);
    let (a, b) = (tensor((2, 3))?, tensor((4, 5))?);
    let (mixed, entry) = only(|| attention(&a, &b, &b));
    assert!(mixed.is_err());
    assert_eq!(entry.outcome, Outcome::Error);
    assert_eq!(entry.input_shapes, [[2, 3], [4, 5], [4, 5]]);
    assert_eq!(entry.output_elements, 0);
    Ok(())
}

#[traced_op]
fn cast(x: &Tensor, dtype: CandleDType) -> Result<Tensor> {
    x.to_dtype(dtype)
}

#[test]
fn every_dtype_that_the_cpu_computes_in_is_known() -> Result<()> {
    let x = Tensor::ones(6, CandleDType::F32, &Device::Cpu)?;
    for (theirs, ours, bytes) in [
        (CandleDType::U8, DType::U8, 6),
        (CandleDType::U32, DType::U32, 24),
        (CandleDType::I16, DType::I16, 12),
        (CandleDType::I32, DType::I32, 24),
        (CandleDType::I64, DType::I64, 48),
        (CandleDType::BF16, DType::BF16, 12),
        (CandleDType::F16, DType::F16, 12),
        (CandleDType::F64, DType::F64, 48),
        (CandleDType::F8E4M3, DType::F8E4M3, 6),
    ] {
        let (cast, entry) = only(|| cast(&x, theirs));
        assert_eq!(cast?.dtype(), theirs);
        assert_eq!(entry.output_dtypes, [ours]);
        assert_eq!(entry.memory_bytes, bytes);
    }
    Ok(())
}

#[traced_op]
fn descend(weight: &Var, slope: &Tensor) -> Result<()> {
    weight.set(&weight.sub(slope)?)
}

#[traced_op]
fn dequantize(weight: &QTensor) -> Result<Tensor> {
    weight.dequantize(&Device::Cpu)
}

#[test]
fn variables_and_quantised_tensors_are_tensors() -> Result<()> {
    let weight = Var::zeros((4, 64), CandleDType::F32, &Device::Cpu)?;
    let slope = Tensor::ones((4, 64), CandleDType::F32, &Device::Cpu)?;
    let (done, entry) = only(|| descend(&weight, &slope));
    done?;
    assert_eq!(entry.input_shapes, [[4, 64], [4, 64]]);

    let packed = QTensor::quantize(&weight, GgmlDType::Q8_0)?;
    let (unpacked, entry) = only(|| dequantize(&packed));
    assert_eq!(unpacked?.dims(), [4, 64]);
    assert_eq!(entry.input_shapes, [[4, 64]]);
    assert_eq!(entry.input_dtypes, [DType::Quantized]);
    assert_eq!(entry.output_dtypes, [DType::F32]);
    Ok(())
}

#[traced_op]
fn look(tensor: &Tensor, variable: &Var, packed: &QTensor, owned: Tensor) -> Tensor {
    assert!(tensor.rank() + variable.rank() + packed.shape().rank() > 0);
    owned
}

#[test]
fn describing_tensors_allocates_nothing() -> Result<()> {
    let variable = Var::ones((4, 64), CandleDType::F32, &Device::Cpu)?;
    let packed = QTensor::quantize(&variable, GgmlDType::Q8_0)?;
    let tensor = Tensor::zeros((1, 2, 3, 4, 5, 6), CandleDType::BF16, &Device::Cpu)?;
    let mut owned = variable.as_detached_tensor();
    let (allocated, trace) = record(|| {
        owned = look(&tensor, &variable, &packed, owned.clone());
        let owned = owned.clone();
        counting::during(|| drop(look(&tensor, &variable, &packed, owned)))
    });
    assert_eq!(allocated.calls, 0);
    assert_eq!(trace.entries.len(), 2);
    let expected: [&[usize]; 4] = [&[1, 2, 3, 4, 5, 6], &[4, 64], &[4, 64], &[4, 64]];
    assert_eq!(trace.entries[1].input_shapes, expected);
    assert_eq!(trace.entries[1].output_shape, [4, 64]);
    Ok(())
}
