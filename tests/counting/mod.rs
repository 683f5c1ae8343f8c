//! An allocator that counts the allocations of the current thread, and the bytes that all threads hold.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

thread_local! {
    static ALLOCATED: Cell<Allocated> = const { Cell::new(Allocated { calls: 0, bytes: 0 }) };
}

/// Number of allocations, and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allocated {
    pub(crate) calls: usize,
    pub(crate) bytes: usize,
}

/// The allocations of this thread while it runs `body`.
#[allow(dead_code, reason = "not every test asks for it")]
pub(crate) fn during(body: impl FnOnce()) -> Allocated {
    let before = ALLOCATED.get();
    body();
    let after = ALLOCATED.get();
    Allocated {
        calls: after.calls - before.calls,
        bytes: after.bytes - before.bytes,
    }
}

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST_HELD: AtomicUsize = AtomicUsize::new(0);

/// The largest increase of the bytes that all threads hold while `body` runs.
#[allow(dead_code, reason = "not every test asks for it")]
pub(crate) fn most_held_during<R>(body: impl FnOnce() -> R) -> (R, usize) {
    let before = HELD.load(Ordering::Relaxed);
    MOST_HELD.store(before, Ordering::Relaxed);
    let result = body();
    (result, MOST_HELD.load(Ordering::Relaxed) - before)
}

struct Counting;

#[allow(
    unsafe_code,
    reason = "an allocator is unsafe by nature; this one forwards"
)]
// SAFETY: every call is forwarded unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATED.try_with(|allocated| {
            let Allocated { calls, bytes } = allocated.get();
            allocated.set(Allocated {
                calls: calls + 1,
                bytes: bytes + layout.size(),
            });
        });
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST_HELD.fetch_max(held, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;
