//! [`TracedAlloc`]: a global allocator that charges memory to ops.

#![allow(unsafe_code, reason = "`GlobalAlloc` is an unsafe trait")]

use crate::engine::heap::{self, Free};
use std::alloc::{GlobalAlloc, Layout, System};

/// A global allocator that charges each allocation to the op that is running, while a session records.
///
/// It passes every call on to another allocator, `System` or any other one. A block is charged to the innermost open op
/// of the thread that allocates it, and to the shapes of that op's inputs. Its free is charged to the same op, on any
/// thread. The report then shows the live memory over time, the ops that held it at the peak, and the bytes that each
/// op allocated, kept and freed.
///
/// While nothing records, a call costs one additional load and branch. While a session records, the owner of each block
/// takes up to half as much memory as the block itself for small blocks, and a few bytes for large ones. A program that
/// allocates millions of times a second can record a sample of its blocks: see `SessionBuilder::sample_allocations` of
/// trace-runtime.
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

// Each method first checks whether anything records. If not, it ends with a tail call of the inner allocator, so that
// it saves no registers: three instructions more than without this type. The other functions run while a session
// records.
impl<A: GlobalAlloc> TracedAlloc<A> {
    /// For a thread that [is ready](heap::is_ready). That is checked by the caller, so that this function saves fewer registers.
    ///
    /// # Safety
    ///
    /// As for [`GlobalAlloc::alloc`].
    #[inline(never)]
    unsafe fn alloc_recorded(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is that of the inner allocator.
        let block = unsafe { self.inner.alloc(layout) };
        if !block.is_null() {
            heap::allocated(block.addr(), layout.size());
        }
        block
    }

    /// For a sampled recording, or a thread that has yet to join.
    ///
    /// # Safety
    ///
    /// As for [`GlobalAlloc::alloc`].
    #[inline(never)]
    unsafe fn alloc_unusually(&self, layout: Layout, on: u32) -> *mut u8 {
        if heap::passes_by(on, layout.size()) {
            // SAFETY: as above.
            return unsafe { self.inner.alloc(layout) };
        }
        // SAFETY: as above.
        unsafe { self.alloc_slowly(layout, on) }
    }

    /// A separate function, so that passing by a block saves no registers.
    ///
    /// # Safety
    ///
    /// As for [`GlobalAlloc::alloc`].
    #[cold]
    #[inline(never)]
    unsafe fn alloc_slowly(&self, layout: Layout, on: u32) -> *mut u8 {
        // SAFETY: as above.
        Self::record(on, unsafe { self.inner.alloc(layout) }, layout.size())
    }

    /// Records a block that the inner allocator returned.
    #[cold]
    #[inline(never)]
    fn record(on: u32, block: *mut u8, bytes: usize) -> *mut u8 {
        if !block.is_null() {
            heap::allocated_unusually(on, block.addr(), bytes);
        }
        block
    }

    /// # Safety
    ///
    /// As for [`GlobalAlloc::alloc_zeroed`].
    #[inline(never)]
    unsafe fn alloc_zeroed_recorded(&self, layout: Layout, on: u32) -> *mut u8 {
        let is_ready = heap::is_ready(on);
        // SAFETY: as above.
        let block = unsafe { self.inner.alloc_zeroed(layout) };
        if is_ready && !block.is_null() {
            heap::allocated(block.addr(), layout.size());
            block
        } else if heap::passes_by(on, layout.size()) {
            block
        } else {
            Self::record(on, block, layout.size())
        }
    }

    /// # Safety
    ///
    /// As for [`GlobalAlloc::dealloc`].
    #[inline(never)]
    unsafe fn dealloc_recorded(&self, block: *mut u8, layout: Layout, on: u32) {
        // SAFETY: as above.
        match heap::free(on, block.addr(), layout.size()) {
            Free::Done => unsafe { self.inner.dealloc(block, layout) },
            left => unsafe { self.dealloc_slowly(block, layout, left) },
        }
    }

    /// A separate function, so that the usual one saves no registers.
    ///
    /// # Safety
    ///
    /// As for [`GlobalAlloc::dealloc`].
    #[inline(never)]
    unsafe fn dealloc_slowly(&self, block: *mut u8, layout: Layout, left: Free) {
        heap::finish_free(left, block.addr(), layout.size());
        // SAFETY: as above.
        unsafe { self.inner.dealloc(block, layout) }
    }

    /// # Safety
    ///
    /// As for [`GlobalAlloc::realloc`].
    #[inline(never)]
    unsafe fn realloc_recorded(
        &self,
        block: *mut u8,
        layout: Layout,
        new_size: usize,
        on: u32,
    ) -> *mut u8 {
        // This must be before the call, because after it another thread may use the old address.
        let known = if heap::was_passed_by(on, block.addr()) {
            None
        } else {
            heap::take(block.addr())
        };
        // SAFETY: as above.
        let moved = unsafe { self.inner.realloc(block, layout, new_size) };
        match known {
            Some(known) if moved.is_null() => heap::restore(known),
            Some(known) => heap::freed(known, layout.size()),
            None => {}
        }
        if heap::is_ready(on) && !moved.is_null() {
            heap::allocated(moved.addr(), new_size);
            moved
        } else if heap::passes_by(on, new_size) {
            moved
        } else {
            Self::record(on, moved, new_size)
        }
    }
}

// SAFETY: every call is passed on with the arguments of the caller, and its result is returned unchanged. Recording
// neither reads nor writes blocks, does not unwind, and does not call this allocator again for the same block.
unsafe impl<A: GlobalAlloc> GlobalAlloc for TracedAlloc<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is that of the inner allocator.
        match heap::now() {
            0 => unsafe { self.inner.alloc(layout) },
            on if heap::is_ready(on) => unsafe { self.alloc_recorded(layout) },
            on => unsafe { self.alloc_unusually(layout, on) },
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        match heap::now() {
            0 => unsafe { self.inner.alloc_zeroed(layout) },
            on => unsafe { self.alloc_zeroed_recorded(layout, on) },
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        match heap::now() {
            0 => unsafe { self.inner.dealloc(block, layout) },
            on => unsafe { self.dealloc_recorded(block, layout, on) },
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as above.
        match heap::now() {
            0 => unsafe { self.inner.realloc(block, layout, new_size) },
            on => unsafe { self.realloc_recorded(block, layout, new_size, on) },
        }
    }
}
