//! Findings: the causes of lost time, ranked by the time that could be saved.
//!
//! Each rule is a function in its own file, from [`Facts`] to findings. To add one: write the file,
//! list it in [`RULES`], give it a [`FindingKind`], and add a trace with and without it to
//! `tests/findings.rs`.

mod allocation;
mod caller;
mod copies;
mod data_loading;
mod device_work;
mod exposed_communication;
mod facts;
mod finding;
mod host_bound;
mod host_op;
mod idle;
mod launch_bound;
mod memory;
mod outside_ops;
mod slow_device;
mod slow_products;
mod slow_step;
mod straggler;
mod suspended;
mod synchronisations;
mod too_short;
mod windows;
mod within;

pub(crate) use facts::{Facts, HostTimes, Tables};
pub use finding::{Finding, FindingKind, FindingPart, Findings, Whole};

use super::causal::CausalModel;
use super::collectives::collectives;
use super::device_activity::device_sets;
use super::memory::{heap_by_shape, memory_growth};
use super::op_table::OpTables;
use super::step_table::step_table_in;
use super::structure::Structure;
use super::trust::{overhead_ns, too_short_to_trust};
use crate::model::TraceView;

type Rule = fn(&Facts<'_>) -> Vec<Finding>;

/// Every rule; the order does not matter.
const RULES: [Rule; 17] = [
    allocation::rule,
    outside_ops::rule,
    host_bound::rule,
    launch_bound::rule,
    synchronisations::rule,
    exposed_communication::rule,
    straggler::rule,
    host_op::rule,
    device_work::rule,
    copies::rule,
    data_loading::rule,
    slow_products::rule,
    slow_step::rule,
    suspended::rule,
    too_short::rule,
    memory::growth,
    memory::scratch,
];

/// The causes of lost time in a trace, those with the largest possible saving first.
///
/// [`Report::findings`](crate::report::Report) has the same list; use this if the tables of a report
/// are not needed.
pub fn findings<T: TraceView + ?Sized>(trace: &T) -> Findings {
    let structure = Structure::of(trace);
    let tables = OpTables::of(trace, &structure.nesting);
    let ops = tables.by_op();
    let (shapes, categorised) = (tables.by_shape(), tables.categorised());
    drop(tables);
    let devices = device_sets(trace, &structure);
    drop(structure);
    let causal = CausalModel::new(trace);
    let idle: Vec<_> = causal.idle().into_iter().map(|device| device.1).collect();
    let host_times = HostTimes::of(trace, &causal, &devices, &idle);
    let steps = step_table_in(trace, &idle, &causal.waiting_ns());
    let overhead = overhead_ns(trace);
    let untrusted = overhead.map_or_else(Vec::new, |ns| too_short_to_trust(&ops, ns));
    find(&Facts::of(
        trace,
        host_times,
        Tables {
            ops: &ops,
            shapes: &shapes,
            categorised: &categorised,
            devices: &devices,
            collectives: &collectives(trace),
            launches: &causal.launches(),
            untrusted: &untrusted,
            overhead_ns: overhead,
            steps: &steps,
            heap: &heap_by_shape(trace),
            growth: &memory_growth(trace),
        },
    ))
}

pub(crate) fn find(facts: &Facts<'_>) -> Findings {
    let mut list: Vec<Finding> = RULES.iter().flat_map(|rule| rule(facts)).collect();
    list.retain(|finding| finding.share >= LEAST_SHARE || finding.kind.is_about_memory());
    let won = |finding: &Finding| finding.share * finding.kind.winnable();
    let wait = |finding: &Finding| finding.kind.winnable() == 1.0 && finding.share >= LONG_WAIT;
    list.sort_by(|a, b| {
        wait(b)
            .cmp(&wait(a))
            .then_with(|| won(b).total_cmp(&won(a)))
            .then_with(|| a.kind.cmp(&b.kind))
            .then_with(|| a.subject.cmp(&b.subject))
    });
    within::mark(&mut list);
    within::drop_repeated(&mut list);
    Findings {
        whole: facts.whole,
        whole_ns: facts.whole_ns,
        list,
    }
}

/// Smaller findings, which would be shown with 0.0 %, are left out.
const LEAST_SHARE: f64 = 0.0005;
/// Waiting of at least this share comes before any work, because only a part of work can be saved.
const LONG_WAIT: f64 = 0.2;
