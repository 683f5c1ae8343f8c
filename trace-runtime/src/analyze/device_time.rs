//! Device time of host ops: the time of the work on devices that each op launched.

use super::forest::{Forest, NONE};
use super::nesting::{Nesting, parent_index};
use crate::model::{EntryView, TraceView};
use std::cell::OnceCell;

/// Device time of each host op of a trace, in nanoseconds.
///
/// *Device time* is the sum of the self times of entries on accelerators (every device but `cpu`). Two
/// kernels that run at once on two streams count twice, as in torch's CUDA columns; the union is
/// [`DeviceActivity::busy_ns`](super::DeviceActivity::busy_ns).
///
/// Each piece of device time belongs to exactly one host op, the nearest one among the parents of the
/// device entry, or to none: `sum of self_ns over all entries + unattributed_ns` is all device time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceTimes {
    /// By entry; empty if no entry ran on an accelerator.
    self_ns: Vec<u64>,
    total_ns: Vec<u64>,
    /// The nearest host entry among the parents of each entry.
    above: Vec<u32>,
    attributed_ns: u64,
    unattributed_ns: u64,
    /// True if some host op was launched by an op of another thread, or is below an op on a device.
    handed_over: bool,
}

impl DeviceTimes {
    /// Device time that the entry at `index` launched itself. 0 for entries on an accelerator, and for an index outside
    /// the trace.
    pub fn self_ns(&self, index: usize) -> u64 {
        self.self_ns.get(index).copied().unwrap_or(0)
    }

    /// Device time that the entry at `index`, or an op inside it, launched. An op that was handed to
    /// another thread counts as inside the op that handed it over.
    pub fn total_ns(&self, index: usize) -> u64 {
        self.total_ns.get(index).copied().unwrap_or(0)
    }

    /// Device time whose host op is known.
    pub fn attributed_ns(&self) -> u64 {
        self.attributed_ns
    }

    /// Device time whose host op is unknown: the launch was not recorded, or was not linked to the work.
    pub fn unattributed_ns(&self) -> u64 {
        self.unattributed_ns
    }

    /// True if a host op may be below another one in the tree without running inside it: see [`Nesting`].
    pub(crate) fn handed_over(&self) -> bool {
        self.handed_over
    }

    /// True if most launches are missing. Then a host op without device time may have launched work too.
    pub(crate) fn launches_are_missing(&self) -> bool {
        self.unattributed_ns > self.attributed_ns
    }

    /// For each entry, true if it runs inside another entry of its group, on any thread. Empty if no
    /// entry has device time. `forest` keeps the tree of all calls for the next call of this function.
    pub(crate) fn inside_own_group(&self, group: &[u32], forest: &OnceCell<Forest>) -> Vec<bool> {
        if self.attributed_ns == 0 {
            return Vec::new();
        }
        let forest = forest.get_or_init(|| Forest::of(&self.above));
        forest.inside_own_group(&self.above, group)
    }
}

/// The device time of each host op.
///
/// ```
/// use trace_runtime::analyze::device_times;
/// use trace_runtime::model::{NewEntry, TraceStoreBuilder};
///
/// let mut builder = TraceStoreBuilder::new();
/// let (host, stream) = (builder.thread(None, None, None), builder.thread(None, None, None));
/// let linear = builder.push(&NewEntry::new("linear", host, 0, 10))?;
/// let addmm = NewEntry::new("addmm", host, 2, 5).with_parent(linear);
/// let addmm = builder.push(&addmm)?;
/// let kernel = NewEntry::new("gemm", stream, 6, 900);
/// builder.push(&kernel.with_parent(addmm).with_device_id("cuda:0"))?;
///
/// let times = device_times(&builder.finish());
/// assert_eq!((times.self_ns(linear), times.total_ns(linear)), (0, 900));
/// assert_eq!((times.self_ns(addmm), times.total_ns(addmm)), (900, 900));
/// # Ok::<(), trace_runtime::TraceError>(())
/// ```
pub fn device_times<T: TraceView + ?Sized>(trace: &T) -> DeviceTimes {
    device_times_in(trace, &Nesting::of(trace))
}

pub(crate) fn device_times_in<T: TraceView + ?Sized>(trace: &T, nesting: &Nesting) -> DeviceTimes {
    let count = trace.entry_count();
    let mut times = DeviceTimes::default();
    if !trace.views().any(|view| is_accelerator(&view)) {
        return times;
    }
    times.self_ns = vec![0; count];
    times.above = vec![NONE; count];
    let mut on_accelerator = vec![false; count];
    for (index, view) in trace.views().enumerate() {
        on_accelerator[index] = is_accelerator(&view);
        if let Some(parent) = parent_index(trace, index, &view) {
            times.above[index] = if on_accelerator[parent] {
                times.above[parent]
            } else {
                parent as u32
            };
        }
        if !on_accelerator[index] {
            times.handed_over |= nesting.parent(index) != times.above[index];
            continue;
        }
        let own = nesting.self_ns(index, &view);
        match times.self_ns.get_mut(times.above[index] as usize) {
            Some(sum) => {
                *sum = sum.saturating_add(own);
                times.attributed_ns = times.attributed_ns.saturating_add(own);
            }
            None => times.unattributed_ns = times.unattributed_ns.saturating_add(own),
        }
    }
    times.total_ns.clone_from(&times.self_ns);
    // Backwards, because parents come before their children.
    for index in (0..count).rev() {
        let launched = times.total_ns[index];
        if launched > 0
            && let Some(above) = times.total_ns.get_mut(times.above[index] as usize)
        {
            *above = above.saturating_add(launched);
        }
    }
    times
}

/// True if an entry ran on a device other than the host.
pub(crate) fn is_accelerator(view: &EntryView<'_>) -> bool {
    view.device_id().is_some_and(|device| device != "cpu")
}
