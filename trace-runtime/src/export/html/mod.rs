//! The report as one HTML page: self-contained, without a request to any server.
//!
//! The figures are those of [`Report`]: the page contains its JSON. The page is written in one pass: markup, style and
//! script from `web/`, then two blobs. The first is the report, which the page shows at once; the second is the
//! timeline.

mod assets;
mod blob;
mod items;
mod memory_blocks;
mod overlays;
mod rows;
mod stacks;
mod step_reports;

use super::Exporter;
use super::timeline::Timeline;
use crate::analyze::{CausalModel, MachinePeaks, ShortNames, TraceDiff, WaitStates};
use crate::model::TraceView;
use crate::report::{Report, count, duration, printable};
use blob::Blob;
use items::{Items, MOST_ITEMS};
use overlays::Waits;
use rows::{MOST_ROWS, Rows};
use stacks::Stacks;
use std::io::{self, BufWriter, Write};

/// Writes the report of a trace as one HTML page that opens offline: findings, ops, timeline, flame graph, call tree,
/// roofline, memory, steps and ranks, and the change since another run.
///
/// Use it for people, [`Report::to_json`] for programs. Names in the trace are always shown as plain text. A
/// content security policy in the page forbids requests and scripts other than the page's own.
///
/// # Size
/// 200 kB and 3 to 9 bytes per entry. Up to 2^20 (1,048,576) entries are in the page one by one. In a larger trace, the
/// timeline shows short entries that follow each other as one; the figures of all tables stay exact. If the trace has
/// up to 250,000 entries, each step has its own figures; if there are more than 64 steps, only the slowest and some
/// that are spread evenly. The page lists everything that it leaves out or joins.
///
/// ```
/// use trace_runtime::RecordedExecutionTrace;
/// use trace_runtime::export::{Exporter, HtmlPage};
///
/// let mut page = Vec::new();
/// HtmlPage::new().with_title("a run").export(&RecordedExecutionTrace::new(), &mut page)?;
/// assert!(page.starts_with(b"<!doctype html>"));
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone)]
pub struct HtmlPage {
    title: String,
    notes: Vec<String>,
    peaks: Option<MachinePeaks>,
    change: Option<Box<Change>>,
    most_items: usize,
}

/// The change since other runs.
#[derive(Debug, Clone)]
struct Change {
    diff: TraceDiff,
    before: String,
    after: String,
}

impl HtmlPage {
    /// A page with the default title.
    pub fn new() -> Self {
        HtmlPage {
            title: "Trace".to_owned(),
            notes: Vec::new(),
            peaks: None,
            change: None,
            most_items: MOST_ITEMS,
        }
    }

    /// Sets the title, such as the name of the trace's file.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Adds notes about the limits of the figures to [`Report::notes`].
    #[must_use]
    pub fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// Sets the peaks of the machine, for the roofline. Without them, those in the trace's metadata are used.
    #[must_use]
    pub fn with_peaks(mut self, peaks: MachinePeaks) -> Self {
        self.peaks = Some(peaks);
        self
    }

    /// Adds a section on the change between two groups of runs. The names are for people: files, branches.
    #[must_use]
    pub fn with_change(
        mut self,
        diff: TraceDiff,
        before: impl Into<String>,
        after: impl Into<String>,
    ) -> Self {
        self.change = Some(Box::new(Change {
            diff,
            before: before.into(),
            after: after.into(),
        }));
        self
    }

    /// Sets how many executions the timeline may show one by one (2^20 by default). Fewer make a smaller page.
    #[must_use]
    pub fn with_most_items(mut self, most: usize) -> Self {
        self.most_items = most.clamp(1024, MOST_ITEMS);
        self
    }

    fn summary(
        &self,
        trace: &dyn TraceView,
        report: &Report,
        between_ranks: &WaitStates,
    ) -> io::Result<Blob> {
        let mut blob = Blob::default();
        blob.fact("title", &self.title)?;
        blob.fact("version", env!("CARGO_PKG_VERSION"))?;
        blob.fact("report", report)?;
        let peaks = report.peaks;
        let steps = step_reports::step_reports(trace, peaks);
        let numbers: Vec<u64> = steps.iter().map(|(number, _)| *number).collect();
        let reports: Vec<&Report> = steps.iter().map(|(_, report)| report).collect();
        blob.fact("step_numbers", &numbers)?;
        blob.fact("step_reports", &reports)?;
        if let Some((first, last, report)) = step_reports::after_warm_up(trace, peaks) {
            let report = serde_json::to_value(&report)?;
            let chosen = serde_json::json!({"first": first, "last": last, "report": report});
            blob.fact("after_warm_up", &chosen)?;
        }
        if report.ranks > 1 {
            blob.fact("wait_states", between_ranks)?;
        }
        let names = ShortNames::of(report.ops.iter().map(|row| row.operation.as_str()));
        let short: serde_json::Map<String, serde_json::Value> = report
            .ops
            .iter()
            .map(|row| (row.operation.as_str(), names.get(&row.operation)))
            .filter(|(name, short)| name != short)
            .map(|(name, short)| (name.to_owned(), short.into()))
            .collect();
        blob.fact("short_names", &short)?;
        if let Some(change) = &self.change {
            blob.fact("diff", &change.diff)?;
            blob.fact("diff_before", &change.before)?;
            blob.fact("diff_after", &change.after)?;
        }
        Ok(blob)
    }

    fn timeline(&self, trace: &dyn TraceView, report: &Report, waits: Waits) -> io::Result<Blob> {
        let timeline = Timeline::of(trace);
        let rows = Rows::of(trace, &timeline);
        let items = Items::of(trace, &rows, &report.shapes, self.most_items);
        let mut blob = Blob::default();
        blob.fact("origin_ns", &timeline.origin_ns())?;
        blob.fact("lanes", &rows.facts())?;
        let steps: Vec<(u64, Option<u32>, u64, u64)> = trace
            .steps()
            .iter()
            .map(|step| {
                let start = timeline.since_origin(step.start_ns);
                (
                    step.number,
                    step.rank,
                    start,
                    timeline.since_origin(step.end_ns),
                )
            })
            .collect();
        blob.fact("steps", &steps)?;
        items.write(&mut blob);
        let idle_left_out = waits.write(&timeline, &items, &mut blob)?;
        overlays::write_arrows(trace, &timeline, &items, &mut blob);
        let stacks = Stacks::of(trace);
        stacks.write(&mut blob)?;
        let blocks_left_out = memory_blocks::write(trace, &timeline, &mut blob)?;
        let mut joined = Vec::new();
        if items.joined_below_ns > 0 {
            joined.push(format!(
                "the timeline joins {} of {} executions, all shorter than {}, with their neighbours; tables, flame graph \
                 and call tree count each of them",
                count(items.joined()),
                count(trace.entry_count() as u64),
                duration(items.joined_below_ns)
            ));
        }
        if rows.too_deep > 0 {
            joined.push(format!(
                "{} executions are nested deeper than {MOST_ROWS} ops and are not on the timeline",
                count(rows.too_deep as u64)
            ));
        }
        if stacks.pruned > 0 {
            joined.push(format!(
                "flame graph and call tree add {} stacks with little time to the stack around them",
                count(stacks.pruned as u64)
            ));
        }
        if stacks.steps_missing && !trace.steps().is_empty() {
            joined.push(
                "flame graph and call tree are always those of all steps: there are too many stacks and steps"
                    .to_owned(),
            );
        }
        if idle_left_out > 0 {
            joined.push(format!(
                "the timeline leaves out {} of the shortest stretches of idle time",
                count(idle_left_out as u64)
            ));
        }
        if blocks_left_out > 0 {
            joined.push(format!(
                "memory at a moment leaves out {} of the smallest blocks",
                count(blocks_left_out as u64)
            ));
        }
        blob.fact("joined", &joined)?;
        Ok(blob)
    }
}

impl Default for HtmlPage {
    fn default() -> Self {
        Self::new()
    }
}

impl Exporter for HtmlPage {
    fn export(&self, trace: &dyn TraceView, out: &mut dyn Write) -> io::Result<()> {
        let (mut report, (waits, between_ranks)) =
            Report::with_model(trace, |model: &CausalModel<'_, _>| {
                (Waits::of(model), model.wait_states())
            });
        if let Some(peaks) = self.peaks {
            report = report.with_peaks(peaks);
        }
        report.notes.extend(self.notes.iter().cloned());
        let mut out = BufWriter::new(out);
        write!(
            out,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>{}</style>\n</head>\n\
             <body>\n{}\n<noscript><p>{}</p></noscript>\n",
            assets::policy(),
            escaped(&self.title),
            assets::STYLE,
            assets::BODY,
            escaped(&report.answer)
        )?;
        let begin = |id| format!("<script type=\"application/octet-stream\" id=\"{id}\">");
        out.write_all(begin("summary").as_bytes())?;
        self.summary(trace, &report, &between_ranks)?
            .write(&mut out)?;
        write!(out, "</script>\n<script>{}</script>\n", assets::SCRIPT)?;
        // Comes after the script, so that a browser shows the findings while it still reads the timeline.
        out.write_all(begin("timeline-data").as_bytes())?;
        self.timeline(trace, &report, waits)?.write(&mut out)?;
        out.write_all(b"</script>\n</body>\n</html>\n")?;
        out.flush()
    }

    fn extension(&self) -> &'static str {
        "html"
    }
}

/// Text that a browser does not read as markup.
fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for letter in printable(text).chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_the_page_ends_its_own_element() {
        for (part, end) in [(assets::STYLE, "</style"), (assets::SCRIPT, "</script")] {
            assert!(!part.to_ascii_lowercase().contains(end));
        }
        assert!(!assets::SCRIPT.contains("<!--"));
    }

    /// Ops of 1 µs, one after the other on one thread.
    fn short_ops(count: u32) -> crate::TraceStore {
        let mut builder = crate::model::TraceStoreBuilder::new();
        let thread = builder.thread(None, None, None);
        for number in 0..count {
            let entry = crate::model::NewEntry::new("op", thread, i64::from(number) * 1100, 1000);
            builder.push(&entry).unwrap();
        }
        builder.finish()
    }

    #[test]
    fn a_page_that_joins_executions_has_a_sentence_about_it() {
        let joined = |count| {
            let page = HtmlPage::new().with_most_items(1024);
            let trace = short_ops(count);
            let waits = Waits {
                critical: Vec::new(),
                idle: Vec::new(),
            };
            let report = Report::of(&trace);
            page.timeline(&trace, &report, waits).unwrap().facts()
        };
        assert!(joined(1024).contains("\"joined\":[]"));
        let facts = joined(5000);
        assert!(
            facts.contains("the timeline joins 5,000 of 5,000 executions, all shorter than "),
            "{facts}"
        );
    }

    #[test]
    fn a_title_is_text() {
        let mut page = Vec::new();
        HtmlPage::new()
            .with_title("</title><script>alert(1)</script>")
            .export(&crate::RecordedExecutionTrace::new(), &mut page)
            .unwrap();
        let page = String::from_utf8(page).unwrap();
        assert!(page.contains("<title>&lt;/title&gt;&lt;script&gt;alert(1)"));
        assert_eq!(page.matches("<script>").count(), 1);
    }
}
