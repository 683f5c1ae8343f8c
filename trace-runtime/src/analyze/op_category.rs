//! Sorts ops and kernels into categories by name.

use super::flops::{ELEMENTWISE, words};
use super::short_name::parameters_at;
use std::fmt;

/// The kind of work that an op or a kernel does.
///
/// Finer than [`OpKind`](crate::OpKind), which is recorded; a category is inferred from names, kinds and
/// the op that launched a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum OpCategory {
    /// Matrix products, linear layers included.
    Matmul,
    /// Convolutions, forward and backward.
    Convolution,
    /// Fused attention.
    Attention,
    /// Layer, batch, group and RMS normalisation, and softmax.
    Normalisation,
    /// One result for each element: activations, additions, optimizer updates.
    Elementwise,
    /// Many elements to few: sums, means, pooling, losses.
    Reduction,
    /// Copies, fills, layout changes.
    Copy,
    /// Collectives and transfers between devices or ranks.
    Communication,
    /// Everything else, and names that are not known.
    #[default]
    Other,
}

impl OpCategory {
    /// Every category, in the order of the enum.
    pub const ALL: [OpCategory; 9] = [
        OpCategory::Matmul,
        OpCategory::Convolution,
        OpCategory::Attention,
        OpCategory::Normalisation,
        OpCategory::Elementwise,
        OpCategory::Reduction,
        OpCategory::Copy,
        OpCategory::Communication,
        OpCategory::Other,
    ];

    /// The name as shown and as written in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            OpCategory::Matmul => "matmul",
            OpCategory::Convolution => "convolution",
            OpCategory::Attention => "attention",
            OpCategory::Normalisation => "normalisation",
            OpCategory::Elementwise => "elementwise",
            OpCategory::Reduction => "reduction",
            OpCategory::Copy => "copy",
            OpCategory::Communication => "communication",
            OpCategory::Other => "other",
        }
    }

    /// The category of an op of the host by its name; `None` if the name is not known.
    pub(crate) fn of_op(name: &str) -> Option<OpCategory> {
        let words = words(name);
        let any = |list: &str| {
            let listed = |word: &String| list.split_ascii_whitespace().any(|one| one == word);
            words.iter().any(listed)
        };
        let any_with = |test: &dyn Fn(&str) -> bool| words.iter().any(|word| test(word));
        if any("attention attn sdpa fmha flash") {
            return Some(OpCategory::Attention);
        }
        if any_with(&|word| word.starts_with("conv") && !word.starts_with("convert")) {
            return Some(OpCategory::Convolution);
        }
        if any(
            "matmul mm bmm addmm baddbmm addbmm linear gemm sgemm dgemm hgemm dot mv addmv gemv einsum",
        ) {
            return Some(OpCategory::Matmul);
        }
        let bare_norm = words.iter().all(|word| word == "aten" || word == "norm");
        if any("linalg") || bare_norm {
            return any("norm").then_some(OpCategory::Reduction);
        }
        let is_norm = |word: &str| {
            let word = word
                .trim_end_matches("1d")
                .trim_end_matches("2d")
                .trim_end_matches("3d");
            word.ends_with("norm") || word.ends_with("softmax")
        };
        if any_with(&is_norm) {
            return Some(OpCategory::Normalisation);
        }
        if any(
            "copy clone cat stack concat memcpy memset fill zero zeros ones full repeat pad \
                contiguous to cast gather scatter",
        ) {
            return Some(OpCategory::Copy);
        }
        if any("sum mean prod var std max min amax amin argmax argmin cumsum logsumexp loss")
            || any_with(&|word| word.contains("pool"))
        {
            return Some(OpCategory::Reduction);
        }
        let more = "where masked eq ne lt le gt ge bitwise logical threshold sign addcmul addcdiv adam \
            adamw sgd foreach activation bias scale";
        (any(ELEMENTWISE) || any(more)).then_some(OpCategory::Elementwise)
    }

    /// The category of a kernel by its name; `None` if the name is not known.
    pub(crate) fn of_kernel(name: &str) -> Option<OpCategory> {
        // Parameters are types, which do not show the function. FBGEMM is the name of a library, so it does not show a
        // product.
        let name = name[..parameters_at(name)].to_ascii_lowercase();
        let name = name.replace("fbgemm", "");
        KERNELS
            .iter()
            .find(|(_, parts)| {
                parts
                    .split_ascii_whitespace()
                    .any(|part| name.contains(part))
            })
            .map(|(category, _)| *category)
    }

    /// The category of a kernel, from the category of its own name and that of the op that launched it.
    ///
    /// A matrix product that a convolution or attention launched belongs to their category. A kernel with an unknown
    /// name has the category of its op. Otherwise the kernel's name decides.
    pub(crate) fn of_launched(kernel: Option<OpCategory>, op: Option<OpCategory>) -> OpCategory {
        use OpCategory::{Attention, Convolution, Matmul};
        match (kernel, op) {
            (None | Some(Matmul | Convolution), Some(op @ (Matmul | Convolution | Attention))) => {
                op
            }
            (Some(kernel), _) => kernel,
            (None, op) => op.unwrap_or_default(),
        }
    }
}

/// Parts of kernel names, in lower case; the first category with a part that occurs in the name is used.
const KERNELS: [(OpCategory, &str); 8] = [
    (OpCategory::Communication, "nccl rccl hccl"),
    (OpCategory::Attention, "flash fmha attention mha_"),
    (
        OpCategory::Convolution,
        "dgrad wgrad fprop convolve conv2d conv3d conv1d conv_ convolution winograd im2col col2im",
    ),
    (
        OpCategory::Matmul,
        "gemm gemv cutlass matmul splitk triton_tem dot_kernel",
    ),
    (
        OpCategory::Normalisation,
        "layer_norm layernorm batch_norm batchnorm bn_fw bn_bw rms_norm rmsnorm group_norm groupnorm \
         softmax gammabeta",
    ),
    (
        OpCategory::Copy,
        "memcpy memset copy fill nchwtonhwc nhwctonchw transpose permute catarray dma",
    ),
    (
        OpCategory::Reduction,
        "reduce pool loss argmax argmin cumsum triton_red triton_per sum_",
    ),
    (
        OpCategory::Elementwise,
        "elementwise pointwise triton_poi multi_tensor_apply adam dropout relu gelu threshold add_",
    ),
];

impl fmt::Display for OpCategory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl crate::model::json_struct::OnWire for OpCategory {
    fn write<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }

    /// A category that this version does not know is read as [`OpCategory::Other`].
    fn read<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
        let known = Self::ALL.into_iter().find(|one| one.name() == name);
        Ok(known.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ops_by_name() {
        use OpCategory::*;
        for (name, category) in [
            ("aten::mm", Some(Matmul)),
            ("AddmmBackward0", Some(Matmul)),
            ("Linear::forward", Some(Matmul)),
            ("aten::cudnn_convolution", Some(Convolution)),
            ("Conv2d::forward", Some(Convolution)),
            ("aten::_scaled_dot_product_flash_attention", Some(Attention)),
            ("aten::native_layer_norm", Some(Normalisation)),
            ("aten::_softmax", Some(Normalisation)),
            ("aten::norm", Some(Reduction)),
            ("aten::linalg_vector_norm", Some(Reduction)),
            ("aten::max_pool2d_with_indices", Some(Reduction)),
            ("aten::copy_", Some(Copy)),
            ("aten::_to_copy", Some(Copy)),
            ("aten::zero_", Some(Copy)),
            // Views move no data.
            ("aten::transpose", None),
            ("aten::permute", None),
            ("aten::gelu_backward", Some(Elementwise)),
            ("aten::_foreach_mul_", Some(Elementwise)),
            ("aten::empty", None),
            ("load", None),
            ("convert", None),
            ("", None),
        ] {
            assert_eq!(OpCategory::of_op(name), category, "{name}");
        }
    }

    #[test]
    fn kernels_by_name() {
        use OpCategory::*;
        for (name, category) in [
            ("ampere_sgemm_32x32_sliced1x4_tn", Some(Matmul)),
            (
                "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16>",
                Some(Matmul),
            ),
            (
                "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32",
                Some(Convolution),
            ),
            (
                "void cudnn::cnn::wgrad_alg0_engine<float, 128>",
                Some(Convolution),
            ),
            ("void pytorch_flash::flash_fwd_kernel<x>", Some(Attention)),
            (
                "void cudnn::bn_bw_1C11_kernel_new<float>",
                Some(Normalisation),
            ),
            (
                "void at::native::elementwise_kernel<128, direct_copy_kernel_cuda>",
                Some(Copy),
            ),
            ("void at::native::reduce_kernel<512, 1>", Some(Reduction)),
            (
                "void at::native::vectorized_elementwise_kernel<4, AddFunctor>",
                Some(Elementwise),
            ),
            ("triton_poi_fused_add_cos_sin_0", Some(Elementwise)),
            ("Memcpy HtoD (Pageable -> Device)", Some(Copy)),
            (
                "ncclKernel_AllReduce_RING_LL_Sum_float",
                Some(Communication),
            ),
            (
                "void split_embedding_kernel<float>(fbgemm_gpu::Accessor, int)",
                None,
            ),
        ] {
            assert_eq!(OpCategory::of_kernel(name), category, "{name}");
        }
    }

    #[test]
    fn a_product_inside_a_convolution_is_convolution() {
        use OpCategory::*;
        let launched = OpCategory::of_launched;
        assert_eq!(launched(Some(Matmul), Some(Convolution)), Convolution);
        assert_eq!(launched(Some(Matmul), Some(Elementwise)), Matmul);
        assert_eq!(launched(Some(Copy), Some(Convolution)), Copy);
        assert_eq!(launched(None, Some(Normalisation)), Normalisation);
        assert_eq!(launched(None, None), Other);
    }
}
