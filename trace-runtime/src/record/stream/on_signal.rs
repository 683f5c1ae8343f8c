//! Writes the output of a session when SIGINT or SIGTERM arrives, and then lets the signal have its usual effect.
//!
//! The handler only writes one byte to a pipe, because POSIX allows few calls there. A thread reads the byte, writes
//! the file, restores the action that was set before, and sends the signal again.

use std::io::{self, Read as _};
use std::os::fd::IntoRawFd as _;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, Ordering};
use std::thread::JoinHandle;

const SIGNALS: [libc::c_int; 2] = [libc::SIGINT, libc::SIGTERM];
/// The byte that ends the thread.
const STOP: u8 = 0;

/// The end of the pipe that the handler writes to. It is made once and never closed.
static PIPE: AtomicI32 = AtomicI32::new(-1);
/// The process whose session is written on a signal; 0 for none. A forked child has another number.
static OWNER: AtomicI32 = AtomicI32::new(0);
/// The file is being written for this signal, or has been. It is written once: the handler that was there before may
/// call this one.
static IS_SERVED: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];
/// The handler that was there before is running.
static IS_PASSED_ON: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];
/// The actions that were there before. They are never freed: a handler may be reading one.
static BEFORE: [AtomicPtr<libc::sigaction>; 2] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; 2];

/// Handles signals until it is dropped.
#[derive(Debug)]
pub(in crate::record) struct OnSignal {
    thread: Option<JoinHandle<()>>,
    pid: libc::c_int,
}

impl OnSignal {
    /// Calls `write` on a separate thread when SIGINT or SIGTERM arrives. Signals that are ignored are still ignored.
    pub(in crate::record) fn install(write: impl Fn() + Send + 'static) -> io::Result<OnSignal> {
        let (mut reader, writer) = io::pipe()?;
        let thread = std::thread::Builder::new()
            .name("optrace signals".into())
            .spawn(move || {
                let mut byte = [STOP];
                while reader.read_exact(&mut byte).is_ok() && byte[0] != STOP {
                    write();
                    send_again(libc::c_int::from(byte[0]));
                }
            })?;
        let pid = process_id();
        let old = PIPE.swap(writer.into_raw_fd(), Ordering::AcqRel);
        if old >= 0 {
            close(old);
        }
        OWNER.store(pid, Ordering::Release);
        let installed = OnSignal {
            thread: Some(thread),
            pid,
        };
        for (slot, signal) in SIGNALS.into_iter().enumerate() {
            IS_SERVED[slot].store(false, Ordering::Release);
            let before = action_of(signal)?;
            if before.sa_sigaction != libc::SIG_IGN && before.sa_sigaction != handler_address() {
                BEFORE[slot].store(Box::into_raw(Box::new(before)), Ordering::Release);
                set_action(signal, &own_action())?;
            }
        }
        Ok(installed)
    }
}

impl Drop for OnSignal {
    fn drop(&mut self) {
        // A forked child shares the pipe with its parent, and has no such thread.
        if self.pid != process_id() {
            std::mem::forget(self.thread.take());
            return;
        }
        OWNER.store(0, Ordering::Release);
        for (slot, signal) in SIGNALS.into_iter().enumerate() {
            let is_own =
                action_of(signal).is_ok_and(|action| action.sa_sigaction == handler_address());
            // If another handler was installed after this one, it may call this one. So this one stays installed and
            // passes signals on.
            if let (true, Some(before)) = (is_own, before(slot)) {
                let _ = set_action(signal, before);
            }
        }
        write_byte(PIPE.load(Ordering::Acquire), STOP);
        // If the file is being written for a signal, wait until it is complete.
        drop(self.thread.take().map(JoinHandle::join));
    }
}

extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let Some(slot) = SIGNALS.iter().position(|known| *known == signal) else {
        return;
    };
    let is_first = OWNER.load(Ordering::Acquire) == process_id()
        && !IS_SERVED[slot].swap(true, Ordering::AcqRel);
    let byte = u8::try_from(signal).unwrap_or(STOP);
    if is_first && write_byte(PIPE.load(Ordering::Acquire), byte) {
        return;
    }
    // A second signal does not wait for the file.
    pass_on(signal, slot, info, context);
}

/// Does what the signal would do without this handler.
#[allow(unsafe_code)]
fn pass_on(
    signal: libc::c_int,
    slot: usize,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let before = before(slot);
    let takes_info = before.is_some_and(|action| action.sa_flags & libc::SA_SIGINFO != 0);
    // If the other handler calls this one again, calling it once more would never end.
    let is_again = IS_PASSED_ON[slot].swap(true, Ordering::AcqRel);
    match before
        .filter(|_| !is_again)
        .map_or(libc::SIG_DFL, |action| action.sa_sigaction)
    {
        libc::SIG_IGN => {}
        libc::SIG_DFL => {
            let _ = set_action(signal, &default_action());
            // SAFETY: the call takes no pointers and is safe in a handler. The signal arrives when this one returns.
            unsafe { libc::raise(signal) };
        }
        address if takes_info => {
            type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
            // SAFETY: the address is that of a handler which was installed with `SA_SIGINFO`, so it has this type.
            let handler: Handler = unsafe { std::mem::transmute(address) };
            handler(signal, info, context);
        }
        address => {
            // SAFETY: the address is that of a handler which was installed without `SA_SIGINFO`, so it has this type.
            let handler: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(address) };
            handler(signal);
        }
    }
    IS_PASSED_ON[slot].store(false, Ordering::Release);
}

/// Sends a signal again after the file was written, with the action that was there before.
#[allow(unsafe_code)]
fn send_again(signal: libc::c_int) {
    let Some(slot) = SIGNALS.iter().position(|known| *known == signal) else {
        return;
    };
    if let Some(action) = before(slot) {
        let _ = set_action(signal, action);
    }
    // SAFETY: the call takes no pointers, and the number is that of this process.
    unsafe { libc::kill(process_id(), signal) };
}

#[allow(unsafe_code)]
fn before(slot: usize) -> Option<&'static libc::sigaction> {
    // SAFETY: the pointer is null or came from a box that is never freed and never written to again.
    unsafe { BEFORE[slot].load(Ordering::Acquire).as_ref() }
}

fn handler_address() -> libc::sighandler_t {
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = handle;
    handler as libc::sighandler_t
}

#[allow(unsafe_code)]
fn default_action() -> libc::sigaction {
    // SAFETY: `sigaction` is plain data, for which zeros are a valid value: the default action, no flags, and an empty
    // mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = libc::SIG_DFL;
    action
}

fn own_action() -> libc::sigaction {
    let mut action = default_action();
    action.sa_sigaction = handler_address();
    // On the alternative stack if the thread has one, which Go and the sanitizers require.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    action
}

#[allow(unsafe_code)]
fn action_of(signal: libc::c_int) -> io::Result<libc::sigaction> {
    // SAFETY: zeros are a valid value, and the call writes to this variable only.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &raw mut action) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(action)
    }
}

/// Safe in a handler: it is one system call.
#[allow(unsafe_code)]
fn set_action(signal: libc::c_int, action: &libc::sigaction) -> io::Result<()> {
    // SAFETY: the action was read from the system, or is `own_action`, whose handler may run at any time: it reads
    // atomics and makes system calls that are safe in a handler.
    let result = unsafe { libc::sigaction(signal, action, std::ptr::null_mut()) };
    if result == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}

/// True if the byte was written. The pipe is never full: a signal does not write again before its byte has been read.
#[allow(unsafe_code)]
fn write_byte(pipe: libc::c_int, byte: u8) -> bool {
    // SAFETY: the pointer is to one byte that lives during the call. A closed descriptor is an error.
    unsafe { libc::write(pipe, (&raw const byte).cast(), 1) == 1 }
}

#[allow(unsafe_code)]
fn process_id() -> libc::c_int {
    // SAFETY: the call has no parameters and cannot fail.
    unsafe { libc::getpid() }
}

#[allow(unsafe_code)]
fn close(descriptor: libc::c_int) {
    // SAFETY: it came from `into_raw_fd` in `install`, and was taken out of `PIPE`: this is its only owner. `OWNER` is
    // 0 between two sessions, so no handler writes to it.
    unsafe { libc::close(descriptor) };
}
