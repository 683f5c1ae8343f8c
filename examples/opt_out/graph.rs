//! Two annotated functions, one of which calls the other, and a plain one to compare with.

use trace_runtime::traced_op;

#[traced_op]
pub(crate) fn sum_of_squares(x: &[f32]) -> f32 {
    x.iter().map(|x| square(std::slice::from_ref(x))).sum()
}

#[traced_op]
#[inline(never)]
pub(crate) fn square(x: &[f32]) -> f32 {
    x[0] * x[0]
}

#[allow(dead_code, reason = "used by the example, not by the test")]
#[inline(never)]
pub(crate) fn plain_square(x: &[f32]) -> f32 {
    x[0] * x[0]
}
