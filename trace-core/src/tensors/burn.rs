//! burn: tensors of any rank and kind; the device names the backend that runs them.

use crate::{DType, Device};
use crate::{TensorLike, TensorSink};
use burn_backend::{Device as _, DeviceId};
use burn_tensor::kind::Basic;
use burn_tensor::quantization::QuantValue;
use burn_tensor::{BoolStore, Tensor};

impl<const D: usize, K: Basic> TensorLike for Tensor<D, K> {
    #[inline]
    fn describe(&self, sink: &mut TensorSink) {
        let device = device(self.device().as_dispatch().to_id());
        sink.tensor(&self.dims(), dtype(self.dtype()), device);
    }
}

/// Bools and quantised values have the type in which a backend stores them, so that the number of bytes is right.
fn dtype(dtype: burn_tensor::DType) -> DType {
    match dtype {
        burn_tensor::DType::F64 => DType::F64,
        burn_tensor::DType::F32 | burn_tensor::DType::Flex32 => DType::F32,
        burn_tensor::DType::F16 => DType::F16,
        burn_tensor::DType::BF16 => DType::BF16,
        burn_tensor::DType::I64 => DType::I64,
        burn_tensor::DType::I32 => DType::I32,
        burn_tensor::DType::I16 => DType::I16,
        burn_tensor::DType::I8 => DType::I8,
        burn_tensor::DType::U64 => DType::U64,
        burn_tensor::DType::U32 | burn_tensor::DType::Bool(BoolStore::U32) => DType::U32,
        burn_tensor::DType::U16 => DType::U16,
        burn_tensor::DType::U8 => DType::U8,
        burn_tensor::DType::Bool(BoolStore::Native | BoolStore::U8) => DType::Bool,
        burn_tensor::DType::QFloat(scheme) => match scheme.value {
            QuantValue::Q8F | QuantValue::Q8S => DType::I8,
            QuantValue::Q4F | QuantValue::Q4S => DType::I4,
            QuantValue::Q2F | QuantValue::Q2S => DType::I2,
            QuantValue::E5M2 => DType::F8E5M2,
            QuantValue::E4M3 => DType::F8E4M3,
            QuantValue::E2M1 => DType::F4,
        },
    }
}

/// The device with an id. burn's own enum has variants only for the backends that are compiled in, which
/// this crate cannot know; the layout of the id does not depend on them.
///
/// The upper byte of the type is the backend; for the cube backend the next three bits are its
/// runtime. The wgpu runtime has its graphics API in the upper three bits of the index.
fn device(id: DeviceId) -> Device {
    const CUBE: u16 = 0;
    const FLEX: u16 = 4;
    const LIBTORCH: u16 = 5;
    const NDARRAY: u16 = 6;

    let index = id.index_id;
    match id.type_id >> 8 {
        CUBE => match (id.type_id >> 5) & 7 {
            0 => Device::Cuda(index),
            1 => Device::Rocm(index),
            2 => Device::Metal(index),
            3 => wgpu(index),
            4 => Device::Cpu,
            _ => Device::Unknown,
        },
        FLEX | NDARRAY => Device::Cpu,
        LIBTORCH => match id.type_id & 0xff {
            0 => Device::Cuda(index),
            1 => Device::Metal(index),
            2 => Device::Cpu,
            3 => Device::Vulkan(index),
            _ => Device::Unknown,
        },
        // A device of another machine, or one that only records the graph.
        _ => Device::Unknown,
    }
}

fn wgpu(index: u16) -> Device {
    let adapter = index & 0x1fff;
    match index >> 13 {
        1 => Device::Vulkan(adapter),
        2 => Device::Metal(adapter),
        _ => Device::Wgpu(adapter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_lead_to_families_and_ordinals() {
        let cube = |runtime: u16, index| device(DeviceId::new(runtime << 5 | 1, index));
        assert_eq!(cube(0, 3), Device::Cuda(3));
        assert_eq!(cube(1, 2), Device::Rocm(2));
        assert_eq!(cube(3, 1), Device::Wgpu(1));
        assert_eq!(cube(3, 1 << 13 | 1), Device::Vulkan(1));
        assert_eq!(cube(3, 2 << 13), Device::Metal(0));
        assert_eq!(cube(4, 0), Device::Cpu);
        assert_eq!(device(DeviceId::new(4 << 8, 0)), Device::Cpu);
        assert_eq!(device(DeviceId::new(5 << 8, 1)), Device::Cuda(1));
        assert_eq!(device(DeviceId::new(10 << 8, 0)), Device::Unknown);
    }
}
