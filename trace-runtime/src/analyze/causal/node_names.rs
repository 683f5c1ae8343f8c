//! Numbers for the names of nodes, which are long and repeat.

use super::CausalModel;
use super::piece::Node;
use crate::analyze::forest::NONE;
use crate::model::TraceView;
use crate::model::hash::FastMap;

/// The number of the empty name, for time outside ops.
pub(super) const NO_NAME: u32 = 0;

/// The names that were requested, by number.
#[derive(Debug)]
pub(super) struct NodeNames<'a> {
    names: Vec<&'a str>,
    numbers: FastMap<&'a str, u32>,
    /// The number of the name of each signature; [`NONE`] if it is not known yet.
    by_signature: Vec<u32>,
}

impl Default for NodeNames<'_> {
    fn default() -> Self {
        NodeNames {
            names: vec![""],
            numbers: FastMap::from_iter([("", NO_NAME)]),
            by_signature: Vec::new(),
        }
    }
}

impl<'a> NodeNames<'a> {
    /// The number of a node's name.
    pub(super) fn number<T: TraceView + ?Sized>(
        &mut self,
        model: &CausalModel<'a, T>,
        node: u32,
    ) -> u32 {
        let signature = match Node::of(node, model.trace.entry_count()) {
            Node::Entry(index) => {
                let view = model.trace.view(index);
                view.signature().map(|signature| signature as usize)
            }
            _ => None,
        };
        if let Some(&known) = signature.and_then(|signature| self.by_signature.get(signature))
            && known != NONE
        {
            return known;
        }
        let name = model.name(node);
        let number = *self.numbers.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.names.len() as u32 - 1
        });
        if let Some(signature) = signature {
            if signature >= self.by_signature.len() {
                self.by_signature.resize(signature + 1, NONE);
            }
            self.by_signature[signature] = number;
        }
        number
    }

    /// All names, in the order of their numbers.
    pub(super) fn names(&self) -> &[&'a str] {
        &self.names
    }
}
