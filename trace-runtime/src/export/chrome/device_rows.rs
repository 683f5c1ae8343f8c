//! The rows of devices, in the form that HTA expects.

use super::events::{DeviceWork, Events, Kernel};
use super::rows::{Rows, Spot};
use crate::analyze::CommunicationRule;
use crate::export::timeline::off_host;
use crate::export::tracks::Closed;
use crate::model::{EntryView, OpKind};
use std::io::{self, Write};

/// Shows each interval in which an entry was the innermost of its thread on the row of its device. So an op that
/// contains a collective does not seem to compute while the collective runs.
#[derive(Debug, Default)]
pub(super) struct DeviceRows<'a> {
    /// The entries that are open on each row of a thread, outermost first.
    open: Vec<Vec<EntryView<'a>>>,
    communication: CommunicationRule<'a>,
    stretches: usize,
}

impl<'a> DeviceRows<'a> {
    /// Called when an entry begins: its parent is then no longer the innermost.
    pub(super) fn begin<W: Write>(
        &mut self,
        events: &mut Events<W>,
        rows: &mut Rows<'a>,
        view: EntryView<'a>,
        at: Spot,
    ) -> io::Result<()> {
        let track = at.place.track as usize;
        if track == self.open.len() {
            self.open.push(Vec::new());
        }
        let parent = self.open[track].last().copied();
        self.open[track].push(view);
        match parent {
            Some(parent) if at.place.nested => {
                let stretch = (at.place.parent_alone_from_ns, at.place.start_ns);
                self.stretch(events, rows, &parent, at.place.track, stretch)
            }
            _ => Ok(()),
        }
    }

    /// An entry ended.
    pub(super) fn end<W: Write>(
        &mut self,
        events: &mut Events<W>,
        rows: &mut Rows<'a>,
        closed: Closed,
    ) -> io::Result<()> {
        let Some(view) = self.open[closed.track as usize].pop() else {
            return Ok(());
        };
        let stretch = (closed.alone_from_ns, closed.end_ns);
        self.stretch(events, rows, &view, closed.track, stretch)
    }

    fn stretch<W: Write>(
        &mut self,
        events: &mut Events<W>,
        rows: &mut Rows<'a>,
        view: &EntryView<'a>,
        track: u32,
        (start_ns, end_ns): (u64, u64),
    ) -> io::Result<()> {
        let Some(device) = view.device_id().filter(|_| off_host(view)) else {
            return Ok(());
        };
        if start_ns >= end_ns {
            return Ok(());
        }
        let launched_from = rows.row(track);
        let stream = rows.stream(launched_from, device);
        if stream.first {
            let label = format!("{device} (stream {})", stream.number);
            events.name_row(stream.row, view.rank(), &label)?;
        }
        self.stretches += 1;
        events.kernel(&Kernel {
            view,
            work: self.work(view),
            launched_from,
            stream,
            // From 1, because HTA uses 0 for an unknown partner.
            correlation: self.stretches,
            start_ns,
            end_ns,
        })
    }

    fn work(&mut self, view: &EntryView<'a>) -> DeviceWork {
        if self.communication.holds(view) {
            return DeviceWork::Communication;
        }
        match view.kind() {
            None | Some(OpKind::Compute) => DeviceWork::Compute,
            Some(OpKind::Memory) => DeviceWork::Memory,
            Some(_) => DeviceWork::Neither,
        }
    }
}
