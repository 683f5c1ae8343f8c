//! The distinct ops of a trace: the text of each op is parsed once, even if it ran many times.

use super::category::{Category, Lane, Vendor, device_kind};
use super::devices::{DeviceClues, Devices};
use super::event::{Event, Field};
use super::scanner::Raw;
use super::step_names::{Family, StepName};
use super::tensor_list::TensorList;
use super::texts::Texts;
use crate::model::collective_keys as keys;
use crate::model::{NewEntry, OpKind, SignatureIndex, ThreadIndex, TraceError, TraceStoreBuilder};
use std::collections::BTreeMap;
use std::ops::Index;

/// The distinct ops, numbered by the text of their name and facts.
#[derive(Debug, Default)]
pub(super) struct Ops {
    /// Lane and category, name, facts: ops that differ in one of them have different numbers.
    texts: Texts,
    distinct: Vec<(Lane, Category)>,
}

/// The parts of an op's text before the fields of the event: lane and category, name, device.
const OWN_PARTS: usize = 3;
const PARTS: usize = OWN_PARTS + Field::COUNT;

/// The sort of rows that ops are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    Any,
    /// Rows whose name shows that they are for communication.
    ForCommunication,
}

/// One distinct op.
struct Op<'a> {
    lane: Lane,
    category: Category,
    parts: [Raw<'a>; PARTS],
}

impl<'a> Op<'a> {
    fn name(&self) -> Raw<'a> {
        self.parts[1]
    }

    fn device(&self) -> Raw<'a> {
        self.parts[2]
    }
}

/// The facts about an op.
impl<'a> Index<Field> for Op<'a> {
    type Output = Raw<'a>;

    fn index(&self, fact: Field) -> &Raw<'a> {
        &self.parts[OWN_PARTS + fact as usize]
    }
}

impl Ops {
    #[inline]
    pub(super) fn id(
        &mut self,
        event: &Event<'_>,
        lane: Lane,
        category: Category,
        device: Raw<'_>,
    ) -> u32 {
        let lane_and_category = [lane as u8, category.code()];
        let own = [Raw(&lane_and_category), event[Field::Name], device];
        let (values, facts) = event.facts();
        let id = self.texts.id(&own, values, facts);
        if id as usize == self.distinct.len() {
            self.distinct.push((lane, category));
        }
        id
    }

    /// Adds the ops of a part. Returns, for each op of the part, its number in this table.
    pub(super) fn append(&mut self, part: &Ops) -> Vec<u32> {
        part.all()
            .map(|(_, op)| {
                let id = self.texts.id(&op.parts, &[], 0);
                if id as usize == self.distinct.len() {
                    self.distinct.push((op.lane, op.category));
                }
                id
            })
            .collect()
    }

    fn op(&self, id: u32) -> Op<'_> {
        let (lane, category) = self.distinct[id as usize];
        Op {
            lane,
            category,
            parts: self.texts.parts(id),
        }
    }

    fn all(&self) -> impl Iterator<Item = (u32, Op<'_>)> {
        (0..self.distinct.len() as u32).map(|id| (id, self.op(id)))
    }

    /// The collective that an op belongs to, as metadata of its entries; empty for other ops.
    pub(super) fn collective(&self, id: u32) -> BTreeMap<String, String> {
        let op = self.op(id);
        let ranks = op[Field::GroupRanks].0;
        let unquoted = ranks
            .strip_prefix(b"\"")
            .and_then(|text| text.strip_suffix(b"\""));
        [
            (keys::COLLECTIVE, op[Field::Collective]),
            (keys::PROCESS_GROUP, op[Field::Group]),
            (keys::PEER, op[Field::Peer]),
            (keys::PROCESS_GROUP_RANKS, Raw(unquoted.unwrap_or(ranks))),
        ]
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| (key.to_owned(), value.text().into_owned()))
        .collect()
    }

    /// Adds the facts about devices that the ops have to `clues`.
    pub(super) fn note_devices(&self, clues: &mut DeviceClues) {
        for (_, op) in self.all() {
            match op.lane {
                Lane::Runtime => clues.hip_calls |= op.name().0.starts_with(b"hip"),
                Lane::Device if op.category.vendor() == Vendor::Generic => {
                    clues.in_rows.extend(op.device().number::<u32>());
                }
                _ => {}
            }
        }
    }

    /// The ops that mark a step, with the step.
    pub(super) fn steps(&self) -> impl Iterator<Item = (u32, StepName)> {
        self.all().filter_map(|(id, op)| {
            let (name, argument) = (op.name(), op[Field::StepNumber].number());
            let of_family = |family, number| StepName {
                family,
                number: Some(number),
            };
            let step = match (op.lane, argument) {
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
        rows: Rows,
    ) -> Result<Vec<SignatureIndex>, TraceError> {
        self.all()
            .map(|(_, op)| op.signature(builder, thread, devices, rows))
            .collect()
    }
}

impl Op<'_> {
    fn signature(
        &self,
        builder: &mut TraceStoreBuilder,
        thread: ThreadIndex,
        devices: &Devices,
        rows: Rows,
    ) -> Result<SignatureIndex, TraceError> {
        let name = self.name().text();
        let mut inputs = TensorList::read(self[Field::InputDims], self[Field::InputTypes]);
        let mut outputs = TensorList::read(self[Field::OutputDims], self[Field::OutputTypes]);
        // The host op of a collective has shapes; the kernel on the device has only element counts.
        if self.lane == Lane::Device && self[Field::InputDims].is_empty() {
            inputs = TensorList::flat(self[Field::ElementsIn], self[Field::ElementType]);
        }
        if self.lane == Lane::Device && self[Field::OutputDims].is_empty() {
            outputs = TensorList::flat(self[Field::ElementsOut], self[Field::ElementType]);
        }
        let device =
            (self.lane == Lane::Device).then(|| devices.id(self.category.vendor(), self.device()));
        let (inputs, outputs) = (inputs.views(), outputs.views());
        let mut entry = NewEntry::new(&name, thread, 0, 0);
        entry.device_id = device.as_deref();
        entry.inputs = &inputs;
        entry.outputs = &outputs;
        entry.flops = self[Field::Flops].number();
        entry.kind = match self.lane {
            Lane::Device => {
                entry.bytes_moved = self[Field::Bytes].number();
                Some(device_kind(&name, self.category))
            }
            // Analyses guess the kind of other ops from the name. That would be wrong for these: a
            // runtime call is not communication because its name has `send` or `comm` in it.
            Lane::Python | Lane::Runtime | Lane::DeviceSteps => Some(OpKind::Other),
            Lane::Host if rows == Rows::ForCommunication => Some(OpKind::Communication),
            Lane::Host => None,
        };
        builder.signature_of(&entry)
    }
}
