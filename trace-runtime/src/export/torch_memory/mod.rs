//! Memory as a snapshot of torch's caching allocator, for the page <https://pytorch.org/memory_viz>.

mod arena;
mod blocks;
mod pickle;

use super::Exporter;
use crate::analyze::{Owner, Owners};
use crate::model::{MemoryEvent, TraceView};
use crate::report::shapes;
use arena::START;
use blocks::{Action, Blocks};
use pickle::{Pickle, Remembered};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufWriter, Write};

/// Writes the memory of a trace as a snapshot that `PyTorch`'s memory viewer opens: drop the file on
/// <https://pytorch.org/memory_viz>, which uploads nothing, or use `python -m torch.cuda._memory_viz`.
///
/// Sizes, order, times and call stacks are those of the trace. Addresses are made up, because allocators other than
/// torch's do not report their segments: every device has one segment, in which the blocks are placed. Memory of
/// `TracedAlloc` is shown in the pieces in which its curve was recorded. The devices of all ranks are numbered in one
/// order; the name of a block's device is the outermost frame of its stack.
#[derive(Debug, Clone, Copy, Default)]
pub struct TorchMemory;

impl Exporter for TorchMemory {
    fn export(&self, trace: &dyn TraceView, out: &mut dyn Write) -> io::Result<()> {
        let mut owners = Owners::new(trace);
        let devices: Vec<Device> = events_by_device(trace)
            .into_iter()
            .map(|((rank, name), events)| Device {
                name: match rank {
                    Some(rank) => format!("{name} of rank {rank}"),
                    None => name.to_owned(),
                },
                blocks: Blocks::of(&mut owners, &events),
            })
            .collect();
        let mut stacks = Stacks {
            owners: &owners,
            known: HashMap::new(),
        };
        let mut pickle = Pickle::new(BufWriter::with_capacity(1 << 16, out))?;
        pickle.dict(|pickle| {
            pickle.word("segments")?;
            pickle.list(devices.iter().enumerate(), |pickle, (index, device)| {
                segment(pickle, &mut stacks, index, device)
            })?;
            pickle.word("device_traces")?;
            pickle.list(devices.iter().enumerate(), |pickle, (index, device)| {
                let events = device
                    .blocks
                    .actions
                    .iter()
                    .flat_map(|&(at_ns, action, block)| {
                        names_of(action)
                            .iter()
                            .map(move |&name| (name, at_ns, block))
                    });
                pickle.list(events, |pickle, (name, at_ns, block)| {
                    pickle.dict(|pickle| {
                        pickle.word("action")?;
                        pickle.word(name)?;
                        number(pickle, "addr", block.address)?;
                        number(pickle, "size", block.bytes)?;
                        number(pickle, "stream", 0)?;
                        number(pickle, "time_us", at_ns.max(0).unsigned_abs() / 1000)?;
                        stacks.write(pickle, index, device, block.owner)
                    })
                })
            })?;
            pickle.word("allocator_settings")?;
            pickle.dict(|_| Ok(()))
        })?;
        pickle.finish()
    }

    fn extension(&self) -> &'static str {
        "pickle"
    }
}

struct Device {
    name: String,
    blocks: Blocks,
}

fn events_by_device(trace: &dyn TraceView) -> BTreeMap<(Option<u32>, &str), Vec<MemoryEvent<'_>>> {
    let mut devices: BTreeMap<_, Vec<MemoryEvent<'_>>> = BTreeMap::new();
    for event in trace.memory_events() {
        let key = (event.rank, event.device_id);
        devices.entry(key).or_default().push(event);
    }
    for events in devices.values_mut() {
        events.sort_by_key(|event| event.at_ns);
    }
    devices
}

/// The events of an action. torch has two for a free, because other streams may still use the memory.
fn names_of(action: Action) -> &'static [&'static str] {
    match action {
        Action::Alloc => &["alloc"],
        Action::Free => &["free_requested", "free_completed"],
    }
}

fn number<W: Write>(pickle: &mut Pickle<W>, key: &'static str, number: u64) -> io::Result<()> {
    pickle.word(key)?;
    pickle.number(number)
}

/// All memory of a device as one segment. Its blocks follow each other without gaps: free memory is a block too.
fn segment<W: Write>(
    pickle: &mut Pickle<W>,
    stacks: &mut Stacks<'_>,
    index: usize,
    device: &Device,
) -> io::Result<()> {
    let reserved = device.blocks.reserved();
    let live = device.blocks.live.values();
    let allocated = live.clone().map(|block| block.bytes).sum();
    pickle.dict(|pickle| {
        number(pickle, "device", index as u64)?;
        number(pickle, "address", START)?;
        number(pickle, "total_size", reserved)?;
        number(pickle, "allocated_size", allocated)?;
        number(pickle, "active_size", allocated)?;
        number(pickle, "requested_size", allocated)?;
        number(pickle, "stream", 0)?;
        pickle.word("segment_type")?;
        pickle.word("large")?;
        pickle.word("is_expandable")?;
        pickle.no()?;
        pickle.word("frames")?;
        pickle.list([(); 0], |_, ()| Ok(()))?;
        pickle.word("blocks")?;
        let mut next = START;
        let with_gaps = live
            .map(Some)
            .chain([None])
            .flat_map(|block| {
                let until = block.map_or(START.saturating_add(reserved), |block| block.address);
                let gap = (until.saturating_sub(next) > 0).then(|| (next, until - next, None));
                next = block.map_or(until, |block| block.address.saturating_add(block.bytes));
                [
                    gap,
                    block.map(|block| (block.address, block.bytes, Some(block))),
                ]
            })
            .flatten();
        pickle.list(with_gaps, |pickle, (address, bytes, block)| {
            pickle.dict(|pickle| {
                number(pickle, "address", address)?;
                number(pickle, "size", bytes)?;
                number(pickle, "requested_size", bytes)?;
                pickle.word("state")?;
                let state = block.map_or("inactive", |_| "active_allocated");
                pickle.word(state)?;
                let owner = block.map_or(Owner::Unknown, |block| block.owner);
                stacks.write(pickle, index, device, owner)
            })
        })
    })
}

/// The call stacks of blocks, each written once.
struct Stacks<'a> {
    owners: &'a Owners<'a, dyn TraceView + 'a>,
    /// By the index of the device.
    known: HashMap<(usize, Owner), Remembered>,
}

impl Stacks<'_> {
    /// The key and the frames, innermost first.
    fn write<W: Write>(
        &mut self,
        pickle: &mut Pickle<W>,
        index: usize,
        device: &Device,
        owner: Owner,
    ) -> io::Result<()> {
        pickle.word("frames")?;
        if let Some(&known) = self.known.get(&(index, owner)) {
            return pickle.recall(known);
        }
        let mut names = self.owners.stack(owner);
        if let Some(innermost) = names.last_mut() {
            let dims = shapes(&self.owners.op(owner).input_shapes);
            if !dims.is_empty() {
                *innermost = format!("{innermost} {dims}");
            }
        }
        names.insert(0, device.name.clone());
        pickle.list(names.iter().rev(), |pickle, name| {
            pickle.dict(|pickle| {
                pickle.word("name")?;
                pickle.text(name)?;
                pickle.word("filename")?;
                pickle.word("")?;
                number(pickle, "line", 0)
            })
        })?;
        let known = pickle.remember()?;
        self.known.insert((index, owner), known);
        Ok(())
    }
}
