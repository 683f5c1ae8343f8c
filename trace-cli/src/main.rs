//! `optrace`: what a trace of tensor ops tells, on the command line.
//!
//! A thin shell: [`args`] is what was typed, [`commands`] is what it means. Every figure comes from
//! `trace_runtime::analyze`, every table from `trace_runtime::report`, every file from
//! `trace_runtime::export`.

mod args;
mod commands;
mod compression;
mod failure;
mod input;
mod output;
mod progress;

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = args::Args::parse();
    match commands::run(args) {
        Ok(verdict) => verdict.into(),
        // Whoever reads our output had enough of it, as in `optrace report x | head`.
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            failure.tell();
            ExitCode::from(failure::TROUBLE)
        }
    }
}
