//! The distinct ops of a trace: the text of each is parsed once, however often the op ran.

use super::category::{Category, Lane, Vendor, device_kind};
use super::devices::{DeviceClues, Devices};
use super::event::Facts;
use super::scanner::Raw;
use super::step_names::{Family, StepName};
use super::tensor_list::TensorList;
use super::texts::Texts;
use crate::model::collective_keys as keys;
use crate::model::{NewEntry, OpKind, SignatureIndex, ThreadIndex, TraceError, TraceStoreBuilder};
use std::collections::BTreeMap;

/// The distinct ops, numbered by the text of their name and facts.
#[derive(Debug, Default)]
pub(super) struct Ops {
    /// Lane and category, name, facts: ops that differ in one of them have different numbers.
    texts: Texts,
    distinct: Vec<(Lane, Category)>,
}

const PARTS: usize = 2 + Facts::COUNT;

/// One distinct op.
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
        let lane_and_category = [lane as u8, category.code()];
        self.texts.part(0, Raw(&lane_and_category));
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

    /// Adds what the ops show of the devices to `clues`.
    pub(super) fn note_devices(&self, clues: &mut DeviceClues) {
        for (id, &(lane, category)) in (0..).zip(&self.distinct) {
            let [_, name, facts @ ..] = self.texts.parts::<PARTS>(id);
            match lane {
                Lane::Runtime => clues.hip_calls |= name.0.starts_with(b"hip"),
                Lane::Device if category.vendor() == Vendor::Generic => {
                    clues
                        .in_rows
                        .extend(Facts::from_parts(facts).device.number::<u32>());
                }
                _ => {}
            }
        }
    }

    /// The ops that mark a step, with the step.
    pub(super) fn steps(&self) -> impl Iterator<Item = (u32, StepName)> {
        (0..).zip(&self.distinct).filter_map(|(id, &(lane, _))| {
            let [_, name, facts @ ..] = self.texts.parts::<PARTS>(id);
            let argument = Facts::from_parts(facts).step_number.number();
            let of_family = |family, number| StepName {
                family,
                number: Some(number),
            };
            let step = match (lane, argument) {
                (Lane::Host, Some(number)) => Some(of_family(Family::Argument, number)),
                (Lane::Host, None) => StepName::of(&name.text()),
                (Lane::DeviceSteps, _) => name
                    .number()
                    .map(|number| of_family(Family::Device, number)),
                _ => None,
            };
            Some((id, step?))
        })
    }

    /// Adds every op to the store being built, and returns their signatures. `thread` is any thread of
    /// that store.
    pub(super) fn signatures(
        &self,
        builder: &mut TraceStoreBuilder,
        thread: ThreadIndex,
        devices: &Devices,
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
                op.signature(builder, thread, devices)
            })
            .collect()
    }
}

impl Op<'_> {
    fn signature(
        &self,
        builder: &mut TraceStoreBuilder,
        thread: ThreadIndex,
        devices: &Devices,
    ) -> Result<SignatureIndex, TraceError> {
        let facts = &self.facts;
        let name = self.name.text();
        let mut inputs = TensorList::read(facts.input_dims, facts.input_types);
        let mut outputs = TensorList::read(facts.output_dims, facts.output_types);
        // The host op of a collective has shapes; the kernel on the device has only element counts.
        if self.lane == Lane::Device && facts.input_dims.is_empty() {
            inputs = TensorList::flat(facts.elements_in, facts.element_type);
        }
        if self.lane == Lane::Device && facts.output_dims.is_empty() {
            outputs = TensorList::flat(facts.elements_out, facts.element_type);
        }
        let device =
            (self.lane == Lane::Device).then(|| devices.id(self.category.vendor(), facts.device));
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
            // Analyses guess the kind of other ops from the name. That would be wrong for these: a
            // runtime call is not communication because its name has `send` or `comm` in it.
            Lane::Python | Lane::Runtime | Lane::DeviceSteps => Some(OpKind::Other),
            Lane::Host => None,
        };
        builder.signature_of(&entry)
    }
}
