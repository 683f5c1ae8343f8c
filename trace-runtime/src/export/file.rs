//! Writes exports to files: one file, several that viewers can open, or one per rank.

use super::Exporter;
use super::part::TracePart;
use crate::model::whole_file::write_whole;
use crate::model::{EntryView, TraceError, TraceView};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Writes a trace to one file. A temporary file in the same folder is written first and renamed when it
/// is complete.
///
/// A trace with more events than the viewers of the format open is an error: use [`write_split`] for it.
///
/// # Errors
/// The file cannot be written, or [`TooLarge`](crate::model::TraceErrorKind::TooLarge).
pub fn write(
    exporter: &dyn Exporter,
    trace: &dyn TraceView,
    path: impl AsRef<Path>,
) -> Result<(), TraceError> {
    let path = path.as_ref();
    check_event_limit(exporter, trace).map_err(|error| error.in_file(path))?;
    write_whole(path, |file| exporter.export(trace, file))
}

/// Fails with [`TooLarge`](crate::model::TraceErrorKind::TooLarge) if the export would have more events
/// than the viewers of its format open. [`write()`] calls it; call it before an export to a stream.
pub fn check_event_limit(exporter: &dyn Exporter, trace: &dyn TraceView) -> Result<(), TraceError> {
    let events = event_count(exporter, trace);
    match exporter.event_limit() {
        Some(limit) if events > limit => Err(TraceError::too_large(format!(
            "the trace would make {events} events, and viewers of this format open at most about \
             {limit}; split it into several files, or export it as a Perfetto trace, which has no limit"
        ))),
        _ => Ok(()),
    }
}

/// Writes any content to one file, with the guarantees of [`write()`]: a temporary file in the same folder is
/// written first and renamed when `fill` returns, so that the file is never incomplete and an old file is
/// kept if `fill` fails. Pipes and terminals are written directly.
///
/// Use it for files that are not exports, such as a report.
///
/// # Errors
/// The file cannot be written, or `fill` failed.
pub fn write_with(
    path: impl AsRef<Path>,
    fill: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> Result<(), TraceError> {
    write_whole(path.as_ref(), |file| fill(file))
}

/// The largest number of events that an export of a trace can have.
pub fn event_count(exporter: &dyn Exporter, trace: &dyn TraceView) -> usize {
    let of_entries = trace.views().map(|view| exporter.events_of(trace, &view));
    let of_memory = trace.memory_events().map(|_| exporter.events_of_memory());
    of_entries.chain(of_memory).sum()
}

/// Writes a trace to as many files as its viewers need, and returns their paths.
///
/// A single file has the given name; several are numbered: `trace.json` becomes `trace.1-of-3.json`. The trace is cut
/// at a moment when no op runs, if there is one nearby. Times are those of the whole trace, so that the parts can be
/// compared. An op whose parent is in an earlier file has no parent.
///
/// # Errors
/// A file cannot be written.
pub fn write_split(
    exporter: &dyn Exporter,
    trace: &dyn TraceView,
    path: impl AsRef<Path>,
) -> Result<Vec<PathBuf>, TraceError> {
    let path = path.as_ref();
    let parts = match exporter.event_limit() {
        Some(limit) if event_count(exporter, trace) > limit => stretches(exporter, trace, limit),
        _ => {
            write_whole(path, |file| exporter.export(trace, file))?;
            return Ok(vec![path.to_owned()]);
        }
    };
    let count = parts.len();
    let mut written = Vec::with_capacity(count);
    for (index, range) in parts.into_iter().enumerate() {
        let name = format!("{}-of-{count}", index + 1);
        let path = with_infix(path, exporter.extension(), &name);
        let part = TracePart::stretch(trace, range);
        write_whole(&path, |file| exporter.export(&part, file))?;
        written.push(path);
    }
    Ok(written)
}

/// Writes one file per rank, as tools for distributed training expect, and returns their paths: `trace.json`
/// becomes `trace.rank-0.json` and so on. [`ChakraTrace`](super::ChakraTrace) has the names that simulators expect:
/// `job.0.et`.
///
/// # Errors
/// A file cannot be written, or [`TooLarge`](crate::model::TraceErrorKind::TooLarge) for one of them.
pub fn write_ranks(
    exporter: &dyn Exporter,
    trace: &dyn TraceView,
    path: impl AsRef<Path>,
) -> Result<Vec<PathBuf>, TraceError> {
    let prepared = exporter.prepared(trace);
    let exporter = prepared.as_deref().unwrap_or(exporter);
    let mut ranks: BTreeMap<Option<u32>, Vec<u32>> = BTreeMap::new();
    for (index, view) in (0..).zip(trace.views()) {
        ranks.entry(view.rank()).or_default().push(index);
    }
    let mut written = Vec::new();
    for (rank, entries) in ranks {
        let path = match rank {
            Some(rank) => with_infix(
                path.as_ref(),
                exporter.extension(),
                &exporter.rank_name(rank),
            ),
            None => path.as_ref().to_owned(),
        };
        let part = TracePart::rank(trace, rank, entries);
        written.extend(write_split(exporter, &part, path)?);
    }
    Ok(written)
}

/// Cuts a trace into ranges of at most `limit` events. Memory events between two entries are in one part.
fn stretches(exporter: &dyn Exporter, trace: &dyn TraceView, limit: usize) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut memory = trace.memory_events().peekable();
    // The last entry at whose start no other entry ran, and the number of events before it in this part.
    let (mut quiet, mut before_quiet) = (0, 0);
    let (mut from, mut events, mut last_end) = (0, 0, i64::MIN);
    for (index, view) in trace.views().enumerate() {
        let view: EntryView<'_> = view;
        if let Some(start) = view.start_ns() {
            while memory.next_if(|event| event.at_ns < start).is_some() {
                events += exporter.events_of_memory();
            }
        }
        if view.start_ns().is_none_or(|start| start >= last_end) {
            (quiet, before_quiet) = (index, events);
        }
        let own = exporter.events_of(trace, &view);
        if events + own > limit && index > from {
            // Cutting an op in two is better than many short parts.
            let (cut, before_cut) = if quiet > from && before_quiet > limit / 2 {
                (quiet, before_quiet)
            } else {
                (index, events)
            };
            parts.push(from..cut);
            from = cut;
            events -= before_cut;
            before_quiet = before_quiet.saturating_sub(before_cut);
        }
        events += own;
        last_end = last_end.max(view.end_ns().unwrap_or(last_end));
    }
    parts.push(from..trace.entry_count());
    parts
}

/// `dir/name.ext` with `.infix` before the format's extension, or before the file's own extension.
pub(super) fn with_infix(path: &Path, extension: &str, infix: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = format!(".{extension}");
    let name = match name.strip_suffix(&ending).map(|stem| (stem, extension)) {
        Some((stem, extension)) => format!("{stem}.{infix}.{extension}"),
        None => match name.rsplit_once('.') {
            Some((stem, extension)) if !stem.is_empty() => format!("{stem}.{infix}.{extension}"),
            _ => format!("{name}.{infix}"),
        },
    };
    path.with_file_name(name)
}
