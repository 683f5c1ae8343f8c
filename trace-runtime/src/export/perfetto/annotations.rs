//! The debug annotations of a slice in a Perfetto trace, with strings by number.

use super::packets::{Packets, Pool};
use crate::export::json_text::shapes;
use crate::export::protobuf::Message;
use crate::model::pause::pauses_text;
use crate::model::{EntryView, Outcome, Tensors};
use std::io::Write;

/// Collects the annotations of one slice after another.
///
/// Annotations that depend only on an entry's signature are made once per signature.
#[derive(Debug, Default)]
pub(super) struct Annotations {
    by_signature: Vec<Option<Box<[Annotation]>>>,
    list: Vec<Annotation>,
    /// The numbers of the names that most slices have, by [`Common`].
    common: [Option<u64>; 4],
}

/// Names that most slices have, looked up once.
#[derive(Debug, Clone, Copy)]
enum Common {
    Step,
    Parent,
    OutputElements,
    OutputBytes,
}

impl Common {
    fn name(self) -> &'static str {
        match self {
            Common::Step => "step",
            Common::Parent => "parent",
            Common::OutputElements => "Output elements",
            Common::OutputBytes => "Output bytes",
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Annotation {
    Number {
        name: u64,
        value: u64,
    },
    /// A string of [`Pool::AnnotationValues`].
    Text {
        name: u64,
        value: u64,
    },
}

impl Annotations {
    /// Collects the annotations of an entry.
    pub(super) fn read<W: Write>(&mut self, packets: &mut Packets<W>, view: &EntryView<'_>) {
        self.list.clear();
        self.common(packets, Common::Step, view.step() as u64);
        if let Some(parent) = view.parent() {
            self.common(packets, Common::Parent, parent as u64);
        }
        if view.output_elements() > 0 {
            let elements = view.output_elements() as u64;
            self.common(packets, Common::OutputElements, elements);
        }
        if view.memory_bytes() > 0 {
            self.common(packets, Common::OutputBytes, view.memory_bytes() as u64);
        }
        if view.outcome() != Outcome::Ok {
            self.text(packets, "outcome", view.outcome().name());
        }
        if view.suspended_ns() > 0 {
            self.number(packets, "suspended ns", view.suspended_ns());
        }
        if !view.pauses().is_empty() {
            self.text(packets, "pauses", &pauses_text(view.pauses()));
        }
        for (key, value) in view.meta().into_iter().flatten() {
            self.text(packets, &format!("meta.{key}"), value);
        }
        let Some(signature) = view.signature() else {
            return self.read_signature(packets, view);
        };
        let signature = signature as usize;
        if signature >= self.by_signature.len() {
            self.by_signature.resize(signature + 1, None);
        }
        if let Some(known) = &self.by_signature[signature] {
            self.list.extend_from_slice(known);
            return;
        }
        let first = self.list.len();
        self.read_signature(packets, view);
        self.by_signature[signature] = Some(self.list[first..].into());
    }

    /// Adds the collected annotations to a track event.
    pub(super) fn write(&self, event: &mut Message) {
        const DEBUG_ANNOTATIONS: u32 = 4;
        const NAME_IID: u32 = 1;
        const UINT_VALUE: u32 = 3;
        const STRING_VALUE_IID: u32 = 17;
        for annotation in &self.list {
            event.message(DEBUG_ANNOTATIONS, |message| {
                let (name, field, value) = match *annotation {
                    Annotation::Number { name, value } => (name, UINT_VALUE, value),
                    Annotation::Text { name, value } => (name, STRING_VALUE_IID, value),
                };
                message.number(NAME_IID, name);
                message.number(field, value);
            });
        }
    }

    fn read_signature<W: Write>(&mut self, packets: &mut Packets<W>, view: &EntryView<'_>) {
        self.tensors(packets, ("Input Dims", "Input type"), view.inputs());
        self.tensors(packets, ("Output Dims", "Output type"), view.outputs());
        if let Some(device) = view.device_id() {
            self.text(packets, "device id", device);
        }
        if let Some(label) = view.label() {
            self.text(packets, "label", label);
        }
        if let Some(location) = view.location() {
            self.text(packets, "location", location);
        }
        if let Some(flops) = view.flops() {
            self.number(packets, "flops", flops);
        }
        if let Some(bytes) = view.bytes_moved() {
            self.number(packets, "bytes moved", bytes);
        }
    }

    fn tensors<W: Write>(
        &mut self,
        packets: &mut Packets<W>,
        (dims_name, type_name): (&str, &str),
        tensors: Tensors<'_>,
    ) {
        if tensors.clone().next().is_none() {
            return;
        }
        let mut dims = Vec::new();
        // Writing to a vector cannot fail, and digits are UTF-8.
        let _ = shapes(&mut dims, tensors.clone().map(|tensor| tensor.dims));
        self.text(packets, dims_name, &String::from_utf8_lossy(&dims));
        let types: Vec<&str> = tensors.map(|tensor| tensor.dtype.name()).collect();
        self.text(packets, type_name, &types.join(", "));
    }

    fn common<W: Write>(&mut self, packets: &mut Packets<W>, which: Common, value: u64) {
        let name = *self.common[which as usize]
            .get_or_insert_with(|| packets.intern(Pool::AnnotationNames, which.name()));
        self.list.push(Annotation::Number { name, value });
    }

    fn number<W: Write>(&mut self, packets: &mut Packets<W>, name: &str, value: u64) {
        let name = packets.intern(Pool::AnnotationNames, name);
        self.list.push(Annotation::Number { name, value });
    }

    fn text<W: Write>(&mut self, packets: &mut Packets<W>, name: &str, value: &str) {
        let name = packets.intern(Pool::AnnotationNames, name);
        let value = packets.intern(Pool::AnnotationValues, value);
        self.list.push(Annotation::Text { name, value });
    }
}
