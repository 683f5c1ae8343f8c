//! [`TracedAlloc`]: a global allocator that charges memory to ops.

#![allow(unsafe_code, reason = "`GlobalAlloc` is an unsafe trait")]

use crate::engine::heap;
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
    /// Records a block that the inner allocator returned.
    #[inline]
    fn record(on: u32, block: *mut u8, bytes: usize) -> *mut u8 {
        if !block.is_null() {
            heap::allocated(on, block.addr(), bytes);
        }
        block
    }

    /// # Safety
    ///
    /// As for [`GlobalAlloc::alloc`].
    #[inline(never)]
    unsafe fn alloc_recorded(&self, layout: Layout, on: u32) -> *mut u8 {
        // SAFETY: the caller's contract is that of the inner allocator.
        if heap::passes_by(on, layout.size()) {
            return unsafe { self.inner.alloc(layout) };
        }
        // SAFETY: as above.
        Self::record(on, unsafe { self.inner.alloc(layout) }, layout.size())
    }

    /// # Safety
    ///
    /// As for [`GlobalAlloc::alloc_zeroed`].
    #[inline(never)]
    unsafe fn alloc_zeroed_recorded(&self, layout: Layout, on: u32) -> *mut u8 {
        // SAFETY: as above.
        let block = unsafe { self.inner.alloc_zeroed(layout) };
        if heap::passes_by(on, layout.size()) {
            return block;
        }
        Self::record(on, block, layout.size())
    }

    /// # Safety
    ///
    /// As for [`GlobalAlloc::dealloc`].
    #[inline(never)]
    unsafe fn dealloc_recorded(&self, block: *mut u8, layout: Layout, on: u32) {
        // SAFETY: as above. The rest is a separate function, so that this one saves no registers.
        if heap::was_passed_by(on, block.addr()) {
            unsafe { self.inner.dealloc(block, layout) }
        } else {
            unsafe { self.dealloc_known(block, layout, on) }
        }
    }

    /// # Safety
    ///
    /// As for [`GlobalAlloc::dealloc`].
    #[inline(never)]
    unsafe fn dealloc_known(&self, block: *mut u8, layout: Layout, on: u32) {
        if let Some(known) = heap::take(block.addr()) {
            heap::freed(on, known, layout.size());
        }
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
            Some(known) => heap::freed(on, known, layout.size()),
            None => {}
        }
        if heap::passes_by(on, new_size) {
            return moved;
        }
        Self::record(on, moved, new_size)
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
            on => unsafe { self.alloc_recorded(layout, on) },
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
