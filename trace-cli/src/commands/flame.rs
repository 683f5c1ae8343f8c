//! `optrace flame`: a flame graph, alone or compared with an earlier trace.

use crate::args::Reading;
use crate::failure::Failure;
use crate::{input, output};
use std::path::PathBuf;
use trace_runtime::analyze::MemoryWeight;
use trace_runtime::export::{CollapsedMemory, CollapsedStacks, Exporter, FlameGraph};

#[derive(Debug, clap::Args)]
pub(crate) struct FlameArgs {
    /// The trace, or `-` for standard input
    pub(crate) file: PathBuf,
    /// The figure that the width of a frame shows
    #[arg(long, value_enum, default_value_t = Width::Time)]
    pub(crate) by: Width,
    /// Write lines of stacks and weights instead of a picture, for other flame graph tools
    #[arg(long, conflicts_with_all = ["against", "title"])]
    pub(crate) collapsed: bool,
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

/// The figure that the width of a frame shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Width {
    /// Time in the op
    Time,
    /// Bytes that the op had allocated and that were live when the device's memory was at its peak
    Live,
    /// All bytes that the op allocated
    Allocated,
}

impl Width {
    fn memory(self) -> Option<MemoryWeight> {
        match self {
            Width::Time => None,
            Width::Live => Some(MemoryWeight::LiveAtPeak),
            Width::Allocated => Some(MemoryWeight::Allocated),
        }
    }
}

pub(super) fn run(args: &FlameArgs) -> Result<(), Failure> {
    let memory = args.by.memory();
    if args.collapsed {
        let trace = input::load(&args.file, args.reading)?;
        let stacks: &dyn Exporter = match memory {
            None => &CollapsedStacks,
            Some(weight) => &CollapsedMemory(weight),
        };
        let mut text = Vec::new();
        stacks
            .export(&trace, &mut text)
            .map_err(Failure::StandardOutput)?;
        return output::write(args.output.as_deref(), &text);
    }
    let mut graph = memory.map_or_else(FlameGraph::new, FlameGraph::of_memory);
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
