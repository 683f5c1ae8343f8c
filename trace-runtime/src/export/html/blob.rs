//! Packs facts and columns of numbers into text that a page can hold.
//!
//! Layout before compression: the length of the facts (4 bytes, little endian), the facts as JSON, the columns. A
//! number of a column takes one byte per 7 bits, lowest first; the top bit is set in all of its bytes but the last. The
//! facts have the key `columns`: for each column its first byte, counted after the facts, and its number of values.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use std::io::{self, Write};

/// Effort of the compression. On 10^6 entries, level 6 takes twice as long and makes the page 4 % smaller.
const LEVEL: u32 = 4;

/// Facts and columns that are packed into a page.
#[derive(Debug, Default)]
pub(super) struct Blob {
    facts: Vec<u8>,
    columns: Vec<u8>,
    directory: Vec<(&'static str, usize, usize)>,
}

impl Blob {
    /// Adds a fact under a new key.
    pub(super) fn fact<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> io::Result<()> {
        self.facts
            .push(if self.facts.is_empty() { b'{' } else { b',' });
        serde_json::to_writer(&mut self.facts, key)?;
        self.facts.push(b':');
        serde_json::to_writer(&mut self.facts, value)?;
        Ok(())
    }

    /// Adds a column of numbers.
    pub(super) fn numbers(&mut self, name: &'static str, values: impl Iterator<Item = u64>) {
        let start = self.columns.len();
        let mut count = 0;
        for value in values {
            push_number(&mut self.columns, value);
            count += 1;
        }
        self.directory.push((name, start, count));
    }

    /// Adds a column as the differences between each number and the one before it; the page adds them up.
    pub(super) fn differences(&mut self, name: &'static str, values: impl Iterator<Item = u64>) {
        let mut last = 0u64;
        self.numbers(
            name,
            values.map(|value| {
                let difference = value.wrapping_sub(last) as i64;
                last = value;
                // The sign goes to the lowest bit, so that small differences are short, whether positive or negative.
                ((difference << 1) ^ (difference >> 63)) as u64
            }),
        );
    }

    /// The facts so far, as text.
    #[cfg(test)]
    pub(super) fn facts(&self) -> String {
        String::from_utf8_lossy(&self.facts).into_owned()
    }

    /// Compresses everything and writes it as base64.
    pub(super) fn write(mut self, out: &mut dyn Write) -> io::Result<()> {
        let directory: serde_json::Map<String, serde_json::Value> = self
            .directory
            .iter()
            .map(|&(name, start, count)| (name.to_owned(), serde_json::json!([start, count])))
            .collect();
        self.fact("columns", &directory)?;
        self.facts.push(b'}');
        let length = u32::try_from(self.facts.len())
            .map_err(|_| io::Error::other("the facts of the page are larger than 4 GiB"))?;
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(LEVEL));
        encoder.write_all(&length.to_le_bytes())?;
        encoder.write_all(&self.facts)?;
        encoder.write_all(&self.columns)?;
        let packed = encoder.finish()?;
        // A multiple of three bytes, so that the pieces join without padding between them.
        for piece in packed.chunks(3 << 16) {
            out.write_all(STANDARD.encode(piece).as_bytes())?;
        }
        Ok(())
    }
}

fn push_number(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn a_blob_unpacks_to_its_facts_and_columns() {
        let mut blob = Blob::default();
        blob.fact("name", "</script>").unwrap();
        blob.numbers("plain", [0, 127, 128, u64::MAX].into_iter());
        blob.differences("steps", [5, 5, 3].into_iter());
        let mut text = Vec::new();
        blob.write(&mut text).unwrap();
        assert!(!text.contains(&b'<'));

        let packed = STANDARD.decode(&text).unwrap();
        let mut bytes = Vec::new();
        flate2::read::ZlibDecoder::new(packed.as_slice())
            .read_to_end(&mut bytes)
            .unwrap();
        let (length, rest) = bytes.split_at(4);
        let length = u32::from_le_bytes(length.try_into().unwrap()) as usize;
        let (facts, columns) = rest.split_at(length);
        let facts: serde_json::Value = serde_json::from_slice(facts).unwrap();
        assert_eq!(facts["name"], "</script>");
        assert_eq!(facts["columns"]["plain"], serde_json::json!([0, 4]));
        assert_eq!(facts["columns"]["steps"], serde_json::json!([14, 3]));
        let largest = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(columns[..4], [0, 127, 0x80, 1]);
        assert_eq!(columns[4..14], largest);
        // 5, then a difference of 0, then one of -2.
        assert_eq!(columns[14..], [10, 0, 3]);
    }
}
