//! Collapsed stacks: the input of flame graph tools.

use super::forest::NONE;
use super::grouping::Grouping;
use super::nesting::{Nesting, parent_index};
use crate::model::TraceView;
use std::collections::HashMap;
use std::fmt::Write as _;

/// The weight of deeper ops is added to the op at this depth. A line contains its whole stack, so the text of a
/// recursion would grow with the square of its depth.
const MAX_DEPTH: u32 = 512;

/// Lines of `trace;device;outer;inner weight`: see
/// [`TraceAnalyzer::flamegraph_collapsed`](super::TraceAnalyzer::flamegraph_collapsed).
pub(crate) fn collapsed<T: TraceView + ?Sized>(trace: &T) -> String {
    let (stacks, keys) = Stacks::of(trace);
    let frames: Vec<(String, String)> = keys
        .iter()
        .map(|frame| {
            let device = escape(frame.device.unwrap_or("unknown"));
            let label = frame.label.map(|label| format!(" {label}"));
            let op = escape(&format!("{}{}", frame.operation, label.unwrap_or_default()));
            (device, op)
        })
        .collect();
    lines(&stacks, |node| {
        let mut text = format!("trace;{}", frames[node.group as usize].0);
        for outer in stacks.path(node) {
            text.push(';');
            text.push_str(&frames[outer.group as usize].1);
        }
        text
    })
}

/// A line for each stack, sorted; stacks with the same text are added up.
pub(super) fn lines(stacks: &Stacks, text: impl Fn(&Node) -> String) -> String {
    let mut lines: Vec<(String, u64)> = stacks
        .nodes
        .iter()
        .map(|node| (text(node), node.weight))
        .collect();
    lines.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    lines.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 = kept.1.saturating_add(next.1);
        }
        same
    });
    let mut text = String::new();
    for (stack, weight) in lines {
        let line_break = if text.is_empty() { "" } else { "\n" };
        // Writing to a String cannot fail.
        let _ = write!(text, "{line_break}{stack} {weight}");
    }
    text
}

/// An op on a device; executions with different labels are different frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Frame<'a> {
    pub(super) device: Option<&'a str>,
    pub(super) operation: &'a str,
    pub(super) label: Option<&'a str>,
}

/// Every distinct stack once, as a tree of ops and their devices.
#[derive(Default)]
pub(super) struct Stacks {
    nodes: Vec<Node>,
    roots: Vec<u32>,
    inner: HashMap<(u32, u32), u32>,
}

pub(super) struct Node {
    above: u32,
    depth: u32,
    /// The number of its op and device.
    pub(super) group: u32,
    weight: u64,
}

impl Stacks {
    /// The stacks of a trace with their weights, and the device and op of each group.
    pub(super) fn of<T: TraceView + ?Sized>(trace: &T) -> (Stacks, Vec<Frame<'_>>) {
        let nesting = Nesting::of(trace);
        let mut grouping = Grouping::new();
        let mut stacks = Stacks::default();
        let mut node_of: Vec<u32> = Vec::with_capacity(trace.entry_count());
        for (index, view) in trace.views().enumerate() {
            let group = grouping.group(&view, |view| {
                Some(Frame {
                    device: view.device_id(),
                    operation: view.operation(),
                    label: view.label(),
                })
            });
            // Work that was handed to another thread is drawn on the op that handed it over.
            let above = parent_index(trace, index, &view).map_or(NONE, |parent| node_of[parent]);
            let node = stacks.node(above, group);
            node_of.push(node);
            let weight = nesting.self_us(index, &view).max(1.0).round() as u64;
            let sum = &mut stacks.nodes[node as usize].weight;
            *sum = sum.saturating_add(weight);
        }
        let keys = grouping.keys().to_vec();
        (stacks, keys)
    }

    /// The nodes from the outermost op to this one.
    pub(super) fn path<'a>(&'a self, node: &'a Node) -> Vec<&'a Node> {
        let mut path = vec![node];
        let mut above = node.above;
        while let Some(outer) = self.nodes.get(above as usize) {
            path.push(outer);
            above = outer.above;
        }
        path.reverse();
        path
    }

    fn node(&mut self, above: u32, group: u32) -> u32 {
        let next = self.nodes.len() as u32;
        let (slot, depth) = match self.nodes.get(above as usize) {
            Some(outer) if outer.depth == MAX_DEPTH => return above,
            Some(outer) => (
                self.inner.entry((above, group)).or_insert(NONE),
                outer.depth + 1,
            ),
            // A table and not a map, because in a flat trace every entry is handled here.
            None => {
                if group as usize >= self.roots.len() {
                    self.roots.resize(group as usize + 1, NONE);
                }
                (&mut self.roots[group as usize], 1)
            }
        };
        if *slot == NONE {
            *slot = next;
            self.nodes.push(Node {
                above,
                depth,
                group,
                weight: 0,
            });
        }
        *slot
    }
}

/// Escapes the characters of a name that would end a frame or a line: `%` and two hex digits for each of
/// their bytes.
pub(super) fn escape(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for c in name.chars() {
        if matches!(c, ';' | ' ' | '%' | '\u{2028}' | '\u{2029}') || c.is_control() {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(escaped, "%{byte:02X}");
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}
