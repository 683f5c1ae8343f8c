//! Compares the report for people and for programs with files under `data/`.
//!
//! `UPDATE_GOLDEN=1 cargo test --test report` writes the files again.

use std::path::Path;
use trace_runtime::analyze::MachinePeaks;
use trace_runtime::model::{MemoryEvent, NewEntry, ThreadIndex, TraceStoreBuilder};
use trace_runtime::report::{Colour, OpSort, Report, TextStyle, display_width};
use trace_runtime::{
    DType, OpKind, Outcome, RecordedExecutionTrace, RecordedTraceEntry, TraceStore,
};

const US: i64 = 1000;

/// Two steps of training on two ranks with one device each; rank 1 is late at the collectives.
fn training() -> TraceStore {
    let mut builder = TraceStoreBuilder::new();
    builder.metadata("overhead_ns", "40");
    builder.metadata("dropped", "1234");
    builder.metadata("sampled_out", "1");
    for rank in 0..2u32 {
        let host = builder.thread(Some(1), Some(rank), Some("main"));
        let stream = builder.thread(Some(7), Some(rank), Some("stream 7"));
        let device = ["cuda:0", "cuda:1"][rank as usize];
        for step in 0..2 {
            let at = step * 1000 * US;
            let late = i64::from(rank) * 60 * US;
            let forward = on_host(&mut builder, host, "Model::forward", at, 900 * US, None);
            let gelu = on_host(&mut builder, host, "gelu", at + 20 * US, 200, Some(forward));
            builder.push_memory(
                &MemoryEvent::new(at + 20 * US + 100, 4 << 20, device)
                    .with_rank(rank)
                    .with_during(gelu)
                    .with_address(4096 + step as u64),
            );
            let matmul = NewEntry::new("matmul", stream, at + 10 * US, (400 * US + late) as u64)
                .with_device_id(device)
                .with_kind(OpKind::Compute)
                .with_inputs(&[(&[1024, 1024], DType::F32), (&[1024, 4096], DType::F32)])
                .with_outputs(&[(&[1024, 4096], DType::F32)])
                .with_parent(forward);
            builder.push(&matmul).unwrap();
            let reduce = NewEntry::new(
                "all_reduce",
                stream,
                at + 420 * US + late,
                (150 * US - late) as u64,
            )
            .with_device_id(device)
            .with_kind(OpKind::Communication)
            .with_inputs(&[(&[1 << 20], DType::F32)]);
            builder.push(&reduce).unwrap();
            let copy = NewEntry::new("copy | to `host`", stream, at + 600 * US, 30 * US as u64)
                .with_device_id(device)
                .with_kind(OpKind::Memory);
            builder.push(&copy).unwrap();
        }
    }
    let last = builder.thread(Some(1), Some(1), None);
    let failed = NewEntry::new("\u{1b}[31mcheck\n行列", last, 2000 * US, 3 * US as u64)
        .with_outcome(Outcome::Panicked);
    builder.push(&failed).unwrap();
    builder.finish()
}

fn on_host(
    builder: &mut TraceStoreBuilder,
    thread: ThreadIndex,
    name: &str,
    start_ns: i64,
    ns: i64,
    parent: Option<usize>,
) -> usize {
    let entry = NewEntry::new(name, thread, start_ns, ns as u64)
        .with_parent(parent)
        .with_device_id("cpu");
    builder.push(&entry).unwrap()
}

fn report() -> Report {
    let peaks = MachinePeaks::new(60e12, 2e12);
    training().report().with_peaks(peaks)
}

fn compare(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(expected, found, "{}", path.display());
}

#[test]
fn text_fits_80_columns_and_answers_first() {
    let text = report().to_text(&TextStyle::default());
    assert!(text.lines().all(|line| display_width(line) <= 80), "{text}");
    compare("report-80.txt", &text);
}

#[test]
fn text_uses_more_room_where_there_is_more() {
    let text = report().to_text(&TextStyle::default().with_width(160));
    assert!(
        text.lines().all(|line| display_width(line) <= 160),
        "{text}"
    );
    compare("report-160.txt", &text);
}

#[test]
fn markdown_and_csv_hold_the_same_figures() {
    compare("report.md", &report().to_markdown(12));
    compare("report-ops.csv", &report().ops_csv());
    compare("report-shapes.csv", &report().shapes_csv());
}

#[test]
fn json_reads_back() {
    let report = report();
    let json = report.to_json().unwrap();
    compare("report.json", &json);
    assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
}

#[test]
fn colours_are_added_only_if_requested() {
    let plain = report().to_text(&TextStyle::default());
    assert!(!plain.contains('\u{1b}'));
    let coloured = report().to_text(&TextStyle::default().with_colour(Colour::On));
    let mut stripped = String::new();
    for (index, part) in coloured.split("\u{1b}[").enumerate() {
        let text = if index == 0 {
            part
        } else {
            part.split_once('m').unwrap().1
        };
        stripped.push_str(text);
    }
    assert_eq!(stripped, plain);
}

#[test]
fn a_report_of_nothing_has_the_reason() {
    let empty = RecordedExecutionTrace::new();
    assert_eq!(empty.report().answer, "nothing was recorded");
    let off = empty.with_metadata("tracing", "compiled out");
    let text = off.report().to_text(&TextStyle::default());
    assert!(
        text.starts_with("tracing was compiled out: build with the feature `enabled`"),
        "{text}"
    );
    assert!(off.report().tables(9).is_empty());
}

#[test]
fn a_trace_without_any_shape_gets_a_note_with_the_solution() {
    let entry =
        |name| RecordedTraceEntry::new(0, name).with_duration(std::time::Duration::from_micros(5));
    let mut trace = RecordedExecutionTrace::new();
    trace.add_entry(entry("forward"));
    let leads = |trace: &RecordedExecutionTrace| {
        let notes = trace.report().notes;
        notes.iter().any(|note| note.contains("`TensorLike`"))
    };
    assert!(leads(&trace));
    trace.add_entry(entry("matmul").with_output_shape(vec![2, 2]));
    assert!(!leads(&trace));
}

#[test]
fn the_device_that_others_wait_for_is_named() {
    let entry = |name: &str, device: &str, us| {
        let mut entry = RecordedTraceEntry::new(0, name)
            .with_device_id(device)
            .with_duration(std::time::Duration::from_micros(us));
        entry.set_start_us(Some(0.0));
        entry
    };
    let mut trace = RecordedExecutionTrace::new();
    trace.add_entry(entry("matmul", "npu:0", 10));
    trace.add_entry(entry("matmul", "npu:1", 50));
    let devices = |trace: &RecordedExecutionTrace| {
        let tables = trace.report().tables(9);
        let table = tables.into_iter().find(|table| table.title == "Devices");
        table.and_then(|table| table.footer).unwrap_or_default()
    };
    assert_eq!(
        devices(&trace),
        "npu:1 is busy longest, 20.0 µs over the mean"
    );
    // The other rank waits actively, so it is busy.
    trace.add_entry(entry("all_reduce", "npu:0", 60));
    assert_eq!(
        devices(&trace),
        "npu:0 is busy longest, 5.00 µs over the mean; npu:1 computes longest, 20.0 µs over the mean"
    );
}

#[test]
fn an_op_that_took_no_time_is_not_in_the_headline() {
    let mut trace = RecordedExecutionTrace::new();
    trace.add_entry(RecordedTraceEntry::new(0, "noop"));
    assert_eq!(trace.report().answer, "1 entry took no time");
}

#[test]
fn very_long_and_hostile_names_keep_the_table_whole() {
    let mut trace = RecordedExecutionTrace::new();
    for (step, name) in [
        "x".repeat(5000),
        "行列積".repeat(100),
        "\u{202e}\u{7}🔥".repeat(60),
    ]
    .into_iter()
    .enumerate()
    {
        let entry =
            RecordedTraceEntry::new(step, name).with_input_shapes(vec![vec![usize::MAX; 9]]);
        trace.add_entry(entry.with_duration(std::time::Duration::from_micros(5)));
    }
    for width in [0, 20, 21, 33, 40, 57, 80, 81, 133] {
        let text = trace
            .report()
            .to_text(&TextStyle::default().with_width(width));
        assert!(
            text.lines()
                .all(|line| display_width(line) <= width.max(20)),
            "{text}"
        );
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
    }
}

#[test]
fn a_recursion_as_deep_as_the_trace_is_long_is_reported() {
    let mut trace = RecordedExecutionTrace::new();
    for step in 0..100_000 {
        let mut entry = RecordedTraceEntry::new(step, "f");
        entry.set_start_us(Some(step as f64));
        entry.duration_us = 200_000.0 - 2.0 * step as f64;
        entry.parent = step.checked_sub(1);
        trace.add_entry(entry);
    }
    let report = trace.report();
    assert_eq!(report.answer, "f takes 100 % of the time");
    assert_eq!(report.total_ns, 200_000_000);
    assert_eq!(report.ops[0].outermost, 1);
}

#[test]
fn both_storages_report_the_same() {
    let store = training();
    let owned = RecordedExecutionTrace::from(&store);
    assert_eq!(owned.report(), store.report());
}

#[test]
fn op_tables_are_sorted_by_any_column() {
    let names = |sort: OpSort| -> Vec<String> {
        let report = report().sorted_by(sort);
        report.ops.into_iter().map(|row| row.operation).collect()
    };
    let by_name = names(OpSort::Name);
    assert!(by_name.is_sorted(), "{by_name:?}");
    assert_eq!(names(OpSort::SelfTime)[0], "Model::forward");
    assert_eq!(names(OpSort::FlopsPerSecond)[0], "matmul");
    assert_eq!(
        names(OpSort::Calls).last().unwrap(),
        "\u{1b}[31mcheck\n行列"
    );
    for sort in OpSort::ALL {
        assert_eq!(sort.name().parse(), Ok(sort));
    }
    assert!(
        "wall"
            .parse::<OpSort>()
            .unwrap_err()
            .contains("device-self")
    );
}

#[test]
fn a_report_prints_as_its_text() {
    let report = report();
    assert_eq!(report.to_string(), report.to_text(&TextStyle::default()));
}
