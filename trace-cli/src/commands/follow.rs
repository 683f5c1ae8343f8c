//! `optrace report --follow`: the report of a recording that is being written, again and again.

use super::report::{ReportArgs, text_of};
use super::top::{Life, Sampler};
use crate::args::Format;
use crate::failure::Failure;
use crate::output;
use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};
use trace_runtime::read::Follower;
use trace_runtime::report::count;

/// Ops that a report covers, so that its cost does not grow with the recording.
const LATEST: usize = 200_000;
/// A report may take at most one part in this many of the time.
const SHARE: u32 = 4;

/// Reports until the recording is finished or its process has ended.
pub(super) fn run(args: &ReportArgs, every: Duration) -> Result<(), Failure> {
    if args.layout.format == Format::Html {
        return Err(Failure::Message(
            "`--follow` does not write HTML; choose another `--format`".to_owned(),
        ));
    }
    let mut sampler = Sampler::new(Follower::open(&args.file)?.keeping(LATEST));
    let file = output::file(args.layout.output.as_deref());
    let clears = file.is_none() && io::stdout().is_terminal();
    loop {
        let start = Instant::now();
        let sample = sampler.take()?;
        if sample.behind > 0 {
            continue;
        }
        if matches!(sample.life, Life::Finished | Life::Gone) {
            return Ok(());
        }
        let trace = sampler.follower().recent()?;
        let mut note = sample.headline();
        if sampler.follower().has_older() {
            note = format!(
                "{note}; this report has the latest {}",
                count(trace.len() as u64)
            );
        }
        let mut text = text_of(args, &trace, Some(note))?;
        if clears {
            text = on_screen(&text);
        } else if file.is_none() && args.layout.format != Format::Json {
            text.push('\n');
        }
        output::write(args.layout.output.as_deref(), text.as_bytes())?;
        std::thread::sleep(every.max(SHARE * start.elapsed()));
        sampler.begin_interval();
    }
}

/// Clears the screen, and cuts the text to the lines that fit.
fn on_screen(text: &str) -> String {
    let height = terminal_size::terminal_size().map_or(24, |(_, height)| usize::from(height.0));
    let lines: Vec<&str> = text.lines().take(height.saturating_sub(1)).collect();
    format!("\u{1b}[H\u{1b}[2J{}\n", lines.join("\n"))
}
