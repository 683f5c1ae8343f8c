//! One file per command: its arguments, and its work (load, compute, write).

mod baseline;
mod compare;
mod completions;
mod convert;
mod diff;
mod flame;
mod follow;
mod gate;
mod html;
mod memory;
mod merge;
mod path;
mod report;
mod timeline;
mod top;
mod tree;
mod what_if;

use crate::failure::Failure;
use clap::Subcommand;
use std::process::ExitCode;
use trace_runtime::model::wire::metadata::LEFT_OUT_PREFIX;
use trace_runtime::report::{count, printable};
use trace_runtime::{TraceStore, TraceView as _};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show where time went: one line, then tables by op, shape, device and memory
    Report(report::ReportArgs),
    /// Show the ops of a running program, refreshed
    Top(top::TopArgs),
    /// Write one HTML page with findings, ops, timeline, flame graph, memory, steps and ranks
    Html(html::HtmlArgs),
    /// Show which op calls which, with equal stacks merged
    Tree(tree::TreeArgs),
    /// Show the critical path (the chain of work that decided how long the run took) and the waits
    Path(path::PathArgs),
    /// Show what slows down a job of several ranks, or how long it would take with other durations
    WhatIf(what_if::WhatIfArgs),
    /// Draw a flame graph as SVG, alone or compared with an earlier trace
    Flame(flame::FlameArgs),
    /// Show when each thread and stream was busy
    Timeline(timeline::TimelineArgs),
    /// Show live memory over time, its peak, and the ops that held it
    Memory(memory::MemoryArgs),
    /// Compare runs before and after a change, and separate change from noise
    Diff(diff::DiffArgs),
    /// Run two programs in turns, several times, and compare their traces
    Compare(compare::CompareArgs),
    /// Write the figures of several runs to a small file, for a later `diff`
    Baseline(baseline::BaselineArgs),
    /// Merge the traces of several ranks into one
    Merge(merge::MergeArgs),
    /// Write a trace in another format
    Convert(convert::ConvertArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
}

/// Result of a command that ran to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fine,
    /// `--fail-over` or `--fail-op-over` found something that got too slow.
    Slower,
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> ExitCode {
        match verdict {
            Verdict::Fine => ExitCode::SUCCESS,
            Verdict::Slower => ExitCode::from(1),
        }
    }
}

pub(crate) fn run(command: Command) -> Result<Verdict, Failure> {
    match command {
        Command::Report(args) => report::run(&args)?,
        Command::Top(args) => top::run(&args)?,
        Command::Html(args) => html::run(&args)?,
        Command::Tree(args) => tree::run(&args)?,
        Command::Path(args) => path::run(&args)?,
        Command::WhatIf(args) => what_if::run(&args)?,
        Command::Flame(args) => flame::run(&args)?,
        Command::Timeline(args) => timeline::run(&args)?,
        Command::Memory(args) => memory::run(&args)?,
        Command::Diff(args) => return diff::run(&args),
        Command::Compare(args) => return compare::run(&args),
        Command::Baseline(args) => baseline::run(&args)?,
        Command::Merge(args) => merge::run(&args)?,
        Command::Convert(args) => convert::run(&args)?,
        Command::Completions(args) => completions::run(&args)?,
    }
    Ok(Verdict::Fine)
}

/// The line under a table that does not show all of its rows.
fn more(all: usize, shown: usize, what: &str) -> Option<String> {
    (all > shown).then(|| format!("and {} more {what}: `--rows N` shows them", all - shown))
}

/// One line that lists the events that the reader left out, if there are any.
fn left_out(trace: &TraceStore) -> Option<String> {
    let mut parts: Vec<(&str, &str)> = trace
        .metadata()
        .iter()
        .filter_map(|(key, number)| Some((key.strip_prefix(LEFT_OUT_PREFIX)?, number.as_str())))
        .collect();
    parts.sort_unstable();
    let parts: Vec<String> = parts
        .into_iter()
        .map(|(what, number)| {
            // The nouns are plural, so the number comes after them in brackets: it may be 1.
            let number = number.parse().map_or_else(|_| number.to_owned(), count);
            printable(&format!("{what} ({number})"))
        })
        .collect();
    (!parts.is_empty()).then(|| format!("left out of the file: {}", parts.join(", ")))
}
