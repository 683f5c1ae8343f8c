//! SIGUSR1 as a request for a dump, in addition to the program's own handler.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

/// Requests so far. The handler only counts them, because few calls are allowed in a handler.
static REQUESTS: AtomicU32 = AtomicU32::new(0);
static IS_INSTALLED: AtomicBool = AtomicBool::new(false);
/// The handler that was there before, or 0.
static PREVIOUS: AtomicUsize = AtomicUsize::new(0);

pub(super) fn requests() -> u32 {
    REQUESTS.load(Ordering::Relaxed)
}

/// Counts SIGUSR1 from now on. The handler that was there before runs too. The handler stays installed until the
/// process ends, because another handler may call it.
#[allow(unsafe_code)]
pub(super) fn install() -> io::Result<()> {
    if IS_INSTALLED.swap(true, Ordering::AcqRel) {
        return Ok(());
    }
    // SAFETY: `sigaction` is plain data, for which zeros are a valid value. The handler only touches atomics and calls
    // the handler that was there, which the system would have called in its place; both calls get pointers to
    // local variables that live long enough.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(libc::c_int) = handle;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_RESTART;
        let mut old: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGUSR1, &raw const action, &raw mut old) != 0 {
            IS_INSTALLED.store(false, Ordering::Release);
            return Err(io::Error::last_os_error());
        }
        // A handler that takes more than the signal's number cannot be called from here.
        let is_plain = old.sa_flags & libc::SA_SIGINFO == 0;
        if is_plain && old.sa_sigaction != libc::SIG_DFL && old.sa_sigaction != libc::SIG_IGN {
            PREVIOUS.store(old.sa_sigaction, Ordering::Release);
        }
    }
    Ok(())
}

extern "C" fn handle(signal: libc::c_int) {
    REQUESTS.fetch_add(1, Ordering::Relaxed);
    let previous = PREVIOUS.load(Ordering::Acquire);
    if previous != 0 {
        #[allow(unsafe_code)]
        // SAFETY: the address is that of a handler which was installed without `SA_SIGINFO`, so it has this type.
        let previous: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(previous) };
        previous(signal);
    }
}
