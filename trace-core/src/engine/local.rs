//! The recorder of a thread, and a check that it is used only once at a time.
//!
//! `unsafe` is needed here because a `RefCell` would add eight instructions to the ninety or so of an op. The
//! proof is the same as that of a `RefCell`: [`Phase`] is [`BUSY`] exactly while there is a `&mut` to anything in the
//! recorder.

use super::recorder::Recorder;
use super::sink::TensorSink;
use std::cell::{Cell, UnsafeCell};
use std::mem::ManuallyDrop;

/// The state of a thread's recorder: [`CLOSED`], [`BUSY`], or the value of `STATE` for which ops may begin on the short
/// path.
type Phase = u32;

/// Ops take the long path: their session has to be looked up, or they have more than a row.
pub(crate) const CLOSED: Phase = u32::MAX - 1;
/// The recorder is in use: by the user's code that describes tensors, or by its own code.
pub(crate) const BUSY: Phase = u32::MAX;

/// The recorder of a thread.
#[derive(Debug)]
pub(crate) struct Local {
    phase: Cell<Phase>,
    /// Has no destructor, because each access would check whether it has run; [`super::state`] frees the recorder.
    recorder: UnsafeCell<ManuallyDrop<Recorder>>,
}

impl Local {
    pub(crate) const fn new() -> Local {
        Local {
            phase: Cell::new(CLOSED),
            recorder: UnsafeCell::new(ManuallyDrop::new(Recorder::idle())),
        }
    }

    /// True if ops may begin on the short path while `STATE` has this value.
    #[inline]
    pub(crate) fn is_open_for(&self, state: u32) -> bool {
        self.phase.get() == state
    }

    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.phase.get() == BUSY
    }

    /// The recorder, to read it and to change its cells.
    ///
    /// # Safety
    ///
    /// The recorder is not busy, and until the last use of the reference no other method of `self` is called. So the
    /// caller does not run user code in between, because that might begin an op.
    #[inline]
    #[allow(unsafe_code, reason = "see the module")]
    pub(crate) unsafe fn peek(&self) -> &Recorder {
        // SAFETY: references to the recorder are made here and in the two methods below. Those of the methods below
        // exist only while the recorder is busy, and it is not; `Local` is not `Sync`, so no other thread makes one.
        unsafe { &*self.recorder.get() }
    }

    /// A mark of the recorder's open ops; none while it is in use.
    #[cfg(feature = "alloc")]
    #[inline]
    #[allow(unsafe_code, reason = "see the module")]
    pub(crate) fn mark(&self) -> Option<super::recorder::Mark> {
        if self.is_busy() {
            return None;
        }
        // SAFETY: the recorder is not busy, and nothing else runs before the mark is copied.
        Some(unsafe { self.peek() }.mark())
    }

    /// The sink, to run any code on it. The recorder is busy until the result is dropped.
    ///
    /// # Safety
    ///
    /// The recorder is not busy, and no reference of [`peek`](Self::peek) is used any more.
    #[inline]
    #[allow(unsafe_code, reason = "see the module")]
    pub(crate) unsafe fn sink(&self) -> UsedSink<'_> {
        let was = self.phase.replace(BUSY);
        // SAFETY: the recorder was not busy, so there is no `&mut` to it, and the caller has no `&`. It is busy as long
        // as the reference exists, because the reference is part of the value that makes it busy.
        let recorder: &mut Recorder = unsafe { &mut *self.recorder.get() };
        UsedSink {
            sink: &mut recorder.sink,
            phase: &self.phase,
            was,
        }
    }

    /// Runs `f`, which may run any code, on the recorder. `None` if it is in use.
    #[inline]
    #[allow(unsafe_code, reason = "see the module")]
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Recorder) -> R) -> Option<R> {
        if self.phase.replace(BUSY) == BUSY {
            return None;
        }
        let _phase = Choose(self);
        // SAFETY: as above.
        Some(f(unsafe { &mut *self.recorder.get() }))
    }
}

/// The sink of a recorder that is busy until this is dropped, even if describing panics.
pub(crate) struct UsedSink<'a> {
    pub(crate) sink: &'a mut TensorSink,
    phase: &'a Cell<Phase>,
    was: Phase,
}

impl Drop for UsedSink<'_> {
    #[inline]
    fn drop(&mut self) {
        self.phase.set(self.was);
    }
}

/// Ends the use of a recorder, even if that panics.
struct Choose<'a>(&'a Local);

impl Drop for Choose<'_> {
    #[allow(unsafe_code, reason = "see the module")]
    fn drop(&mut self) {
        // SAFETY: it is dropped after the last use of the `&mut` of the recorder, and nothing else runs here.
        let recorder: &Recorder = unsafe { &*self.0.recorder.get() };
        self.0.phase.set(recorder.phase());
    }
}
