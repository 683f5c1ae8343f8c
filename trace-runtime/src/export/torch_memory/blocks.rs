//! The memory events of one device as allocations and frees of whole blocks.

use super::arena::Arena;
use crate::analyze::{Owner, Owners};
use crate::model::{MemoryEvent, TraceView};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// A block of memory, with its place in the address space of the export.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    pub(super) address: u64,
    pub(super) bytes: u64,
    pub(super) owner: Owner,
}

/// An allocation or a free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Alloc,
    Free,
}

/// The blocks of one device over time.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// In the order of their times, in nanoseconds.
    pub(super) actions: Vec<(i64, Action, Block)>,
    /// Blocks that have not been freed, by address.
    pub(super) live: BTreeMap<u64, Block>,
    arena: Arena,
    /// Live blocks by the key of their frees, the oldest first.
    open: HashMap<Key, VecDeque<Block>>,
}

/// The facts that a free and the allocation of its block have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    /// The events of the heap are changes of a context's memory, not single blocks.
    Context(Owner),
    Address(u64),
    /// For traces without addresses.
    Bytes(u64),
}

impl Blocks {
    /// `events` are those of one device, in the order of their times.
    pub(super) fn of<T: TraceView + ?Sized>(
        owners: &mut Owners<'_, T>,
        events: &[MemoryEvent<'_>],
    ) -> Blocks {
        let mut blocks = Blocks::default();
        blocks.add_earlier(events);
        for event in events {
            let bytes = event.bytes.unsigned_abs();
            let owner = owners.of(event);
            let key = key_of(event, owner);
            match event.bytes {
                0 => {}
                1.. => blocks.alloc(event.at_ns, key, bytes, owner),
                _ if matches!(key, Key::Context(_)) => blocks.shrink(event.at_ns, key, bytes),
                _ => blocks.free_oldest(event.at_ns, key),
            }
        }
        blocks
    }

    /// Bytes of the address space.
    pub(super) fn reserved(&self) -> u64 {
        self.arena.length()
    }

    /// Places the memory from before the trace: the blocks that are freed in it, and one block for the rest of the
    /// memory that was allocated at the first event.
    fn add_earlier(&mut self, events: &[MemoryEvent<'_>]) {
        let mut known: HashSet<u64> = HashSet::new();
        let mut earlier = 0u64;
        for event in events.iter().filter(|event| event.context.is_none()) {
            let Some(address) = event.address else {
                continue;
            };
            if event.bytes > 0 {
                known.insert(address);
            } else if event.bytes < 0 && !known.remove(&address) {
                let bytes = event.bytes.unsigned_abs();
                earlier = earlier.saturating_add(bytes);
                let block = self.place(bytes, Owner::Unknown);
                self.open
                    .entry(Key::Address(address))
                    .or_default()
                    .push_back(block);
            }
        }
        let first = events.first();
        let before = first.and_then(|first| {
            Some(
                first
                    .allocated?
                    .saturating_add_signed(first.bytes.saturating_neg()),
            )
        });
        let rest = before.unwrap_or(0).saturating_sub(earlier);
        if rest > 0 {
            self.place(rest, Owner::Unknown);
        }
    }

    fn place(&mut self, bytes: u64, owner: Owner) -> Block {
        let block = Block {
            address: self.arena.place(bytes),
            bytes,
            owner,
        };
        self.live.insert(block.address, block);
        block
    }

    fn alloc(&mut self, at_ns: i64, key: Key, bytes: u64, owner: Owner) {
        let block = self.place(bytes, owner);
        self.open.entry(key).or_default().push_back(block);
        self.actions.push((at_ns, Action::Alloc, block));
    }

    fn free(&mut self, at_ns: i64, block: Block) {
        self.live.remove(&block.address);
        self.arena.free(block.address, block.bytes);
        self.actions.push((at_ns, Action::Free, block));
    }

    fn free_oldest(&mut self, at_ns: i64, key: Key) {
        if let Some(block) = self.open.get_mut(&key).and_then(VecDeque::pop_front) {
            self.free(at_ns, block);
        }
    }

    /// Frees `bytes` of a context, the latest blocks first. A block that is only partly freed becomes a smaller one.
    fn shrink(&mut self, at_ns: i64, key: Key, mut bytes: u64) {
        while bytes > 0 {
            let Some(block) = self.open.get_mut(&key).and_then(VecDeque::pop_back) else {
                return;
            };
            self.free(at_ns, block);
            if block.bytes > bytes {
                self.alloc(at_ns, key, block.bytes - bytes, block.owner);
            }
            bytes = bytes.saturating_sub(block.bytes);
        }
    }
}

fn key_of(event: &MemoryEvent<'_>, owner: Owner) -> Key {
    match (event.context, event.address) {
        (Some(_), _) => Key::Context(owner),
        (None, Some(address)) => Key::Address(address),
        (None, None) => Key::Bytes(event.bytes.unsigned_abs()),
    }
}
