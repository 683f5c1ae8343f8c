//! Recognises ops that communicate between devices or ranks.

use crate::model::hash::FastMap;
use crate::model::{EntryView, OpKind};

/// Parts of the names of communication ops, in lower case.
const NAME_PARTS: [&str; 12] = [
    "allreduce",
    "all_gather",
    "reduce_scatter",
    "broadcast",
    "send",
    "recv",
    "comm",
    "all_reduce",
    "allgather",
    "all_to_all",
    "alltoall",
    "reducescatter",
];

/// Decides which entries are communication, once for each signature and each name.
#[derive(Debug, Default)]
pub(crate) struct CommunicationRule<'a> {
    by_name: FastMap<&'a str, bool>,
    by_signature: Vec<Option<bool>>,
}

impl<'a> CommunicationRule<'a> {
    /// True if the entry is communication: its kind decides if it has one, else its name.
    pub(crate) fn holds(&mut self, view: &EntryView<'a>) -> bool {
        if let Some(kind) = view.kind() {
            return kind == OpKind::Communication;
        }
        let Some(signature) = view.signature() else {
            return self.by_name(view.operation());
        };
        let signature = signature as usize;
        if signature >= self.by_signature.len() {
            self.by_signature.resize(signature + 1, None);
        }
        if let Some(known) = self.by_signature[signature] {
            return known;
        }
        let holds = self.by_name(view.operation());
        self.by_signature[signature] = Some(holds);
        holds
    }

    fn by_name(&mut self, name: &'a str) -> bool {
        *self
            .by_name
            .entry(name)
            .or_insert_with(|| names_communication(name))
    }
}

fn names_communication(name: &str) -> bool {
    let name = name.to_lowercase().replace('-', "_");
    NAME_PARTS.iter().any(|part| name.contains(part))
}
