//! A small compressed file can decompress to endless text. A reader stops, and holds only a bounded part of it.

use std::io::{self, Read};
use trace_runtime::{TraceErrorKind, read};

mod counting;

/// Bytes of text after the beginning of each file, as a decoder could make them from a few kilobytes.
const ENDLESS: u64 = 48 << 20;
/// Less than the text.
const BOUND: usize = 20 << 20;

fn read_endless(begin: &str, filler: u8) -> (Result<usize, TraceErrorKind>, usize) {
    let source = begin.as_bytes().chain(io::repeat(filler).take(ENDLESS));
    counting::most_held_during(|| {
        let trace = read::from_reader(source);
        trace.map(|trace| trace.len()).map_err(|error| error.kind())
    })
}

#[test]
fn endless_spaces_and_numbers_take_no_memory() {
    let mut grown = Vec::new();
    for (begin, filler) in [
        ("", b' '),
        ("{\"traceEvents\": [", b' '),
        ("{\"traceEvents\": [", b'\n'),
        (
            "{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"dur\": 1},",
            b' ',
        ),
        ("{\"schema_version\": 1, \"entries\": [", b' '),
        ("{\"schema_version\": 1, \"entries\": [{\"step\": ", b' '),
        (
            "{\"schema_version\": 1, \"entries\": [{\"step\": 0, \"duration_us\": 1",
            b'1',
        ),
        (
            "{\"schema_version\": 1, \"entries\": [{\"step\": 0, \"duration_us\": 0.",
            b'1',
        ),
        ("{\"schema_version\": 1, \"entries\": ", b'['),
        ("{\"schema_version\": 1, \"other\": ", b'['),
        ("", b'['),
    ] {
        let (result, held) = read_endless(begin, filler);
        let what = format!("`{begin}` and then `{}`", char::from(filler));
        assert!(result.is_err(), "{what}: {result:?}");
        if held >= BOUND {
            grown.push(format!("{what}: {held} bytes"));
        }
    }
    assert!(grown.is_empty(), "{grown:#?}");
}
