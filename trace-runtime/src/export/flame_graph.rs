//! Flame graphs as SVG pictures that open in any browser.

use super::Exporter;
use super::json_text::without_controls;
use crate::analyze::{FrameNames, MemoryWeight, memory_collapsed};
use crate::model::TraceView;
use inferno::flamegraph::TextTruncateDirection;
use inferno::{differential, flamegraph};
use std::borrow::Cow;
use std::io::{self, Write};

/// The stacks that are drawn for an empty trace, which inferno would reject.
const NOTHING: &str = "no ops were recorded 1";
/// The stacks that are drawn for a trace without allocations.
const NO_MEMORY: &str = "no allocations were recorded 1";

/// Start and end of the title of the base frame, which inferno calls `all`.
const BASE: &str = "<title>all (";
const BASE_END: &str = ", 100%)</title>";

/// Draws a flame graph: width is time, and an op is above the op that called it.
///
/// If a trace has accelerators, there is a tower for each of them and one for the host. Host ops that
/// launched the work of a device are marked in its tower.
///
/// [`of_memory`](Self::of_memory) draws bytes instead, with a tower for each device.
#[derive(Debug, Clone)]
pub struct FlameGraph {
    title: String,
    /// None for time.
    memory: Option<MemoryWeight>,
}

impl FlameGraph {
    /// A flame graph of time with the default title.
    pub fn new() -> Self {
        FlameGraph {
            title: "Time in ops".to_owned(),
            memory: None,
        }
    }

    /// A flame graph of bytes by the op that allocated them, with the default title.
    pub fn of_memory(weight: MemoryWeight) -> Self {
        let title = match weight {
            MemoryWeight::LiveAtPeak => "Live memory at its peak",
            MemoryWeight::Allocated => "Allocated memory",
        };
        FlameGraph {
            title: title.to_owned(),
            memory: Some(weight),
        }
    }

    /// Sets the line above the picture.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Draws `after`; ops that grew since `before` are red, ops that shrank are blue.
    pub fn export_difference<W: Write>(
        &self,
        before: &dyn TraceView,
        after: &dyn TraceView,
        out: W,
    ) -> io::Result<()> {
        let (before, after) = self.stacks([before, after]);
        let (before, after) = (summable(&before), summable(&after));
        let mut both = Vec::new();
        differential::from_readers(
            differential::Options::default(),
            before.as_bytes(),
            after.as_bytes(),
            &mut both,
        )?;
        self.draw(&String::from_utf8_lossy(&both), out)
    }

    /// The stacks of two traces.
    fn stacks(&self, [before, after]: [&dyn TraceView; 2]) -> (String, String) {
        if let Some(weight) = self.memory {
            let stacks = |trace| memory_collapsed(trace, weight);
            return (stacks(before), stacks(after));
        }
        let names = FrameNames::of(&[before, after]);
        (names.stacks(before), names.stacks(after))
    }

    fn draw<W: Write>(&self, stacks: &str, mut out: W) -> io::Result<()> {
        let mut options = flamegraph::Options::default();
        options.title = without_controls(&self.title).into_owned();
        let (unit, base, nothing) = match self.memory {
            None => ("µs", "time in ops", NOTHING),
            Some(_) => ("bytes", "memory", NO_MEMORY),
        };
        unit.clone_into(&mut options.count_name);
        // Names are cut at the end.
        options.text_truncate_direction = TextTruncateDirection::Right;
        // So that the same trace always gives the same picture.
        options.deterministic = true;
        let lines = if stacks.is_empty() { nothing } else { stacks };
        let lines = summable(lines);
        // A line that begins with `#` is a comment for inferno. A space before a name is not drawn.
        let spaced: Vec<Cow<'_, str>> = lines
            .lines()
            .map(|line| {
                if line.starts_with('#') {
                    format!(" {line}").into()
                } else {
                    line.into()
                }
            })
            .collect();
        let mut svg = Vec::new();
        flamegraph::from_lines(&mut options, spaced.iter().map(AsRef::as_ref), &mut svg)?;
        // Only the base frame shows its share without decimals.
        let svg = String::from_utf8_lossy(&svg);
        let svg = match svg.find(BASE_END).and_then(|end| svg[..end].rfind(BASE)) {
            Some(at) => format!("{}<title>{base} ({}", &svg[..at], &svg[at + BASE.len()..]),
            None => svg.into_owned(),
        };
        out.write_all(svg.as_bytes())?;
        out.flush()
    }
}

/// The largest sum of the weights of a picture. inferno adds them up several times, in 64 bits.
const LARGEST_SUM: u128 = 1 << 60;

/// Lines of stacks and weights. If the sum of the weights would overflow, all are divided by the same number: a file
/// may contain any durations.
fn summable(lines: &str) -> Cow<'_, str> {
    let weight_of = |line: &str| {
        let (stack, weight) = line.rsplit_once(' ')?;
        Some((stack.len(), weight.parse::<u64>().ok()?))
    };
    let sum: u128 = lines
        .lines()
        .filter_map(|line| Some(u128::from(weight_of(line)?.1)))
        .sum();
    if sum <= LARGEST_SUM {
        return lines.into();
    }
    let divisor = sum / LARGEST_SUM + 1;
    let scaled = lines.lines().map(|line| match weight_of(line) {
        Some((end, weight)) => format!("{} {}", &line[..end], u128::from(weight) / divisor),
        None => line.to_owned(),
    });
    scaled.collect::<Vec<_>>().join("\n").into()
}

impl Default for FlameGraph {
    fn default() -> Self {
        Self::new()
    }
}

impl Exporter for FlameGraph {
    fn export(&self, trace: &dyn TraceView, out: &mut dyn Write) -> io::Result<()> {
        let stacks = match self.memory {
            Some(weight) => memory_collapsed(trace, weight),
            None => FrameNames::of(&[trace]).stacks(trace),
        };
        self.draw(&stacks, out)
    }

    fn extension(&self) -> &'static str {
        "svg"
    }
}
