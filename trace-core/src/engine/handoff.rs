//! The innermost op as the parent of ops on another thread.

use super::label_scope::label_scope;
use super::log::Shared;
use super::state;
use super::task::Around;
use crate::engine::rows::OpRef;
use std::sync::{Arc, Weak};

/// A handle to an op, from [`current_op`]. Send it to another thread and run work there [inside the op](in_op).
#[derive(Debug, Clone, Default)]
pub struct OpHandle {
    op: Option<OpRef>,
    session: Weak<Shared>,
    /// The label of the scope that it was made in.
    label: Option<Arc<str>>,
    /// The context that memory is charged to.
    heap_context: u16,
}

/// The innermost op that is running on this thread and being recorded; an empty handle if there is
/// none.
pub fn current_op() -> OpHandle {
    if !state::is_anyone_recording() {
        return OpHandle::default();
    }
    state::with_active(|recorder| OpHandle {
        op: recorder.current(),
        session: recorder.session().map(Arc::downgrade).unwrap_or_default(),
        label: Some(recorder.label_path())
            .filter(|label| !label.is_empty())
            .map(Arc::from),
        heap_context: recorder.heap_context(),
    })
    .unwrap_or_default()
}

/// Runs `body` so that the ops that begin in it on this thread have the op of `handle` as their
/// parent, and the label of the [scope](crate::label_scope) in which the handle was made.
///
/// ```
/// use trace_runtime::{Session, current_op, in_op, traced_op};
///
/// #[traced_op]
/// fn tile(rows: &[f32]) -> f32 { rows.iter().sum() }
///
/// #[traced_op]
/// fn layer(data: &[f32]) -> f32 {
///     let here = current_op();
///     std::thread::scope(|scope| {
///         let tiles: Vec<_> = data
///             .chunks(2)
///             .map(|rows| scope.spawn({ let here = here.clone(); move || in_op(&here, || tile(rows)) }))
///             .collect();
///         tiles.into_iter().map(|tile| tile.join().unwrap()).sum()
///     })
/// }
///
/// let session = Session::start()?;
/// layer(&[1.0, 2.0, 3.0, 4.0]);
/// let trace = session.finish();
/// assert!(trace.entries[1..].iter().all(|tile| tile.parent == Some(0)));
/// # Ok::<(), trace_runtime::SessionError>(())
/// ```
pub fn in_op<R>(handle: &OpHandle, body: impl FnOnce() -> R) -> R {
    let around = if handle.op.is_some() && state::is_anyone_recording() {
        state::with_active(|recorder| {
            let same = recorder
                .session()
                .is_some_and(|session| std::ptr::eq(Arc::as_ptr(session), handle.session.as_ptr()));
            same.then(|| Around::new(recorder.link(handle.op, handle.heap_context)))
        })
        .flatten()
    } else {
        None
    };
    let result = match handle.label.as_deref().filter(|_| around.is_some()) {
        // On the thread that made the handle, this code already runs inside the scope.
        Some(label) if !is_in_scope(label) => label_scope(label, body),
        _ => body(),
    };
    drop(around);
    result
}

fn is_in_scope(label: &str) -> bool {
    state::with_active(|recorder| recorder.label_path() == label).unwrap_or(false)
}
