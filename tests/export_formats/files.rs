use crate::random_trace::two_ranks;
use serde_json::Value;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use trace_runtime::export::{self, ChromeTrace, DescribedJson, Exporter, PerfettoTrace};
use trace_runtime::model::{NewEntry, TraceStoreBuilder};
use trace_runtime::{RecordedExecutionTrace, TraceStore, TraceView};

/// The described JSON as a format whose viewers take only a few entries.
struct AtMost(usize);

impl Exporter for AtMost {
    fn export<T: TraceView + ?Sized, W: Write>(&self, trace: &T, out: W) -> io::Result<()> {
        DescribedJson.export(trace, out)
    }

    fn extension(&self) -> &'static str {
        "json"
    }

    fn entry_limit(&self) -> Option<usize> {
        Some(self.0)
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // It is not there the first time.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Ten steps of three ops, one after another.
fn steps() -> TraceStore {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(Some(1), None, None);
    for start in (0..10).map(|step| step * 100) {
        let step = builder
            .push(&NewEntry::new("step", thread, start, 90))
            .unwrap();
        for (name, offset) in [("forward", 0), ("backward", 45)] {
            let mut op = NewEntry::new(name, thread, start + offset, 45);
            op.parent = Some(step);
            builder.push(&op).unwrap();
        }
    }
    builder.finish()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_large_trace_is_split_between_steps_and_nothing_is_lost() {
    let folder = folder("split");
    let written = export::write_split(&AtMost(10), &steps(), folder.join("run.json")).unwrap();
    assert_eq!(
        names(&folder),
        [
            "run.1-of-4.json",
            "run.2-of-4.json",
            "run.3-of-4.json",
            "run.4-of-4.json"
        ]
    );
    let mut entries = Vec::new();
    for path in &written {
        let part = RecordedExecutionTrace::read(path).unwrap();
        assert_eq!(part.entries[0].operation, "step");
        assert!((part.total_duration_us - part.entries.len() as f64 * 0.03).abs() < 1e-9);
        entries.extend(part.entries);
    }
    assert_eq!(entries, RecordedExecutionTrace::from(&steps()).entries);
}

#[test]
fn an_op_that_never_ends_does_not_keep_a_trace_from_being_split() {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(Some(1), None, None);
    builder
        .push(&NewEntry::new("train", thread, 0, 1000))
        .unwrap();
    for start in 0..20 {
        let mut op = NewEntry::new("op", thread, start * 10, 10);
        op.parent = Some(0);
        builder.push(&op).unwrap();
    }
    let folder = folder("never-ends");
    let written = export::write_split(&AtMost(10), &builder.finish(), folder.join("run")).unwrap();
    assert_eq!(names(&folder), ["run.1-of-3", "run.2-of-3", "run.3-of-3"]);
    let last = RecordedExecutionTrace::read(&written[2]).unwrap();
    assert_eq!((last.entries.len(), last.entries[0].parent), (1, Some(0)));
}

#[test]
fn one_file_is_refused_where_viewers_would_give_up_and_the_error_says_what_to_do() {
    let folder = folder("refused");
    let error = export::write(&AtMost(10), &steps(), folder.join("run.json")).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("30 entries") && text.contains("split it"),
        "{text}"
    );
    assert!(names(&folder).is_empty());
}

#[test]
fn what_fits_is_one_file_with_the_name_that_was_asked_for() {
    let folder = folder("fits");
    let path = folder.join("run.pftrace");
    assert_eq!(
        export::write_split(&PerfettoTrace, &steps(), &path).unwrap(),
        [path]
    );
    assert_eq!(names(&folder), ["run.pftrace"]);
}

#[test]
fn each_rank_gets_a_file_that_says_which_it_is() {
    let folder = folder("ranks");
    let written =
        export::write_ranks(&ChromeTrace::new(), &two_ranks(), folder.join("run.json")).unwrap();
    assert_eq!(names(&folder), ["run.rank-0.json", "run.rank-1.json"]);
    for (rank, path) in written.iter().enumerate() {
        let text = fs::read_to_string(path).unwrap();
        assert!(text.contains(&format!("\"rank\": {rank},")));
        let file: Value = serde_json::from_str(&text).unwrap();
        for event in file["traceEvents"].as_array().unwrap() {
            assert_eq!(event["pid"], rank);
        }
        let ops = text.matches("\"cat\":\"cpu_op\"").count();
        assert_eq!(ops, 3);
    }
}
