//! `optrace`: the command line of `trace-runtime`.
//!
//! A thin layer over the library: [`args`] parses the command line, and [`commands`] runs it. Figures come from
//! `trace_runtime::analyze`, reports from `trace_runtime::report`, files from `trace_runtime::export`.

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
    match commands::run(args.command) {
        Ok(verdict) => verdict.into(),
        // The reader of our output closed the pipe, as in `optrace report x | head`.
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            ExitCode::from(failure::EXIT_CODE)
        }
    }
}
