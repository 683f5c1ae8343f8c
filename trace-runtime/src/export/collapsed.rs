//! Collapsed stacks: a line per distinct stack and its weight, the input of flame graph tools.

use super::Exporter;
use crate::analyze::TraceAnalyzer;
use crate::model::TraceView;
use std::io::{self, Write};

/// Writes the text of [`TraceAnalyzer::flamegraph_collapsed`], with a line break after each line.
#[derive(Debug, Clone, Copy, Default)]
pub struct CollapsedStacks;

impl Exporter for CollapsedStacks {
    fn export(&self, trace: &dyn TraceView, out: &mut dyn Write) -> io::Result<()> {
        let stacks = TraceAnalyzer::flamegraph_collapsed(trace);
        out.write_all(stacks.as_bytes())?;
        if !stacks.is_empty() {
            out.write_all(b"\n")?;
        }
        out.flush()
    }

    fn extension(&self) -> &'static str {
        "collapsed"
    }
}
