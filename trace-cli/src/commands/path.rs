//! `optrace path`: the critical path, the times that it crosses, and the waits of lanes and ranks.

use super::more;
use crate::args::{Format, Layout, Reading};
use crate::failure::Failure;
use crate::{input, output};
use serde_json::json;
use std::path::PathBuf;
use trace_runtime::TraceStore;
use trace_runtime::analyze::{
    CausalModel, CriticalPath, LaneTime, PathStep, ShortNames, WaitStates,
};
use trace_runtime::report::{Column, Table, duration, percent, printable, prose};

#[derive(Debug, clap::Args)]
pub(crate) struct PathArgs {
    /// The trace, or `-` for standard input
    pub(crate) file: PathBuf,
    /// List the path piece by piece, in the order of time, instead of by op
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) layout: Layout,
}

pub(super) fn run(args: &PathArgs) -> Result<(), Failure> {
    let trace = input::load(&args.file, args.reading)?;
    let model = CausalModel::new(&trace);
    let path = model.critical_path();
    let states = model.wait_states();
    let rows = args.layout.rows;
    let names = &short_names(&path, &states);
    let tables = match (args.full, args.layout.format) {
        (true, Format::Csv) => vec![steps_csv(&model)],
        (false, Format::Csv) => vec![ops_csv(&path)],
        (true, _) => vec![steps(&model, names, rows)],
        (false, _) => {
            let mut tables = vec![
                ops(&path, names, rows),
                crossed(&path, rows),
                waits(&model.lanes(), names, rows),
            ];
            if states.ranks.len() > 1 {
                tables.extend(rank_tables(&states, names, rows));
            }
            tables
        }
    };
    let mut line = headline(&path);
    for missing in model.missing() {
        line.push_str("\nnote: ");
        line.push_str(missing);
    }
    output::tables(&args.layout, &line, &tables, || {
        let steps: Option<Vec<PathStep>> = args.full.then(|| model.critical_steps().collect());
        serde_json::to_string_pretty(&json!({
            "critical_path": path,
            "steps": steps,
            "lanes": model.lanes(),
            "wait_states": states,
            "missing": model.missing(),
        }))
    })
}

/// Short forms of the names on the path and in the waits between ranks.
fn short_names(path: &CriticalPath, states: &WaitStates) -> ShortNames {
    let path = path.ops.iter().map(|op| op.operation.as_str());
    let sums = states.sums.iter().map(|sum| sum.operation.as_str());
    let blames = states.blames.iter().map(|blame| blame.operation.as_str());
    ShortNames::of(path.chain(sums).chain(blames))
}

fn headline(path: &CriticalPath) -> String {
    format!(
        "{} of work on the critical path, {} of it on devices; the trace spans {}",
        prose(&duration(path.length_ns)),
        percent(path.device_share()),
        prose(&duration(path.span_ns)),
    )
}

fn ops(path: &CriticalPath, names: &ShortNames, rows: usize) -> Table {
    Table::new(
        "work on the path",
        vec![
            Column::name("op"),
            Column::name("on"),
            Column::number("time", 0),
            Column::number("share", 0),
            Column::number("pieces", 2),
        ],
        path.ops
            .iter()
            .take(rows)
            .map(|op| {
                vec![
                    printable(names.get(&op.operation)),
                    printable(op.device.as_deref().unwrap_or("host")),
                    duration(op.path_ns),
                    percent(op.share),
                    op.pieces.to_string(),
                ]
            })
            .collect(),
    )
    .with_footer(more(path.ops.len(), rows, "ops"))
}

fn crossed(path: &CriticalPath, rows: usize) -> Table {
    Table::new(
        "between the work",
        vec![
            Column::name("what"),
            Column::number("time", 0),
            Column::number("count", 1),
        ],
        path.crossed
            .iter()
            .take(rows)
            .map(|one| {
                vec![
                    printable(&one.what),
                    duration(one.ns),
                    one.count.to_string(),
                ]
            })
            .collect(),
    )
    .with_footer(more(path.crossed.len(), rows, "kinds"))
}

/// Waits of all lanes, longest first.
fn waits(lanes: &[LaneTime], names: &ShortNames, rows: usize) -> Table {
    let mut all: Vec<_> = lanes
        .iter()
        .flat_map(|lane| lane.waits.iter().map(move |wait| (lane, wait)))
        .collect();
    all.sort_by_key(|(_, wait)| std::cmp::Reverse(wait.ns));
    Table::new(
        "waits",
        vec![
            Column::name("thread or stream"),
            Column::name("waits for"),
            Column::name("in"),
            Column::number("time", 0),
            Column::number("count", 2),
        ],
        all.iter()
            .take(rows)
            .map(|(lane, wait)| {
                let rank = lane.rank.map(|rank| format!("rank {rank}, "));
                let name = rank.unwrap_or_default() + &lane.name;
                vec![
                    printable(&name),
                    printable(&wait.waits_for),
                    printable(names.get(&wait.operation)),
                    duration(wait.ns),
                    wait.count.to_string(),
                ]
            })
            .collect(),
    )
    .with_footer(more(all.len(), rows, "waits"))
}

/// The time of each rank, the waits between ranks, and the ops that caused them.
fn rank_tables(states: &WaitStates, names: &ShortNames, rows: usize) -> [Table; 3] {
    let ranks = Table::new(
        "ranks",
        vec![
            Column::number("rank", 0),
            Column::number("work", 0),
            Column::number("waiting", 0),
            Column::number("idle", 0),
            Column::number("others waited for it", 1),
        ],
        states
            .ranks
            .iter()
            .take(rows)
            .map(|time| {
                vec![
                    time.rank.to_string(),
                    duration(time.working_ns),
                    duration(time.waiting_ns),
                    duration(time.idle_ns),
                    duration(time.caused_ns),
                ]
            })
            .collect(),
    )
    .with_footer(more(states.ranks.len(), rows, "ranks"));
    let waits = Table::new(
        "waits between ranks",
        vec![
            Column::name("wait"),
            Column::number("rank", 0),
            Column::name("in"),
            Column::number("for rank", 0),
            Column::number("time", 0),
            Column::number("count", 1),
        ],
        states
            .sums
            .iter()
            .take(rows)
            .map(|sum| {
                vec![
                    sum.class.clone(),
                    sum.rank.to_string(),
                    printable(names.get(&sum.operation)),
                    sum.late_rank.to_string(),
                    duration(sum.ns),
                    sum.count.to_string(),
                ]
            })
            .collect(),
    )
    .with_footer(more(states.sums.len(), rows, "waits"));
    let causes = Table::new(
        "what other ranks waited for",
        vec![
            Column::name("op"),
            Column::number("on rank", 0),
            Column::number("waiting it caused", 0),
            Column::number("share", 1),
        ],
        states
            .blames
            .iter()
            .take(rows)
            .map(|blame| {
                vec![
                    printable(names.get(&blame.operation)),
                    blame.rank.to_string(),
                    duration(blame.ns),
                    percent(blame.ns as f64 / states.total_ns.max(1) as f64),
                ]
            })
            .collect(),
    )
    .with_footer(more(states.blames.len(), rows, "causes"));
    [ranks, waits, causes]
}

fn steps(model: &CausalModel<'_, TraceStore>, names: &ShortNames, rows: usize) -> Table {
    let count = model.critical_steps().count();
    Table::new(
        "the path in the order of time",
        vec![
            Column::number("start", 0),
            Column::number("time", 0),
            Column::name("op"),
            Column::name("on"),
            Column::name("before it"),
        ],
        model
            .critical_steps()
            .take(rows)
            .map(|step| {
                let gap = match step.gap_ns {
                    0 => String::new(),
                    ns => format!("{} {}", duration(ns), step.gap),
                };
                vec![
                    format!("{:.3} ms", step.start_ns as f64 / 1e6),
                    duration(step.ns),
                    printable(names.get(&step.operation)),
                    printable(&step.lane),
                    printable(&gap),
                ]
            })
            .collect(),
    )
    .with_footer(more(count, rows, "steps"))
}

fn ops_csv(path: &CriticalPath) -> Table {
    csv(
        &["op", "device", "path_ns", "pieces"],
        path.ops.iter().map(|op| {
            vec![
                op.operation.clone(),
                op.device.clone().unwrap_or_default(),
                op.path_ns.to_string(),
                op.pieces.to_string(),
            ]
        }),
    )
}

fn steps_csv(model: &CausalModel<'_, TraceStore>) -> Table {
    csv(
        &["start_ns", "ns", "op", "lane", "step", "gap_ns", "gap"],
        model.critical_steps().map(|step| {
            vec![
                step.start_ns.to_string(),
                step.ns.to_string(),
                step.operation,
                step.lane,
                step.step.map_or_else(String::new, |step| step.to_string()),
                step.gap_ns.to_string(),
                step.gap,
            ]
        }),
    )
}

fn csv(columns: &[&'static str], rows: impl Iterator<Item = Vec<String>>) -> Table {
    Table::new(
        "critical path",
        columns.iter().map(|name| Column::name(name)).collect(),
        rows.collect(),
    )
}
