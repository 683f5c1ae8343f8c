//! The part of a file that is being read.
//!
//! A file may have hundreds of megabytes, of which the collector keeps little. A window of a quarter of a megabyte is
//! faster than the whole text in memory, because it stays in the processor's cache.

use super::TraceError;
use super::scanner::{Fault, Members, Passed, Scanner};
use memchr::{memchr, memchr2, memmem};
use std::io::{self, Read};
use std::ops::ControlFlow;

/// The size of a window at first, in bytes. It grows if a piece does not fit.
const SIZE: usize = 1 << 18;
/// The longest event, or value of the top-level object, in bytes. Without a limit a small compressed file
/// could fill the memory.
const LONGEST_PIECE: usize = 1 << 28;
/// The longest string in the JSON of this crate, in bytes: all memory events of a trace are one string.
const LONGEST_STRING: usize = 1 << 30;
/// The longest text between two strings in the JSON of this crate. The JSON parser holds the digits of a number, and a
/// byte for each open bracket of a value that it skips.
const LONGEST_BETWEEN: usize = 1 << 22;
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
    /// The longest piece. It is [`LONGEST_PIECE`], except in a test.
    longest: usize,
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
            longest: LONGEST_PIECE,
        };
        window.more()?;
        // The byte order mark that some editors write before UTF-8.
        if window.text[..window.filled].starts_with(MARK) {
            window.text.copy_within(MARK.len().., 0);
            window.filled -= MARK.len();
        }
        Ok(window)
    }

    /// Reads one piece. If the text of the window ends inside it, `read` is called again with more
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
            // White space before a piece is not part of it: a file full of spaces needs no memory.
            let space = |byte: &&u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
            let spaces = self.text[self.at..self.filled].iter().take_while(space);
            self.at += spaces.count();
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

    /// A scanner over the text that is in the window.
    pub(super) fn ahead(&mut self) -> Scanner<'_> {
        Scanner::within(&self.text[..self.filled], self.at, !self.ended)
    }

    /// Takes about `size` bytes of text out of the window, up to the last `}` that `separator` follows. `None` if there
    /// is no such place, or less text. The text has not been [`pass`](Self::pass)ed then.
    pub(super) fn take_part(
        &mut self,
        size: usize,
        separator: &[u8],
    ) -> Result<Option<Vec<u8>>, TraceError> {
        self.passed.pass(&self.text[..self.at]);
        self.text.copy_within(self.at..self.filled, 0);
        self.filled -= self.at;
        self.at = 0;
        if self.text.len() < size {
            self.text.resize(size, 0);
        }
        while self.filled < size && !self.ended {
            let count = read_some(&mut self.source, &mut self.text[self.filled..size])?;
            self.filled += count;
            self.ended = count == 0;
        }
        if self.filled < size {
            return Ok(None);
        }
        let text = &self.text[..size];
        let found = memmem::rfind_iter(text, separator).find(|&at| text[..at].ends_with(b"}"));
        let Some(end) = found else {
            return Ok(None);
        };
        let part = text[..end].to_vec();
        self.text.copy_within(end..self.filled, 0);
        self.filled -= end;
        Ok(Some(part))
    }

    /// Counts the lines of a part that was taken out and read.
    pub(super) fn pass(&mut self, text: &[u8]) {
        self.passed.pass(text);
    }

    /// Puts text that was taken out back to the front of the window.
    pub(super) fn put_back(&mut self, texts: impl Iterator<Item = Vec<u8>>) {
        let mut whole: Vec<u8> = texts.flatten().collect();
        whole.extend_from_slice(&self.text[self.at..self.filled]);
        self.at = 0;
        self.filled = whole.len();
        // Free space after the text, as much as a new window has.
        whole.resize(self.filled + SIZE, 0);
        self.text = whole;
    }

    /// The text from the cursor on, as a stream.
    pub(super) fn rest(self) -> Rest<R> {
        Rest {
            window: self,
            string: StringLength::default(),
            longest: LONGEST_STRING,
        }
    }

    /// Drops the text before the cursor and reads more after it.
    fn more(&mut self) -> Result<(), TraceError> {
        self.passed.pass(&self.text[..self.at]);
        self.text.copy_within(self.at..self.filled, 0);
        self.filled -= self.at;
        self.at = 0;
        if self.filled == self.text.len() {
            if self.filled >= self.longest {
                return Err(too_long("event or value", self.longest));
            }
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
        // Damaged compressed data first yields wrong text; the decoder notices the damage only at the end.
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

fn too_long(what: &str, limit: usize) -> TraceError {
    TraceError::too_large(format!(
        "one {what} of the file is longer than {} MB; this is not a trace, or its writer is broken",
        limit >> 20
    ))
}

/// The rest of a window as a stream. Fails at a string that is longer than [`LONGEST_STRING`], because the
/// JSON parser holds a string as a whole.
#[derive(Debug)]
pub(super) struct Rest<R> {
    window: Window<R>,
    string: StringLength,
    longest: usize,
}

impl<R: Read> Read for Rest<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let window = &mut self.window;
        if window.at == window.filled && !window.ended {
            window.more().map_err(io::Error::other)?;
        }
        let text = &window.text[window.at..window.filled];
        let count = text.len().min(room.len());
        room[..count].copy_from_slice(&text[..count]);
        window.at += count;
        self.string.pass(&room[..count]);
        let (what, longest) = if self.string.inside {
            ("string", self.longest)
        } else {
            ("value without strings", LONGEST_BETWEEN)
        };
        if self.string.length > longest {
            return Err(io::Error::other(too_long(what, longest)));
        }
        Ok(count)
    }
}

/// Follows the strings in JSON text, to measure the current string or the text since the last one.
#[derive(Debug, Default)]
struct StringLength {
    inside: bool,
    escaped: bool,
    length: usize,
}

impl StringLength {
    fn pass(&mut self, mut text: &[u8]) {
        if std::mem::take(&mut self.escaped) && !text.is_empty() {
            text = &text[1..];
        }
        while !text.is_empty() {
            let found = if self.inside {
                memchr2(b'"', b'\\', text)
            } else {
                memchr(b'"', text)
            };
            let Some(at) = found else {
                self.length += text.len();
                break;
            };
            if text[at] == b'\\' {
                self.length += at + 2;
                self.escaped = at + 1 == text.len();
                text = text.get(at + 2..).unwrap_or_default();
            } else {
                self.inside = !self.inside;
                self.length = 0;
                text = &text[at + 1..];
            }
        }
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
    use crate::model::TraceErrorKind;

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

    /// Repeats one byte without end.
    struct Endless(u8);

    impl Read for Endless {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            room.fill(self.0);
            Ok(room.len())
        }
    }

    #[test]
    fn a_piece_without_end_is_an_error_and_needs_no_more_than_the_limit() {
        let start: &[u8] = b"[\"a\", \"";
        let mut window = Window::with_size(start.chain(Endless(b'x')), 8).unwrap();
        window.longest = 1 << 16;
        window.open_array().unwrap();
        window.piece(|scanner| scanner.string().map(drop)).unwrap();
        window.piece(|scanner| scanner.expect(b',', "`,`")).unwrap();
        let error = window
            .piece(|scanner| scanner.string().map(drop))
            .unwrap_err();
        assert_eq!(error.kind(), TraceErrorKind::TooLarge);
        assert!(error.to_string().contains("longer than"), "{error}");
        assert!(window.text.len() <= 1 << 16);
    }

    #[test]
    fn white_space_between_pieces_needs_no_memory() {
        let spaces = io::repeat(b' ').take(1 << 20);
        let text = (&b"[\"a\""[..]).chain(spaces).chain(&b", \"b\"]"[..]);
        let mut window = Window::with_size(text, 64).unwrap();
        let mut items = window.open_array().unwrap();
        let mut count = 0;
        window
            .pieces(|scanner| {
                let mut now = items;
                if !scanner.next_item(&mut now)? {
                    return Ok(ControlFlow::Break(()));
                }
                scanner.string()?;
                items = now;
                count += 1;
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        assert_eq!(count, 2);
        assert!(window.text.len() <= 128, "{}", window.text.len());
    }

    #[test]
    fn a_string_without_end_is_an_error_in_a_stream() {
        for (start, byte) in [(&b"{\"a\\\": "[..], b'x'), (b"{\"a\": \"", b'\\')] {
            let window = Window::with_size(start.chain(Endless(byte)), 64).unwrap();
            let mut rest = window.rest();
            rest.longest = 1 << 16;
            let error = io::copy(&mut rest, &mut io::sink()).unwrap_err();
            let error = error.downcast::<TraceError>().unwrap();
            assert_eq!(error.kind(), TraceErrorKind::TooLarge);
        }
        // There is no limit outside strings, and the lengths of short strings are not added up.
        let many = b"[\"some text\", 12345, \"a \\\" quote\"]".repeat(5000);
        let mut rest = Window::with_size(many.as_slice(), 64).unwrap().rest();
        rest.longest = 16;
        io::copy(&mut rest, &mut io::sink()).unwrap();
    }
}
