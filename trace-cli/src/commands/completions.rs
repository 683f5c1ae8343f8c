//! `optrace completions`: what a shell needs to know of the command line.

use crate::args::{Args, CompletionsArgs};
use crate::failure::Failure;
use crate::output;
use clap::CommandFactory as _;

pub(super) fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "optrace", &mut script);
    output::write(None, &script)
}
