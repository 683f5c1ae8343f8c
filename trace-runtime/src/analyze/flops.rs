//! Floating-point operations of an op, inferred from its name and shapes.
//!
//! Used if no count was recorded. A multiplication and an addition are two operations.
//!
//! | op | FLOPs |
//! |---|---|
//! | `matmul`, `mm`, `bmm`, `gemm`, `dot`, `addmm`, `baddbmm`, `linear` | 2 × output elements × inner dim |
//! | `conv…` | 2 × output elements × weight elements per output channel |
//! | `conv_transpose…` | 2 × input elements × weight elements per input channel |
//! | `attention`, `sdpa` | 2 × batch × queries × keys × (key width + value width): the two products |
//! | `…norm` | 5 × input elements |
//! | `softmax`, `log_softmax` | 5 × input elements |
//! | `add`, `mul`, `relu`, `gelu`, … | 1 × output elements, however costly the function |
//!
//! Backward ops are not inferred, nor is an op whose shapes do not fit its name.

use crate::model::signature::elements;
use crate::model::{EntryView, OpKind};

/// A family of ops with one formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpClass {
    /// A product of the first two inputs.
    Product,
    /// A product of the second and third input, added to the first.
    AddedProduct,
    Linear,
    Convolution,
    TransposedConvolution,
    Attention,
    /// Five operations an element.
    Normalisation,
    Elementwise,
}

pub(crate) const ELEMENTWISE: &str = "add sub mul div neg abs sqrt rsqrt exp log pow square reciprocal relu gelu \
    silu swish elu selu mish leakyrelu sigmoid tanh sin cos erf clamp floor ceil round maximum minimum \
    hardswish hardtanh softplus dropout lerp";

/// Parts of a name that give an op's library or its calling form, not its function.
pub(crate) const NOISE: &str =
    "aten torch nn functional native ops op forward call apply tensor inplace scalar f";

impl OpClass {
    /// The class that the name belongs to, if any.
    pub(crate) fn of(name: &str) -> Option<OpClass> {
        let words = words(name);
        let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
        let starts = |start: &str| words.iter().any(|word| word.starts_with(start));
        if has(&["backward", "grad", "bwd"]) {
            return None;
        }
        // In these ops the dim of the heads comes after the rows, unlike in the op around them.
        if name.ends_with("_flash_attention_forward")
            || name.ends_with("_efficient_attention_forward")
        {
            return None;
        }
        if has(&["attention", "attn", "sdpa"]) {
            return Some(OpClass::Attention);
        }
        if starts("conv") {
            let transposed = starts("transpose") || starts("convtranspose");
            return Some(if transposed {
                OpClass::TransposedConvolution
            } else {
                OpClass::Convolution
            });
        }
        if has(&["addmm", "baddbmm", "addbmm"]) {
            return Some(OpClass::AddedProduct);
        }
        if has(&["linear"]) {
            return Some(OpClass::Linear);
        }
        if has(&[
            "matmul", "mm", "bmm", "gemm", "sgemm", "dgemm", "hgemm", "dot", "gemv", "mv",
        ]) {
            return Some(OpClass::Product);
        }
        let norm = |word: &String| {
            ["norm", "norm1d", "norm2d", "norm3d"]
                .iter()
                .any(|end| word.ends_with(end))
        };
        if words.iter().any(norm) || has(&["softmax", "logsoftmax"]) {
            return Some(OpClass::Normalisation);
        }
        let listed = |list: &str, word: &str| list.split_ascii_whitespace().any(|one| one == word);
        let mut distinctive = words.iter().filter(|word| !listed(NOISE, word));
        match (distinctive.next(), distinctive.next()) {
            (Some(word), None) if listed(ELEMENTWISE, word) => Some(OpClass::Elementwise),
            _ => None,
        }
    }
}

/// The words of a name in lower case: `Conv2d::forward` is `conv2d`, `forward`.
pub(crate) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower_before = false;
    for c in name.chars() {
        let boundary = !c.is_alphanumeric() || (c.is_uppercase() && lower_before);
        if boundary && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        lower_before = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The FLOPs of an entry of this class; `None` if its shapes do not determine them, or its kind is
/// not compute.
pub(crate) fn flops_of(class: OpClass, view: &EntryView<'_>) -> Option<u64> {
    if view.kind().is_some_and(|kind| kind != OpKind::Compute) {
        return None;
    }
    let product = |numbers: &[usize]| {
        numbers
            .iter()
            .try_fold(1u64, |product, &number| product.checked_mul(number as u64))
    };
    let output = view.outputs().next().map(|output| output.elements());
    let mut inputs = view.inputs();
    match class {
        OpClass::Product | OpClass::AddedProduct => {
            if class == OpClass::AddedProduct {
                inputs.next()?;
            }
            let (a, b) = (inputs.next()?.dims, inputs.next()?.dims);
            let (inner, elements) = multiplied(a, b)?;
            product(&[2, output.unwrap_or(elements), inner])
        }
        OpClass::Linear => {
            let input = inputs.next()?.dims;
            let elements = match output {
                Some(output) => output,
                None => linear_elements(input, inputs.next()?.dims)?,
            };
            product(&[2, elements, *input.last()?])
        }
        OpClass::Convolution => {
            let (_, weight) = (inputs.next()?, inputs.next()?.dims);
            let (_, per_channel) = weight.split_first()?;
            product(&[2, output?])
                .zip(product(per_channel))
                .and_then(|(a, b)| a.checked_mul(b))
        }
        OpClass::TransposedConvolution => {
            let (input, weight) = (inputs.next()?, inputs.next()?.dims);
            let (_, per_channel) = weight.split_first()?;
            product(&[2, input.elements()])?.checked_mul(product(per_channel)?)
        }
        OpClass::Attention => {
            let (q, k, v) = (
                inputs.next()?.dims,
                inputs.next()?.dims,
                inputs.next()?.dims,
            );
            let [batch @ .., queries, width] = q else {
                return None;
            };
            let [.., keys, key_width] = k else {
                return None;
            };
            let [.., values, value_width] = v else {
                return None;
            };
            if batch.is_empty() || width != key_width || keys != values {
                return None;
            }
            let widths = width.checked_add(*value_width)?;
            product(batch)?.checked_mul(product(&[2, *queries, *keys, widths])?)
        }
        OpClass::Normalisation => product(&[5, inputs.next()?.elements()]),
        OpClass::Elementwise => {
            let largest = inputs.map(|input| input.elements()).max();
            product(&[output.or(largest)?])
        }
    }
}

/// Elements of the output of an op of this class, from its inputs alone; `None` if they do not
/// determine it (a convolution's stride and padding are not recorded).
pub(crate) fn output_elements(class: OpClass, view: &EntryView<'_>) -> Option<usize> {
    let mut inputs = view.inputs();
    match class {
        OpClass::Product => Some(multiplied(inputs.next()?.dims, inputs.next()?.dims)?.1),
        OpClass::AddedProduct => {
            inputs.next()?;
            Some(multiplied(inputs.next()?.dims, inputs.next()?.dims)?.1)
        }
        OpClass::Linear => linear_elements(inputs.next()?.dims, inputs.next()?.dims),
        OpClass::Convolution | OpClass::TransposedConvolution => None,
        OpClass::Attention => {
            let query = inputs.next()?.dims.split_last()?.1;
            let width = inputs.nth(1)?.dims.last()?;
            elements(query).checked_mul(*width)
        }
        OpClass::Normalisation => Some(inputs.next()?.elements()),
        OpClass::Elementwise => inputs.map(|input| input.elements()).max(),
    }
}

/// Elements that come out of a linear layer; `None` if the weight does not fit the input.
fn linear_elements(input: &[usize], weight: &[usize]) -> Option<usize> {
    let (&inner, rows) = input.split_last()?;
    if inner == 0 || !weight.contains(&inner) {
        return None;
    }
    elements(rows).checked_mul(elements(weight) / inner)
}

/// The inner dim of a product and the elements of its result; `None` if the operands do not fit each
/// other.
fn multiplied(a: &[usize], b: &[usize]) -> Option<(usize, usize)> {
    let (&inner, left) = a.split_last()?;
    let (against, right) = match b {
        [] => return None,
        [against] => (*against, 1),
        [.., against, right] => (*against, *right),
    };
    if inner != against {
        return None;
    }
    let (rows, batch) = match left.split_last() {
        Some((&rows, batch)) => (rows, batch),
        None => (1, left),
    };
    let other = b.get(..b.len().saturating_sub(2)).unwrap_or(&[]);
    let mut elements = rows.checked_mul(right)?;
    // Batch dims are broadcast, from the last one on.
    for index in 0..batch.len().max(other.len()) {
        let dim = |dims: &[usize]| dims.iter().rev().nth(index).copied().unwrap_or(1);
        let (one, two) = (dim(batch), dim(other));
        let stretched = if one == 1 { two } else { one };
        elements = elements.checked_mul(stretched)?;
    }
    Some((inner, elements))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RecordedTraceEntry;

    fn flops(name: &str, inputs: &[&[usize]], output: Option<&[usize]>) -> Option<u64> {
        let shapes = inputs.iter().map(|dims| dims.to_vec()).collect();
        let mut entry = RecordedTraceEntry::new(0, name).with_input_shapes(shapes);
        if let Some(output) = output {
            entry = entry.with_output_shape(output.to_vec());
        }
        flops_of(OpClass::of(name)?, &EntryView::from(&entry))
    }

    #[test]
    fn products_take_two_per_element_and_inner_dim() {
        assert_eq!(flops("matmul", &[&[2, 3], &[3, 5]], None), Some(60));
        assert_eq!(
            flops("aten::mm", &[&[2, 3], &[3, 5]], Some(&[2, 5])),
            Some(60)
        );
        assert_eq!(
            flops("aten::bmm", &[&[7, 2, 3], &[7, 3, 5]], None),
            Some(420)
        );
        assert_eq!(flops("matmul", &[&[7, 2, 3], &[3, 5]], None), Some(420));
        assert_eq!(flops("dot", &[&[3], &[3]], None), Some(6));
        assert_eq!(
            flops("aten::addmm", &[&[5], &[2, 3], &[3, 5]], None),
            Some(60)
        );
        assert_eq!(flops("matmul", &[&[2, 3], &[4, 5]], None), None);
        assert_eq!(flops("matmul", &[&[2, 3]], None), None);
    }

    #[test]
    fn a_linear_layer_needs_its_weight_or_its_output() {
        assert_eq!(
            flops("aten::linear", &[&[4, 8], &[16, 8], &[16]], None),
            Some(1024)
        );
        assert_eq!(
            flops("Linear::forward", &[&[4, 8]], Some(&[4, 16])),
            Some(1024)
        );
        assert_eq!(flops("Linear::forward", &[&[4, 8]], None), None);
    }

    #[test]
    fn a_convolution_needs_its_output() {
        let (input, weight): (&[usize], &[usize]) = (&[1, 3, 8, 8], &[16, 3, 3, 3]);
        assert_eq!(
            flops("conv2d", &[input, weight], Some(&[1, 16, 6, 6])),
            Some(2 * 576 * 27)
        );
        assert_eq!(flops("Conv2d::forward", &[input, weight], None), None);
        assert_eq!(
            flops("conv_transpose2d", &[&[1, 4, 2, 2], &[4, 8, 3, 3]], None),
            Some(2 * 16 * 72)
        );
    }

    #[test]
    fn attention_is_two_products() {
        let q: &[usize] = &[2, 4, 10, 8];
        let k: &[usize] = &[2, 4, 12, 8];
        let expected = 2 * 8 * 10 * 12 * (8 + 8);
        assert_eq!(
            flops("scaled_dot_product_attention", &[q, k, k], None),
            Some(expected)
        );
        assert_eq!(flops("attention", &[q, q, k], None), None);
    }

    #[test]
    fn norms_softmax_and_elementwise_count_elements() {
        assert_eq!(flops("layer_norm", &[&[4, 8]], None), Some(160));
        assert_eq!(flops("BatchNorm2d::forward", &[&[4, 8]], None), Some(160));
        assert_eq!(flops("aten::_softmax", &[&[4, 8]], None), Some(160));
        assert_eq!(flops("aten::add_", &[&[4, 8], &[8]], None), Some(32));
        assert_eq!(flops("Relu::forward", &[&[4]], Some(&[4])), Some(4));
    }

    #[test]
    fn other_names_have_no_class() {
        for name in [
            "padding",
            "load",
            "addressing",
            "add_layers",
            "conv2d_backward",
            "aten::_flash_attention_forward",
            "commit",
            "",
            "::",
        ] {
            assert_eq!(flops(name, &[&[4, 8], &[8, 4]], None), None, "{name}");
        }
    }

    #[test]
    fn an_overflow_is_unknown() {
        let huge: &[usize] = &[usize::MAX, usize::MAX];
        assert_eq!(flops("matmul", &[huge, huge], None), None);
    }
}
