//! A decoder of protobuf messages that shares no code with the writers.

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

impl Field {
    pub(crate) fn number(&self) -> u64 {
        match self {
            Field::Number(number) => *number,
            Field::Bytes(_) => panic!("a number, not {self:?}"),
        }
    }

    pub(crate) fn message(&self) -> Message {
        match self {
            Field::Bytes(bytes) => Message::decode(bytes),
            Field::Number(_) => panic!("a message, not {self:?}"),
        }
    }

    pub(crate) fn text(&self) -> String {
        match self {
            Field::Bytes(bytes) => String::from_utf8(bytes.clone()).expect("UTF-8"),
            Field::Number(_) => panic!("a string, not {self:?}"),
        }
    }

    /// A repeated field of numbers in one piece.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        let Field::Bytes(bytes) = self else {
            panic!("a list, not {self:?}")
        };
        let mut bytes = bytes.as_slice();
        let mut numbers = Vec::new();
        while !bytes.is_empty() {
            numbers.push(varint(&mut bytes));
        }
        numbers
    }
}

#[derive(Debug, Default)]
pub(crate) struct Message(pub(crate) Vec<(u64, Field)>);

pub(crate) fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (&byte, rest) = bytes.split_first().expect("a varint ends");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

impl Message {
    pub(crate) fn decode(mut bytes: &[u8]) -> Message {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let tag = varint(&mut bytes);
            let field = match tag & 7 {
                0 => Field::Number(varint(&mut bytes)),
                1 => {
                    let (number, rest) = bytes.split_first_chunk().expect("eight bytes");
                    bytes = rest;
                    Field::Number(u64::from_le_bytes(*number))
                }
                2 => {
                    let length = varint(&mut bytes) as usize;
                    let (inner, rest) = bytes.split_at(length);
                    bytes = rest;
                    Field::Bytes(inner.to_vec())
                }
                other => panic!("wire type {other}"),
            };
            fields.push((tag >> 3, field));
        }
        Message(fields)
    }

    /// A stream of messages, each after its length.
    pub(crate) fn decode_all(mut bytes: &[u8]) -> Vec<Message> {
        let mut messages = Vec::new();
        while !bytes.is_empty() {
            let length = varint(&mut bytes) as usize;
            let (message, rest) = bytes.split_at(length);
            bytes = rest;
            messages.push(Message::decode(message));
        }
        messages
    }

    pub(crate) fn all(&self, number: u64) -> impl Iterator<Item = &Field> {
        self.0
            .iter()
            .filter(move |(field, _)| *field == number)
            .map(|(_, value)| value)
    }

    pub(crate) fn get(&self, number: u64) -> Option<&Field> {
        self.all(number).next()
    }
}
