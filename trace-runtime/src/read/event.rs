//! One event of a Chrome trace: the fields that are read, as slices of the text.

use super::keys::Keys;
use super::scanner::{Fault, Raw, Scanner};
use crate::model::wire::chrome;

/// One object of `traceEvents`. A missing field is empty.
#[derive(Debug, Default)]
pub(super) struct Event<'a> {
    /// The phase: `X`, `B`, `E`, `i`, `M`, `s`, `f`; 0 if it is missing.
    pub(super) phase: u8,
    pub(super) category: Raw<'a>,
    pub(super) name: Raw<'a>,
    pub(super) pid: Raw<'a>,
    pub(super) tid: Raw<'a>,
    pub(super) time: Raw<'a>,
    pub(super) duration: Raw<'a>,
    pub(super) id: Raw<'a>,
    pub(super) args: Args<'a>,
}

/// The arguments that are read.
#[derive(Debug, Default)]
pub(super) struct Args<'a> {
    pub(super) facts: Facts<'a>,
    pub(super) stream: Raw<'a>,
    pub(super) correlation: Raw<'a>,
    /// Of a wait for an event: the stream that recorded it, and the correlation of the call that did.
    pub(super) event_stream: Raw<'a>,
    pub(super) event_correlation: Raw<'a>,
    /// Of a collective: its number within its process group.
    pub(super) sequence: Raw<'a>,
    /// Of a metadata event: the name of a process or thread.
    pub(super) name: Raw<'a>,
    /// Of a memory event: bytes allocated, or below zero for a free.
    pub(super) taken: Raw<'a>,
    pub(super) address: Raw<'a>,
    pub(super) allocated: Raw<'a>,
    pub(super) device_type: Raw<'a>,
    pub(super) device_number: Raw<'a>,
}

/// The arguments that distinguish ops: executions with equal facts differ only in their times.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Facts<'a> {
    pub(super) input_dims: Raw<'a>,
    pub(super) input_types: Raw<'a>,
    pub(super) output_dims: Raw<'a>,
    pub(super) output_types: Raw<'a>,
    pub(super) device: Raw<'a>,
    pub(super) bytes: Raw<'a>,
    pub(super) flops: Raw<'a>,
    /// Of a collective: the numbers of input and output elements, and their type.
    pub(super) elements_in: Raw<'a>,
    pub(super) elements_out: Raw<'a>,
    pub(super) element_type: Raw<'a>,
    /// Of a collective: its name, and the process group with its ranks.
    pub(super) collective: Raw<'a>,
    pub(super) group: Raw<'a>,
    pub(super) group_ranks: Raw<'a>,
    /// Of an annotation: the number of the step that it marks.
    pub(super) step_number: Raw<'a>,
}

impl<'a> Facts<'a> {
    pub(super) const COUNT: usize = 14;

    pub(super) fn parts(&self) -> [Raw<'a>; Facts::COUNT] {
        [
            self.input_dims,
            self.input_types,
            self.output_dims,
            self.output_types,
            self.device,
            self.bytes,
            self.flops,
            self.elements_in,
            self.elements_out,
            self.element_type,
            self.collective,
            self.group,
            self.group_ranks,
            self.step_number,
        ]
    }

    /// The reverse of [`parts`](Self::parts).
    pub(super) fn from_parts(parts: [Raw<'a>; Facts::COUNT]) -> Facts<'a> {
        let [
            input_dims,
            input_types,
            output_dims,
            output_types,
            device,
            bytes,
            flops,
            elements_in,
            elements_out,
            element_type,
            collective,
            group,
            group_ranks,
            step_number,
        ] = parts;
        Facts {
            input_dims,
            input_types,
            output_dims,
            output_types,
            device,
            bytes,
            flops,
            elements_in,
            elements_out,
            element_type,
            collective,
            group,
            group_ranks,
            step_number,
        }
    }
}

/// A key of an event or of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Field {
    Phase,
    Category,
    Name,
    Pid,
    Tid,
    Time,
    Duration,
    Id,
    /// The arguments, an object whose keys come next.
    Args,
    InputDims,
    InputTypes,
    OutputDims,
    OutputTypes,
    Device,
    Bytes,
    Flops,
    ElementsIn,
    ElementsOut,
    ElementType,
    Collective,
    Group,
    GroupRanks,
    StepNumber,
    Sequence,
    Stream,
    Correlation,
    EventStream,
    EventCorrelation,
    Taken,
    Address,
    Allocated,
    DeviceType,
    DeviceNumber,
    GivenName,
    #[default]
    Other,
    /// Not a key: the end of the arguments.
    ArgsEnd,
    /// Not a key: the end of the event.
    End,
}

impl Field {
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
            b"step_num" => Field::StepNumber,
            b"Seq" => Field::Sequence,
            chrome::STREAM => Field::Stream,
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

impl<'a> Event<'a> {
    /// Reads an event into `self`, which must be empty. It is not returned, because an event is large
    /// and would be copied.
    #[inline]
    pub(super) fn read(&mut self, scanner: &mut Scanner<'a>, keys: &mut Keys) -> Result<(), Fault> {
        let mut reading = keys.begin(scanner.open_object()?);
        loop {
            let start = scanner.position();
            let field = keys.next(scanner, &mut reading)?;
            for within in keys.values(&reading) {
                let value = scanner.between(start + within.start, start + within.end);
                self.set(within.field, Raw(value));
            }
            let start = scanner.position();
            let value = match field {
                Field::End => return Ok(()),
                Field::Args | Field::ArgsEnd => Raw::default(),
                Field::Other => {
                    scanner.skip()?;
                    Raw::default()
                }
                field => {
                    let value = if field.is_whole() {
                        scanner.raw()?
                    } else {
                        scanner.scalar()?.unwrap_or_default()
                    };
                    self.set(field, value);
                    value
                }
            };
            keys.watch(&reading, scanner, start, value.0);
        }
    }

    #[inline]
    fn set(&mut self, field: Field, value: Raw<'a>) {
        let args = &mut self.args;
        let facts = &mut args.facts;
        *match field {
            Field::Phase => {
                self.phase = value.0.first().copied().unwrap_or(0);
                return;
            }
            Field::Category => &mut self.category,
            Field::Name => &mut self.name,
            Field::Pid => &mut self.pid,
            Field::Tid => &mut self.tid,
            Field::Time => &mut self.time,
            Field::Duration => &mut self.duration,
            Field::Id => &mut self.id,
            Field::InputDims => &mut facts.input_dims,
            Field::InputTypes => &mut facts.input_types,
            Field::OutputDims => &mut facts.output_dims,
            Field::OutputTypes => &mut facts.output_types,
            Field::Device => &mut facts.device,
            Field::Bytes => &mut facts.bytes,
            Field::Flops => &mut facts.flops,
            Field::ElementsIn => &mut facts.elements_in,
            Field::ElementsOut => &mut facts.elements_out,
            Field::ElementType => &mut facts.element_type,
            Field::Collective => &mut facts.collective,
            Field::Group => &mut facts.group,
            Field::GroupRanks => &mut facts.group_ranks,
            Field::StepNumber => &mut facts.step_number,
            Field::Sequence => &mut args.sequence,
            Field::Stream => &mut args.stream,
            Field::Correlation => &mut args.correlation,
            Field::EventStream => &mut args.event_stream,
            Field::EventCorrelation => &mut args.event_correlation,
            Field::GivenName => &mut args.name,
            Field::Taken => &mut args.taken,
            Field::Address => &mut args.address,
            Field::Allocated => &mut args.allocated,
            Field::DeviceType => &mut args.device_type,
            Field::DeviceNumber => &mut args.device_number,
            Field::Args | Field::ArgsEnd | Field::End | Field::Other => return,
        } = value;
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
        assert_eq!(event.phase, b'X');
        assert_eq!(event.name.text(), "a\"b");
        assert_eq!(event.category, Raw(b"kernel"));
        assert_eq!((event.pid, event.tid), (Raw(b"4"), Raw(b"stream 7")));
        assert_eq!((event.time, event.duration), (Raw(b"1e3"), Raw(b"2.5")));
        assert_eq!(event.args.facts.input_dims, Raw(b"[[2, 3], []]"));
        assert_eq!(event.args.facts.device, Raw(b"0"));
    }

    #[test]
    fn arguments_may_be_missing_or_not_an_object() {
        for json in [
            r#"{"ph":"X"}"#,
            r#"{"args":null,"ph":"X"}"#,
            r#"{"args":[1],"ph":"X"}"#,
        ] {
            let event = read(json.as_bytes());
            assert_eq!(event.phase, b'X');
            assert_eq!(event.args.facts, Facts::default());
        }
    }
}
