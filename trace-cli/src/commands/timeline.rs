//! `optrace timeline`: when each thread and stream was busy.

use crate::args::{Format, TimelineArgs};
use crate::failure::Failure;
use crate::{input, output};
use std::collections::BTreeMap;
use trace_runtime::analyze::Intervals;
use trace_runtime::report::{Column, Table, duration, percent, printable, prose};
use trace_runtime::{TraceStore, TraceView as _};

/// How full a stretch of time is, from nothing to all of it.
const FILL: [char; 5] = ['·', '░', '▒', '▓', '█'];
/// What the other columns and the gaps of the table take.
const BESIDE: usize = 48;

/// One row: a thread of a rank, or a stream of a device.
struct Row {
    name: String,
    entries: usize,
    busy: Intervals,
}

pub(super) fn run(args: &TimelineArgs) -> Result<(), Failure> {
    let trace = input::load(&args.file, args.reading)?;
    let rows = rows(&trace);
    let start = rows
        .iter()
        .filter_map(|row| row.busy.as_slice().first())
        .map(|&(start, _)| start)
        .min();
    let end = rows
        .iter()
        .filter_map(|row| row.busy.as_slice().last())
        .map(|&(_, end)| end)
        .max();
    let (start, end) = (start.unwrap_or(0), end.unwrap_or(0));
    let span = end.abs_diff(start);
    let style = output::style(&args.layout);
    let columns = style.width.saturating_sub(BESIDE).max(20);

    let plain = matches!(args.layout.format, Format::Csv | Format::Json);
    let table = if plain {
        figures(&rows)
    } else {
        pictures(&rows, start, span, columns, args.layout.rows)
    };
    let line = format!(
        "{} from the first start to the last end, left to right",
        prose(&duration(span))
    );
    output::tables(&args.layout, &line, &[table], || json(&rows))
}

fn rows(trace: &TraceStore) -> Vec<Row> {
    let mut threads = BTreeMap::<_, Vec<(i64, i64)>>::new();
    for view in trace.views() {
        let spans = threads.entry((view.rank(), view.thread())).or_default();
        spans.extend(view.start_ns().zip(view.end_ns()));
    }
    let ranks = threads
        .keys()
        .map(|(rank, _)| rank)
        .collect::<std::collections::BTreeSet<_>>()
        .len();
    let mut rows: Vec<Row> = threads
        .into_iter()
        .map(|((rank, thread), spans)| {
            let named = thread.and_then(|thread| trace.thread_name(thread));
            let name = match (named, thread) {
                (Some(name), _) => printable(name),
                (None, Some(thread)) => format!("thread {thread}"),
                (None, None) => "no thread".to_owned(),
            };
            Row {
                name: match rank {
                    Some(rank) if ranks > 1 => format!("{rank}: {name}"),
                    _ => name,
                },
                entries: spans.len(),
                busy: spans.into_iter().collect(),
            }
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.busy.length()));
    rows
}

fn pictures(rows: &[Row], start: i64, span: u64, columns: usize, limit: usize) -> Table {
    let more = rows.len().saturating_sub(limit);
    Table {
        title: "busy".to_owned(),
        columns: vec![
            Column::name("thread"),
            Column::number("over time", 0),
            Column::number("busy", 0),
            Column::number("%", 0),
        ],
        rows: rows
            .iter()
            .take(limit)
            .map(|row| {
                let busy = row.busy.length();
                vec![
                    row.name.clone(),
                    picture(&row.busy, start, span, columns),
                    duration(busy),
                    percent(busy as f64 / span.max(1) as f64),
                ]
            })
            .collect(),
        footer: (more > 0).then(|| format!("and {more} more")),
        footnote: None,
    }
}

/// How full each of `columns` equal stretches of time is.
fn picture(busy: &Intervals, start: i64, span: u64, columns: usize) -> String {
    let mut filled = vec![0_u128; columns];
    // In units of a nanosecond over the number of columns, so that each column is `span` units wide.
    let width = u128::from(span.max(1));
    for &(from, to) in busy.as_slice() {
        let mut at = u128::from(from.abs_diff(start)) * columns as u128;
        let end = u128::from(to.abs_diff(start)) * columns as u128;
        while at < end {
            let column = (at / width) as usize;
            let next = (column as u128 + 1) * width;
            if let Some(filled) = filled.get_mut(column) {
                *filled += next.min(end) - at;
            }
            at = next;
        }
    }
    let glyph = |filled: u128| match (filled * 4).div_ceil(width) {
        // Full is full: a hair's breadth of idling shows.
        4 if filled < width => FILL[3],
        level => FILL[(level as usize).min(4)],
    };
    filled.into_iter().map(glyph).collect()
}

fn figures(rows: &[Row]) -> Table {
    let row = |row: &Row| {
        let spans = row.busy.as_slice();
        vec![
            row.name.clone(),
            row.entries.to_string(),
            row.busy.length().to_string(),
            spans.first().map_or(0, |&(start, _)| start).to_string(),
            spans.last().map_or(0, |&(_, end)| end).to_string(),
        ]
    };
    let names = [
        "thread",
        "entries",
        "busy_ns",
        "first_start_ns",
        "last_end_ns",
    ];
    Table {
        columns: names
            .into_iter()
            .map(|name| Column::number(name, 0))
            .collect(),
        rows: rows.iter().map(row).collect(),
        ..Table::default()
    }
}

fn json(rows: &[Row]) -> Result<String, serde_json::Error> {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            serde_json::json!({
                "thread": row.name,
                "entries": row.entries,
                "busy_ns": row.busy.length(),
                "busy": row.busy.as_slice(),
            })
        })
        .collect();
    serde_json::to_string(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_as_full_as_its_stretch_of_time() {
        let busy = |spans: &[(i64, i64)]| spans.iter().copied().collect::<Intervals>();
        assert_eq!(picture(&busy(&[(10, 20), (30, 31)]), 10, 40, 4), "█·░·");
        assert_eq!(picture(&busy(&[(0, 99)]), 0, 100, 1), "▓");
        assert_eq!(picture(&busy(&[(0, 100)]), 0, 100, 3), "███");
        assert_eq!(picture(&busy(&[]), 0, 0, 2), "··");
        // More columns than nanoseconds.
        assert_eq!(picture(&busy(&[(1, 2)]), 0, 2, 8), "····████");
    }
}
