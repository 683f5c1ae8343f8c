//! The distinct ops of a trace: each is understood once, however often it ran.

use super::category::{Category, Lane, device_kind};
use super::event::Facts;
use super::hash::FastHash;
use super::scanner::Raw;
use super::tensors::Tensors;
use crate::model::{NewEntry, OpKind, SignatureIndex, ThreadIndex, TraceError, TraceStoreBuilder};
use std::collections::HashMap;

/// Ops by the text that describes them.
#[derive(Debug, Default)]
pub(super) struct Ops<'a> {
    /// By name and facts in one piece. Comparing with where they first stand in a file of hundreds of
    /// megabytes would miss the cache once for each of them.
    ids: HashMap<Box<[u8]>, u32, FastHash>,
    distinct: Vec<Op<'a>>,
    key: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Op<'a> {
    name: Raw<'a>,
    lane: Lane,
    category: Category,
    facts: Facts<'a>,
}

impl<'a> Ops<'a> {
    #[inline]
    pub(super) fn id(
        &mut self,
        name: Raw<'a>,
        lane: Lane,
        category: Category,
        facts: Facts<'a>,
    ) -> u32 {
        self.key.clear();
        self.key
            .extend([lane as u8, u8::from(category == Category::DeviceMemory)]);
        self.key.extend_from_slice(name.0);
        for (number, part) in facts.parts().into_iter().enumerate() {
            if !part.is_empty() {
                // No text of JSON has this byte, so that no two ops share a key.
                self.key.extend([0, number as u8]);
                self.key.extend_from_slice(part.0);
            }
        }
        if let Some(&id) = self.ids.get(self.key.as_slice()) {
            return id;
        }
        let id = self.distinct.len() as u32;
        self.ids.insert(self.key.as_slice().into(), id);
        self.distinct.push(Op {
            name,
            lane,
            category,
            facts,
        });
        id
    }

    /// Numbers every op in the store being built. `thread` is any thread of it.
    pub(super) fn signatures(
        &self,
        builder: &mut TraceStoreBuilder,
        thread: ThreadIndex,
    ) -> Result<Vec<SignatureIndex>, TraceError> {
        self.distinct
            .iter()
            .map(|op| op.signature(builder, thread))
            .collect()
    }
}

impl Op<'_> {
    fn signature(
        &self,
        builder: &mut TraceStoreBuilder,
        thread: ThreadIndex,
    ) -> Result<SignatureIndex, TraceError> {
        let facts = &self.facts;
        let name = self.name.text();
        let mut inputs = Tensors::read(facts.input_dims, facts.input_types);
        let mut outputs = Tensors::read(facts.output_dims, facts.output_types);
        // The op that asks for a collective has shapes of its own; what runs on the device has not.
        if self.lane == Lane::Device && facts.input_dims.is_empty() {
            inputs = Tensors::flat(facts.elements_in, facts.element_type);
        }
        if self.lane == Lane::Device && facts.output_dims.is_empty() {
            outputs = Tensors::flat(facts.elements_out, facts.element_type);
        }
        let device = (self.lane == Lane::Device).then(|| device_id(facts.device));
        let (inputs, outputs) = (inputs.views(), outputs.views());
        let mut entry = NewEntry::new(&name, thread, 0, 0);
        entry.device_id = device.as_deref();
        entry.inputs = &inputs;
        entry.outputs = &outputs;
        entry.flops = facts.flops.number();
        entry.kind = match self.lane {
            Lane::Device => {
                entry.bytes_moved = facts.bytes.number();
                Some(device_kind(&name, self.category))
            }
            // What a name suggests is left to the analysis for ops, and is wrong for these:
            // `cudaStreamSynchronize` is no communication because it has `send` or `comm` in it.
            Lane::Python | Lane::Runtime | Lane::Wait => Some(OpKind::Other),
            Lane::Host => None,
        };
        builder.signature_of(&entry)
    }
}

/// `cuda:3` for 3, and what the trace says where it says more than a number.
pub(super) fn device_id(device: Raw<'_>) -> String {
    match device.number::<u32>() {
        Some(number) => format!("cuda:{number}"),
        None if device.is_empty() => "cuda".to_owned(),
        None => device.text().into_owned(),
    }
}
