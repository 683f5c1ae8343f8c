//! `optrace timeline`: when each thread and stream was busy.

use crate::args::{Format, Layout, Reading};
use crate::failure::Failure;
use crate::{input, output};
use std::collections::BTreeMap;
use std::path::PathBuf;
use trace_runtime::analyze::{Intervals, thread_labels};
use trace_runtime::report::{Column, Table, duration, percent, printable, prose};
use trace_runtime::{TraceStore, TraceView as _};

/// Characters for the busy share of a time slice, from none to all of it.
const FILL: [char; 5] = ['·', '░', '▒', '▓', '█'];
/// Columns that the table needs in addition to the picture.
const BESIDE: usize = 48;

/// A thread of a rank, or a stream of a device.
struct Lane {
    name: String,
    entries: usize,
    busy: Intervals,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TimelineArgs {
    /// The trace, or `-` for standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) layout: Layout,
}

pub(super) fn run(args: &TimelineArgs) -> Result<(), Failure> {
    let trace = input::load(&args.file, args.reading)?;
    let lanes = lanes(&trace);
    let start = lanes
        .iter()
        .filter_map(|lane| lane.busy.as_slice().first())
        .map(|&(start, _)| start)
        .min();
    let end = lanes
        .iter()
        .filter_map(|lane| lane.busy.as_slice().last())
        .map(|&(_, end)| end)
        .max();
    let (start, end) = (start.unwrap_or(0), end.unwrap_or(0));
    let span = end.abs_diff(start);
    let style = output::style(&args.layout);
    let columns = style.width.saturating_sub(BESIDE).max(10);

    let plain = matches!(args.layout.format, Format::Csv | Format::Json);
    let table = if plain {
        figures(&lanes)
    } else {
        pictures(&lanes, start, span, columns, args.layout.rows)
    };
    let line = format!(
        "{} from the first start to the last end, left to right",
        prose(&duration(span))
    );
    output::tables(&args.layout, &line, &[table], || json(&lanes))
}

fn lanes(trace: &TraceStore) -> Vec<Lane> {
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
    let labels = thread_labels(trace);
    let mut lanes: Vec<Lane> = threads
        .into_iter()
        .map(|((rank, thread), spans)| {
            let label = labels.get(&(rank, thread)).map(String::as_str);
            let name = printable(label.unwrap_or_default());
            Lane {
                name: match rank {
                    Some(rank) if ranks > 1 => format!("{rank}: {name}"),
                    _ => name,
                },
                entries: spans.len(),
                busy: spans.into_iter().collect(),
            }
        })
        .collect();
    lanes.sort_by_key(|lane| std::cmp::Reverse(lane.busy.length()));
    lanes
}

fn pictures(lanes: &[Lane], start: i64, span: u64, columns: usize, limit: usize) -> Table {
    let more = lanes.len().saturating_sub(limit);
    Table::new(
        "busy",
        vec![
            Column::name("thread"),
            Column::number("over time", 0),
            Column::number("busy", 1),
            Column::number("%", 2),
        ],
        lanes
            .iter()
            .take(limit)
            .map(|lane| {
                let busy = lane.busy.length();
                vec![
                    lane.name.clone(),
                    picture(&lane.busy, start, span, columns),
                    duration(busy),
                    percent(busy as f64 / span.max(1) as f64),
                ]
            })
            .collect(),
    )
    .with_footer((more > 0).then(|| format!("and {more} more")))
}

/// The busy share of each of `columns` equal time slices, one character each.
fn picture(busy: &Intervals, start: i64, span: u64, columns: usize) -> String {
    let mut filled = vec![0_u128; columns];
    // In units of 1 ns / `columns`, so that each column is exactly `span` units wide.
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
        // The full block is for slices without any idle time.
        4 if filled < width => FILL[3],
        level => FILL[(level as usize).min(4)],
    };
    filled.into_iter().map(glyph).collect()
}

fn figures(lanes: &[Lane]) -> Table {
    let row = |lane: &Lane| {
        let spans = lane.busy.as_slice();
        vec![
            lane.name.clone(),
            lane.entries.to_string(),
            lane.busy.length().to_string(),
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
    Table::new(
        "",
        names
            .into_iter()
            .map(|name| Column::number(name, 0))
            .collect(),
        lanes.iter().map(row).collect(),
    )
}

fn json(lanes: &[Lane]) -> Result<String, serde_json::Error> {
    let lanes: Vec<_> = lanes
        .iter()
        .map(|lane| {
            serde_json::json!({
                "thread": lane.name,
                "entries": lane.entries,
                "busy_ns": lane.busy.length(),
                "busy": lane.busy.as_slice(),
            })
        })
        .collect();
    serde_json::to_string(&lanes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_shows_the_busy_share_of_its_time_slice() {
        let busy = |spans: &[(i64, i64)]| spans.iter().copied().collect::<Intervals>();
        assert_eq!(picture(&busy(&[(10, 20), (30, 31)]), 10, 40, 4), "█·░·");
        assert_eq!(picture(&busy(&[(0, 99)]), 0, 100, 1), "▓");
        assert_eq!(picture(&busy(&[(0, 100)]), 0, 100, 3), "███");
        assert_eq!(picture(&busy(&[]), 0, 0, 2), "··");
        // More columns than nanoseconds.
        assert_eq!(picture(&busy(&[(1, 2)]), 0, 2, 8), "····████");
    }
}
