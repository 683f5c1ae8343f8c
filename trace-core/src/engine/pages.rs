//! Memory of the largest blocks, from the system in regions of 2 MiB.
//!
//! The first write to a page of 4 KiB costs more than a hundred ops take to fill it. A region is one large page where the
//! system has them; elsewhere the pages of a block are requested with one call. Freed blocks are used again, and a region
//! whose blocks are all free is given back if there is another one.
//!
//! Uses `unsafe` to call the system; ARCHITECTURE.md lists the other files that do.

use std::ptr::{self, NonNull};
use std::sync::{Mutex, MutexGuard, PoisonError};

const REGION_BYTES: usize = 2 << 20;

/// The regions, of which the last ones have free blocks most often.
static REGIONS: Mutex<Vec<Region>> = Mutex::new(Vec::new());

struct Region {
    first: NonNull<u8>,
    /// A bit for each block.
    free: u32,
    /// Blocks that have been used before.
    used: u32,
}

// SAFETY: it owns its memory.
#[allow(unsafe_code, reason = "see above")]
unsafe impl Send for Region {}

/// Blocks of `BYTES` bytes.
pub(super) struct Pages<const BYTES: usize>;

impl<const BYTES: usize> Pages<BYTES> {
    const BLOCKS: usize = {
        let blocks = REGION_BYTES / BYTES;
        assert!(blocks > 1 && blocks < 32 && BYTES.is_multiple_of(align_of::<u64>()));
        blocks
    };
    const ALL: u32 = (1 << Self::BLOCKS) - 1;

    /// Memory for a block, or `None` if the system has none. It was zero once; it may have values of an earlier block.
    #[allow(unsafe_code, reason = "see below")]
    pub(super) fn take() -> Option<NonNull<u8>> {
        let mut regions = lock();
        if regions.iter().all(|region| region.free == 0) {
            regions.push(Region {
                first: map()?,
                free: Self::ALL,
                used: 0,
            });
        }
        let region = regions.iter_mut().rfind(|region| region.free != 0)?;
        let block = region.free.trailing_zeros();
        let bit = 1 << block;
        // SAFETY: a region has `BLOCKS` blocks of `BYTES` bytes, and only those have bits.
        let first = unsafe { region.first.add(block as usize * BYTES) };
        if region.used & bit == 0 {
            populate(first, BYTES);
        }
        region.free &= !bit;
        region.used |= bit;
        Some(first)
    }

    /// Requests the first region before it is needed, if there is none with a free block: the system needs as long for it as
    /// for ten thousand ops.
    pub(super) fn prepare() {
        if let Some(block) = Self::take() {
            Self::give_back(block);
        }
    }

    /// Bytes of the blocks that have been taken and not given back.
    pub(super) fn in_use() -> usize {
        let blocks = |region: &Region| (Self::ALL & !region.free).count_ones() as usize;
        lock().iter().map(blocks).sum::<usize>() * BYTES
    }

    /// Takes back the memory of a block.
    pub(super) fn give_back(block: NonNull<u8>) {
        let mut regions = lock();
        let offset = |region: &Region| block.addr().get().wrapping_sub(region.first.addr().get());
        let found = regions
            .iter()
            .rposition(|region| offset(region) < REGION_BYTES);
        let Some(index) = found else {
            return;
        };
        let bit = 1 << (offset(&regions[index]) / BYTES);
        regions[index].free |= bit;
        let free = regions.iter().filter(|region| region.free == Self::ALL);
        if regions[index].free == Self::ALL && free.count() > 1 {
            unmap(regions.remove(index).first, REGION_BYTES);
        }
    }
}

/// No other thread takes or gives back a block while this exists.
pub(super) struct Held {
    _regions: MutexGuard<'static, Vec<Region>>,
}

pub(super) fn hold() -> Held {
    Held { _regions: lock() }
}

fn lock() -> MutexGuard<'static, Vec<Region>> {
    REGIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A region of zeros, aligned to its size: only then it can be one page.
#[allow(unsafe_code, reason = "see below")]
fn map() -> Option<NonNull<u8>> {
    // SAFETY: a new mapping at an address that the system chooses.
    let mapped = unsafe {
        libc::mmap(
            ptr::null_mut(),
            2 * REGION_BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANON,
            -1,
            0,
        )
    };
    if mapped == libc::MAP_FAILED {
        return None;
    }
    let mapped = NonNull::new(mapped.cast::<u8>())?;
    let before = mapped.addr().get().wrapping_neg() % REGION_BYTES;
    // SAFETY: less than the size of a region is before the aligned one, so it is inside the mapping, and so is the rest.
    let (first, after) = unsafe { (mapped.add(before), mapped.add(before + REGION_BYTES)) };
    unmap(mapped, before);
    unmap(after, REGION_BYTES - before);
    #[cfg(target_os = "linux")]
    // SAFETY: advice about our own mapping, which changes nothing in it. Without large pages it fails, and nothing is lost.
    unsafe {
        libc::madvise(first.as_ptr().cast(), REGION_BYTES, libc::MADV_HUGEPAGE);
    }
    Some(first)
}

/// Requests the pages of a block from the system at once. Where that is not possible, the first write to each does it.
#[allow(unsafe_code, reason = "see below")]
fn populate(block: NonNull<u8>, bytes: usize) {
    #[cfg(target_os = "linux")]
    {
        /// A divisor of the page sizes of all machines.
        const PAGE: usize = 4096;
        let before = block.addr().get() % PAGE;
        // SAFETY: the first page is that of the region's other blocks, or of this one; the region is aligned. The advice
        // changes no value.
        unsafe {
            libc::madvise(
                block.sub(before).as_ptr().cast(),
                before + bytes,
                libc::MADV_POPULATE_WRITE,
            );
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (block, bytes);
}

#[allow(unsafe_code, reason = "see below")]
fn unmap(first: NonNull<u8>, bytes: usize) {
    if bytes > 0 {
        // SAFETY: the pages are a part of our own mapping, and nothing refers to them any more.
        unsafe { libc::munmap(first.as_ptr().cast(), bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other tests of this process use regions too, so only blocks of this test are compared.
    #[test]
    #[allow(unsafe_code, reason = "the blocks are ours")]
    fn blocks_are_apart_and_are_used_again() {
        type Blocks = Pages<98_368>;
        let mut blocks: Vec<NonNull<u8>> =
            (0..50).map(|_| Blocks::take().expect("memory")).collect();
        blocks.sort();
        for pair in blocks.windows(2) {
            assert!(pair[1].addr().get() - pair[0].addr().get() >= 98_368);
        }
        for block in &blocks {
            // SAFETY: the block has as many bytes.
            unsafe {
                block.write_bytes(1, 98_368);
            }
        }
        blocks.into_iter().for_each(Blocks::give_back);
        let regions = lock();
        assert!(
            regions
                .iter()
                .filter(|region| region.free == Blocks::ALL)
                .count()
                <= 1
        );
    }
}
