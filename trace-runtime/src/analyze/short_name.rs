//! Short, distinct forms of op and kernel names.

use std::collections::{BTreeSet, HashMap};

/// Short forms of the names of a trace, for people.
///
/// The name of a GPU kernel may be a whole C++ signature. Its short form has no return type, namespaces and parameters,
/// and few template arguments: `void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>,
/// …>(int, …)` is `vectorized_elementwise_kernel<AddFunctor>`. Other names do not change. Two names never have the same
/// short form: if that would happen, more template arguments are kept.
///
/// ```
/// use trace_runtime::analyze::ShortNames;
///
/// let names = ["aten::mm", "void gemm<float, A>(int)", "void gemm<float, B>(int)"];
/// let short = ShortNames::of(names);
/// assert_eq!(names.map(|name| short.get(name)), ["aten::mm", "gemm<A>", "gemm<B>"]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct ShortNames(HashMap<String, String>);

impl ShortNames {
    /// The short forms of these names; a name may occur more than once.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> ShortNames {
        let names: BTreeSet<&str> = names.into_iter().collect();
        let mut short: HashMap<String, String> = HashMap::new();
        let mut taken: HashMap<String, usize> = HashMap::new();
        let mut open: Vec<&str> = names.into_iter().collect();
        for detail in DETAILS {
            let forms: Vec<String> = open.iter().map(|name| shortened(name, detail)).collect();
            for form in &forms {
                *taken.entry(form.clone()).or_default() += 1;
            }
            let mut clash = Vec::new();
            for (name, form) in open.into_iter().zip(forms) {
                if taken[&form] == 1 {
                    short.insert(name.to_owned(), form);
                } else {
                    clash.push(name);
                }
            }
            open = clash;
        }
        // Names whose short forms are all taken by others keep the full name.
        short.extend(
            open.into_iter()
                .map(|name| (name.to_owned(), name.to_owned())),
        );
        ShortNames(short)
    }

    /// The short form of a name; the name itself if it was not among the given names.
    pub fn get<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.get(name).map_or(name, String::as_str)
    }
}

/// Number of template arguments that a short form keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    First,
    Named,
    /// All of them, without namespaces.
    Plain,
    All,
    Signature,
}

const DETAILS: [Detail; 5] = [
    Detail::First,
    Detail::Named,
    Detail::Plain,
    Detail::All,
    Detail::Signature,
];

fn shortened(name: &str, detail: Detail) -> String {
    if detail == Detail::Signature || !is_signature(name) {
        return name.to_owned();
    }
    let name = name.strip_prefix("void ").unwrap_or(name);
    let name = name.replace("(anonymous namespace)::", "");
    let head = &name[..parameters_at(&name)];
    let (path, arguments) = match head.find('<') {
        Some(open) => (&head[..open], head[open + 1..].trim_end_matches('>')),
        None => (head, ""),
    };
    let base = path.rsplit("::").next().unwrap_or(path);
    let named: Vec<&str> = identifiers(arguments);
    let kept = match detail {
        Detail::First => named.first().copied().unwrap_or("").to_owned(),
        Detail::Named => named.join(", "),
        Detail::Plain => without_namespaces(arguments),
        _ => arguments.to_owned(),
    };
    // For `Kernel2<cutlass_80_…>`, the argument is the name.
    let generic = base.trim_end_matches(|c: char| c.is_ascii_digit());
    match kept.is_empty() {
        true => base.to_owned(),
        false if detail == Detail::First && generic.eq_ignore_ascii_case("kernel") => kept,
        false => format!("{base}<{kept}>"),
    }
}

/// True for the C++ signature of a function, as opposed to the name of an op or a copy.
fn is_signature(name: &str) -> bool {
    name.starts_with("void ")
        || name.contains('<')
        || (parameters_at(name) < name.len() && name.ends_with(')'))
}

/// Index of the parameter list: the first parenthesis right after a name or a template, outside
/// template arguments. The length of the name if there is none.
pub(crate) fn parameters_at(name: &str) -> usize {
    let mut depth = 0usize;
    let mut before = ' ';
    for (at, c) in name.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' => depth = depth.saturating_sub(1),
            '(' if depth == 0 && (before.is_alphanumeric() || matches!(before, '_' | '>')) => {
                return at;
            }
            _ => {}
        }
        before = c;
    }
    name.len()
}

/// Template arguments with `a::b::c` written as `c`.
fn without_namespaces(arguments: &str) -> String {
    let mut kept = String::new();
    for path in arguments.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_' && c != ':') {
        kept.push_str(path.rsplit("::").next().unwrap_or(path));
    }
    kept
}

/// Words of template arguments that are the same in most kernels.
const NOISE: &str = "__half __nv_bfloat16 anonymous array at aunaryfunctor auto bfloat16 bfloat16_t binaryfunctor \
    bool bunaryfunctor c10 char const cuda detail double false float float2 float4 func_wrapper_t gpu_kernel_impl \
    gpu_kernel_impl_nocast half half2 half_t int int16_t int32_t int64_t int8_t lambda long memory namespace native \
    operator short size_t std tensorlistmetadata tensorlistscalarlistmetadata tfloat32_t true type uint16_t \
    uint32_t uint64_t uint8_t unaryfunctor unsigned void";

/// The last parts of the paths in template arguments, without numbers, plain types and other noise, each
/// once.
fn identifiers(arguments: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    let words = arguments.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
    for word in words {
        let last = word.rsplit("::").next().unwrap_or(word);
        let noise = || {
            let lower = last.to_ascii_lowercase();
            NOISE.split_ascii_whitespace().any(|one| one == lower)
        };
        let numeric = last.starts_with(|c: char| c.is_ascii_digit() || c == ':');
        // `Flash_fwd_kernel_traits` and the like only hold numbers.
        let traits = || last.to_ascii_lowercase().ends_with("traits");
        if !last.is_empty() && !numeric && !found.contains(&last) && !noise() && !traits() {
            found.push(last);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_becomes_its_distinctive_part() {
        let add = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, \
            at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>)";
        let copy = "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<\
            at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}> >(int)";
        for (name, short) in [
            (add, "vectorized_elementwise_kernel<CUDAFunctor_add>"),
            (copy, "elementwise_kernel<direct_copy_kernel_cuda>"),
            (
                "void cutlass::Kernel2<cutlass_80_wmma_tensorop>(Params)",
                "cutlass_80_wmma_tensorop",
            ),
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, \
                 at::native::binary_internal::MulFunctor<float> >, at::detail::Array<char*, 3> >(int)",
                "vectorized_elementwise_kernel<MulFunctor>",
            ),
            (
                "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::\
                 TensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4>, float>(x)",
                "multi_tensor_apply_kernel<FusedAdamMathFunctor>",
            ),
            (
                "void gemv2T_kernel_val<int, int, __half, __half, float, 128, 16, cublasGemvParamsEx<int> >(x)",
                "gemv2T_kernel_val<cublasGemvParamsEx>",
            ),
            (
                "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128>, false>(x)",
                "flash_fwd_kernel",
            ),
            (
                "void cudnn::bn_bw_1C11_kernel_new<float, float2, 128>(x)",
                "bn_bw_1C11_kernel_new",
            ),
            (
                "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::Half>(int)",
                "vectorized_layer_norm_kernel",
            ),
            (
                "ncclKernel_AllReduce_RING(ncclDevComm*, unsigned long)",
                "ncclKernel_AllReduce_RING",
            ),
            (
                "Memcpy HtoD (Pinned -> Device)",
                "Memcpy HtoD (Pinned -> Device)",
            ),
            (
                "autograd::engine::evaluate_function: AddBackward0",
                "autograd::engine::evaluate_function: AddBackward0",
            ),
            ("aten::mm", "aten::mm"),
            ("", ""),
        ] {
            assert_eq!(ShortNames::of([name]).get(name), short);
        }
    }

    #[test]
    fn two_names_never_become_one() {
        let names = [
            "void k<A, B>(int)",
            "void k<A, C>(int)",
            "void k<float, 1>(int)",
            "void k<float, 2>(int)",
            "void k<float, 2>(long)",
            "k",
            "k<float, 1>",
        ];
        let short = ShortNames::of(names);
        let forms: BTreeSet<&str> = names.iter().map(|name| short.get(name)).collect();
        assert_eq!(forms.len(), names.len(), "{forms:?}");
        assert_eq!(short.get(names[0]), "k<A, B>");
    }

    #[test]
    fn any_text_is_a_name() {
        for name in [
            "<",
            ">",
            "a<b",
            "()",
            "x(",
            "::",
            "void ",
            "<<>>::()",
            "日本<語>(x)",
            "k<(>)",
        ] {
            let _ = ShortNames::of([name]).get(name);
        }
    }
}
