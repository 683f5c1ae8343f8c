//! `optrace flame`: a flame graph, alone or against an earlier trace.

use crate::args::FlameArgs;
use crate::failure::Failure;
use crate::{input, output};
use trace_runtime::export::{Exporter as _, FlameGraph};

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
    drawn.map_err(|error| Failure::Told(format!("the flame graph cannot be drawn: {error}")))?;
    output::write(args.output.as_deref(), &svg)
}
