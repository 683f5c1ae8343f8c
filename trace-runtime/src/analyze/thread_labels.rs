//! Distinct names for threads.

use crate::model::TraceView;
use std::collections::{BTreeMap, HashMap};

/// A thread of a rank, as entries refer to it.
pub type ThreadKey = (Option<u32>, Option<u64>);

/// A label for each thread that has entries, distinct within its rank.
///
/// The label is the thread's name. Threads of one rank with the same name are numbered in the order of their first
/// entries: `worker #1`, `worker #2`. A thread without a name is `thread 7`; entries without a thread have the label
/// `ops`.
pub fn thread_labels<T: TraceView + ?Sized>(trace: &T) -> BTreeMap<ThreadKey, String> {
    let mut order: Vec<ThreadKey> = Vec::new();
    let mut labels: BTreeMap<ThreadKey, String> = BTreeMap::new();
    let mut last = None;
    for view in trace.views() {
        let key = (view.rank(), view.thread());
        // Entries of one thread are mostly next to each other.
        if last == Some(key) {
            continue;
        }
        last = Some(key);
        labels.entry(key).or_insert_with(|| {
            order.push(key);
            match key.1 {
                None => "ops".to_owned(),
                Some(thread) => match trace.thread_name(key.0, thread) {
                    Some(name) => name.to_owned(),
                    None => format!("thread {thread}"),
                },
            }
        });
    }
    let mut same: HashMap<(Option<u32>, String), Vec<ThreadKey>> = HashMap::new();
    for key in order {
        let name = (key.0, labels[&key].clone());
        same.entry(name).or_default().push(key);
    }
    for ((_, name), keys) in same.into_iter().filter(|(_, keys)| keys.len() > 1) {
        for (number, key) in (1..).zip(keys) {
            labels.insert(key, format!("{name} #{number}"));
        }
    }
    labels
}
