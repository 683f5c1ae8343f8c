//! The part of a file that is being read.
//!
//! A file is hundreds of megabytes of which the collector keeps little. A window of a quarter of a
//! megabyte is faster than the whole text in memory, because it stays in the processor's cache.

use super::TraceError;
use super::scanner::{Fault, Members, Passed, Scanner};
use std::io::{self, Read};
use std::ops::ControlFlow;

/// The size of a window at first, in bytes. It grows for a piece that does not fit.
const SIZE: usize = 1 << 18;
const MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Debug)]
pub(super) struct Window<R> {
    source: R,
    /// Text up to `filled`, free space after it.
    text: Vec<u8>,
    filled: usize,
    at: usize,
    ended: bool,
    passed: Passed,
}

impl<R: Read> Window<R> {
    pub(super) fn new(source: R) -> Result<Window<R>, TraceError> {
        Window::with_size(source, SIZE)
    }

    fn with_size(source: R, size: usize) -> Result<Window<R>, TraceError> {
        let mut window = Window {
            source,
            text: vec![0; size],
            filled: 0,
            at: 0,
            ended: false,
            passed: Passed::default(),
        };
        window.more()?;
        // The mark that some editors put in front of UTF-8.
        if window.text[..window.filled].starts_with(MARK) {
            window.text.copy_within(MARK.len().., 0);
            window.filled -= MARK.len();
        }
        Ok(window)
    }

    /// Reads one piece. If the text of the window ends inside of it, `read` is called again with more
    /// text, so it must not change any state before it succeeds.
    pub(super) fn piece<T>(
        &mut self,
        mut read: impl FnMut(&mut Scanner<'_>) -> Result<T, Fault>,
    ) -> Result<T, TraceError> {
        self.pieces(|scanner| read(scanner).map(ControlFlow::Break))
    }

    /// Reads pieces, each as [`piece`](Self::piece) does, until one returns `Break`.
    pub(super) fn pieces<T>(
        &mut self,
        mut read: impl FnMut(&mut Scanner<'_>) -> Result<ControlFlow<T>, Fault>,
    ) -> Result<T, TraceError> {
        loop {
            let text = &self.text[..self.filled];
            let mut scanner = Scanner::within(text, self.at, !self.ended);
            let fault = loop {
                match read(&mut scanner) {
                    Ok(ControlFlow::Continue(())) => self.at = scanner.position(),
                    Ok(ControlFlow::Break(last)) => {
                        self.at = scanner.position();
                        return Ok(last);
                    }
                    Err(fault) => break fault,
                }
            };
            if self.ended || fault.at < self.filled {
                return Err(self.error(fault));
            }
            self.more()?;
        }
    }

    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method itself is of one lifetime, and the text of a window has many"
    )]
    pub(super) fn open_object(&mut self) -> Result<Members, TraceError> {
        self.piece(|scanner| scanner.open_object())
    }

    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "as for an object"
    )]
    pub(super) fn open_array(&mut self) -> Result<Members, TraceError> {
        self.piece(|scanner| scanner.open_array())
    }

    /// All of the text from the cursor on.
    pub(super) fn rest(mut self) -> Result<Vec<u8>, TraceError> {
        self.text.truncate(self.filled);
        self.text.drain(..self.at);
        let read = self.source.read_to_end(&mut self.text);
        read.map_err(TraceError::reading)?;
        Ok(self.text)
    }

    /// Drops the text before the cursor and reads more after it.
    fn more(&mut self) -> Result<(), TraceError> {
        self.passed.pass(&self.text[..self.at]);
        self.text.copy_within(self.at..self.filled, 0);
        self.filled -= self.at;
        self.at = 0;
        if self.filled == self.text.len() {
            self.text.resize(self.text.len() * 2, 0);
        }
        while self.filled < self.text.len() && !self.ended {
            let count = read_some(&mut self.source, &mut self.text[self.filled..])?;
            self.filled += count;
            self.ended = count == 0;
        }
        Ok(())
    }

    fn error(&mut self, fault: Fault) -> TraceError {
        // Damaged compressed data gives wrong text first; the decoder notices only at the end.
        while !self.ended {
            let rest = &mut self.text[self.filled..];
            let mut elsewhere = [0; 4096];
            let room = if rest.is_empty() {
                &mut elsewhere[..]
            } else {
                rest
            };
            match read_some(&mut self.source, room) {
                Ok(count) => self.ended = count == 0,
                Err(damaged) => return damaged,
            }
        }
        fault.into_error(&self.text[..self.filled], self.passed)
    }
}

fn read_some(source: &mut impl Read, room: &mut [u8]) -> Result<usize, TraceError> {
    loop {
        match source.read(room) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read.map_err(TraceError::reading),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a few bytes per call.
    struct Slowly<'a>(&'a [u8], usize);

    impl Read for Slowly<'_> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(room.len());
            self.0.read(&mut room[..count])
        }
    }

    fn strings(text: &str, size: usize, at_once: usize) -> Result<Vec<String>, TraceError> {
        let mut window = Window::with_size(Slowly(text.as_bytes(), at_once), size)?;
        let mut items = window.open_array()?;
        let mut found = Vec::new();
        window.pieces(|scanner| {
            let mut now = items;
            if !scanner.next_item(&mut now)? {
                return Ok(ControlFlow::Break(()));
            }
            found.push(scanner.string()?.text().into_owned());
            items = now;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    #[test]
    fn pieces_are_whole_wherever_the_window_ends() {
        let text =
            "\u{feff}[\"a\",\n \"bc\\\"d\" , \"a longer one than the window at first\", \"e\" ]";
        let expected = ["a", "bc\"d", "a longer one than the window at first", "e"];
        for size in 3..80 {
            for at_once in [1, 2, 7, 100] {
                assert_eq!(strings(text, size, at_once).unwrap(), expected);
            }
        }
    }

    #[test]
    fn faults_are_counted_from_the_beginning_of_the_trace() {
        for size in 3..40 {
            let error = strings("[\"a\",\n\"b\",\n  \"c\" 5]", size, 3).unwrap_err();
            assert_eq!(error.position(), Some((3, 7)), "{error}");
            let error = strings("[\"a\",\n\"b", size, 3).unwrap_err();
            assert_eq!(error.position(), Some((2, 3)), "{error}");
            assert!(error.to_string().contains("ends too early"), "{error}");
        }
    }

    #[test]
    fn damaged_data_is_reported_rather_than_the_text_it_gave() {
        struct Damaged;
        impl Read for Damaged {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("checksums differ"))
            }
        }
        let text: &[u8] = b"[\"a\", oops, ";
        let mut window = Window::with_size(text.chain(Damaged), 8).unwrap();
        window.open_array().unwrap();
        window.piece(|scanner| scanner.string().map(drop)).unwrap();
        let error = window
            .piece(|scanner| scanner.string().map(drop))
            .unwrap_err();
        assert!(error.to_string().contains("checksums differ"), "{error}");
    }
}
