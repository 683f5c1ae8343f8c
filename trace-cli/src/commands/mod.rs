//! What each command means: load, ask the library, write.

mod completions;
mod convert;
mod diff;
mod flame;
mod gzip;
mod memory;
mod merge;
mod report;
mod timeline;
mod tree;

use crate::args::{Args, Command};
use crate::failure::Failure;
use std::process::ExitCode;
use trace_runtime::read::LEFT_OUT_PREFIX;
use trace_runtime::report::{count, printable};
use trace_runtime::{TraceStore, TraceView as _};

/// How a command that was done ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fine,
    /// `diff --fail-over` found an op that got slower by more.
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

pub(crate) fn run(args: Args) -> Result<Verdict, Failure> {
    match args.command {
        Command::Report(args) => report::run(&args)?,
        Command::Tree(args) => tree::run(&args)?,
        Command::Flame(args) => flame::run(&args)?,
        Command::Timeline(args) => timeline::run(&args)?,
        Command::Memory(args) => memory::run(&args)?,
        Command::Diff(args) => return diff::run(&args),
        Command::Merge(args) => merge::run(&args)?,
        Command::Convert(args) => convert::run(&args)?,
        Command::Completions(args) => completions::run(&args)?,
    }
    Ok(Verdict::Fine)
}

/// What the reader left out of a trace, in one line.
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
            // Behind the noun, which is in the plural whatever the number is.
            let number = number.parse().map_or_else(|_| number.to_owned(), count);
            printable(&format!("{what} ({number})"))
        })
        .collect();
    (!parts.is_empty()).then(|| format!("left out of the file: {}", parts.join(", ")))
}
