//! candle: tensors, variables and quantised tensors, on any device.

use crate::{DType, Device};
use crate::{TensorLike, TensorSink};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{DeviceLocation, Tensor, Var};

impl TensorLike for Tensor {
    #[inline]
    fn describe(&self, sink: &mut TensorSink) {
        let device = device(self.device().location());
        sink.tensor(self.dims(), dtype(self.dtype()), device);
    }

    #[inline]
    fn __can_panic(&self) -> bool {
        false
    }
}

impl TensorLike for Var {
    #[inline]
    fn describe(&self, sink: &mut TensorSink) {
        self.as_tensor().describe(sink);
    }

    #[inline]
    fn __can_panic(&self) -> bool {
        false
    }
}

impl TensorLike for QTensor {
    #[inline]
    fn describe(&self, sink: &mut TensorSink) {
        let dtype = match self.dtype() {
            GgmlDType::F32 => DType::F32,
            GgmlDType::F16 => DType::F16,
            GgmlDType::BF16 => DType::BF16,
            _ => DType::Quantized,
        };
        let device = device(self.device().location());
        sink.tensor(self.shape().dims(), dtype, device);
    }

    #[inline]
    fn __can_panic(&self) -> bool {
        false
    }
}

#[inline]
fn dtype(dtype: candle_core::DType) -> DType {
    match dtype {
        candle_core::DType::U8 => DType::U8,
        candle_core::DType::U32 => DType::U32,
        candle_core::DType::I16 => DType::I16,
        candle_core::DType::I32 => DType::I32,
        candle_core::DType::I64 => DType::I64,
        candle_core::DType::BF16 => DType::BF16,
        candle_core::DType::F16 => DType::F16,
        candle_core::DType::F32 => DType::F32,
        candle_core::DType::F64 => DType::F64,
        candle_core::DType::F8E4M3 => DType::F8E4M3,
        candle_core::DType::F6E2M3 => DType::F6E2M3,
        candle_core::DType::F6E3M2 => DType::F6E3M2,
        candle_core::DType::F4 => DType::F4,
        candle_core::DType::F8E8M0 => DType::F8E8M0,
        // candle may add types; one that is not listed here counts as unknown.
        _ => DType::Unknown,
    }
}

#[inline]
fn device(location: DeviceLocation) -> Device {
    match location {
        DeviceLocation::Cpu => Device::Cpu,
        DeviceLocation::Cuda { gpu_id } => Device::Cuda(ordinal(gpu_id)),
        DeviceLocation::Metal { gpu_id } => Device::Metal(ordinal(gpu_id)),
    }
}

#[inline]
fn ordinal(gpu: usize) -> u16 {
    u16::try_from(gpu).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_leads_to_its_family_and_ordinal() {
        assert_eq!(device(DeviceLocation::Cpu), Device::Cpu);
        assert_eq!(
            device(DeviceLocation::Cuda { gpu_id: 0 }).to_string(),
            "cuda:0"
        );
        assert_eq!(
            device(DeviceLocation::Cuda { gpu_id: 7 }).to_string(),
            "cuda:7"
        );
        assert_eq!(
            device(DeviceLocation::Metal { gpu_id: 1 }).to_string(),
            "metal:1"
        );
    }

    #[test]
    fn every_dtype_has_the_size_that_candle_gives() {
        use candle_core::DType as Theirs;
        for theirs in [
            Theirs::U8,
            Theirs::U32,
            Theirs::I16,
            Theirs::I32,
            Theirs::I64,
            Theirs::BF16,
            Theirs::F16,
            Theirs::F32,
            Theirs::F64,
            Theirs::F8E4M3,
            Theirs::F8E8M0,
        ] {
            let ours = dtype(theirs);
            assert_eq!(ours.bytes(3), 3 * theirs.size_in_bytes(), "{ours}");
        }
        // Smaller than a byte: candle gives their size as 0.
        assert_eq!(dtype(Theirs::F4), DType::F4);
        assert_eq!(dtype(Theirs::F6E2M3), DType::F6E2M3);
        assert_eq!(dtype(Theirs::F6E3M2), DType::F6E3M2);
    }
}
