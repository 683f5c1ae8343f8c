//! `optrace report`: where time went.

use crate::args::{Format, Layout, Reading};
use crate::failure::Failure;
use crate::{input, output};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use trace_runtime::TraceStore;
use trace_runtime::analyze::MachinePeaks;
use trace_runtime::export::HtmlPage;
use trace_runtime::report::OpSort;

#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// The trace, or `-` for standard input
    pub(crate) file: PathBuf,
    /// With `--format csv`: one row per op and input shapes instead of one row per op
    #[arg(long)]
    pub(crate) by_shape: bool,
    /// Sort the tables of ops by this column: self, total, device, device-self, calls, min, mean, p50, p95, p99, max,
    /// output, bytes/s, flop/s or op
    #[arg(long, value_name = "COLUMN", default_value_t = OpSort::default(), hide_default_value = true)]
    pub(crate) sort: OpSort,
    /// Show only ops whose name contains this, in any case; `*` matches any text in between
    #[arg(long, value_name = "OP")]
    pub(crate) filter: Option<String>,
    /// Compare ops with these peaks: `60e12,2e12` for 60 TFLOP/s and 2 TB/s, or `measured` for those of this machine
    #[arg(long, value_name = "FLOP/S,B/S", value_parser = peaks)]
    pub(crate) peaks: Option<Peaks>,
    /// Report on a recording that is being written, every 2 seconds or as often as given, until it is finished
    ///
    /// Each report covers the latest 200,000 ops and reads only what is new in the file. The last one covers the whole
    /// recording.
    #[arg(
        long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2", require_equals = true,
        value_parser = super::top::seconds
    )]
    pub(crate) follow: Option<Duration>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) layout: Layout,
}

/// The peaks of a machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Peaks {
    Given(MachinePeaks),
    /// The peaks of the machine that this program runs on.
    Measured,
}

impl Peaks {
    pub(super) fn get(self) -> MachinePeaks {
        match self {
            Peaks::Given(peaks) => peaks,
            Peaks::Measured => {
                let threads = std::thread::available_parallelism();
                let start = Instant::now();
                MachinePeaks::measure(threads.map_or(1, Into::into), || start.elapsed())
            }
        }
    }
}

pub(super) fn peaks(text: &str) -> Result<Peaks, String> {
    if text == "measured" {
        return Ok(Peaks::Measured);
    }
    let number = |text: &str| {
        let number: f64 = text.trim().parse().ok()?;
        (number.is_finite() && number > 0.0).then_some(number)
    };
    let pair = text.split_once(',');
    match pair.and_then(|(flops, bytes)| Some((number(flops)?, number(bytes)?))) {
        Some((flops_per_s, bytes_per_s)) => {
            Ok(Peaks::Given(MachinePeaks::new(flops_per_s, bytes_per_s)))
        }
        None => Err("expected FLOP/s and B/s such as `60e12,2e12`, or `measured`".to_owned()),
    }
}

pub(super) fn run(args: &ReportArgs) -> Result<(), Failure> {
    if let Some(every) = args.follow {
        super::follow::run(args, every)?;
    }
    let trace = input::load(&args.file, args.reading)?;
    if args.layout.format == Format::Html {
        let page = HtmlPage::new().with_title(super::html::names(std::slice::from_ref(&args.file)));
        return super::html::write(page, &trace, args.peaks, args.layout.output.as_deref());
    }
    let text = text_of(args, &trace, None)?;
    output::write(args.layout.output.as_deref(), text.as_bytes())
}

/// The report of a trace with one more note, in any format but HTML.
pub(super) fn text_of(
    args: &ReportArgs,
    trace: &TraceStore,
    note: Option<String>,
) -> Result<String, Failure> {
    let mut report = trace.report().sorted_by(args.sort);
    if let Some(peaks) = args.peaks {
        report = report.with_peaks(peaks.get());
    }
    if let Some(pattern) = &args.filter {
        report = report.filtered_by(pattern);
    }
    report.notes.splice(0..0, note);
    report.notes.extend(super::left_out(trace));
    let layout = &args.layout;
    Ok(match layout.format {
        Format::Text => report.to_text(&output::style(layout)),
        Format::Md => report.to_markdown(layout.rows),
        Format::Json => report.to_json()? + "\n",
        Format::Csv if args.by_shape => report.shapes_csv(),
        Format::Csv => report.ops_csv(),
        Format::Html => String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_are_two_positive_numbers_or_measured() {
        let given = MachinePeaks::new(6e13, 2e12);
        assert_eq!(peaks("60e12,2e12"), Ok(Peaks::Given(given)));
        assert_eq!(peaks("measured"), Ok(Peaks::Measured));
        for wrong in ["", "1e12", "1e12,", "0,1", "-1,1", "nan,1", "a,b"] {
            assert!(peaks(wrong).is_err(), "{wrong}");
        }
    }
}
