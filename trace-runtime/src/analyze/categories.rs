//! Time by category of work.

use super::communication::CommunicationRule;
use super::device_time::is_accelerator;
use super::grouping::Grouping;
use super::nesting::{Nesting, parent_index};
use super::op_category::OpCategory;
use crate::analyze::intervals::add_ns;
use crate::model::json_struct::json_struct;
use crate::model::{OpKind, TraceView};

/// The time of one category of work.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct CategoryTime {
    /// The category.
    pub category: OpCategory,
    /// Number of entries.
    pub count: usize,
    /// The self times of the entries added up, in nanoseconds.
    pub self_ns: u64,
    /// `self_ns` as a share of the sum over all categories.
    pub share: f64,
}

json_struct!(CategoryTime {
    required: [category, count, self_ns, share],
    optional: [],
});

/// Time by category, longest first: of the accelerators if there are any, otherwise of the host.
///
/// A kernel is sorted by its name and by the op that launched it; an op with an unknown name belongs to
/// the category of the op around it.
pub fn categories<T: TraceView + ?Sized>(trace: &T) -> Vec<CategoryTime> {
    Categorised::of(trace, &Nesting::of(trace)).times
}

/// Time by category, and by op within each category.
#[derive(Debug, Default)]
pub(crate) struct Categorised {
    pub(crate) times: Vec<CategoryTime>,
    /// Longest first.
    pub(crate) ops: Vec<CategorisedOp>,
}

/// The time of an op, or of the part of it that belongs to one category.
#[derive(Debug)]
pub(crate) struct CategorisedOp {
    pub(crate) operation: String,
    pub(crate) category: OpCategory,
    /// True if its kind is [`OpKind::Memory`].
    pub(crate) memory: bool,
    pub(crate) self_ns: u64,
}

impl Categorised {
    pub(crate) fn of<T: TraceView + ?Sized>(trace: &T, nesting: &Nesting) -> Categorised {
        let mut rule = CommunicationRule::default();
        let mut grouping = Grouping::new();
        let mut by_group: Vec<(bool, Option<OpCategory>)> = Vec::new();
        let mut groups = Vec::with_capacity(trace.entry_count());
        for view in trace.views() {
            let group = grouping.group(&view, |view| {
                Some((
                    view.operation(),
                    view.kind(),
                    is_accelerator(view),
                    rule.holds(view),
                ))
            });
            groups.push(group);
        }
        for &(name, kind, accelerator, communicates) in grouping.keys() {
            let named = match kind {
                _ if communicates => Some(OpCategory::Communication),
                Some(OpKind::Memory) => Some(OpCategory::Copy),
                _ if accelerator => OpCategory::of_kernel(name).or_else(|| OpCategory::of_op(name)),
                _ => OpCategory::of_op(name),
            };
            by_group.push((accelerator, named));
        }
        let on_devices = by_group.iter().any(|group| group.0);
        let mut times: Vec<CategoryTime> = OpCategory::ALL
            .map(|category| CategoryTime {
                category,
                ..CategoryTime::default()
            })
            .into();
        // By entry: its own category, else that of the entry around it.
        let mut found: Vec<Option<OpCategory>> = Vec::with_capacity(groups.len());
        let mut whole = 0u64;
        // By group and category; `None` if no entry has both.
        let mut by_op = vec![[None; OpCategory::ALL.len()]; by_group.len()];
        for (index, view) in trace.views().enumerate() {
            let (accelerator, named) = by_group[groups[index] as usize];
            let above = parent_index(trace, index, &view).and_then(|parent| found[parent]);
            let category = match (accelerator, named) {
                (_, Some(OpCategory::Communication)) => OpCategory::Communication,
                (true, named) => OpCategory::of_launched(named, above),
                (false, named) => named.or(above).unwrap_or_default(),
            };
            found.push(named.or(above));
            if accelerator == on_devices {
                let time = &mut times[category as usize];
                let own = nesting.self_ns(index, &view);
                time.count += 1;
                time.self_ns = time.self_ns.saturating_add(own);
                whole = whole.saturating_add(own);
                let sum = &mut by_op[groups[index] as usize][category as usize];
                add_ns(sum.get_or_insert(0), own);
            }
        }
        times.retain(|time| time.count > 0);
        for time in &mut times {
            time.share = time.self_ns as f64 / whole.max(1) as f64;
        }
        times.sort_by_key(|time| std::cmp::Reverse(time.self_ns));
        let mut ops: Vec<CategorisedOp> = Vec::new();
        for (&(name, kind, ..), sums) in grouping.keys().iter().zip(by_op) {
            let known = OpCategory::ALL.into_iter().zip(sums);
            ops.extend(known.filter_map(|(category, self_ns)| {
                Some(CategorisedOp {
                    operation: name.to_owned(),
                    category,
                    memory: kind == Some(OpKind::Memory),
                    self_ns: self_ns?,
                })
            }));
        }
        ops.sort_by(|a, b| {
            b.self_ns
                .cmp(&a.self_ns)
                .then_with(|| a.operation.cmp(&b.operation))
                .then_with(|| a.category.cmp(&b.category))
        });
        Categorised { times, ops }
    }
}
