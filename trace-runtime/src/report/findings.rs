//! The findings of a report as text and Markdown.

use super::Report;
use super::markdown::plain;
use super::names::printable;
use super::text::wrapped;
use crate::analyze::{Finding, Whole};
use crate::units::{duration, percent, prose};
use std::fmt::Write as _;

/// Width of a share with the space after it.
const SHARE: usize = 7;

/// The title of the section. It names the whole of the shares.
pub(super) fn title(report: &Report) -> String {
    let of = match report.findings.whole {
        Whole::Steps => "of the steps",
        Whole::Span => "from first start to last end",
        _ => "in all ops",
    };
    let whole = prose(&duration(report.findings.whole_ns));
    format!("Findings, as shares of {whole} {of}")
}

/// Two lines for each finding, the fact and the advice, up to `rows` findings; empty if there are none.
pub(super) fn text(report: &Report, rows: usize, width: usize) -> String {
    let mut text = String::new();
    for (finding, of_this) in grouped(report).into_iter().take(rows) {
        let lines = [
            format!("{of_this}{}", printable(&finding.sentence)),
            format!("try: {}", finding.advice),
        ];
        let mut share = format!("{:>5}", share_of(finding));
        for line in lines {
            for part in wrapped(&line, width.saturating_sub(SHARE).max(1)).lines() {
                let _ = writeln!(text, "{share:<SHARE$}{part}");
                share.clear();
            }
        }
    }
    let more = report.findings.list.len().saturating_sub(rows);
    if more > 0 {
        let _ = writeln!(text, "and {more} more");
    }
    text
}

/// The share of a finding; findings about memory have none.
fn share_of(finding: &Finding) -> String {
    if finding.kind.is_about_memory() {
        return "bytes".to_owned();
    }
    percent(finding.share)
}

/// A list item for each finding, up to `rows`; empty if there are none.
pub(super) fn markdown(report: &Report, rows: usize) -> String {
    let mut text = String::new();
    for (finding, of_this) in grouped(report).into_iter().take(rows) {
        let indent = if of_this.is_empty() { "" } else { "  " };
        let _ = writeln!(
            text,
            "{indent}- **{}** {of_this}{}. *{}*",
            share_of(finding),
            plain(&printable(&finding.sentence)),
            plain(&finding.advice)
        );
    }
    text
}

/// All findings. Those that are part of another one come right after it, with words that connect them.
fn grouped(report: &Report) -> Vec<(&Finding, &'static str)> {
    let list = &report.findings.list;
    let is_within = |inner: &Finding, outer: &Finding| {
        let within = inner.within.as_ref();
        within.is_some_and(|(kind, subject)| (*kind, subject) == (outer.kind, &outer.subject))
    };
    let mut rows = Vec::new();
    for outer in list {
        if list.iter().any(|other| is_within(outer, other)) {
            continue;
        }
        rows.push((outer, ""));
        let inner = list.iter().filter(|inner| is_within(inner, outer));
        rows.extend(inner.map(|inner| (inner, "of this: ")));
    }
    rows
}
