use crate::random_trace::two_ranks;
use serde_json::Value;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use trace_runtime::export::{self, ChromeTrace, Exporter, PerfettoTrace, Speedscope, TraceJson};
use trace_runtime::model::{MemoryEvent, NewEntry, TraceStoreBuilder};
use trace_runtime::{RecordedExecutionTrace, TraceStore, TraceView};

/// JSON, as if it were a format whose viewers open only a few events.
struct AtMost(usize);

impl Exporter for AtMost {
    fn export(&self, trace: &dyn TraceView, out: &mut dyn Write) -> io::Result<()> {
        TraceJson.export(trace, out)
    }

    fn extension(&self) -> &'static str {
        "json"
    }

    fn event_limit(&self) -> Option<usize> {
        Some(self.0)
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // At the first run, it does not exist.
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
fn a_file_that_viewers_would_not_open_is_refused_with_a_solution() {
    let folder = folder("refused");
    let error = export::write(&AtMost(10), &steps(), folder.join("run.json")).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("30 events") && text.contains("split it"),
        "{text}"
    );
    assert!(names(&folder).is_empty());
}

#[test]
fn a_trace_that_fits_is_one_file_with_the_given_name() {
    let folder = folder("fits");
    let path = folder.join("run.pftrace");
    assert_eq!(
        export::write_split(&PerfettoTrace::new(), &steps(), &path).unwrap(),
        [path]
    );
    assert_eq!(names(&folder), ["run.pftrace"]);
}

#[test]
fn each_rank_gets_a_file_with_its_number() {
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

/// Layers on a device. Each is three nested ops with an output each.
fn layers(count: i64) -> TraceStore {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(Some(1), None, None);
    let outputs: [(&[usize], trace_runtime::DType); 1] = [(&[8], trace_runtime::DType::F32)];
    for start in (0..count).map(|layer| layer * 100) {
        let mut parent = None;
        for depth in 0..3 {
            let length = 90 - 2 * depth;
            let mut op = NewEntry::new("op", thread, start + depth as i64, length);
            op.parent = parent;
            op.device_id = Some("cuda:0");
            op.outputs = &outputs;
            parent = Some(builder.push(&op).unwrap());
        }
        builder.push_memory(&MemoryEvent::new(start + 50, 64, "cuda:0").with_during(parent));
    }
    builder.finish()
}

/// Such a trace is refused as one file. Split files have at most a million events each, and together all entries.
fn past_a_million(
    exporter: &dyn Exporter,
    trace: &TraceStore,
    events_in: fn(&str) -> (usize, usize),
) {
    let folder = folder(&format!("past-a-million-{}", exporter.extension()));
    let path = folder.join(format!("run.{}", exporter.extension()));
    let refused = export::write(exporter, trace, &path)
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("split it") && refused.contains("Perfetto"),
        "{refused}"
    );
    assert!(names(&folder).is_empty());
    let written = export::write_split(exporter, trace, &path).unwrap();
    let mut entries = 0;
    for path in &written {
        let (events, of_entries) = events_in(&fs::read_to_string(path).unwrap());
        assert!((500_000..=1_000_000).contains(&events) || path == written.last().unwrap());
        assert!(events <= 1_000_000, "{events}");
        entries += of_entries;
    }
    assert_eq!(entries, trace.len());
    assert_eq!(written.len(), 2);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_chrome_trace_has_at_most_a_million_events() {
    past_a_million(&ChromeTrace::new(), &layers(70_000), |text| {
        let count = |what: &str| text.matches(what).count();
        let names = count("\"ph\":\"M\"");
        (count("\n{\"ph\":") - names, count("\"cat\":\"cpu_op\""))
    });
}

#[test]
fn a_speedscope_file_has_at_most_a_million_events() {
    past_a_million(&Speedscope, &layers(170_000), |text| {
        let opened = text.matches("\"type\":\"O\"").count();
        (opened + text.matches("\"type\":\"C\"").count(), opened)
    });
}

#[test]
fn a_directory_is_refused_and_a_link_stays_a_link() {
    let folder = folder("odd-targets");
    let refused = export::write(&TraceJson, &two_ranks(), &folder).unwrap_err();
    assert!(refused.to_string().contains("is a directory"), "{refused}");
    assert!(names(&folder).is_empty());
    #[cfg(unix)]
    {
        let (file, link) = (folder.join("run.json"), folder.join("latest.json"));
        fs::write(&file, "before").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        export::write(&TraceJson, &two_ranks(), &link).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(RecordedExecutionTrace::read(&file).is_ok());
        assert_eq!(names(&folder), ["latest.json", "run.json"]);
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_with_a_name_is_written_to_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt as _;
    let pipe = folder("pipe").join("run.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let read = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    export::write(&TraceJson, &two_ranks(), &pipe).unwrap();
    assert_eq!(read.join().unwrap(), two_ranks().to_json().unwrap() + "\n");
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
}
