//! Memory that a recording is written to: a mapped part of a file, or anonymous.
//!
//! With `signals`, `on_signal` and `fork`, the only files of `record` with `unsafe`.

use memmap2::{MmapMut, MmapOptions, MmapRaw};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::AtomicU64;
use trace_core::__engine::block::Region;

/// Words that are shared with a file, or private. The kernel keeps those of a file when the process dies.
#[derive(Debug)]
pub(super) struct Mapping {
    map: MmapRaw,
}

impl Mapping {
    /// Reserves the first `len` bytes of an empty file, so that writing to them cannot fail later, and maps them.
    pub(super) fn of_file(file: &File, bytes: usize) -> io::Result<Mapping> {
        reserve(file, bytes)?;
        let map = MmapOptions::new().len(bytes).map_raw(file)?;
        Ok(Mapping { map })
    }

    /// Private memory of this process, zero at first. Pages that are never written take no memory.
    pub(super) fn anonymous(bytes: usize) -> io::Result<Mapping> {
        let map = MmapMut::map_anon(bytes)?.into();
        Ok(Mapping { map })
    }

    /// Lets the system provide the pages of a part before they are written. That is faster in one call, and the threads
    /// that record do not wait for it.
    pub(super) fn populate(&self, from: usize, bytes: usize) {
        #[cfg(target_os = "linux")]
        {
            // Old kernels do not have this call. Then each page is provided at its first write.
            let _ = self
                .map
                .advise_range(memmap2::Advice::PopulateWrite, from, bytes);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (from, bytes);
    }
}

impl Region for Mapping {
    #[allow(
        unsafe_code,
        clippy::cast_ptr_alignment,
        reason = "a map begins at a page"
    )]
    fn words(&self) -> &[AtomicU64] {
        let first = self.map.as_ptr().cast::<AtomicU64>();
        // SAFETY: the map is readable and writable for its whole length until it is dropped, and begins at a page, so
        // it is aligned. `AtomicU64` has no invalid values. This process reaches the memory through these atomics
        // only. Another process may write to the file or truncate it: the first changes values as another thread
        // would, and the second ends the process, without making the slice invalid. The docs of `stream_to` forbid it.
        unsafe { std::slice::from_raw_parts(first, self.map.len() / 8) }
    }
}

/// Allocates the blocks of a file on the disk. Without this, the process would end with SIGBUS if it writes to a part
/// that is not allocated while the disk is full.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
fn reserve(file: &File, bytes: usize) -> io::Result<()> {
    let len = i64::try_from(bytes).map_err(io::Error::other)?;
    #[allow(unsafe_code)]
    // SAFETY: the descriptor is that of an open file, and the call takes no pointers.
    let error = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, len) };
    match error {
        0 => Ok(()),
        // Some file systems do not support it.
        libc::EOPNOTSUPP | libc::EINVAL => write_zeros(file, bytes),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
fn reserve(file: &File, bytes: usize) -> io::Result<()> {
    write_zeros(file, bytes)
}

fn write_zeros(mut file: &File, bytes: usize) -> io::Result<()> {
    let zeros = vec![0; 1 << 16];
    let mut left = bytes;
    while left > 0 {
        let len = left.min(zeros.len());
        file.write_all(&zeros[..len])?;
        left -= len;
    }
    Ok(())
}

/// Locks a file for this process; false if another process, or an earlier recording of this one, has locked it.
pub(super) fn lock(file: &File) -> io::Result<bool> {
    #[allow(unsafe_code)]
    // SAFETY: the descriptor is that of an open file, and the call takes no pointers.
    let result = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    if result == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::WouldBlock {
        return Ok(false);
    }
    Err(error)
}
