//! One event of a Chrome trace that this crate wrote, as slices of the text.

use super::scanner::{Fault, Raw, Scanner};
use crate::model::wire::chrome;
use std::collections::BTreeMap;

/// A missing field is empty.
#[derive(Debug, Default)]
pub(super) struct OwnEvent<'a> {
    pub(super) phase: Raw<'a>,
    pub(super) category: Raw<'a>,
    pub(super) name: Raw<'a>,
    pub(super) pid: Raw<'a>,
    pub(super) tid: Raw<'a>,
    pub(super) time: Raw<'a>,
    pub(super) duration: Raw<'a>,
    pub(super) args: OwnArgs<'a>,
}

#[derive(Debug, Default)]
pub(super) struct OwnArgs<'a> {
    pub(super) step: Raw<'a>,
    pub(super) parent: Raw<'a>,
    pub(super) elements: Raw<'a>,
    pub(super) bytes: Raw<'a>,
    pub(super) suspended: Raw<'a>,
    pub(super) pauses: Raw<'a>,
    pub(super) outcome: Raw<'a>,
    meta: Raw<'a>,
    pub(super) input_dims: Raw<'a>,
    pub(super) input_types: Raw<'a>,
    pub(super) output_dims: Raw<'a>,
    pub(super) output_types: Raw<'a>,
    /// `Some` with an empty text if the name of the device is empty.
    pub(super) device: Option<Raw<'a>>,
    pub(super) kind: Raw<'a>,
    pub(super) label: Raw<'a>,
    pub(super) location: Raw<'a>,
    pub(super) flops: Raw<'a>,
    pub(super) bytes_moved: Raw<'a>,
    /// True if the entry has no start; the event's `ts` is then only a place in the viewer.
    pub(super) untimed: bool,
    /// The thread, if it differs from the event's `tid`; `null` for none.
    pub(super) thread: Raw<'a>,
    /// The rank, if it differs from the one in the process's name; `null` for none.
    pub(super) rank: Raw<'a>,
    /// The whole value as JSON in a string, if the other fields cannot express it.
    pub(super) exact: Raw<'a>,
    /// For a process or thread: its name in viewers.
    pub(super) name: Raw<'a>,
    /// For a memory event: the bytes.
    pub(super) taken: Raw<'a>,
    pub(super) address: Raw<'a>,
    pub(super) allocated: Raw<'a>,
    pub(super) context: Raw<'a>,
    pub(super) during: Raw<'a>,
}

impl<'a> OwnEvent<'a> {
    pub(super) fn read(scanner: &mut Scanner<'a>) -> Result<OwnEvent<'a>, Fault> {
        let mut event = OwnEvent::default();
        let mut members = scanner.open_object()?;
        while let Some(key) = scanner.next_key(&mut members)? {
            let value = match key.0 {
                b"ph" => &mut event.phase,
                b"cat" => &mut event.category,
                b"name" => &mut event.name,
                b"pid" => &mut event.pid,
                b"tid" => &mut event.tid,
                b"ts" => &mut event.time,
                b"dur" => &mut event.duration,
                // We write phase and category before the arguments, so they are known here.
                b"args" if event.is_needed() => {
                    event.args.read(scanner)?;
                    continue;
                }
                _ => {
                    scanner.skip()?;
                    continue;
                }
            };
            *value = scanner.scalar()?.unwrap_or_default();
        }
        Ok(event)
    }

    fn is_needed(&self) -> bool {
        match self.phase.0 {
            b"X" => [Raw(chrome::OP), Raw(chrome::ANNOTATION)].contains(&self.category),
            b"M" | b"i" => true,
            _ => false,
        }
    }
}

impl<'a> OwnArgs<'a> {
    fn read(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Fault> {
        let mut members = scanner.open_object()?;
        while let Some(key) = scanner.next_key(&mut members)? {
            let value = match key.0 {
                chrome::STEP => &mut self.step,
                chrome::PARENT => &mut self.parent,
                chrome::OUTPUT_ELEMENTS => &mut self.elements,
                chrome::OUTPUT_BYTES => &mut self.bytes,
                chrome::SUSPENDED_NS => &mut self.suspended,
                chrome::PAUSES => &mut self.pauses,
                chrome::OUTCOME => &mut self.outcome,
                chrome::KIND => &mut self.kind,
                chrome::LABEL => &mut self.label,
                chrome::LOCATION => &mut self.location,
                chrome::FLOPS => &mut self.flops,
                chrome::BYTES_MOVED => &mut self.bytes_moved,
                chrome::EXACT => &mut self.exact,
                chrome::NAME => &mut self.name,
                chrome::BYTES => &mut self.taken,
                chrome::ADDRESS => &mut self.address,
                chrome::ALLOCATED => &mut self.allocated,
                chrome::CONTEXT => &mut self.context,
                chrome::DURING => &mut self.during,
                other => {
                    self.read_rare(other, scanner)?;
                    continue;
                }
            };
            *value = scanner.scalar()?.unwrap_or_default();
        }
        Ok(())
    }

    /// The arguments that are not strings or numbers.
    fn read_rare(&mut self, key: &[u8], scanner: &mut Scanner<'a>) -> Result<(), Fault> {
        match key {
            chrome::INPUT_DIMS => self.input_dims = scanner.raw()?,
            chrome::INPUT_TYPES => self.input_types = scanner.raw()?,
            chrome::OUTPUT_DIMS => self.output_dims = scanner.raw()?,
            chrome::OUTPUT_TYPES => self.output_types = scanner.raw()?,
            chrome::META => self.meta = scanner.raw()?,
            chrome::DEVICE_ID => self.device = scanner.scalar()?,
            chrome::THREAD => self.thread = scanner.raw()?,
            chrome::RANK => self.rank = scanner.raw()?,
            chrome::UNTIMED => {
                scanner.skip()?;
                self.untimed = true;
            }
            _ => scanner.skip()?,
        }
        Ok(())
    }

    /// The arguments that all entries of one op share.
    pub(super) fn signature(&self) -> [Raw<'a>; 11] {
        let has_device = if self.device.is_some() {
            b"1"
        } else {
            &b""[..]
        };
        [
            self.input_dims,
            self.input_types,
            self.output_dims,
            self.output_types,
            Raw(has_device),
            self.device.unwrap_or_default(),
            self.kind,
            self.label,
            self.location,
            self.flops,
            self.bytes_moved,
        ]
    }

    pub(super) fn meta(&self) -> Result<BTreeMap<String, String>, Fault> {
        let mut meta = BTreeMap::new();
        if !self.meta.is_empty() {
            let mut scanner = Scanner::new(self.meta.0);
            let mut members = scanner.open_object()?;
            while let Some(key) = scanner.next_key(&mut members)? {
                let value = scanner.scalar()?.unwrap_or_default();
                meta.insert(key.text().into_owned(), value.text().into_owned());
            }
        }
        Ok(meta)
    }
}
