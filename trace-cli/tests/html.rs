//! `optrace html`: the page as a file. `scripts/page.sh` checks what it shows in a browser.

mod process;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use process::{Folder, optrace, torch_trace, trace_of};
use serde_json::Value;
use std::fs;
use std::io::Read as _;
use trace_runtime::Session;

/// The facts in one of the blobs of a page.
fn facts(page: &str, id: &str) -> Value {
    let begin = format!("<script type=\"application/octet-stream\" id=\"{id}\">");
    let start = page.find(&begin).expect("the blob") + begin.len();
    let end = start + page[start..].find("</script>").expect("its end");
    let packed = STANDARD.decode(&page[start..end]).expect("base64");
    let mut bytes = Vec::new();
    ZlibDecoder::new(packed.as_slice())
        .read_to_end(&mut bytes)
        .expect("deflate");
    let (length, rest) = bytes.split_at(4);
    let length = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
    serde_json::from_slice(&rest[..length]).expect("JSON")
}

#[test]
fn the_page_has_the_report_as_json() {
    let folder = Folder::new();
    let trace = folder.file("trace.json", torch_trace(3));
    let page = folder.path().join("report.html");
    let page = page.to_str().expect("UTF-8");
    optrace(&["html", &trace, "-o", page]).fine();
    let report = optrace(&["report", &trace, "--format", "json"]).fine();
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let written = fs::read_to_string(page).expect("the page");
    let summary = facts(&written, "summary");
    assert_eq!(summary["report"], report);
    assert_eq!(summary["title"], "trace.json");
    assert!(facts(&written, "timeline-data")["lanes"].is_array());

    // Other commands that write the same page.
    assert_eq!(
        optrace(&["report", &trace, "--format", "html"]).fine(),
        written
    );
    assert_eq!(optrace(&["html", &trace]).fine(), written);
}

#[test]
fn names_are_never_markup() {
    let folder = Folder::new();
    let hostile = "</script><script>alert(1)</script>";
    let trace = folder.file("trace.json", trace_of(&[hostile]));
    let page = optrace(&["html", &trace, "--title", "</title><b>"]).fine();
    assert!(!page.contains("alert(1)</script>"));
    assert!(page.contains("&lt;/title&gt;&lt;b&gt;</title>"));
    assert_eq!(
        facts(&page, "summary")["report"]["ops"][0]["operation"],
        hostile
    );
}

#[test]
fn several_files_are_ranks_or_with_against_runs() {
    let folder = Folder::new();
    let files = [0, 1].map(|rank| folder.file(&format!("rank{rank}.json"), torch_trace(rank)));
    let against = optrace(&["html", &files[0], "--against", &files[1], &files[1]]).fine();
    let summary = facts(&against, "summary");
    assert_eq!(summary["diff"]["method"]["runs"], serde_json::json!([2, 1]));
    assert_eq!(summary["diff_after"], "rank0.json");
    assert_eq!(summary["diff_before"], "rank1.json … rank1.json (2 files)");

    let ranks = [0, 1].map(|rank| {
        let events = trace_of(&["matmul"]);
        let trace = format!(r#"{{"distributedInfo":{{"rank":{rank}}},"traceEvents":{events}}}"#);
        folder.file(&format!("of-rank{rank}.json"), trace)
    });
    let merged = optrace(&["html", &ranks[0], &ranks[1]]).fine();
    assert_eq!(facts(&merged, "summary")["report"]["ranks"], 2);
    assert_eq!(facts(&merged, "timeline-data")["lanes"][1]["rank"], 1);
}

#[test]
fn a_session_writes_the_page_of_an_output_that_ends_in_html() {
    let folder = Folder::new();
    let path = folder.path().join("run.html");
    let session = Session::builder().output(&path).start().expect("a session");
    drop(session.finish());
    let page = fs::read_to_string(path).expect("the page");
    assert!(page.starts_with("<!doctype html>"), "{}", &page[..40]);
}

#[test]
fn only_reports_are_written_as_html() {
    let folder = Folder::new();
    let trace = folder.file("trace.json", torch_trace(1));
    let error = optrace(&["tree", &trace, "--format", "html"]).failed();
    assert!(error.contains("only `optrace report` and `optrace html` write HTML"));
}
