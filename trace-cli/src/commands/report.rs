//! `optrace report`: where the time went.

use crate::args::{Format, Layout, Reading};
use crate::failure::Failure;
use crate::{input, output};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// The trace, or `-` for standard input
    pub(crate) file: PathBuf,
    /// With `--format csv`: one row per op and input shapes instead of one row per op
    #[arg(long)]
    pub(crate) by_shape: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) layout: Layout,
}

pub(super) fn run(args: &ReportArgs) -> Result<(), Failure> {
    let trace = input::load(&args.file, args.reading)?;
    let mut report = trace.report();
    report.notes.extend(super::left_out(&trace));
    let layout = &args.layout;
    let text = match layout.format {
        Format::Text => report.to_text(&output::style(layout)),
        Format::Md => report.to_markdown(layout.rows),
        Format::Json => report.to_json()? + "\n",
        Format::Csv if args.by_shape => report.shapes_csv(),
        Format::Csv => report.ops_csv(),
    };
    output::write(layout.output.as_deref(), text.as_bytes())
}
