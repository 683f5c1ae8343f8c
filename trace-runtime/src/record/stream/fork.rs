//! Keeps a forked child out of the recording of its parent.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use trace_core::__engine::state;

/// The number of the parent that was recording when this process was forked; 0 for none.
static FORKED_FROM: AtomicU32 = AtomicU32::new(0);

/// The process that was recording when this one was forked from it.
pub(in crate::record) fn forked_from() -> Option<u32> {
    match FORKED_FROM.load(Ordering::Relaxed) {
        0 => None,
        parent => Some(parent),
    }
}

/// From now on, a forked child does not record for the session of its parent: the child has no thread that would write
/// its ops, and shares the ring with its parent.
pub(in crate::record) fn watch_forks() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        #[allow(unsafe_code)]
        // SAFETY: the three functions are safe to call at any time. They take one lock, under which no user code runs,
        // and the child only inherits locks that this thread holds.
        unsafe {
            libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child));
        }
    });
}

extern "C" fn before() {
    state::before_fork();
}

extern "C" fn in_parent() {
    state::after_fork(state::ForkSide::Parent);
}

extern "C" fn in_child() {
    if state::after_fork(state::ForkSide::Child) {
        #[allow(unsafe_code)]
        // SAFETY: the call has no parameters and cannot fail.
        let parent = unsafe { libc::getppid() };
        FORKED_FROM.store(parent.unsigned_abs(), Ordering::Relaxed);
    }
}

#[cfg(all(test, feature = "enabled"))]
mod tests {
    use crate::model::TraceView as _;
    use crate::model::optrace;
    use crate::record::{Session, SessionErrorKind};

    /// Forks this process. The child runs `child` and exits with its result.
    #[allow(unsafe_code)]
    fn forked(child: impl FnOnce() -> i32) -> i32 {
        // SAFETY: the child uses the allocator, which glibc keeps usable after a fork, and locks that no other
        // thread of this test holds. It ends by `_exit`, so nothing of the test harness runs twice.
        unsafe {
            let pid = libc::fork();
            if pid == 0 {
                libc::_exit(child());
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(pid, &raw mut status, 0), pid);
            if libc::WIFEXITED(status) {
                libc::WEXITSTATUS(status)
            } else {
                -1
            }
        }
    }

    fn op(name: &str) {
        crate::with_recorder(|recorder| {
            recorder.begin_op(name);
            recorder.end_op();
        });
    }

    #[test]
    fn a_child_does_not_change_the_recording_of_its_parent_and_can_make_its_own() {
        let path = std::env::temp_dir().join(format!("fork-{}.optrace", std::process::id()));
        let of_child = path.with_extension("child.optrace");
        let session = loop {
            // Other tests of this process may have a session.
            match Session::builder().stream_to(&path).start() {
                Ok(session) => break session,
                Err(error) => assert_eq!(error.kind(), SessionErrorKind::AlreadyRunning),
            }
            std::thread::yield_now();
        };
        op("parent");
        let session = std::cell::Cell::new(Some(session));
        let status = forked(|| {
            op("child");
            drop(session.take());
            let second = Session::builder().stream_to(&path).start();
            if !second.is_err_and(|error| error.to_string().contains("is recording to this file")) {
                return 2;
            }
            let Ok(own) = Session::builder().stream_to(&of_child).start() else {
                return 3;
            };
            op("own");
            std::mem::forget(own);
            0
        });
        assert_eq!(status, 0);
        op("parent");
        drop(session.take());
        let names = |path| {
            let trace = optrace::open(path).expect("a trace");
            let names: Vec<String> = trace
                .views()
                .map(|view| view.operation().to_owned())
                .collect();
            (names, trace.metadata().get("forked_from").cloned())
        };
        assert_eq!(names(&path), (vec!["parent".into(), "parent".into()], None));
        let parent = std::process::id().to_string();
        assert_eq!(names(&of_child), (vec!["own".into()], Some(parent)));
        for path in [path, of_child] {
            std::fs::remove_file(path).expect("removed");
        }
    }
}
