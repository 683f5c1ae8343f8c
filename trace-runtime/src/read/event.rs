//! One event of a Chrome trace: the fields that are read, as slices of the text.

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
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
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

impl<'a> Event<'a> {
    #[inline]
    pub(super) fn read(scanner: &mut Scanner<'a>) -> Result<Event<'a>, Fault> {
        let mut event = Event::default();
        let mut members = scanner.open_object()?;
        while let Some(key) = scanner.next_key(&mut members)? {
            let field = match key.0 {
                b"ph" => {
                    let phase = scanner.scalar()?.unwrap_or_default();
                    event.phase = phase.0.first().copied().unwrap_or(0);
                    continue;
                }
                b"args" => {
                    event.args.read(scanner)?;
                    continue;
                }
                b"cat" => &mut event.category,
                b"name" => &mut event.name,
                b"pid" => &mut event.pid,
                b"tid" => &mut event.tid,
                b"ts" => &mut event.time,
                b"dur" => &mut event.duration,
                b"id" => &mut event.id,
                _ => {
                    scanner.skip()?;
                    continue;
                }
            };
            *field = scanner.scalar()?.unwrap_or_default();
        }
        Ok(event)
    }
}

impl<'a> Args<'a> {
    fn read(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Fault> {
        if scanner.peek() != Some(b'{') {
            return scanner.skip();
        }
        let mut members = scanner.open_object()?;
        while let Some(key) = scanner.next_key(&mut members)? {
            let facts = &mut self.facts;
            let field = match key.0 {
                b"Input Dims" => {
                    facts.input_dims = scanner.raw()?;
                    continue;
                }
                b"Input type" => {
                    facts.input_types = scanner.raw()?;
                    continue;
                }
                b"Output Dims" => {
                    facts.output_dims = scanner.raw()?;
                    continue;
                }
                b"Output type" => {
                    facts.output_types = scanner.raw()?;
                    continue;
                }
                b"device" => &mut facts.device,
                b"bytes" => &mut facts.bytes,
                b"flops" => &mut facts.flops,
                b"In msg nelems" => &mut facts.elements_in,
                b"Out msg nelems" => &mut facts.elements_out,
                b"dtype" => &mut facts.element_type,
                b"stream" => &mut self.stream,
                b"correlation" => &mut self.correlation,
                b"name" => &mut self.name,
                b"Bytes" => &mut self.taken,
                b"Addr" => &mut self.address,
                b"Total Allocated" => &mut self.allocated,
                b"Device Type" => &mut self.device_type,
                b"Device Id" => &mut self.device_number,
                _ => {
                    scanner.skip()?;
                    continue;
                }
            };
            *field = scanner.scalar()?.unwrap_or_default();
        }
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
        let event = Event::read(&mut Scanner::new(json)).unwrap();
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
            let event = Event::read(&mut Scanner::new(json.as_bytes())).unwrap();
            assert_eq!(event.phase, b'X');
            assert_eq!(event.args.facts, Facts::default());
        }
    }
}
