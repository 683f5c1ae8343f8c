//! A line on standard error that says how far a long read is. Short ones and pipes never see it.

use std::io::{self, IsTerminal as _, Read, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use trace_runtime::report::{bytes, printable};

/// Nobody wonders what a program does for less than this.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);
const BAR: usize = 30;

/// Shown from a second on until it is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    state: Arc<State>,
    line: Option<(Sender<()>, JoinHandle<()>)>,
}

#[derive(Debug)]
struct State {
    what: String,
    done: AtomicUsize,
    /// 0 where nobody knows.
    total: AtomicUsize,
}

impl Progress {
    pub(crate) fn reading(path: &Path) -> Progress {
        let name = path.file_name().unwrap_or(path.as_os_str());
        let state = Arc::new(State {
            what: format!("reading {}", printable(&name.to_string_lossy())),
            done: AtomicUsize::new(0),
            total: AtomicUsize::new(0),
        });
        let line = io::stderr().is_terminal().then(|| {
            let (stop, stopped) = mpsc::channel();
            let shown = state.clone();
            let thread = thread::spawn(move || {
                let begun = Instant::now();
                let mut wait = PATIENCE;
                while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                    show(&shown.line(begun.elapsed()));
                    wait = TICK;
                }
                if wait == TICK {
                    show("");
                }
            });
            (stop, thread)
        });
        Progress { state, line }
    }

    /// How much is done; see [`Counted`].
    pub(crate) fn done(&self) -> &AtomicUsize {
        &self.state.done
    }

    /// Begins a stretch of work of this size.
    pub(crate) fn begin(&self, total: usize) {
        self.state.done.store(0, Ordering::Relaxed);
        self.state.total.store(total, Ordering::Relaxed);
    }
}

/// Counts what comes out of a source.
#[derive(Debug)]
pub(crate) struct Counted<'a, R>(pub(crate) R, pub(crate) &'a AtomicUsize);

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(room)?;
        self.1.fetch_add(count, Ordering::Relaxed);
        Ok(count)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.line.take() {
            drop(stop);
            // It writes one line and cannot panic; if it did, the trace is still worth showing.
            let _ = thread.join();
        }
    }
}

impl State {
    fn line(&self, elapsed: Duration) -> String {
        let (done, total) = (
            self.done.load(Ordering::Relaxed),
            self.total.load(Ordering::Relaxed),
        );
        let what = &self.what;
        if total == 0 {
            return format!("{what}: {}, {} s", bytes(done as u64), elapsed.as_secs());
        }
        let full = (done.min(total) * BAR) / total;
        let (filled, empty) = ("#".repeat(full), "·".repeat(BAR - full));
        format!("{what} [{filled}{empty}] of {}", bytes(total as u64))
    }
}

fn show(line: &str) {
    let mut stderr = io::stderr().lock();
    // A line that cannot be shown is no reason to stop.
    let _ = write!(stderr, "\r\u{1b}[2K{line}").and_then(|()| stderr.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_much_is_done() {
        let state = State {
            what: "reading x".into(),
            done: AtomicUsize::new(512),
            total: AtomicUsize::new(0),
        };
        assert!(state.line(Duration::from_secs(3)).ends_with("3 s"));
        state.total.store(1024, Ordering::Relaxed);
        let half = format!("[{}{}]", "#".repeat(15), "·".repeat(15));
        assert!(state.line(Duration::ZERO).contains(&half));
    }
}
