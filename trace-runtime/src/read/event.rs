//! One event of a Chrome trace: the fields that are read, as slices of the text.

use super::keys::Keys;
use super::scanner::{Fault, Raw, Scanner};
use crate::model::wire::chrome;
use std::ops::Index;

/// One object of `traceEvents`: the text of each [`Field`], which is empty if the field is missing.
#[derive(Debug)]
pub(super) struct Event<'a> {
    values: [Raw<'a>; Field::COUNT],
    /// A bit for each field that was read.
    set: u64,
}

impl Default for Event<'_> {
    #[inline]
    fn default() -> Self {
        Event {
            values: [Raw::default(); Field::COUNT],
            set: 0,
        }
    }
}

impl<'a> Index<Field> for Event<'a> {
    type Output = Raw<'a>;

    #[inline]
    fn index(&self, field: Field) -> &Raw<'a> {
        &self.values[field as usize]
    }
}

/// A key of an event or of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub(super) enum Field {
    /// `X`, `B`, `E`, `i`, `M`, `s`, `f`.
    Phase,
    Category,
    Name,
    Pid,
    Tid,
    Time,
    Duration,
    Id,
    Device,
    /// The arguments, an object whose keys come next.
    Args,
    // From here on, the facts that distinguish ops.
    InputDims,
    InputTypes,
    OutputDims,
    OutputTypes,
    Bytes,
    Flops,
    /// For a collective: the numbers of input and output elements, and their type.
    ElementsIn,
    ElementsOut,
    ElementType,
    /// For a collective: its name, and the process group with its ranks.
    Collective,
    Group,
    GroupRanks,
    /// For a send or receive: the rank on the other side.
    Peer,
    /// For an annotation: the number of the step that it marks.
    StepNumber,
    // The last fact that distinguishes ops.
    /// For a collective: its number within its process group.
    Sequence,
    /// The number of the step that the event is in, if events carry it.
    InStep,
    Correlation,
    /// For a wait for an event: the stream that recorded it, and the correlation of the call that did.
    EventStream,
    EventCorrelation,
    /// For a memory event: bytes allocated, or below zero for a free.
    Taken,
    Address,
    Allocated,
    DeviceType,
    DeviceNumber,
    /// For a metadata event: the name of a process or thread.
    GivenName,
    #[default]
    Other,
    /// Not a key: the end of the arguments.
    ArgsEnd,
    /// Not a key: the end of the event.
    End,
}

/// How the value after a phrase is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// There is no value: the event has ended.
    Nothing,
    /// There is no value: the arguments begin or end.
    Level,
    /// Any value; it is skipped because it is not needed.
    Skipped,
    /// A string without its quotes, or a number or word.
    Scalar,
    /// Any value, with its brackets and quotes.
    Whole,
}

impl Field {
    /// Number of fields.
    pub(super) const COUNT: usize = Field::End as usize + 1;

    /// A bit for each fact that distinguishes ops: executions with equal facts differ only in their times.
    const FACTS: u64 = (2 << Field::StepNumber as u32) - (1 << Field::InputDims as u32);

    /// The field of a key, either of the event itself or of its `args` (`inside`).
    pub(super) fn of(key: Raw<'_>, inside: bool) -> Field {
        if inside {
            return Field::of_argument(key);
        }
        match key.0 {
            b"ph" => Field::Phase,
            b"cat" => Field::Category,
            b"name" => Field::Name,
            b"pid" => Field::Pid,
            b"tid" => Field::Tid,
            b"ts" => Field::Time,
            b"dur" => Field::Duration,
            b"id" => Field::Id,
            b"args" => Field::Args,
            _ => Field::Other,
        }
    }

    fn of_argument(key: Raw<'_>) -> Field {
        match key.0 {
            chrome::INPUT_DIMS => Field::InputDims,
            chrome::INPUT_TYPES => Field::InputTypes,
            chrome::OUTPUT_DIMS => Field::OutputDims,
            chrome::OUTPUT_TYPES => Field::OutputTypes,
            chrome::DEVICE => Field::Device,
            b"bytes" => Field::Bytes,
            chrome::FLOPS => Field::Flops,
            b"In msg nelems" => Field::ElementsIn,
            b"Out msg nelems" => Field::ElementsOut,
            b"dtype" => Field::ElementType,
            b"Collective name" => Field::Collective,
            b"Process Group Name" => Field::Group,
            b"Process Group Ranks" => Field::GroupRanks,
            b"Dst Rank" | b"Src Rank" => Field::Peer,
            b"step_num" => Field::StepNumber,
            b"Seq" => Field::Sequence,
            b"step" => Field::InStep,
            chrome::CORRELATION => Field::Correlation,
            b"wait_on_stream" => Field::EventStream,
            b"wait_on_cuda_event_record_corr_id" => Field::EventCorrelation,
            chrome::NAME => Field::GivenName,
            chrome::BYTES => Field::Taken,
            chrome::ADDRESS => Field::Address,
            chrome::ALLOCATED => Field::Allocated,
            chrome::DEVICE_TYPE => Field::DeviceType,
            chrome::DEVICE_NUMBER => Field::DeviceNumber,
            _ => Field::Other,
        }
    }

    /// True if the value is kept with its brackets and quotes.
    #[inline]
    pub(super) fn is_whole(self) -> bool {
        matches!(
            self,
            Field::InputDims
                | Field::InputTypes
                | Field::OutputDims
                | Field::OutputTypes
                | Field::GroupRanks
        )
    }
}

impl Field {
    /// How its value is read.
    #[inline]
    pub(super) fn reads(self) -> Reads {
        match self {
            Field::End => Reads::Nothing,
            Field::Args | Field::ArgsEnd => Reads::Level,
            Field::Other => Reads::Skipped,
            field if field.is_whole() => Reads::Whole,
            _ => Reads::Scalar,
        }
    }
}

impl<'a> Event<'a> {
    /// The phase; 0 if it is missing.
    #[inline]
    pub(super) fn phase(&self) -> u8 {
        self[Field::Phase].0.first().copied().unwrap_or(0)
    }

    /// All values, and a bit for each of them that is a fact about its op.
    #[inline]
    pub(super) fn facts(&self) -> (&[Raw<'a>; Field::COUNT], u64) {
        (&self.values, self.set & Field::FACTS)
    }

    #[inline]
    fn put(&mut self, field: Field, value: Raw<'a>) {
        self.values[field as usize] = value;
        self.set |= 1 << field as u32;
    }

    /// Reads an event into `self`, which must be empty. It is not returned, because an event is large
    /// and would be copied.
    #[inline]
    pub(super) fn read(&mut self, scanner: &mut Scanner<'a>, keys: &mut Keys) -> Result<(), Fault> {
        let mut reading = keys.begin(scanner.open_object()?);
        loop {
            let start = scanner.position();
            let (field, known) = keys.next(scanner, &mut reading)?;
            for within in known.values() {
                let value = scanner.between(start + within.start, start + within.end);
                self.put(within.field, Raw(value));
            }
            let watched = known.is_watched();
            let start = scanner.position();
            let value = match field.reads() {
                Reads::Nothing => return Ok(()),
                Reads::Level => Raw::default(),
                Reads::Skipped => {
                    scanner.skip()?;
                    Raw::default()
                }
                Reads::Scalar => scanner.scalar()?.unwrap_or_default(),
                Reads::Whole => scanner.raw()?,
            };
            self.put(field, value);
            if watched {
                keys.watch(&reading, scanner, start, value.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &[u8]) -> Event<'_> {
        let mut event = Event::default();
        event
            .read(&mut Scanner::new(json), &mut Keys::new())
            .unwrap();
        event
    }

    #[test]
    fn fields_are_found_in_any_order_and_other_keys_are_skipped() {
        let json = br#"{"args": {"grid": [1, {"a": "]"}], "Input Dims": [[2, 3], []], "device": 0},
            "s": "t", "tid": "stream 7", "dur": 2.5, "ts": 1e3, "ph": "X", "unknown": {"ph": "B"},
            "pid": 4, "cat": "kernel", "name": "a\"b"} rest"#;
        let event = read(json);
        assert_eq!(event.phase(), b'X');
        assert_eq!(event[Field::Name].text(), "a\"b");
        assert_eq!(event[Field::Category], Raw(b"kernel"));
        assert_eq!(
            (event[Field::Pid], event[Field::Tid]),
            (Raw(b"4"), Raw(b"stream 7"))
        );
        assert_eq!(
            (event[Field::Time], event[Field::Duration]),
            (Raw(b"1e3"), Raw(b"2.5"))
        );
        assert_eq!(event[Field::InputDims], Raw(b"[[2, 3], []]"));
        assert_eq!(event[Field::Device], Raw(b"0"));
    }

    #[test]
    fn arguments_may_be_missing_or_not_an_object() {
        for json in [
            r#"{"ph":"X"}"#,
            r#"{"args":null,"ph":"X"}"#,
            r#"{"args":[1],"ph":"X"}"#,
        ] {
            let event = read(json.as_bytes());
            assert_eq!(event.phase(), b'X');
            assert!(event.facts().1 == 0);
        }
    }
}
