//! Collapsed stacks: a line per distinct stack and its weight, the input of flame graph tools.

use super::Exporter;
use crate::analyze::{MemoryWeight, TraceAnalyzer, memory_collapsed};
use crate::model::TraceView;
use std::io::{self, Write};

/// Writes the text of [`TraceAnalyzer::flamegraph_collapsed`], with a line break after each line.
#[derive(Debug, Clone, Copy, Default)]
pub struct CollapsedStacks;

impl Exporter for CollapsedStacks {
    fn export(&self, trace: &dyn TraceView, out: &mut dyn Write) -> io::Result<()> {
        write_lines(&TraceAnalyzer::flamegraph_collapsed(trace), out)
    }

    fn extension(&self) -> &'static str {
        "collapsed"
    }
}

/// Writes the text of [`memory_collapsed`], with a line break after each line.
#[derive(Debug, Clone, Copy)]
pub struct CollapsedMemory(pub MemoryWeight);

impl Exporter for CollapsedMemory {
    fn export(&self, trace: &dyn TraceView, out: &mut dyn Write) -> io::Result<()> {
        write_lines(&memory_collapsed(trace, self.0), out)
    }

    fn extension(&self) -> &'static str {
        "collapsed"
    }
}

fn write_lines(stacks: &str, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(stacks.as_bytes())?;
    if !stacks.is_empty() {
        out.write_all(b"\n")?;
    }
    out.flush()
}
