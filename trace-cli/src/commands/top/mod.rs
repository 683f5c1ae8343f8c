//! `optrace top`: the ops of a running program, refreshed.

mod columns;
mod keys;
mod recording;
mod sample;
mod screen;
mod terminal;

use crate::args::{Format, Layout};
use crate::failure::Failure;
use crate::output;
pub(super) use columns::SortBy;
pub(super) use recording::recording_of;
pub(super) use sample::{Life, Sample, Sampler};
use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};
use trace_runtime::TraceError;
use trace_runtime::read::Follower;
use trace_runtime::report::Table;

#[derive(Debug, clap::Args)]
pub(crate) struct TopArgs {
    /// The recording (`run.optrace`), or the number of the process that records it
    pub(crate) recording: String,
    /// Seconds between two refreshes
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub(crate) every: Duration,
    /// Sort by this column: busy, calls/s, calls, total, self, waiting, mean, max, open or op
    #[arg(long, value_name = "COLUMN", default_value = "busy")]
    pub(crate) sort: SortBy,
    /// Leave out ops that ended before now, so that a large file is not read from its beginning
    #[arg(long)]
    pub(crate) from_now: bool,
    /// Print the table once, after one interval, and end; needs no terminal
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) layout: Layout,
}

/// Parses a number of seconds, from a tenth to a day.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.strip_suffix('s').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(seconds) if (0.1..=86_400.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("expected seconds from 0.1 to 86400".to_owned()),
    }
}

pub(super) fn run(args: &TopArgs) -> Result<(), Failure> {
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    if !args.once && (!is_terminal || output::file(args.layout.output.as_deref()).is_some()) {
        return Err(Failure::Message(
            "`optrace top` needs a terminal; `--once` prints the table without one".to_owned(),
        ));
    }
    let path = recording_of(&args.recording)?;
    let follower = if args.from_now {
        Follower::open_at_end(&path)?
    } else {
        Follower::open(&path)?
    };
    let mut sampler = Sampler::new(follower);
    if args.once {
        return once(args, &mut sampler);
    }
    let name = path.file_name().unwrap_or(path.as_os_str());
    let name = trace_runtime::report::printable(&name.to_string_lossy());
    terminal::run(sampler, &name, args.every, args.sort)
}

fn once(args: &TopArgs, sampler: &mut Sampler) -> Result<(), Failure> {
    let mut sample = read_to_end(sampler)?;
    if sample.life != Life::Finished {
        sampler.begin_interval();
        std::thread::sleep(args.every);
        sample = read_to_end(sampler)?;
    }
    sample.sort(args.sort);
    let is_text = !matches!(args.layout.format, Format::Csv | Format::Json);
    let table = if is_text {
        columns::table(&sample, args.layout.rows)
    } else {
        columns::figures(&sample)
    };
    let mut tables = vec![table];
    if is_text {
        tables.extend(columns::threads(&sample).filter(|table: &Table| !table.rows.is_empty()));
    }
    output::tables(&args.layout, &sample.headline(), &tables, || {
        sample.to_json()
    })
}

/// Reads everything that was recorded before the call. Returns even if the program records faster than this reads.
fn read_to_end(sampler: &mut Sampler) -> Result<Sample, TraceError> {
    const LONGEST: Duration = Duration::from_secs(60);
    let start = Instant::now();
    loop {
        let sample = sampler.take()?;
        if sample.behind == 0 || start.elapsed() > LONGEST {
            return Ok(sample);
        }
    }
}
