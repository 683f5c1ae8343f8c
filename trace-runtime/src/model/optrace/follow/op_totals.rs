//! Totals by op, updated row by row.

use crate::model::PauseKind;
use crate::model::chunk::{NO_PARENT, PackedRow, Row};
use crate::model::ticks::TickScale;
use std::collections::{BTreeMap, HashMap};
use trace_core::__engine::rows::{OpRef, RawExtra};

/// All executions of one op in a recording so far, in nanoseconds. The definitions are those of
/// [`OpRow`](crate::analyze::OpRow), except for the waiting time, which is only the time that the recorder measured.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LiveOp {
    /// The op's name.
    pub operation: String,
    /// Executions that have ended.
    pub calls: u64,
    /// Time spent in it, without the time in which async executions were suspended. An execution inside another one of
    /// the same op adds nothing. Open executions are included.
    pub total_ns: u64,
    /// The part of the total that was not spent in ops inside it.
    pub self_ns: u64,
    /// The time in which it waited in the expression of `sync`, or was suspended.
    pub waiting_ns: u64,
    /// The longest execution that has ended.
    pub max_ns: u64,
    /// Executions that are open.
    pub open: u64,
}

/// Totals by the number of an op, without open executions.
#[derive(Debug, Default)]
pub(super) struct OpTotals {
    ops: Vec<LiveOp>,
    numbers: HashMap<String, u32>,
    threads: HashMap<u32, Thread>,
    /// Time of the ops inside async ops that have not ended, by the number of the task.
    tasks: HashMap<u32, Inside>,
}

/// The open ops of a thread in which other ops have ended, by step.
#[derive(Debug, Default)]
struct Thread {
    open: BTreeMap<u32, Inside>,
}

/// The times of the ops that have ended inside an op.
#[derive(Debug, Default)]
struct Inside {
    /// Time of its direct children.
    children_ns: u64,
    /// By the number of an op, the time that its executions inside this one add to its total.
    totals: BTreeMap<u32, u64>,
}

/// The most async ops that are kept. If there are more, those whose end was not recorded are dropped.
const MOST_TASKS: usize = 1 << 16;
/// The most levels of open ops. The time of deeper ops is not subtracted from the ops around them.
const MOST_LEVELS: usize = 1 << 12;

impl OpTotals {
    pub(super) fn number_of(&mut self, operation: &str) -> u32 {
        if let Some(known) = self.numbers.get(operation) {
            return *known;
        }
        let number = self.ops.len() as u32;
        self.numbers.insert(operation.to_owned(), number);
        self.ops.push(LiveOp {
            operation: operation.to_owned(),
            ..LiveOp::default()
        });
        number
    }

    /// Adds an execution that has ended. The rows of a log are added in the order in which they ended.
    pub(super) fn add(
        &mut self,
        log: u32,
        op: u32,
        row: Row,
        extra: Option<&RawExtra>,
        scale: TickScale,
    ) {
        let ticks = extra
            .and_then(|extra| extra.duration)
            .unwrap_or(row.duration);
        let whole = ns_between(scale, row.start, row.start.saturating_add(ticks));
        let suspended = extra.map_or(0, |extra| {
            ns_between(scale, row.start, row.start.saturating_add(extra.suspended))
        });
        let duration = whole.saturating_sub(suspended);
        let thread = self.threads.entry(log).or_default();
        let task = extra.and_then(|extra| extra.task);
        let mut inside = match task {
            Some(task) => self.tasks.remove(&task).unwrap_or_default(),
            None => thread.take(row.step),
        };
        let Some(known) = self.ops.get_mut(op as usize) else {
            return;
        };
        let nested = inside.totals.insert(op, duration).unwrap_or(0);
        known.calls += 1;
        add_to(&mut known.total_ns, duration.saturating_sub(nested));
        add_to(
            &mut known.self_ns,
            duration.saturating_sub(inside.children_ns),
        );
        add_to(&mut known.waiting_ns, suspended);
        add_to(
            &mut known.waiting_ns,
            synced_ns(row.start, extra, ticks, scale),
        );
        known.max_ns = known.max_ns.max(whole);
        inside.children_ns = duration;
        match extra.and_then(|extra| extra.parent) {
            Some(OpRef::Task(parent)) => {
                if self.tasks.len() >= MOST_TASKS {
                    self.tasks.clear();
                }
                self.tasks.entry(parent).or_default().add(inside);
            }
            // The parent is on another thread and runs at the same time, so its time is not reduced.
            Some(OpRef::OnThread { .. }) => {}
            None if row.parent == NO_PARENT => {}
            None => thread.add(row.parent, inside),
        }
    }

    /// All ops, in the order of their numbers, with the open executions until `now`. `open` has the ops of each log,
    /// the outermost first, with their numbers.
    pub(super) fn at(
        &self,
        now: u64,
        open: &[(u32, Vec<(u32, PackedRow)>)],
        scale: TickScale,
    ) -> Vec<LiveOp> {
        let mut ops = self.ops.clone();
        for (log, stack) in open {
            let rows: Vec<(u32, Row)> = stack
                .iter()
                .map(|(op, row)| (*op, Row::unpack(*row)))
                .collect();
            for (depth, (op, row)) in rows.iter().enumerate() {
                let Some(known) = ops.get_mut(*op as usize) else {
                    continue;
                };
                let duration = ns_between(scale, row.start, now);
                let inside = self
                    .threads
                    .get(log)
                    .and_then(|thread| thread.open.get(&row.step));
                let ended = inside.map_or(0, |inside| inside.children_ns);
                let open_child = rows.get(depth + 1);
                let open_child = open_child.map_or(0, |(_, row)| ns_between(scale, row.start, now));
                known.open += 1;
                let own = duration.saturating_sub(ended).saturating_sub(open_child);
                add_to(&mut known.self_ns, own);
                let is_outermost = rows[..depth].iter().all(|(around, _)| around != op);
                if is_outermost {
                    // Executions that ended inside an open one are part of its time.
                    let steps = rows[depth..].iter().map(|(_, row)| row.step);
                    let nested = self.threads.get(log).map_or(0, |thread| {
                        steps
                            .filter_map(|step| thread.open.get(&step)?.totals.get(op))
                            .fold(0u64, |sum, ns| sum.saturating_add(*ns))
                    });
                    add_to(&mut known.total_ns, duration.saturating_sub(nested));
                }
            }
        }
        ops
    }
}

impl Thread {
    /// Removes and returns the times inside the op with this step, which has ended.
    fn take(&mut self, step: u32) -> Inside {
        let own = self.open.remove(&step).unwrap_or_default();
        // Ops that began after it have ended too, but their rows were not recorded.
        while self
            .open
            .last_key_value()
            .is_some_and(|(last, _)| *last > step)
        {
            self.open.pop_last();
        }
        own
    }

    fn add(&mut self, parent: u32, inside: Inside) {
        if self.open.len() >= MOST_LEVELS {
            self.open.pop_first();
        }
        self.open.entry(parent).or_default().add(inside);
    }
}

impl Inside {
    fn add(&mut self, mut child: Inside) {
        add_to(&mut self.children_ns, child.children_ns);
        if child.totals.len() > self.totals.len() {
            std::mem::swap(&mut self.totals, &mut child.totals);
        }
        for (op, ns) in child.totals {
            add_to(self.totals.entry(op).or_default(), ns);
        }
    }
}

/// Adds without overflow: the times in a damaged file may be anything.
fn add_to(sum: &mut u64, ns: u64) {
    *sum = sum.saturating_add(ns);
}

/// The time between two moments. Both are rounded to nanoseconds first, as in a trace.
fn ns_between(scale: TickScale, start: u64, end: u64) -> u64 {
    let ns = scale.ns(end).saturating_sub(scale.ns(start));
    u64::try_from(ns).unwrap_or(0)
}

/// The time in which the expression of `sync` ran.
fn synced_ns(start: u64, extra: Option<&RawExtra>, ticks: u64, scale: TickScale) -> u64 {
    let pauses = extra.and_then(|extra| extra.pauses.as_deref());
    let pauses = pauses.map_or(&[][..], |pauses| &pauses.0);
    let at = |since: u64| start.saturating_add(since.min(ticks));
    pauses
        .iter()
        .filter(|pause| pause.kind == PauseKind::Sync)
        .map(|pause| ns_between(scale, at(pause.from), at(pause.until)))
        .fold(0, u64::saturating_add)
}
