//! Sums by stack, of the whole trace and of each step: flame graph and call tree.

use super::blob::Blob;
use crate::analyze::{Grouping, parent_index, self_times_ns, step_of_entries};
use crate::model::TraceView;
use std::collections::{BTreeMap, HashMap};
use std::io;

/// Stacks in a page, at most. If there are more, those with the least time are added to the stack around them.
const MOST_STACKS: usize = 50_000;
/// Sums by step and stack, at most. If there are more, the flame graph is always that of all steps.
const MOST_SUMS: usize = 1 << 20;
const NONE: u32 = u32::MAX;

/// All stacks of a trace.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    nodes: Vec<Node>,
    /// Op and label.
    names: Vec<(String, Option<String>)>,
    /// By step number, then by stack.
    by_step: BTreeMap<u64, Vec<Sum>>,
    /// True if there are too many sums for `by_step`.
    pub(super) steps_missing: bool,
    /// Number of stacks that were added to the stack around them.
    pub(super) pruned: usize,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    above: u32,
    name: u32,
    sum: Sum,
}

/// Figures of one stack, without those of the ops inside it.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    count: u64,
    total_ns: u64,
    self_ns: u64,
    /// The part of the self time that is on a device.
    device_ns: u64,
    /// Bytes of its outputs.
    bytes: u64,
}

impl Sum {
    fn add(&mut self, other: Sum) {
        self.count += other.count;
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.self_ns = self.self_ns.saturating_add(other.self_ns);
        self.device_ns = self.device_ns.saturating_add(other.device_ns);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    /// Adds the figures of a stack inside this one, except for its calls.
    fn take_over(&mut self, inner: Sum) {
        let rest = Sum {
            count: 0,
            total_ns: 0,
            ..inner
        };
        self.add(rest);
    }
}

impl Stacks {
    pub(super) fn of(trace: &dyn TraceView) -> Stacks {
        let self_ns = self_times_ns(trace);
        let mut stacks = Stacks::default();
        let mut grouping = Grouping::new();
        let mut ids: HashMap<(u32, u32), u32> = HashMap::new();
        let mut stack_of: Vec<u32> = Vec::with_capacity(trace.entry_count());
        let mut sums: Vec<Sum> = Vec::with_capacity(trace.entry_count());
        for (index, view) in trace.views().enumerate() {
            let name = grouping.group(&view, |view| Some((view.operation(), view.label())));
            let above = parent_index(trace, index, &view).map_or(NONE, |at| stack_of[at]);
            let id = *ids.entry((above, name)).or_insert_with(|| {
                stacks.nodes.push(Node {
                    above,
                    name,
                    sum: Sum::default(),
                });
                stacks.nodes.len() as u32 - 1
            });
            stack_of.push(id);
            let on_device = view.device_id().is_some_and(|device| device != "cpu");
            let own = self_ns[index];
            let sum = Sum {
                count: 1,
                total_ns: view.duration_ns().saturating_sub(view.suspended_ns()),
                self_ns: own,
                device_ns: if on_device { own } else { 0 },
                bytes: view.memory_bytes() as u64,
            };
            stacks.nodes[id as usize].sum.add(sum);
            sums.push(sum);
        }
        let names = grouping.keys().iter();
        stacks.names = names
            .map(|(operation, label)| ((*operation).to_owned(), label.map(str::to_owned)))
            .collect();
        stacks.add_up_steps(trace, &stack_of, &sums);
        stacks.prune();
        stacks
    }

    fn add_up_steps(&mut self, trace: &dyn TraceView, stack_of: &[u32], sums: &[Sum]) {
        let steps = trace.steps();
        let mut numbers: Vec<u64> = steps.iter().map(|step| step.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.len().saturating_mul(self.nodes.len()) > MOST_SUMS {
            self.steps_missing = true;
            return;
        }
        let empty = vec![Sum::default(); self.nodes.len()];
        for number in numbers {
            self.by_step.insert(number, empty.clone());
        }
        for (index, step) in step_of_entries(trace).into_iter().enumerate() {
            let number = step.map(|step| steps[step].number);
            if let Some(step) = number.and_then(|number| self.by_step.get_mut(&number)) {
                step[stack_of[index] as usize].add(sums[index]);
            }
        }
    }

    /// Adds stacks with little time to the stack around them until few enough are left.
    fn prune(&mut self) {
        if self.nodes.len() <= MOST_STACKS {
            return;
        }
        let mut whole: Vec<u64> = self.nodes.iter().map(|node| node.sum.self_ns).collect();
        for index in (0..self.nodes.len()).rev() {
            let own = whole[index];
            if let Some(above) = whole.get_mut(self.nodes[index].above as usize) {
                *above = above.saturating_add(own);
            }
        }
        let mut sorted = whole.clone();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let least = sorted[MOST_STACKS - 1].max(1);
        // A stack has at least the time of the stacks inside it, so the stack around a kept stack is kept too.
        let mut number = vec![NONE; self.nodes.len()];
        let mut kept: Vec<Node> = Vec::new();
        let mut by_step: BTreeMap<u64, Vec<Sum>> = BTreeMap::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let above = number.get(node.above as usize).copied().unwrap_or(NONE);
            let matters = whole[index] >= least || node.above == NONE;
            if matters && kept.len() < MOST_STACKS {
                number[index] = kept.len() as u32;
                kept.push(Node { above, ..*node });
                for (&step, sums) in &self.by_step {
                    by_step.entry(step).or_default().push(sums[index]);
                }
                continue;
            }
            self.pruned += 1;
            number[index] = above;
            if let Some(around) = kept.get_mut(above as usize) {
                around.sum.take_over(node.sum);
                for (step, sums) in &mut by_step {
                    sums[above as usize].take_over(self.by_step[step][index]);
                }
            }
        }
        (self.nodes, self.by_step) = (kept, by_step);
    }

    pub(super) fn write(&self, blob: &mut Blob) -> io::Result<()> {
        blob.fact("stack_names", &self.names)?;
        let above = |node: &Node| u64::from(node.above.wrapping_add(1));
        blob.differences("stack_above", self.nodes.iter().map(above));
        let name = |node: &Node| u64::from(node.name);
        blob.numbers("stack_name", self.nodes.iter().map(name));
        let sums: Vec<(u64, &Sum)> = self.nodes.iter().map(|node| (0, &node.sum)).collect();
        write_sums(blob, SUMS, &sums);
        let steps: Vec<u64> = self.by_step.keys().copied().collect();
        blob.fact("stack_steps", &steps)?;
        let used: Vec<Vec<(u64, &Sum)>> = self
            .by_step
            .values()
            .map(|sums| {
                let used = (0u64..).zip(sums).filter(|(_, sum)| sum.count > 0);
                used.collect()
            })
            .collect();
        blob.numbers("step_stacks", used.iter().map(|step| step.len() as u64));
        let flat: Vec<(u64, &Sum)> = used.into_iter().flatten().collect();
        blob.differences("step_stack", flat.iter().map(|(stack, _)| *stack));
        write_sums(blob, STEP_SUMS, &flat);
        Ok(())
    }
}

const SUMS: [&str; 5] = [
    "stack_count",
    "stack_total",
    "stack_self",
    "stack_device",
    "stack_bytes",
];
const STEP_SUMS: [&str; 5] = [
    "step_stack_count",
    "step_stack_total",
    "step_stack_self",
    "step_stack_device",
    "step_stack_bytes",
];

fn write_sums(blob: &mut Blob, names: [&'static str; 5], sums: &[(u64, &Sum)]) {
    let figures: [fn(&Sum) -> u64; 5] = [
        |sum| sum.count,
        |sum| sum.total_ns,
        |sum| sum.self_ns,
        |sum| sum.device_ns,
        |sum| sum.bytes,
    ];
    for (name, figure) in names.into_iter().zip(figures) {
        blob.numbers(name, sums.iter().map(|(_, sum)| figure(sum)));
    }
}
