//! A model whose ops are in several modules.

mod attention;

use trace_runtime::traced_op;

#[traced_op]
pub(crate) fn model(x: &[f32]) -> Vec<f32> {
    attention::Attention.forward(x)
}
