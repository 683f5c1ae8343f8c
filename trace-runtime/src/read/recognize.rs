//! Recognises the format of a file by its first bytes, with an error for a file that is not a trace.

use super::scanner::{Fault, Passed, Scanner};
use super::{TraceError, strip_bom};
use crate::model::TraceErrorKind;
use crate::model::optrace::MAGIC;

/// The forms of traces that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// The JSON of this crate.
    Recorded,
    /// Chrome's trace format as an object with `traceEvents`; Kineto writes this.
    ChromeObject,
    /// Chrome's trace format as an array of events.
    ChromeArray,
    /// The recording of a session: `.optrace`.
    Optrace,
}

impl Format {
    /// The format of the trace in these bytes. If they are not a trace, the error describes the content.
    pub fn of(bytes: &[u8]) -> Result<Format, TraceError> {
        let bytes = strip_bom(bytes);
        if bytes.starts_with(&MAGIC) {
            return Ok(Format::Optrace);
        }
        Format::look(Scanner::new(bytes))
            .unwrap_or_else(|fault| Err(fault.into_error(bytes, Passed::default())))
    }

    /// The format of text that may be incomplete: a fault at the end of the text means that more text is needed.
    pub(super) fn look(mut scanner: Scanner<'_>) -> Result<Result<Format, TraceError>, Fault> {
        let text = scanner.rest();
        if scanner.at_end()? {
            return Ok(Err(TraceError::not_a_trace(
                "the file is empty; was it written to the end, or is a pipe missing its input?",
            )));
        }
        match scanner.peek() {
            Some(b'[') => Ok(Ok(Format::ChromeArray)),
            Some(b'{') => object_format(scanner),
            _ => Ok(Err(other_content(text))),
        }
    }
}

/// Number of keys that an error names.
const NAMED_KEYS: usize = 5;

fn object_format(mut scanner: Scanner<'_>) -> Result<Result<Format, TraceError>, Fault> {
    let mut keys = Vec::new();
    let mut members = scanner.open_object()?;
    while let Some(key) = scanner.next_key(&mut members)? {
        match key.0 {
            b"traceEvents" => return Ok(Ok(Format::ChromeObject)),
            b"entries" | b"schema_version" => return Ok(Ok(Format::Recorded)),
            _ => keys.push(key),
        }
        scanner.skip()?;
    }
    let named: Vec<String> = keys
        .iter()
        .take(NAMED_KEYS)
        .map(|key| format!("`{}`", shown(&key.text())))
        .collect();
    let has = match (named.len(), keys.len()) {
        (0, _) => "it is an empty object".to_owned(),
        (some, all) if some < all => format!("it has {} and {} more", named.join(", "), all - some),
        _ => format!("it has {}", named.join(", ")),
    };
    Ok(Err(TraceError::not_a_trace(format!(
        "this is JSON but not a trace: {has}; \
         a trace has `traceEvents` (Chrome, Kineto, torch.profiler) or `entries` (this program)"
    ))))
}

/// The error for a file that is not JSON.
fn other_content(bytes: &[u8]) -> TraceError {
    let compression = match bytes {
        [0x1f, 0x8b, ..] => Some("gzip"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("zstd"),
        _ => None,
    };
    match compression {
        Some(name) => TraceError::new(
            TraceErrorKind::Compressed,
            format!("this is compressed with {name}; decompress it first, or let `optrace` do it"),
        ),
        None => TraceError::not_a_trace(sort_of_content(bytes)),
    }
}

fn sort_of_content(bytes: &[u8]) -> String {
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    let known = [
        (
            &b"SQLite format 3\0"[..],
            "an SQLite database; profilers that write one can export Chrome JSON",
        ),
        (
            b"PK\x03\x04",
            "a zip archive; unpack it and give the trace inside",
        ),
        (b"\x7fELF", "an executable; give the trace that it wrote"),
        (b"\xff\xfe", "text in UTF-16; save it as UTF-8"),
        (b"\xfe\xff", "text in UTF-16; save it as UTF-8"),
    ];
    if let Some((_, what)) = known.iter().find(|(magic, _)| starts(magic)) {
        return format!("this is not a trace but {what}");
    }
    let head = &bytes[..bytes.len().min(1024)];
    let binary = |byte: &u8| *byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x1b);
    if head.iter().any(binary) {
        return "this is binary data and not a trace in a known format; export it as Chrome JSON"
            .into();
    }
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start();
    if text.starts_with('<') {
        return "this is HTML or XML and not a trace; was a web page saved in place of a download?"
            .into();
    }
    let first = text.lines().next().unwrap_or_default();
    format!(
        "this is text that begins with `{}` and not a trace; \
         a trace is JSON and begins with `{{` or `[`",
        shown(first)
    )
}

/// A piece of the file, escaped and short enough for an error.
fn shown(text: &str) -> String {
    let mut shown: String = text.escape_debug().take(40).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(bytes: &[u8]) -> Result<Format, String> {
        Format::of(bytes).map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_known_key_decides() {
        assert_eq!(format(b"\xef\xbb\xbf [1]"), Ok(Format::ChromeArray));
        assert_eq!(
            format(br#"{"a": {"entries": 1}, "traceEvents": []}"#),
            Ok(Format::ChromeObject)
        );
        assert_eq!(format(br#"{"schema_version": 1, "#), Ok(Format::Recorded));
    }

    #[test]
    fn a_file_that_is_not_a_trace_is_named() {
        for (bytes, part) in [
            (&b""[..], "the file is empty"),
            (b" \n\t", "the file is empty"),
            (b"\x1f\x8b\x08", "compressed with gzip"),
            (b"\x28\xb5\x2f\xfd", "compressed with zstd"),
            (b"SQLite format 3\0abc", "an SQLite database"),
            (b"\x7fELF\x02", "an executable"),
            (b"abc\0def", "binary data"),
            (b"<!DOCTYPE html>", "HTML or XML"),
            (b"op,count\nmatmul,3", "begins with `op,count`"),
            (b"12", "begins with `12`"),
            (b"{}", "an empty object"),
            (
                br#"{"name": "x", "version": 1}"#,
                "it has `name`, `version`;",
            ),
            (br#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1}"#, "and 1 more"),
            (br#"{"a": "#, "ends too early"),
        ] {
            let error = format(bytes).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn an_error_shows_no_control_characters_of_the_file() {
        let error = format("\u{1b}[31mred \u{202e}".as_bytes()).unwrap_err();
        assert!(
            !error.contains('\u{1b}') && !error.contains('\u{202e}'),
            "{error}"
        );
    }
}
