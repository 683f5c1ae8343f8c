//! `optrace what-if`: how long the job would take with other durations, and which rank, stage or op slows it down.

use crate::args::{Layout, Reading};
use crate::failure::Failure;
use crate::{input, output};
use serde_json::json;
use std::path::PathBuf;
use trace_runtime::analyze::{CausalModel, JobTime, Scenario, Slowdown, SlowdownPart, Usual};
use trace_runtime::report::{Column, Table, duration, percent, printable, prose};

#[derive(Debug, clap::Args)]
pub(crate) struct WhatIfArgs {
    /// The trace, or `-` for standard input; `optrace merge` makes one of several ranks
    pub(crate) file: PathBuf,
    /// Multiply the time of ops with this name: 0.5 is twice as fast; `*` matches any text
    #[arg(long, value_name = "OP=FACTOR", value_parser = op_factor)]
    pub(crate) scale: Vec<(String, f64)>,
    /// Multiply the time of everything on this rank except communication
    #[arg(long, value_name = "RANK=FACTOR", value_parser = rank_factor)]
    pub(crate) scale_rank: Vec<(u32, f64)>,
    /// Moving data takes no time; ranks still wait until others send
    #[arg(long)]
    pub(crate) no_communication: bool,
    /// Calls on this rank take the usual time of the same calls on the other ranks
    #[arg(long, value_name = "RANK")]
    pub(crate) usual_rank: Vec<u32>,
    /// Calls of this op take the usual time of its calls with the same shapes
    #[arg(long, value_name = "OP")]
    pub(crate) usual_op: Vec<String>,
    /// Calls on the ranks of this pipeline stage take the usual time of the same calls on all ranks
    #[arg(long, value_name = "STAGE")]
    pub(crate) usual_stage: Vec<String>,
    /// How to find the usual time of calls with the same op and shapes
    #[arg(long, value_enum, default_value_t = Typical::Mean)]
    pub(crate) usual: Typical,
    /// Write the work of each rank in each step as a picture (SVG)
    #[arg(long, value_name = "FILE")]
    pub(crate) heatmap: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) layout: Layout,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Typical {
    /// The mean of all calls
    Mean,
    /// The median of all calls
    Median,
}

impl From<Typical> for Usual {
    fn from(typical: Typical) -> Usual {
        match typical {
            Typical::Mean => Usual::Mean,
            Typical::Median => Usual::Median,
        }
    }
}

fn op_factor(text: &str) -> Result<(String, f64), String> {
    let (op, factor) = text
        .rsplit_once('=')
        .ok_or("expected an op and a factor such as `matmul=0.5`")?;
    Ok((op.to_owned(), parse_factor(factor)?))
}

fn rank_factor(text: &str) -> Result<(u32, f64), String> {
    let wrong = "expected a rank and a factor such as `2=0.8`";
    let (rank, factor) = text.split_once('=').ok_or(wrong)?;
    Ok((rank.parse().map_err(|_| wrong)?, parse_factor(factor)?))
}

fn parse_factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor >= 0.0 && factor.is_finite() => Ok(factor),
        _ => Err(format!(
            "`{text}` is not a factor; expected a number from 0 on such as `0.5`"
        )),
    }
}

pub(super) fn run(args: &WhatIfArgs) -> Result<(), Failure> {
    let trace = input::load(&args.file, args.reading)?;
    let model = CausalModel::new(&trace);
    let job = model.what_if();
    if let Some(path) = &args.heatmap {
        output::write(Some(path), model.heatmap().to_svg().as_bytes())?;
    }
    let mut notes = String::new();
    for note in job.notes() {
        notes = notes + "\nnote: " + note;
    }
    let scenario = scenario(args);
    if scenario.is_empty() {
        let found = job.slowdown(args.usual.into());
        let map = model.heatmap();
        let style = output::style(&args.layout);
        let mut text = found.cause.clone() + &notes;
        if map.ranks.len() > 1 {
            text.push_str("\n\n");
            text.push_str(&map.to_text(style.width.saturating_sub(18)));
        }
        return output::tables(
            &args.layout,
            &text,
            &slowdown_tables(&found, args.layout.rows),
            || {
                serde_json::to_string_pretty(&json!({
                    "slowdown": found,
                    "heatmap": map,
                    "notes": job.notes(),
                }))
            },
        );
    }
    let (recorded, replayed) = (job.recorded(), job.run(&scenario));
    let text = headline(&recorded, &replayed) + &notes;
    output::tables(
        &args.layout,
        &text,
        &[steps(&recorded, &replayed, args.layout.rows)],
        || {
            serde_json::to_string_pretty(&json!({
                "recorded": recorded,
                "replayed": replayed,
                "notes": job.notes(),
            }))
        },
    )
}

fn scenario(args: &WhatIfArgs) -> Scenario {
    let usual = args.usual.into();
    let mut scenario = Scenario::new();
    for (op, factor) in &args.scale {
        scenario = scenario.scale(op, *factor);
    }
    for &(rank, factor) in &args.scale_rank {
        scenario = scenario.scale_rank(rank, factor);
    }
    for &rank in &args.usual_rank {
        scenario = scenario.usual_rank(rank, usual);
    }
    for op in &args.usual_op {
        scenario = scenario.usual_op(op, usual);
    }
    for stage in &args.usual_stage {
        scenario = scenario.usual_stage(stage, usual);
    }
    if args.no_communication {
        scenario = scenario.without_communication();
    }
    scenario
}

fn headline(recorded: &JobTime, replayed: &JobTime) -> String {
    let change = replayed.total_ns as f64 / recorded.total_ns.max(1) as f64 - 1.0;
    format!(
        "{} instead of {}: {}{}",
        prose(&duration(replayed.total_ns)),
        prose(&duration(recorded.total_ns)),
        if change <= 0.0 { "−" } else { "+" },
        percent(change.abs()),
    )
}

fn steps(recorded: &JobTime, replayed: &JobTime, rows: usize) -> Table {
    let pairs = recorded.steps.iter().zip(&replayed.steps);
    Table::new(
        "steps",
        vec![
            Column::number("step", 0),
            Column::number("recorded", 0),
            Column::number("what if", 0),
        ],
        pairs
            .take(rows)
            .map(|(before, after)| {
                vec![before.0.to_string(), duration(before.1), duration(after.1)]
            })
            .collect(),
    )
    .with_footer(super::more(recorded.steps.len(), rows, "steps"))
}

fn slowdown_tables(found: &Slowdown, rows: usize) -> Vec<Table> {
    [
        ("ranks", &found.ranks),
        ("stages", &found.stages),
        ("ops", &found.ops),
    ]
    .into_iter()
    .filter(|(_, parts)| !parts.is_empty())
    .map(|(title, parts)| part_table(title, parts, rows))
    .collect()
}

fn part_table(title: &'static str, parts: &[SlowdownPart], rows: usize) -> Table {
    let saved = |part: &SlowdownPart| {
        let sign = if part.cost_ns < 0 { "−" } else { "" };
        format!("{sign}{}", duration(part.cost_ns.unsigned_abs()))
    };
    Table::new(
        title.to_owned(),
        vec![
            Column::name(title),
            Column::number("slowdown", 0),
            Column::number("costs", 0),
            Column::number("of the loss", 1),
        ],
        parts
            .iter()
            .take(rows)
            .map(|part| {
                vec![
                    printable(&part.name),
                    format!("{:.3}", part.slowdown),
                    saved(part),
                    format!("{:.0} %", 100.0 * part.explained),
                ]
            })
            .collect(),
    )
    .with_footer(super::more(parts.len(), rows, title))
}
