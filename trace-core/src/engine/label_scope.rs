//! Labels for all ops that a closure runs.

use super::recorder::LabelScope;
use super::state;

/// Runs `body` so that the ops that begin in it on this thread have a label: the instance that they belong to, such as
/// the layer of a model. The label of a scope inside another is `outer.inner`.
///
/// Reports show labels between an op and its shapes, so that three blocks of a model are three rows. Use the option
/// `label = …` of `#[traced_op]` or `op!` to label one op instead. Work that [`in_op`](crate::in_op) runs on another
/// thread has the label too; other ops there and those that a future runs after `body` has returned do not.
///
/// Each thread stores a label once and does not copy it when it repeats. While nothing records, only `body` runs.
///
/// ```
/// use trace_runtime::{label_scope, record, traced_op};
///
/// #[traced_op]
/// fn matmul(x: &[f32]) -> Vec<f32> { x.to_vec() }
///
/// let ((), trace) = record(|| {
///     for layer in ["layers.0", "layers.1"] {
///         label_scope(layer, || {
///             label_scope("attn", || matmul(&[1.0]));
///         });
///     }
/// });
/// # #[cfg(feature = "enabled")]
/// assert_eq!(trace.entries[1].label.as_deref(), Some("layers.1.attn"));
/// ```
pub fn label_scope<R>(label: impl AsRef<str>, body: impl FnOnce() -> R) -> R {
    let scope = if state::is_anyone_recording() {
        state::with_active(|recorder| recorder.enter_label(label.as_ref()).map(Leave)).flatten()
    } else {
        None
    };
    let result = body();
    drop(scope);
    result
}

/// Leaves the scope even if its body panics.
struct Leave(LabelScope);

impl Drop for Leave {
    fn drop(&mut self) {
        state::with_any(|recorder| recorder.leave_label(self.0));
    }
}
