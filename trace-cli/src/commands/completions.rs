//! `optrace completions`: a completion script for a shell.

use crate::args::Args;
use crate::failure::Failure;
use crate::output;
use clap::CommandFactory as _;
use clap_complete::Shell;

#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "optrace", &mut script);
    output::write(None, &script)
}
