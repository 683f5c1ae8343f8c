//! `optrace flame`: a flame graph, alone or compared with an earlier trace.

use crate::args::Reading;
use crate::failure::Failure;
use crate::{input, output};
use std::path::PathBuf;
use trace_runtime::export::{Exporter as _, FlameGraph};

#[derive(Debug, clap::Args)]
pub(crate) struct FlameArgs {
    /// The trace, or `-` for standard input
    pub(crate) file: PathBuf,
    /// Compare with this earlier trace: stacks that grew are red, stacks that shrank are blue
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,
    /// Title above the picture
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

pub(super) fn run(args: &FlameArgs) -> Result<(), Failure> {
    let mut graph = FlameGraph::new();
    if let Some(title) = &args.title {
        graph = graph.with_title(title);
    }
    let mut svg = Vec::new();
    let drawn = match &args.against {
        None => graph.export(&input::load(&args.file, args.reading)?, &mut svg),
        Some(before) => {
            let both = input::load_all(&[before, &args.file], args.reading)?;
            graph.export_difference(&both[0], &both[1], &mut svg)
        }
    };
    drawn.map_err(|error| Failure::Message(format!("the flame graph cannot be drawn: {error}")))?;
    output::write(args.output.as_deref(), &svg)
}
