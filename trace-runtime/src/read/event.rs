//! One event of a Chrome trace: the fields that are read, as slices of the text.

use super::keys::{FIRST, Keys, Last};
use super::scanner::{Fault, Raw, Scanner};

/// One object of `traceEvents`. What is not there is empty.
#[derive(Debug, Default)]
pub(super) struct Event<'a> {
    /// The phase: `X`, `B`, `E`, `i`, `M`, `s`, `f`; 0 where there is none.
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
    /// Of a metadata event: the name that a process or thread is given.
    pub(super) name: Raw<'a>,
    /// Of a memory event: bytes taken or given back.
    pub(super) taken: Raw<'a>,
    pub(super) address: Raw<'a>,
    pub(super) allocated: Raw<'a>,
    pub(super) device_type: Raw<'a>,
    pub(super) device_number: Raw<'a>,
}

/// The arguments by which executions of one op differ in more than their time.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Facts<'a> {
    pub(super) input_dims: Raw<'a>,
    pub(super) input_types: Raw<'a>,
    pub(super) output_dims: Raw<'a>,
    pub(super) output_types: Raw<'a>,
    pub(super) device: Raw<'a>,
    pub(super) bytes: Raw<'a>,
    pub(super) flops: Raw<'a>,
    /// Of a collective: the elements that go in and come out, and their type.
    pub(super) elements_in: Raw<'a>,
    pub(super) elements_out: Raw<'a>,
    pub(super) element_type: Raw<'a>,
}

impl<'a> Facts<'a> {
    pub(super) fn parts(&self) -> [Raw<'a>; 10] {
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
        ]
    }
}

/// A key of an event or of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Phase,
    Category,
    Name,
    Pid,
    Tid,
    Time,
    Duration,
    Id,
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
    Stream,
    Correlation,
    Taken,
    Address,
    Allocated,
    DeviceType,
    DeviceNumber,
    Other,
    /// No key: the object ends.
    End,
}

impl Field {
    pub(super) fn of(key: Raw<'_>) -> Field {
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
            b"Input Dims" => Field::InputDims,
            b"Input type" => Field::InputTypes,
            b"Output Dims" => Field::OutputDims,
            b"Output type" => Field::OutputTypes,
            b"device" => Field::Device,
            b"bytes" => Field::Bytes,
            b"flops" => Field::Flops,
            b"In msg nelems" => Field::ElementsIn,
            b"Out msg nelems" => Field::ElementsOut,
            b"dtype" => Field::ElementType,
            b"stream" => Field::Stream,
            b"correlation" => Field::Correlation,
            b"Bytes" => Field::Taken,
            b"Addr" => Field::Address,
            b"Total Allocated" => Field::Allocated,
            b"Device Type" => Field::DeviceType,
            b"Device Id" => Field::DeviceNumber,
            _ => Field::Other,
        }
    }
}

impl<'a> Event<'a> {
    #[inline]
    pub(super) fn read(scanner: &mut Scanner<'a>, keys: &mut Keys<'a>) -> Result<Event<'a>, Fault> {
        let mut event = Event::default();
        let mut members = scanner.open_object()?;
        let mut last = FIRST;
        loop {
            let value = match keys.next(scanner, &mut members, &mut last)? {
                Field::End => return Ok(event),
                Field::Category => &mut event.category,
                Field::Name => &mut event.name,
                Field::Pid => &mut event.pid,
                Field::Tid => &mut event.tid,
                Field::Time => &mut event.time,
                Field::Duration => &mut event.duration,
                Field::Id => &mut event.id,
                Field::Phase => {
                    let phase = scanner.scalar()?.unwrap_or_default();
                    event.phase = phase.0.first().copied().unwrap_or(0);
                    continue;
                }
                Field::Args => {
                    event.args.read(scanner, keys, &mut last)?;
                    continue;
                }
                _ => {
                    scanner.skip()?;
                    continue;
                }
            };
            *value = scanner.scalar()?.unwrap_or_default();
        }
    }
}

impl<'a> Args<'a> {
    #[inline]
    fn read(
        &mut self,
        scanner: &mut Scanner<'a>,
        keys: &mut Keys<'a>,
        last: &mut Last,
    ) -> Result<(), Fault> {
        if scanner.peek() != Some(b'{') {
            return scanner.skip();
        }
        let mut members = scanner.open_object()?;
        loop {
            let facts = &mut self.facts;
            let text = match keys.next(scanner, &mut members, last)? {
                Field::End => return Ok(()),
                Field::InputDims => &mut facts.input_dims,
                Field::InputTypes => &mut facts.input_types,
                Field::OutputDims => &mut facts.output_dims,
                Field::OutputTypes => &mut facts.output_types,
                field => {
                    self.read_scalar(field, scanner)?;
                    continue;
                }
            };
            *text = scanner.raw()?;
        }
    }

    #[inline]
    fn read_scalar(&mut self, field: Field, scanner: &mut Scanner<'a>) -> Result<(), Fault> {
        let facts = &mut self.facts;
        let value = match field {
            Field::Device => &mut facts.device,
            Field::Bytes => &mut facts.bytes,
            Field::Flops => &mut facts.flops,
            Field::ElementsIn => &mut facts.elements_in,
            Field::ElementsOut => &mut facts.elements_out,
            Field::ElementType => &mut facts.element_type,
            Field::Stream => &mut self.stream,
            Field::Correlation => &mut self.correlation,
            Field::Name => &mut self.name,
            Field::Taken => &mut self.taken,
            Field::Address => &mut self.address,
            Field::Allocated => &mut self.allocated,
            Field::DeviceType => &mut self.device_type,
            Field::DeviceNumber => &mut self.device_number,
            _ => return scanner.skip(),
        };
        *value = scanner.scalar()?.unwrap_or_default();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_in_any_order_and_the_rest_is_passed_over() {
        let json = br#"{"args": {"grid": [1, {"a": "]"}], "Input Dims": [[2, 3], []], "device": 0},
            "s": "t", "tid": "stream 7", "dur": 2.5, "ts": 1e3, "ph": "X", "unknown": {"ph": "B"},
            "pid": 4, "cat": "kernel", "name": "a\"b"} rest"#;
        let event = Event::read(&mut Scanner::new(json), &mut Keys::new()).unwrap();
        assert_eq!(event.phase, b'X');
        assert_eq!(event.name.text(), "a\"b");
        assert_eq!(event.category, Raw(b"kernel"));
        assert_eq!((event.pid, event.tid), (Raw(b"4"), Raw(b"stream 7")));
        assert_eq!((event.time, event.duration), (Raw(b"1e3"), Raw(b"2.5")));
        assert_eq!(event.args.facts.input_dims, Raw(b"[[2, 3], []]"));
        assert_eq!(event.args.facts.device, Raw(b"0"));
    }

    #[test]
    fn arguments_may_be_missing_or_no_object() {
        for json in [
            r#"{"ph":"X"}"#,
            r#"{"args":null,"ph":"X"}"#,
            r#"{"args":[1],"ph":"X"}"#,
        ] {
            let event = Event::read(&mut Scanner::new(json.as_bytes()), &mut Keys::new()).unwrap();
            assert_eq!(event.phase, b'X');
            assert_eq!(event.args.facts, Facts::default());
        }
    }
}
