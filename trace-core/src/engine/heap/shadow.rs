//! Shadow memory: one word for every 8 bytes of address space, which holds the owner of the block that begins there.
//!
//! A table of pointers to regions, each for 64 MiB of address space. Both are zero pages of the system until they are
//! written, so the memory in use is that of the pages with live blocks, at most as much as the blocks themselves. The
//! words are plain stores and loads: only the thread that has a block, or is about to free it, touches its word.
//!
//! Regions are kept until the process ends.

#![allow(
    unsafe_code,
    reason = "tables of zeroed memory that must not come from the allocator they describe"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Blocks begin at multiples of 8 in every allocator that is in use; others are not recorded, and counted.
const GRANULE_BITS: u32 = 3;
const REGION_BITS: u32 = 26;
const WORDS: usize = 1 << (REGION_BITS - GRANULE_BITS);
/// User space has addresses of 47 bits on the machines that have 64; larger ones are not recorded, and counted.
const ADDRESS_BITS: u32 = if usize::BITS == 64 { 47 } else { usize::BITS };
const REGIONS: usize = 1 << (ADDRESS_BITS - REGION_BITS);

type Region = [AtomicU64; WORDS];
type Root = [AtomicPtr<Region>; REGIONS];

static ROOT: AtomicPtr<Root> = AtomicPtr::new(null_mut());

/// The word of the block at this address. None if there is no memory for it, or the address has no word.
#[inline]
pub(super) fn word_for(address: usize) -> Option<&'static AtomicU64> {
    let region = match region(address) {
        Some(region) => region,
        None => add_region(address)?,
    };
    Some(&region[word_index(address)])
}

/// The word of a block that may have been recorded.
#[inline]
pub(super) fn word_of(address: usize) -> Option<&'static AtomicU64> {
    Some(&region(address)?[word_index(address)])
}

fn is_granule(address: usize) -> bool {
    address & ((1 << GRANULE_BITS) - 1) == 0
}

fn word_index(address: usize) -> usize {
    (address >> GRANULE_BITS) & (WORDS - 1)
}

/// The region of an address, if it has one.
#[inline]
fn region(address: usize) -> Option<&'static Region> {
    if !is_granule(address) {
        return None;
    }
    let root = ROOT.load(Ordering::Acquire);
    // SAFETY: `ROOT` is null or a table from `zeroed`, which is never freed; a zeroed table is one of null pointers.
    let root = unsafe { root.as_ref() }?;
    let region = root.get(address >> REGION_BITS)?.load(Ordering::Acquire);
    // SAFETY: null or a region from `zeroed`, which is never freed; zeroed words are valid.
    unsafe { region.as_ref() }
}

#[cold]
#[inline(never)]
fn add_region(address: usize) -> Option<&'static Region> {
    if !is_granule(address) {
        return None;
    }
    let root: &'static Root = published(&ROOT)?;
    published(root.get(address >> REGION_BITS)?)
}

/// What a pointer refers to; zeroed memory is put there first if it is null.
fn published<T>(pointer: &'static AtomicPtr<T>) -> Option<&'static T> {
    let mut known = pointer.load(Ordering::Acquire);
    if known.is_null() {
        let new = zeroed::<T>()?;
        known = match pointer.compare_exchange(
            null_mut(),
            new.as_ptr(),
            Ordering::AcqRel,
            Ordering::Acquire,
        ) {
            Ok(_) => new.as_ptr(),
            Err(other) => {
                // SAFETY: `new` is from `System` with this layout, and no other thread has seen it.
                unsafe { System.dealloc(new.as_ptr().cast(), Layout::new::<T>()) };
                other
            }
        };
    }
    // SAFETY: from `zeroed`, here or on another thread, which published it with release; `T` is `Root` or `Region`,
    // arrays of atomics for which zeroes are valid. It is never freed or moved.
    unsafe { known.as_ref() }
}

/// Zeroed memory of the system's allocator, never of the one that is traced.
fn zeroed<T>() -> Option<NonNull<T>> {
    // SAFETY: `T` is not of size zero.
    NonNull::new(unsafe { System.alloc_zeroed(Layout::new::<T>()) }.cast())
}

/// Runs over every word that may be in use and clears it.
pub(super) fn clear() {
    let root = ROOT.load(Ordering::Acquire);
    // SAFETY: as in `region`.
    let Some(root) = (unsafe { root.as_ref() }) else {
        return;
    };
    for region in root {
        // SAFETY: as in `region`.
        if let Some(region) = unsafe { region.load(Ordering::Acquire).as_ref() } {
            for word in region {
                // Writing only what is set leaves the other pages to the system.
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
    fn each_block_has_a_word_of_its_own() {
        let addresses = [0x10_0000, 0x10_0008, 0x7fff_ffff_fff0, 1 << REGION_BITS];
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
        assert!(word_for(0x10_0001).is_none(), "not at a multiple of 8");
        assert!(word_for(1 << 60).is_none() || usize::BITS < 64);
        assert!(word_of(1 << 40).is_none(), "no region");
    }
}
