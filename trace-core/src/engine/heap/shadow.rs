//! Shadow memory: one word for every 16 bytes of address space, which holds the owner of the block that begins there.
//!
//! A table of pointers to regions, each for 128 MiB of address space. Both are zero pages of the system until they are
//! written, so the memory in use is that of the pages with live blocks, at most half as much as the blocks themselves.
//! A few allocators have blocks at odd multiples of 8: their words are in the second half of a region, which is not
//! used otherwise. The words are plain stores and loads: only the thread that has a block, or is about to free it,
//! touches its word.
//!
//! Regions are kept until the process ends.

#![allow(
    unsafe_code,
    reason = "tables of zeroed memory that must not come from the allocator they describe"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

const REGION_BITS: u32 = 27;
/// Words of blocks at multiples of 16. As many follow for odd multiples of 8.
const HALF: usize = 1 << (REGION_BITS - 4);
/// On 64-bit machines, addresses of user space have at most 48 bits. Blocks at larger addresses are counted, not
/// recorded.
const ADDRESS_BITS: u32 = if usize::BITS == 64 { 48 } else { usize::BITS };
const REGIONS: usize = 1 << (ADDRESS_BITS - REGION_BITS);

type Region = [AtomicU64; 2 * HALF];

/// Static, so that the common path loads one pointer and not two. The pages that are not used take no memory.
static ROOT: [AtomicPtr<Region>; REGIONS] = [const { AtomicPtr::new(null_mut()) }; REGIONS];

/// The word of the block at this address. `None` if there is no memory for it, or the address has no word.
#[inline]
pub(super) fn word_for(address: usize) -> Option<&'static AtomicU64> {
    match region(address) {
        Some(region) => word(region, address),
        None => add_word(address),
    }
}

/// The word in the usual case: the block is at a multiple of 16 and its region has been used. Otherwise `None`, even if
/// the block has a word.
#[inline]
pub(super) fn usual_word(address: usize) -> Option<&'static AtomicU64> {
    let region = region(address)?;
    if address.is_multiple_of(16) {
        Some(&region[(address >> 4) % HALF])
    } else {
        None
    }
}

/// The word of a block that may have been recorded.
#[inline]
pub(super) fn word_of(address: usize) -> Option<&'static AtomicU64> {
    word(region(address)?, address)
}

#[inline]
fn word(region: &'static Region, address: usize) -> Option<&'static AtomicU64> {
    if address.is_multiple_of(16) {
        region.get((address >> 4) % HALF)
    } else {
        unusual_word(region, address)
    }
}

#[cold]
#[inline(never)]
fn unusual_word(region: &'static Region, address: usize) -> Option<&'static AtomicU64> {
    (address & 15 == 8).then(|| &region[(address >> 4) % HALF + HALF])
}

/// The region of an address, if it has one.
#[inline]
fn region(address: usize) -> Option<&'static Region> {
    let region = ROOT.get(address >> REGION_BITS)?.load(Ordering::Acquire);
    // SAFETY: null or a region from `zeroed`, which is never freed; zeroed words are valid.
    unsafe { region.as_ref() }
}

#[cold]
#[inline(never)]
fn add_word(address: usize) -> Option<&'static AtomicU64> {
    let pointer = ROOT.get(address >> REGION_BITS)?;
    let mut known = pointer.load(Ordering::Acquire);
    if known.is_null() {
        let new = zeroed()?;
        known = match pointer.compare_exchange(
            null_mut(),
            new.as_ptr(),
            Ordering::AcqRel,
            Ordering::Acquire,
        ) {
            Ok(_) => new.as_ptr(),
            Err(other) => {
                // SAFETY: `new` is from `System` with this layout, and no other thread has seen it.
                unsafe { System.dealloc(new.as_ptr().cast(), Layout::new::<Region>()) };
                other
            }
        };
    }
    // SAFETY: from `zeroed`, here or on another thread, which published it with release; a region is an array of
    // atomics for which zeroes are valid. It is never freed or moved.
    word(unsafe { known.as_ref() }?, address)
}

/// Zeroed memory of the system's allocator, never of the one that is traced.
fn zeroed() -> Option<NonNull<Region>> {
    // SAFETY: a region is not of size zero.
    NonNull::new(unsafe { System.alloc_zeroed(Layout::new::<Region>()) }.cast())
}

/// Clears every word that may be in use.
pub(super) fn clear() {
    for region in &ROOT {
        // SAFETY: as in `region`.
        if let Some(region) = unsafe { region.load(Ordering::Acquire).as_ref() } {
            for word in region {
                // Pages in which no word is set are not written, so the system need not provide memory for them.
                if word.load(Ordering::Relaxed) != 0 {
                    word.store(0, Ordering::Relaxed);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_has_a_separate_word() {
        let addresses = [
            0x10_0000,
            0x10_0008,
            0x10_0010,
            0x7fff_ffff_fff0,
            1 << REGION_BITS,
        ];
        for (index, &address) in addresses.iter().enumerate() {
            word_for(address)
                .unwrap()
                .store(index as u64 + 1, Ordering::Relaxed);
        }
        for (index, &address) in addresses.iter().enumerate() {
            assert_eq!(
                word_of(address).unwrap().load(Ordering::Relaxed),
                index as u64 + 1
            );
        }
        assert!(word_for(0x10_0004).is_none(), "not at a multiple of 8");
        assert!(word_for(1 << 60).is_none() || usize::BITS < 64);
        assert!(word_of(1 << 40).is_none(), "no region");
    }
}
