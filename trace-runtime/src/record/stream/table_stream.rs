//! The tables of a recording, as a stream of words in blocks of the ring.

use super::ring::Ring;
use crate::model::optrace::ring_block::{STREAM_POSITION, TABLE_WORDS};
use crate::model::optrace::tail_record::push_tables;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use trace_core::__engine::block::{Block, TABLES, header};
use trace_core::__engine::chunk::begin_block;

/// The blocks that have tables which are not in the tail yet; the last one is being filled.
#[derive(Debug)]
pub(super) struct TableStream {
    blocks: VecDeque<TableBlock>,
    /// Words in the stream.
    position: u64,
    /// All words, for copies of the recording.
    history: Option<Vec<u64>>,
    /// True if the words are in the ring too, for readers of its file.
    is_in_ring: bool,
}

#[derive(Debug)]
struct TableBlock {
    block: Block,
    place: u32,
    /// The position of the first word in the stream.
    position: u64,
    len: usize,
    /// Words that are in the tail.
    written: usize,
}

impl TableStream {
    pub(super) fn new(keeps_history: bool, is_in_ring: bool) -> TableStream {
        TableStream {
            blocks: VecDeque::new(),
            position: 0,
            history: keeps_history.then(Vec::new),
            is_in_ring,
        }
    }

    /// Appends and publishes an entry; false if there is no room.
    pub(super) fn push(&mut self, words: &[u64], ring: &Ring) -> bool {
        if !self.is_in_ring {
            self.keep(words);
            return true;
        }
        let has_room = self
            .blocks
            .back()
            .is_some_and(|last| TABLE_WORDS - last.len >= words.len());
        if words.len() > TABLE_WORDS || !(has_room || self.add_block(ring)) {
            return false;
        }
        let Some(last) = self.blocks.back_mut() else {
            return false;
        };
        for (slot, word) in last.slots().skip(last.len).zip(words) {
            slot.store(*word, Ordering::Relaxed);
        }
        last.len += words.len();
        last.block.header()[header::LEN].store(last.len as u64, Ordering::Release);
        self.keep(words);
        true
    }

    fn keep(&mut self, words: &[u64]) {
        self.position += words.len() as u64;
        if let Some(history) = &mut self.history {
            history.extend_from_slice(words);
        }
    }

    /// All words so far, if they are kept.
    pub(super) fn history(&self) -> &[u64] {
        self.history.as_deref().unwrap_or_default()
    }

    fn add_block(&mut self, ring: &Ring) -> bool {
        let Some(place) = ring.take_for_tables() else {
            return false;
        };
        let Some(block) = ring.block(place) else {
            return false;
        };
        // Set before the block begins: a reader that finds the block must find its position.
        block.header()[STREAM_POSITION].store(self.position, Ordering::Relaxed);
        begin_block(&block, ring.sequence(), TABLES);
        self.blocks.push_back(TableBlock {
            block,
            place,
            position: self.position,
            len: 0,
            written: 0,
        });
        true
    }

    /// Appends records with the words that are not in the tail yet.
    pub(super) fn push_new(&self, bytes: &mut Vec<u8>) {
        for block in &self.blocks {
            if block.written < block.len {
                let words = block.words(block.written);
                push_tables(bytes, block.position + block.written as u64, &words);
            }
        }
    }

    /// Marks all words up to the position `up_to` as written to the tail, and frees the blocks that are full and
    /// written.
    pub(super) fn written(&mut self, up_to: u64, ring: &Ring) {
        for block in &mut self.blocks {
            let written = up_to.saturating_sub(block.position);
            block.written = block.written.max(block.len.min(written as usize));
        }
        while self.blocks.len() > 1
            && self.blocks[0].written == self.blocks[0].len
            && let Some(first) = self.blocks.pop_front()
        {
            ring.free(&[first.place]);
        }
    }

    /// The position after the last word.
    pub(super) fn position(&self) -> u64 {
        self.position
    }
}

impl TableBlock {
    fn slots(&self) -> impl Iterator<Item = &AtomicU64> {
        let rows = self.block.rows().as_flattened();
        rows.iter().chain(self.block.rest()).take(TABLE_WORDS)
    }

    fn words(&self, from: usize) -> Vec<u64> {
        self.slots()
            .take(self.len)
            .skip(from)
            .map(|slot| slot.load(Ordering::Relaxed))
            .collect()
    }
}
