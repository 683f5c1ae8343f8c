//! The part of the protobuf wire format that writers need: numbers, strings, lists and nested messages.

/// A message being written.
#[derive(Debug, Default)]
pub(super) struct Message {
    bytes: Vec<u8>,
}

const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const LENGTH_DELIMITED: u32 = 2;

impl Message {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A field of type `uint64`, `uint32`, `enum` or `bool`; an `int64` that is not below zero.
    pub(super) fn number(&mut self, field: u32, value: u64) {
        self.tag(field, VARINT);
        self.varint(value);
    }

    pub(super) fn fixed64(&mut self, field: u32, value: u64) {
        self.tag(field, FIXED64);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn string(&mut self, field: u32, value: &str) {
        self.tag(field, LENGTH_DELIMITED);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value.as_bytes());
    }

    /// A repeated field of numbers, in one piece; nothing if there are none.
    pub(super) fn numbers(&mut self, field: u32, values: impl Iterator<Item = u64>) {
        let mut values = values.peekable();
        if values.peek().is_some() {
            self.message(field, |list| values.for_each(|value| list.varint(value)));
        }
    }

    /// A nested message, written by `fill`.
    pub(super) fn message(&mut self, field: u32, fill: impl FnOnce(&mut Message)) {
        self.tag(field, LENGTH_DELIMITED);
        let at = self.bytes.len();
        // Nearly every message is short enough for a length of one byte.
        self.bytes.push(0);
        fill(self);
        let length = self.bytes.len() - at - 1;
        let mut prefix = Message::default();
        if length < 0x80 {
            self.bytes[at] = length as u8;
        } else {
            prefix.varint(length as u64);
            self.bytes.splice(at..=at, prefix.bytes);
        }
    }

    fn tag(&mut self, field: u32, wire_type: u32) {
        self.varint(u64::from(field << 3 | wire_type));
    }

    /// A number alone, such as the length of a message in a stream of them.
    pub(super) fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_encoded_as_the_format_defines() {
        let mut message = Message::default();
        message.number(1, 300);
        message.string(2, "ab");
        message.message(3, |inner| inner.number(1, 1));
        message.fixed64(4, 1);
        assert_eq!(
            message.as_bytes(),
            [
                0x08, 0xac, 0x02, 0x12, 2, b'a', b'b', 0x1a, 2, 0x08, 1, 0x21, 1, 0, 0, 0, 0, 0, 0,
                0
            ]
        );
    }

    #[test]
    fn a_long_message_gets_a_long_length() {
        let mut message = Message::default();
        message.message(1, |inner| inner.string(1, &"x".repeat(200)));
        assert_eq!(message.as_bytes()[..5], [0x0a, 203, 1, 0x0a, 200]);
        assert_eq!(message.as_bytes().len(), 206);
    }
}
