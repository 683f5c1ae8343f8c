//! The ops that were running when a recording ended without being finished, and notes on its missing parts.

use super::{duration, printable, prose, shapes};
use crate::model::wire::metadata as keys;
use crate::model::{EntryView, Outcome, TraceView};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;

/// Number of threads that are named.
const MOST_THREADS: usize = 4;
/// Number of callers of the innermost op that are named.
const MOST_CALLERS: usize = 3;

/// One sentence for each thread that had open ops: the op it was in, for how long, and its callers.
pub(super) fn lead<T: TraceView + ?Sized>(trace: &T) -> Option<String> {
    if !trace.metadata().contains_key(keys::UNFINISHED) {
        return None;
    }
    let is_open = |view: &EntryView<'_>| view.outcome() == Outcome::Unfinished;
    let called: HashSet<usize> = trace
        .views()
        .filter(is_open)
        .filter_map(|view| view.parent())
        .collect();
    // The innermost op of each thread is the last that began.
    let mut innermost: BTreeMap<(Option<u32>, Option<u64>), EntryView<'_>> = BTreeMap::new();
    for view in trace.views().filter(is_open) {
        if !called.contains(&view.step()) {
            innermost.insert((view.rank(), view.thread()), view);
        }
    }
    let mut sentences: Vec<String> = innermost
        .values()
        .take(MOST_THREADS)
        .map(|view| sentence(trace, view))
        .collect();
    if innermost.len() > MOST_THREADS {
        sentences.push(format!(
            "{} more threads were in ops",
            innermost.len() - MOST_THREADS
        ));
    }
    (!sentences.is_empty()).then(|| sentences.join(". "))
}

fn sentence<T: TraceView + ?Sized>(trace: &T, view: &EntryView<'_>) -> String {
    let thread = match view.thread() {
        Some(thread) => match trace.thread_name(view.rank(), thread) {
            Some(name) => format!("thread {thread} ({})", printable(name)),
            None => format!("thread {thread}"),
        },
        None => "a thread".to_owned(),
    };
    let dims: Vec<Vec<usize>> = view.inputs().map(|tensor| tensor.dims.to_vec()).collect();
    let op = format!("{} {}", printable(view.operation()), shapes(&dims));
    let time = prose(&duration(view.duration_ns()));
    let mut text = format!("{thread} was in `{}` for {time}", op.trim_end());
    let mut step = view.parent();
    for caller in 0..MOST_CALLERS {
        let Some(parent) = step.and_then(|step| trace.index_of_step(step)) else {
            break;
        };
        let parent = trace.view(parent);
        let word = if caller == 0 { ", called by" } else { " in" };
        // Writing to a string does not fail.
        let _ = write!(text, "{word} `{}`", printable(parent.operation()));
        step = parent.parent();
    }
    text
}

/// Notes about a recording that is incomplete.
pub(super) fn notes(metadata: &HashMap<String, String>) -> Vec<String> {
    let note = |key: &str, text: fn(&str) -> String| {
        metadata.get(key).map(|value| text(&printable(value)))
    };
    [
        note(keys::UNFINISHED, |_| {
            "the recording was not finished: the program ended without it, or is still running; \
             all ops that had ended are in it"
                .to_owned()
        }),
        note(keys::READ_TRUNCATED_AT, |at| {
            format!("the file is truncated: it ends at byte {at}, and later ops are missing")
        }),
        note(keys::READ_DAMAGED, |parts| {
            format!("the file is damaged at bytes {parts}; ops there are missing")
        }),
        note(keys::READ_LOST_OPS, |ops| {
            format!("at least {ops} ops are in damaged or missing parts of the file")
        }),
        note(keys::REPLACED, |ops| {
            format!("only the last ops were kept; {ops} earlier ones are missing")
        }),
        note(keys::FORKED_FROM, |pid| {
            format!(
                "this process was forked from process {pid}; the recording of that process does not have the ops of this one"
            )
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}
