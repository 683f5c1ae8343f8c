//! The call tree: which op ran inside which, with equal stacks merged.

use super::forest::{Forest, NONE, Visit};
use super::grouping::Grouping;
use super::nesting::{Nesting, active_ns, parent_index};
use crate::model::TraceView;
use crate::model::json_struct::json_struct;
use std::collections::HashMap;

/// Every distinct stack of ops, with its executions on all threads added up.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct CallTree {
    /// Each node before its children, siblings by total, longest first. A list rather than nested nodes, because a
    /// recursion may have as many levels as the trace has entries.
    pub nodes: Vec<CallNode>,
}

json_struct!(CallTree {
    required: [nodes],
    optional: [],
});

/// Makes a tree of these nodes, such as some nodes of another tree.
impl From<Vec<CallNode>> for CallTree {
    fn from(nodes: Vec<CallNode>) -> CallTree {
        CallTree { nodes }
    }
}

/// An op at one position of the tree: under one distinct stack of callers.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct CallNode {
    /// The op's name.
    pub operation: String,
    /// The instance of the op, such as the layer `layers.3.attn`, if it has one.
    pub label: Option<String>,
    /// Number of ops above it; 0 for a root.
    pub depth: usize,
    /// Number of executions under these callers.
    pub count: usize,
    /// Time spent in it in nanoseconds, without time in which it was suspended.
    pub total_ns: u64,
    /// The part of the total that was not spent in ops inside it on the same thread, in nanoseconds.
    pub self_ns: u64,
}

json_struct!(CallNode {
    required: [operation, depth, count, total_ns, self_ns],
    optional: [label],
});

/// The call tree. Executions with different labels are different nodes. Work that was handed to another thread is a
/// child of the op that handed it over.
pub fn call_tree<T: TraceView + ?Sized>(trace: &T) -> CallTree {
    let nesting = Nesting::of(trace);
    let mut grouping = Grouping::new();
    let mut ids: HashMap<(u32, u32), u32> = HashMap::new();
    let mut merged: Vec<(CallNode, u32, u32)> = Vec::new();
    let mut node_of: Vec<u32> = Vec::with_capacity(trace.entry_count());
    for (index, view) in trace.views().enumerate() {
        let group = grouping.group(&view, |view| Some((view.operation(), view.label())));
        let above = parent_index(trace, index, &view).map_or(NONE, |parent| node_of[parent]);
        let id = *ids.entry((above, group)).or_insert_with(|| {
            merged.push((CallNode::default(), above, group));
            merged.len() as u32 - 1
        });
        node_of.push(id);
        let node = &mut merged[id as usize].0;
        node.count += 1;
        node.total_ns = node.total_ns.saturating_add(active_ns(&view));
        node.self_ns = node.self_ns.saturating_add(nesting.self_ns(index, &view));
    }

    // Sorted by depth, then by total, longest first. Parents still come before their children.
    let mut depth = vec![0usize; merged.len()];
    for id in 0..merged.len() {
        depth[id] = depth
            .get(merged[id].1 as usize)
            .map_or(0, |above| above + 1);
    }
    let mut order: Vec<usize> = (0..merged.len()).collect();
    order.sort_by_key(|&id| (depth[id], std::cmp::Reverse(merged[id].0.total_ns), id));
    let mut place = vec![NONE; merged.len()];
    for (position, &id) in order.iter().enumerate() {
        place[id] = position as u32;
    }
    let parents: Vec<u32> = order
        .iter()
        .map(|&id| place.get(merged[id].1 as usize).copied().unwrap_or(NONE))
        .collect();
    let mut nodes = Vec::with_capacity(merged.len());
    Forest::of(&parents).walk(&parents, |visit| {
        if let Visit::Enter(position) = visit {
            let id = order[position];
            let (node, _, group) = &merged[id];
            let (operation, label) = grouping.keys()[*group as usize];
            nodes.push(CallNode {
                operation: operation.to_owned(),
                label: label.map(str::to_owned),
                depth: depth[id],
                ..node.clone()
            });
        }
    });
    CallTree { nodes }
}
