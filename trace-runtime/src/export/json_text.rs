//! Pieces of JSON text that exporters write themselves, for speed and for exact digits.

use serde::Serialize;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

/// A string literal, escaped.
pub(super) fn string<W: Write>(out: &mut W, text: &str) -> io::Result<()> {
    serde_json::to_writer(out, text).map_err(io::Error::from)
}

/// A string literal without control characters, because viewers print names unchanged.
pub(super) fn printable<W: Write>(out: &mut W, text: &str) -> io::Result<()> {
    string(out, &without_controls(text))
}

/// A value as JSON text inside a string literal, for values that must be restored exactly. Neither the literal
/// nor the text in it has control characters.
pub(super) fn nested<W: Write, T: Serialize>(out: &mut W, value: &T) -> io::Result<()> {
    let text = serde_json::to_string(value)?;
    // JSON allows some control characters in strings. They are escaped here too.
    if !text.contains(char::is_control) {
        return string(out, &text);
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            let _ = write!(escaped, "\\u{:04x}", c as u32);
        } else {
            escaped.push(c);
        }
    }
    string(out, &escaped)
}

/// True if [`printable`] does not change this text.
pub(super) fn is_printable(text: &str) -> bool {
    matches!(without_controls(text), Cow::Borrowed(_))
}

/// The text with control characters replaced by their symbols (`␊`), or by `\u{fffd}` if they have none.
pub(super) fn without_controls(text: &str) -> Cow<'_, str> {
    // Most names are printable ASCII, which is fast to check.
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Cow::Borrowed(text);
    }
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let picture = |c: char| match c as u32 {
        low @ 0..0x20 => char::from_u32(0x2400 + low).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7f => '\u{2421}',
        _ if c.is_control() => char::REPLACEMENT_CHARACTER,
        _ => c,
    };
    Cow::Owned(text.chars().map(picture).collect())
}

/// A whole number. `write!` would take longer than the rest of an event.
pub(super) fn number<W: Write>(out: &mut W, number: u64) -> io::Result<()> {
    out.write_all(itoa::Buffer::new().format(number).as_bytes())
}

/// Nanoseconds as microseconds with three decimals: exact, unlike a float, which would round.
pub(super) fn microseconds<W: Write>(out: &mut W, ns: u64) -> io::Result<()> {
    number(out, ns / 1000)?;
    let digit = |unit| b'0' + (ns / unit % 10) as u8;
    out.write_all(&[b'.', digit(100), digit(10), digit(1)])
}

/// Lists of dims: `[[64,32],[32,8]]`.
pub(super) fn shapes<'a, W: Write>(
    out: &mut W,
    shapes: impl Iterator<Item = &'a [usize]>,
) -> io::Result<()> {
    out.write_all(b"[")?;
    for (index, dims) in shapes.enumerate() {
        comma(out, index)?;
        out.write_all(b"[")?;
        for (index, dim) in dims.iter().enumerate() {
            comma(out, index)?;
            number(out, *dim as u64)?;
        }
        out.write_all(b"]")?;
    }
    out.write_all(b"]")
}

/// A comma before every item except the first.
pub(super) fn comma<W: Write>(out: &mut W, index: usize) -> io::Result<()> {
    if index > 0 {
        out.write_all(b",")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_symbols_and_other_text_stays() {
        assert_eq!(without_controls("a\nb\u{7f}\u{85}é🦀"), "a␊b␡\u{fffd}é🦀");
        assert!(matches!(without_controls("matmul é"), Cow::Borrowed(_)));
    }

    #[test]
    fn nested_text_is_printable_and_gives_the_same_value() {
        let text_in = "a\n\0\u{7f}\u{85}\"\\é🦀";
        let mut out = Vec::new();
        nested(&mut out, &text_in).unwrap();
        let text: String = serde_json::from_slice(&out).unwrap();
        assert!(is_printable(&text), "{text:?}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), text_in);
    }

    #[test]
    fn microseconds_keep_every_nanosecond() {
        let text = |ns| {
            let mut out = Vec::new();
            microseconds(&mut out, ns).map(|()| String::from_utf8(out))
        };
        assert_eq!(text(0).unwrap().unwrap(), "0.000");
        assert_eq!(text(1_000_007).unwrap().unwrap(), "1000.007");
        assert_eq!(text(u64::MAX).unwrap().unwrap(), "18446744073709551.615");
    }
}
