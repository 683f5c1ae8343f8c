//! Progress bars on standard error, one per file that is being read. Short reads have no bar, and there are none if
//! standard error is not a terminal.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};
use trace_runtime::report::printable;

/// A read that takes less time has no bar.
const PATIENCE: Duration = Duration::from_secs(1);
const STYLE: &str = "{msg} [{bar:30}] {decimal_bytes} of {decimal_total_bytes}";
const STYLE_WITHOUT_SIZE: &str = "{msg}: {decimal_bytes} in {elapsed}";

/// The bars of all files that are read at the same time, one below the other.
#[derive(Debug)]
pub(crate) struct Progress {
    bars: MultiProgress,
    patience: Duration,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress {
            // Draws nothing if standard error is not a terminal.
            bars: MultiProgress::with_draw_target(ProgressDrawTarget::stderr()),
            patience: PATIENCE,
        }
    }

    /// Counts the bytes that are read from `source`; the bar is removed when the result is dropped.
    pub(crate) fn reading<R>(&self, path: &Path, size: Option<u64>, source: R) -> Counted<R> {
        let name = path.file_name().unwrap_or(path.as_os_str());
        let template = if size.is_some() {
            STYLE
        } else {
            STYLE_WITHOUT_SIZE
        };
        let style = ProgressStyle::with_template(template)
            .expect("the templates are constant")
            .progress_chars("#>-");
        let bar = ProgressBar::with_draw_target(size, ProgressDrawTarget::hidden())
            .with_style(style)
            .with_message(format!("reading {}", printable(&name.to_string_lossy())));
        Counted {
            source,
            bar,
            bars: self.bars.clone(),
            show_at: Some(Instant::now() + self.patience),
        }
    }
}

/// A source whose bytes are counted on a progress bar.
#[derive(Debug)]
pub(crate) struct Counted<R> {
    source: R,
    bar: ProgressBar,
    bars: MultiProgress,
    /// When to show the bar; `None` once it is shown.
    show_at: Option<Instant>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(room)?;
        self.bar.inc(count as u64);
        if self.show_at.is_some_and(|at| at <= Instant::now()) {
            self.show_at = None;
            self.bars.add(self.bar.clone());
        }
        Ok(count)
    }
}

impl<R> Drop for Counted<R> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::InMemoryTerm;

    fn on(terminal: &InMemoryTerm, patience: Duration) -> Progress {
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        Progress {
            bars: MultiProgress::with_draw_target(target),
            patience,
        }
    }

    #[test]
    fn files_read_at_the_same_time_have_a_line_each() {
        let terminal = InMemoryTerm::new(10, 80);
        let progress = on(&terminal, Duration::ZERO);
        let mut first = progress.reading(Path::new("a/first.json"), Some(1000), &[0; 1000][..]);
        let mut second = progress.reading(Path::new("-"), None, &[0; 1000][..]);
        for source in [&mut first, &mut second] {
            source.read_exact(&mut [0; 500]).unwrap();
            source.bar.force_draw();
        }
        let shown = terminal.contents();
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 2, "{shown}");
        assert!(lines[0].starts_with("reading first.json [####"), "{shown}");
        assert!(lines[0].ends_with("500 B of 1.00 kB"), "{shown}");
        assert!(lines[1].starts_with("reading -: 500 B in"), "{shown}");
        drop(first);
        assert!(terminal.contents().starts_with("reading -"));
        drop(second);
        assert_eq!(terminal.contents(), "");
    }

    #[test]
    fn a_short_read_shows_nothing() {
        let terminal = InMemoryTerm::new(10, 80);
        let progress = on(&terminal, Duration::from_secs(100_000));
        let mut source = progress.reading(Path::new("t.json"), Some(10), &[0; 10][..]);
        source.read_exact(&mut [0; 10]).unwrap();
        source.bar.force_draw();
        drop(source);
        assert_eq!(terminal.contents(), "");
    }
}
