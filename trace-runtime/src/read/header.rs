//! The keys of a Chrome trace outside its events: the rank, the devices, the clock.

use super::devices::Devices;
use super::scanner::{Fault, Raw, Scanner};
use crate::model::TraceStoreBuilder;
use crate::model::wire::metadata;

/// The facts of a Chrome trace that are not events.
#[derive(Debug, Default)]
pub(super) struct FileHeader {
    pub(super) rank: Option<u32>,
    facts: Vec<(String, String)>,
    /// Number and name of each device.
    devices: Vec<(String, String)>,
}

/// Length in bytes. A longer value is a log or a dump, not a fact for a report.
const LONGEST_FACT: usize = 1000;

impl FileHeader {
    /// Reads the value of a key of the top-level object other than `traceEvents`.
    pub(super) fn read(&mut self, key: Raw<'_>, scanner: &mut Scanner<'_>) -> Result<(), Fault> {
        match (key.0, scanner.peek()) {
            (b"distributedInfo", Some(b'{')) => self.distributed(scanner),
            (b"deviceProperties", Some(b'[')) => self.devices(scanner),
            (b"otherData" | b"metadata", Some(b'{')) => self.facts_of("", scanner),
            _ => {
                let value = scanner.scalar()?;
                self.keep(key.text().into_owned(), value);
                Ok(())
            }
        }
    }

    /// The time `base` on the file's clock, in nanoseconds since 1970. Newer files have the offset of their clock in
    /// `baseTimeNanoseconds`. The clock of older files counts from 1970, or from the start of the machine. In the
    /// second case, the time since 1970 is not known.
    pub(super) fn wall_clock_ns(&self, base: i64) -> Option<i64> {
        const YEAR_2001: i64 = 1_000_000_000_000_000_000;
        let offset = |(key, value): &(String, String)| {
            (key == "baseTimeNanoseconds").then(|| value.parse::<i64>().ok())?
        };
        match self.facts.iter().find_map(offset) {
            Some(offset) => base.checked_add(offset),
            None => Some(base).filter(|&base| base >= YEAR_2001),
        }
    }

    fn distributed(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Fault> {
        let start = scanner.clone();
        self.facts_of("distributed.", scanner)?;
        let mut scanner = start;
        let mut members = scanner.open_object()?;
        while let Some(key) = scanner.next_key(&mut members)? {
            let value = scanner.scalar()?;
            if key.0 == b"rank" {
                self.rank = value.and_then(Raw::number);
            }
        }
        Ok(())
    }

    fn devices(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Fault> {
        let mut items = scanner.open_array()?;
        while scanner.next_item(&mut items)? {
            if scanner.peek() != Some(b'{') {
                scanner.skip()?;
                continue;
            }
            let (mut id, mut name) = (None, None);
            let mut members = scanner.open_object()?;
            while let Some(key) = scanner.next_key(&mut members)? {
                let value = scanner.scalar()?;
                match key.0 {
                    b"id" => id = value,
                    b"name" => name = value,
                    _ => {}
                }
            }
            if let Some(id) = id {
                let name = name.filter(|name| name.0.len() <= LONGEST_FACT);
                let name = name.map(|name| name.text().into_owned());
                self.devices
                    .push((id.text().into_owned(), name.unwrap_or_default()));
            }
        }
        Ok(())
    }

    fn facts_of(&mut self, prefix: &str, scanner: &mut Scanner<'_>) -> Result<(), Fault> {
        let mut members = scanner.open_object()?;
        while let Some(key) = scanner.next_key(&mut members)? {
            let value = scanner.scalar()?;
            self.keep(format!("{prefix}{}", key.text()), value);
        }
        Ok(())
    }

    fn keep(&mut self, key: String, value: Option<Raw<'_>>) {
        if let Some(value) = value
            && value.0.len() <= LONGEST_FACT
        {
            self.facts.push((key, value.text().into_owned()));
        }
    }

    /// Adds the facts to the metadata of a trace.
    pub(super) fn write_to(self, builder: &mut TraceStoreBuilder, devices: &Devices) {
        for (device, name) in self.devices {
            builder.metadata(metadata::device_name(&devices.listed(&device)), name);
        }
        for (key, value) in self.facts {
            builder.metadata(key, value);
        }
    }
}
