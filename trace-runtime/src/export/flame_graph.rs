//! Flame graphs as SVG pictures that open in any browser.

use super::Exporter;
use super::json_text::without_controls;
use crate::analyze::TraceAnalyzer;
use crate::model::TraceView;
use inferno::{differential, flamegraph};
use std::io::{self, BufWriter, Write};

/// What is drawn of an empty trace, which inferno refuses to draw.
const NOTHING: &str = "no ops were recorded 1";

/// Draws a flame graph: width is time, and an op stands on the op that it ran inside of.
#[derive(Debug, Clone)]
pub struct FlameGraph {
    title: String,
}

impl FlameGraph {
    /// A flame graph with a plain title.
    pub fn new() -> Self {
        FlameGraph {
            title: "Time in ops".to_owned(),
        }
    }

    /// Sets the line above the picture.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Draws `after`, with what grew since `before` in red and what shrank in blue.
    pub fn export_difference<A, B, W>(&self, before: &A, after: &B, out: W) -> io::Result<()>
    where
        A: TraceView + ?Sized,
        B: TraceView + ?Sized,
        W: Write,
    {
        let before = TraceAnalyzer::flamegraph_collapsed(before);
        let after = TraceAnalyzer::flamegraph_collapsed(after);
        let mut both = Vec::new();
        differential::from_readers(
            differential::Options::default(),
            before.as_bytes(),
            after.as_bytes(),
            &mut both,
        )?;
        self.draw(&String::from_utf8_lossy(&both), out)
    }

    fn draw<W: Write>(&self, stacks: &str, out: W) -> io::Result<()> {
        let mut options = flamegraph::Options::default();
        options.title = without_controls(&self.title).into_owned();
        "µs".clone_into(&mut options.count_name);
        // The same trace gives the same picture.
        options.deterministic = true;
        let mut out = BufWriter::with_capacity(1 << 16, out);
        let lines = if stacks.is_empty() { NOTHING } else { stacks };
        flamegraph::from_lines(&mut options, lines.lines(), &mut out)?;
        out.flush()
    }
}

impl Default for FlameGraph {
    fn default() -> Self {
        Self::new()
    }
}

impl Exporter for FlameGraph {
    fn export(&self, trace: &dyn TraceView, out: &mut dyn Write) -> io::Result<()> {
        self.draw(&TraceAnalyzer::flamegraph_collapsed(trace), out)
    }

    fn extension(&self) -> &'static str {
        "svg"
    }
}
