//! A cursor over JSON text that copies nothing: strings and numbers are returned as slices of the input.
//!
//! Written for traces of hundreds of megabytes of which a reader needs a few fields. Skipped values are
//! checked only for balanced brackets and closed strings: some profilers write `nan` or raw control
//! characters, and such a trace should still be read.

use super::TraceError;
use super::block::{BLOCK, not_digits, quotes_and_backslashes, quotes_and_brackets};
use memchr::{memchr, memchr_iter, memchr2, memrchr};
use std::borrow::Cow;

#[derive(Debug, Clone)]
pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    /// True if more text follows these bytes.
    more_follows: bool,
}

/// An error in the text: its position, and what was expected there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) expected: &'static str,
}

impl Fault {
    /// The error for a fault in `bytes`. `passed` is the amount of text before them.
    pub(super) fn into_error(self, bytes: &[u8], mut passed: Passed) -> TraceError {
        passed.pass(&bytes[..self.at.min(bytes.len())]);
        let (line, column) = (passed.lines + 1, passed.columns + 1);
        if self.at >= bytes.len() {
            return TraceError::truncated(line, column, self.expected);
        }
        let message = format!("not a trace: expected {}", self.expected);
        TraceError::syntax(line, column, message)
    }
}

/// The amount of text that was read and dropped.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Passed {
    lines: usize,
    /// Bytes of the line that has not ended.
    columns: usize,
}

impl Passed {
    pub(super) fn pass(&mut self, text: &[u8]) {
        match memrchr(b'\n', text) {
            Some(last) => self.columns = text.len() - last - 1,
            None => self.columns += text.len(),
        }
        self.lines += memchr_iter(b'\n', text).count();
    }
}

/// A string as it is in the text, still escaped, without its quotes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Raw<'a>(pub(super) &'a [u8]);

impl<'a> Raw<'a> {
    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The unescaped string. Invalid UTF-8 and invalid escapes are replaced, not rejected.
    pub(super) fn text(self) -> Cow<'a, str> {
        if memchr(b'\\', self.0).is_some() {
            return Cow::Owned(unescape(&String::from_utf8_lossy(self.0)));
        }
        String::from_utf8_lossy(self.0)
    }

    /// A whole number in any form: `7`, `"7"`, `7.0`.
    #[inline]
    pub(super) fn number<T: TryFrom<i128>>(self) -> Option<T> {
        // Nearly all are digits that fit.
        let mut plain = 0_u64;
        for &byte in self.0 {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 || self.0.len() > 18 {
                return self.number_slowly();
            }
            plain = plain * 10 + u64::from(digit);
        }
        if self.is_empty() {
            return None;
        }
        T::try_from(i128::from(plain)).ok()
    }

    fn number_slowly<T: TryFrom<i128>>(self) -> Option<T> {
        let text = std::str::from_utf8(self.0).ok()?.trim();
        let whole = match text.split_once('.') {
            Some((whole, zeros)) if zeros.bytes().all(|digit| digit == b'0') => whole,
            Some(_) => return None,
            None => text,
        };
        T::try_from(whole.parse().ok()?).ok()
    }
}

impl<'a> Scanner<'a> {
    /// A scanner over complete text.
    pub(super) fn new(bytes: &'a [u8]) -> Scanner<'a> {
        Scanner::within(bytes, 0, false)
    }

    /// A scanner over text that may be incomplete, from `at` on. `more_follows` is true if more text follows.
    pub(super) fn within(bytes: &'a [u8], at: usize, more_follows: bool) -> Scanner<'a> {
        Scanner {
            bytes,
            at,
            more_follows,
        }
    }

    pub(super) fn fault<T>(&self, expected: &'static str) -> Result<T, Fault> {
        Err(Fault {
            at: self.at,
            expected,
        })
    }

    /// The next byte that is not white space. It is not consumed.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        while let Some(&byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// Takes the next byte if it is this one.
    #[inline]
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    #[inline]
    pub(super) fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), Fault> {
        if self.take(byte) {
            return Ok(());
        }
        self.fault(expected)
    }

    /// A string, without its quotes.
    #[inline]
    pub(super) fn string(&mut self) -> Result<Raw<'a>, Fault> {
        self.expect(b'"', "a string")?;
        let start = self.at;
        loop {
            self.at = quote_or_backslash(self.bytes, self.at);
            match self.bytes.get(self.at) {
                Some(b'"') => break,
                // The escaped byte cannot end the string.
                Some(_) => self.at = (self.at + 2).min(self.bytes.len()),
                None => return self.fault("the end of a string"),
            }
        }
        let raw = &self.bytes[start..self.at];
        self.at += 1;
        Ok(Raw(raw))
    }

    /// A string without its quotes, or a number or word; `None` for `null` and for an object or array,
    /// which is skipped.
    #[inline]
    pub(super) fn scalar(&mut self) -> Result<Option<Raw<'a>>, Fault> {
        match self.peek() {
            Some(b'"') => self.string().map(Some),
            Some(b'{' | b'[') => self.skip().map(|()| None),
            _ => self
                .word()
                .map(|word| (word != b"null").then_some(Raw(word))),
        }
    }

    #[inline]
    fn word(&mut self) -> Result<&'a [u8], Fault> {
        let start = self.at;
        self.at = digits_end(self.bytes, self.at);
        while let Some(&byte) = self.bytes.get(self.at)
            && IN_WORD[usize::from(byte)]
        {
            self.at += 1;
        }
        if self.at == start {
            return self.fault("a value");
        }
        Ok(&self.bytes[start..self.at])
    }

    /// Skips a value of any kind.
    #[inline]
    pub(super) fn skip(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Some(b'"') => self.string().map(drop),
            Some(b'{' | b'[') => self.skip_nested(),
            _ => self.word().map(drop),
        }
    }

    /// The text of a value of any kind.
    #[inline]
    pub(super) fn raw(&mut self) -> Result<Raw<'a>, Fault> {
        self.peek();
        let start = self.at;
        self.skip()?;
        Ok(Raw(&self.bytes[start..self.at]))
    }

    fn skip_nested(&mut self) -> Result<(), Fault> {
        let mut open = OpenBrackets::default();
        'blocks: loop {
            let Some(block) = block_at(self.bytes, self.at) else {
                return self.skip_nested_slowly(open);
            };
            let start = self.at;
            let mut found = quotes_and_brackets(block);
            while found != 0 {
                let offset = found.trailing_zeros() as usize;
                found &= found - 1;
                self.at = start + offset;
                let byte = block[offset & (BLOCK - 1)];
                if byte == b'"' {
                    self.string()?;
                    continue 'blocks;
                }
                match open.pass(byte) {
                    None => return self.fault("the bracket that closes the last open one"),
                    Some(true) => {
                        self.at += 1;
                        return Ok(());
                    }
                    Some(false) => {}
                }
            }
            self.at = start + BLOCK;
        }
    }

    /// [`skip_nested`](Self::skip_nested) near the end of the text, where no whole block is left: byte by byte.
    fn skip_nested_slowly(&mut self, mut open: OpenBrackets) -> Result<(), Fault> {
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.string()?;
                    continue;
                }
                Some(&byte) if is_bracket(byte) => match open.pass(byte) {
                    None => return self.fault("the bracket that closes the last open one"),
                    Some(true) => {
                        self.at += 1;
                        return Ok(());
                    }
                    Some(false) => {}
                },
                Some(_) => {}
                None => return self.fault("`}` or `]`"),
            }
            self.at += 1;
        }
    }

    /// Begins an object; [`next_key`](Self::next_key) returns its keys.
    #[inline]
    pub(super) fn open_object(&mut self) -> Result<Members, Fault> {
        self.expect(b'{', "`{`")?;
        Ok(Members { first: true })
    }

    /// The next key of an object. The caller must then read its value.
    #[inline]
    pub(super) fn next_key(&mut self, members: &mut Members) -> Result<Option<Raw<'a>>, Fault> {
        if self.take(b'}') {
            return Ok(None);
        }
        if !std::mem::take(&mut members.first) {
            self.expect(b',', "`,` or `}`")?;
        }
        let key = self.string()?;
        self.expect(b':', "`:`")?;
        Ok(Some(key))
    }

    /// The index of the next byte.
    #[inline]
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// The text between two positions.
    #[inline]
    pub(super) fn between(&self, start: usize, end: usize) -> &'a [u8] {
        &self.bytes[start..end]
    }

    /// The [`tail`] of the next `length` bytes, if there are as many.
    #[inline]
    pub(super) fn tail(&self, length: usize) -> Option<u64> {
        self.bytes.get(self.at..self.at + length).map(tail)
    }

    /// Takes exactly this text, if it comes next.
    #[inline]
    pub(super) fn take_text(&mut self, text: &[u8]) -> bool {
        let end = self.at + text.len();
        let found = self.bytes.get(self.at..end) == Some(text);
        if found {
            self.at = end;
        }
        found
    }

    /// Begins an array; [`next_item`](Self::next_item) returns whether there is another item.
    #[inline]
    pub(super) fn open_array(&mut self) -> Result<Members, Fault> {
        self.expect(b'[', "`[`")?;
        Ok(Members { first: true })
    }

    #[inline]
    pub(super) fn next_item(&mut self, members: &mut Members) -> Result<bool, Fault> {
        if self.take(b']') {
            return Ok(false);
        }
        if !std::mem::take(&mut members.first) {
            self.expect(b',', "`,` or `]`")?;
        }
        // Writers that stream leave a comma after the last item.
        Ok(!self.take(b']'))
    }

    /// True if only white space is left.
    pub(super) fn at_end(&mut self) -> Result<bool, Fault> {
        let nothing = self.peek().is_none();
        if nothing && self.more_follows {
            return self.fault("more text");
        }
        Ok(nothing)
    }

    /// True if only white space is left, and more text follows it.
    pub(super) fn is_cut_off(&mut self) -> bool {
        self.more_follows && self.peek().is_none()
    }

    /// The text from the cursor on.
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }
}

/// The last eight bytes of a text as a number, 0 for a shorter text. The end is compared first, because
/// the texts between two values differ at the end more often than at the start.
#[inline]
pub(super) fn tail(text: &[u8]) -> u64 {
    text.last_chunk()
        .map_or(0, |tail| u64::from_le_bytes(*tail))
}

/// One bit for each open bracket: set for an object. Below 64 levels, the kind is not checked.
#[derive(Default)]
struct OpenBrackets {
    depth: u64,
    kinds: u64,
}

impl OpenBrackets {
    /// Takes a bracket. True if it closes the first one, `None` if it does not close the last one.
    #[inline]
    fn pass(&mut self, bracket: u8) -> Option<bool> {
        let object = u64::from(bracket & 0x20 != 0);
        if matches!(bracket, b'{' | b'[') {
            self.depth += 1;
            self.kinds = self.kinds << 1 | object;
            return Some(false);
        }
        if self.depth <= 64 && self.kinds & 1 != object {
            return None;
        }
        self.depth -= 1;
        self.kinds >>= 1;
        Some(self.depth == 0)
    }
}

fn is_bracket(byte: u8) -> bool {
    matches!(byte, b'{' | b'[' | b'}' | b']')
}

/// The bytes of numbers and of words such as `true` and `NaN`.
const IN_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] =
            matches!(byte as u8, b'.' | b'-' | b'+') || (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    table
};

/// The state of an object or array that is being read: true before its first key or item.
#[derive(Debug, Clone, Copy)]
pub(super) struct Members {
    first: bool,
}

impl Members {
    /// The state after the first key or item.
    pub(super) fn later() -> Members {
        Members { first: false }
    }

    /// True if no comma comes before the next key or item.
    pub(super) fn is_first(self) -> bool {
        self.first
    }

    /// Sets the state after text was taken without [`Scanner::next_key`].
    #[inline]
    pub(super) fn set_first(&mut self, first: bool) {
        self.first = first;
    }
}

/// The next sixteen bytes from `at` on, if there are that many.
#[inline]
fn block_at(bytes: &[u8], at: usize) -> Option<&[u8; BLOCK]> {
    bytes.get(at..)?.first_chunk()
}

/// Index of the first quote or backslash from `at` on, or the length of the text.
///
/// Most strings are shorter than a block. Those are searched here, because calling `memchr2` for every string costs 8 %
/// more instructions on a `torch.profiler` trace. Longer ones are searched by `memchr2`.
#[inline]
fn quote_or_backslash(bytes: &[u8], at: usize) -> usize {
    let mut from = at;
    if let Some(block) = block_at(bytes, at) {
        let found = quotes_and_backslashes(block);
        if found != 0 {
            return at + found.trailing_zeros() as usize;
        }
        from += BLOCK;
    }
    let rest = bytes.get(from..).unwrap_or_default();
    memchr2(b'"', b'\\', rest).map_or(bytes.len(), |found| from + found)
}

/// The end of a run of digits from `at` on; up to 15 digits before the end of the text are left to the caller.
#[inline]
fn digits_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(block) = block_at(bytes, at) {
        let others = not_digits(block);
        if others != 0 {
            return at + others.trailing_zeros() as usize;
        }
        at += BLOCK;
    }
    at
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            plain.push(char);
            continue;
        }
        plain.push(match chars.next() {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('u') => unicode(&mut chars),
            Some(other) => other,
            None => char::REPLACEMENT_CHARACTER,
        });
    }
    plain
}

/// The character of a `\u` escape, which may need a second escape.
fn unicode(chars: &mut std::str::Chars<'_>) -> char {
    fn unit(chars: &mut std::str::Chars<'_>) -> Option<u32> {
        let hex = chars.as_str().get(..4)?;
        let unit = u32::from_str_radix(hex, 16).ok()?;
        *chars = chars.as_str()[4..].chars();
        Some(unit)
    }
    let Some(first) = unit(chars) else {
        return char::REPLACEMENT_CHARACTER;
    };
    if let Some(char) = char::from_u32(first) {
        return char;
    }
    let mut after = chars.clone();
    if after.as_str().starts_with("\\u") {
        after.nth(1);
        if let Some(second) = unit(&mut after) {
            let pair = [first as u16, second as u16];
            if let Some(Ok(char)) = char::decode_utf16(pair).next() {
                *chars = after;
                return char;
            }
        }
    }
    char::REPLACEMENT_CHARACTER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_is_found_at_every_position() {
        for len in 0..40 {
            for at in 0..=len {
                for mark in [b'"', b'\\'] {
                    let mut bytes = vec![b'!'; len];
                    bytes.insert(at, mark);
                    // Bytes of neighbouring values, or with the high bit set, are not found.
                    bytes.extend([0x21, 0x23, 0x5b, 0x5d, 0xa2, 0xdc, 0xff]);
                    assert_eq!(quote_or_backslash(&bytes, 0), at);
                }
            }
            let none = vec![0xdc; len];
            assert_eq!(quote_or_backslash(&none, 0), len);
        }
    }

    #[test]
    fn a_run_of_digits_ends_at_the_first_other_byte() {
        for len in 0..20 {
            for other in (0..=255_u8).filter(|byte| !byte.is_ascii_digit()) {
                let mut bytes: Vec<u8> = (0..len).map(|at| b'0' + at % 10).collect();
                bytes.extend([other; BLOCK]);
                assert_eq!(digits_end(&bytes, 0), usize::from(len), "{other}");
            }
        }
    }

    #[test]
    fn strings_are_unescaped_as_serde_json_does() {
        for json in [
            r#""""#,
            r#""plain""#,
            r#""a\"b\\c\/d\n\t\r\b\f""#,
            r#""\u0041\u00e9\u4e2d\ud83d\ude00""#,
            "\"日本語 😀 raw\"",
        ] {
            let expected: String = serde_json::from_str(json).unwrap();
            assert_eq!(
                Scanner::new(json.as_bytes()).string().unwrap().text(),
                expected
            );
        }
    }

    #[test]
    fn invalid_text_in_strings_is_replaced_and_not_rejected() {
        let text = |json: &[u8]| {
            let raw = Scanner::new(json).string().unwrap();
            raw.text().into_owned()
        };
        assert_eq!(text(b"\"a\xffb\""), "a\u{fffd}b");
        assert_eq!(text(br#""\ud83d!""#), "\u{fffd}!");
        assert_eq!(text(br#""\uzz""#), "\u{fffd}zz");
        assert_eq!(text(b"\"line\nbreak\""), "line\nbreak");
    }

    #[test]
    fn brackets_must_match_and_strings_must_end() {
        let skip = |json: &str| Scanner::new(json.as_bytes()).skip();
        assert_eq!(skip(r#"{"a": [1, {"b": "]}"}], "c": nan}"#), Ok(()));
        for (json, at) in [
            ("[1, 2}", 5),
            (r#"{"a": [1}"#, 8),
            ("[1, 2", 5),
            (r#"["a"#, 3),
            ("", 0),
        ] {
            assert_eq!(skip(json).map_err(|fault| fault.at), Err(at), "{json}");
        }
        let deep = "[".repeat(5000) + &"]".repeat(5000);
        assert_eq!(skip(&deep), Ok(()));
    }

    #[test]
    fn only_whole_numbers_are_read() {
        let number = |text: &str| Raw(text.as_bytes()).number::<i64>();
        assert_eq!(number("-12"), Some(-12));
        assert_eq!(number("12.000"), Some(12));
        assert_eq!(number("12.5"), None);
        assert_eq!(number("x"), None);
        assert_eq!(Raw(b"-1").number::<u64>(), None);
        assert_eq!(Raw(b"18446744073709551615").number::<u64>(), Some(u64::MAX));
    }

    #[test]
    fn a_fault_names_line_and_column() {
        let fault = Fault {
            at: 5,
            expected: "`:`",
        };
        let error = fault.into_error(b"ab\ncd\nef", Passed::default());
        assert_eq!(error.position(), Some((2, 3)));
        assert_eq!(
            error.to_string(),
            "not a trace: expected `:` at line 2 column 3"
        );
    }
}
