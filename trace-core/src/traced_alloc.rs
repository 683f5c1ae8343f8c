//! [`TracedAlloc`]: a global allocator that charges memory to ops.

#![allow(unsafe_code, reason = "`GlobalAlloc` is an unsafe trait")]

use crate::engine::heap;
use std::alloc::{GlobalAlloc, Layout, System};

/// A global allocator that charges each allocation to the op that is running, while a session records.
///
/// It passes every call on to another allocator, `System` or any that you give it. A block is charged to the innermost
/// open op of the thread that allocates it and to the shapes of that op's inputs; its free is charged to the same op,
/// on whichever thread it happens. The report then shows the live memory over time, who held it at the peak, and
/// what each op allocated, kept and freed.
///
/// While nothing records, a call costs one load and a branch more than without it. While a session records, the owner
/// of each block takes up to as much memory as the block itself for small blocks, and nothing to speak of for large ones.
///
/// ```
/// use std::alloc::System;
/// use trace_core::TracedAlloc;
///
/// #[global_allocator]
/// static ALLOC: TracedAlloc = TracedAlloc::new(System);
/// # fn main() {}
/// ```
#[derive(Debug, Default, Clone, Copy)]
pub struct TracedAlloc<A = System> {
    inner: A,
}

impl<A> TracedAlloc<A> {
    /// Passes every call on to `inner`.
    pub const fn new(inner: A) -> TracedAlloc<A> {
        TracedAlloc { inner }
    }
}

/// Records a block that the inner allocator returned.
#[inline]
fn record(block: *mut u8, bytes: usize) {
    if heap::is_on() && !block.is_null() {
        heap::allocated(block.addr(), bytes);
    }
}

// SAFETY: every call is passed on with the arguments of the caller, and its result is returned unchanged. Recording
// neither reads nor writes blocks, does not unwind, and does not call this allocator again for the same block.
unsafe impl<A: GlobalAlloc> GlobalAlloc for TracedAlloc<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is that of the inner allocator.
        let block = unsafe { self.inner.alloc(layout) };
        record(block, layout.size());
        block
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let block = unsafe { self.inner.alloc_zeroed(layout) };
        record(block, layout.size());
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if heap::is_on()
            && let Some(known) = heap::take(block.addr())
        {
            heap::freed(known, layout.size());
        }
        // SAFETY: as above.
        unsafe { self.inner.dealloc(block, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // Before the call: after it, another thread may have the old address.
        let known = if heap::is_on() {
            heap::take(block.addr())
        } else {
            None
        };
        // SAFETY: as above.
        let moved = unsafe { self.inner.realloc(block, layout, new_size) };
        match known {
            Some(known) if moved.is_null() => heap::restore(known),
            Some(known) => heap::freed(known, layout.size()),
            None => {}
        }
        record(moved, new_size);
        moved
    }
}
