//! The distinct ops of a trace: each is understood once, however often it ran.

use super::category::{Category, Lane, device_kind};
use super::event::Facts;
use super::scanner::Raw;
use super::tensors::Tensors;
use super::texts::Texts;
use crate::model::collective_keys as keys;
use crate::model::{NewEntry, OpKind, SignatureIndex, ThreadIndex, TraceError, TraceStoreBuilder};
use std::collections::BTreeMap;

/// Ops by the text that describes them.
#[derive(Debug, Default)]
pub(super) struct Ops {
    /// What tells ops apart: lane and category, name, facts.
    texts: Texts,
    distinct: Vec<(Lane, Category)>,
}

const PARTS: usize = 2 + Facts::COUNT;

/// One of them.
struct Op<'a> {
    name: Raw<'a>,
    lane: Lane,
    category: Category,
    facts: Facts<'a>,
}

impl Ops {
    #[inline]
    pub(super) fn id(
        &mut self,
        name: Raw<'_>,
        lane: Lane,
        category: Category,
        facts: &Facts<'_>,
    ) -> u32 {
        let sort = [lane as u8, u8::from(category == Category::DeviceMemory)];
        self.texts.part(0, Raw(&sort));
        self.texts.part(1, name);
        for (number, part) in (2..).zip(facts.parts()) {
            self.texts.part(number, part);
        }
        let id = self.texts.id();
        if id as usize == self.distinct.len() {
            self.distinct.push((lane, category));
        }
        id
    }

    /// The collective that an op belongs to, as metadata of its entries; empty for other ops.
    pub(super) fn collective(&self, id: u32) -> BTreeMap<String, String> {
        let [_, _, facts @ ..] = self.texts.parts::<PARTS>(id);
        let facts = Facts::from_parts(facts);
        let ranks = facts.group_ranks.0;
        let unquoted = ranks
            .strip_prefix(b"\"")
            .and_then(|text| text.strip_suffix(b"\""));
        [
            (keys::COLLECTIVE, facts.collective),
            (keys::PROCESS_GROUP, facts.group),
            (keys::PROCESS_GROUP_RANKS, Raw(unquoted.unwrap_or(ranks))),
        ]
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| (key.to_owned(), value.text().into_owned()))
        .collect()
    }

    /// Numbers every op in the store being built. `thread` is any thread of it.
    pub(super) fn signatures(
        &self,
        builder: &mut TraceStoreBuilder,
        thread: ThreadIndex,
    ) -> Result<Vec<SignatureIndex>, TraceError> {
        (0..)
            .zip(&self.distinct)
            .map(|(id, &(lane, category))| {
                let [_, name, facts @ ..] = self.texts.parts::<PARTS>(id);
                let facts = Facts::from_parts(facts);
                let op = Op {
                    name,
                    lane,
                    category,
                    facts,
                };
                op.signature(builder, thread)
            })
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
