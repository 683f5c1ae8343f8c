//! Names that could break a file, a viewer or a terminal, in every field of a trace that has a name, in every export
//! and the report. Each file is checked with a reader that is not ours.

use crate::csv::records;
use crate::perfetto::decode;
use crate::random_trace::{HOSTILE_NAMES, exported, exported_text};
use serde_json::Value;
use trace_runtime::export::{
    ChromeTrace, CollapsedStacks, CsvTable, PerfettoTrace, Speedscope, TraceJson,
};
use trace_runtime::report::{TextStyle, printable};
use trace_runtime::{RecordedExecutionTrace, RecordedTraceEntry, TraceStore, read};

/// A file with a name that ends in the middle of a character.
const HALVES: &str = r#"{
    "otherData": {"half \ud83e": "of a crab \udd80"},
    "traceEvents": [
        {"ph": "M", "name": "thread_name", "pid": 0, "tid": 1, "args": {"name": "\ud83e main"}},
        {"ph": "X", "cat": "kernel", "name": "half \ud83e of a crab \udd80", "pid": 0, "tid": 1,
         "ts": 0, "dur": 5, "args": {"device": "\udd80\udd80"}}
    ]
}"#;

fn hostile_names() -> Vec<String> {
    let long = ["x", "卷", "🦀", "\"", "\u{1b}[31m", ";", "</script>", "\0"];
    let long = long.map(|piece| piece.repeat((64 << 10) / piece.len()));
    let short = [
        "\0",
        "\u{1b}]0;title\u{7}",
        "\u{feff}",
        "a|b`c`*d*",
        "=1+1",
        "\r\n",
    ];
    HOSTILE_NAMES
        .into_iter()
        .chain(short)
        .map(str::to_owned)
        .chain(long)
        .collect()
}

/// Two ops, one inside the other, with this name for everything that has a name.
fn called(name: &str) -> RecordedExecutionTrace {
    let mut trace = RecordedExecutionTrace::new()
        .with_metadata(name, name)
        .with_metadata("thread.1.name", name);
    for step in 0..2 {
        let mut entry = RecordedTraceEntry::new(step, name)
            .with_device_id(name)
            .with_input_shapes(vec![vec![2, 3]]);
        entry.set_start_us(Some(step as f64));
        entry.duration_us = 10.0 - 2.0 * step as f64;
        entry.thread = Some(1);
        entry.rank = Some(0);
        entry.parent = (step > 0).then_some(0);
        entry.meta.insert(name.to_owned(), name.to_owned());
        trace.add_entry(entry);
    }
    trace
}

/// A name without the characters that an export may replace.
fn shown(name: &str) -> String {
    name.replace(|c: char| c.is_control(), "?")
}

/// The same for text that an export wrote, without the symbols that replace control characters.
fn without_symbols(text: &str) -> String {
    assert!(!text.contains(char::is_control), "{text:?}");
    text.replace(
        |c: char| ('\u{2400}'..='\u{2421}').contains(&c) || c == '\u{fffd}',
        "?",
    )
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("valid JSON")
}

fn each_name(check: impl Fn(&str, &RecordedExecutionTrace)) {
    for name in hostile_names() {
        check(&name, &called(&name));
    }
}

#[test]
fn our_json_keeps_them() {
    each_name(|name, trace| {
        let file = json(&exported_text(&TraceJson, trace));
        let entry = &file["entries"][0];
        assert_eq!(
            (&entry["operation"], &entry["device_id"]),
            (&name.into(), &name.into())
        );
        assert_eq!(entry["meta"][name], name);
        assert_eq!(
            (&file["metadata"][name], &file["metadata"]["thread.1.name"]),
            (&name.into(), &name.into())
        );
    });
}

#[test]
fn a_chrome_trace_shows_them_and_is_read_back_with_them() {
    each_name(|name, trace| {
        let text = exported_text(&ChromeTrace::new(), trace);
        let file = json(&text);
        let events = file["traceEvents"].as_array().unwrap();
        let show = |value: &Value| without_symbols(value.as_str().expect("text"));
        let only = |map: &Value| {
            let (key, value) = map.as_object().unwrap().iter().next().unwrap();
            (without_symbols(key), show(value))
        };
        let shown = shown(name);
        let op = events
            .iter()
            .find(|event| event["cat"] == "cpu_op")
            .unwrap();
        assert_eq!(show(&op["name"]), shown);
        assert_eq!(show(&op["args"]["device id"]), shown);
        assert_eq!(only(&op["args"]["meta"]), (shown.clone(), shown.clone()));
        let thread = events
            .iter()
            .find(|event| event["name"] == "thread_name")
            .unwrap();
        assert_eq!(show(&thread["args"]["name"]), shown);
        assert!(
            file["metadata"]
                .as_object()
                .unwrap()
                .iter()
                .any(|(key, value)| { without_symbols(key) == shown && show(value) == shown })
        );
        let back = read::from_slice(text.as_bytes()).expect("our own file");
        assert_eq!(&RecordedExecutionTrace::from(&back), trace);
    });
}

#[test]
fn a_perfetto_trace_shows_them() {
    each_name(|name, trace| {
        let decoded = decode(&exported(&PerfettoTrace::new(), trace));
        let shown = shown(name);
        let slice = &decoded.slices[0];
        assert_eq!(without_symbols(&slice.name), shown);
        assert!(
            slice
                .args
                .values()
                .any(|value| without_symbols(value) == shown)
        );
        assert!(slice.args.iter().any(|(key, value)| {
            without_symbols(key).contains(&shown) && without_symbols(value) == shown
        }));
        let (_, track) = &decoded.tracks[&slice.track];
        assert_eq!(without_symbols(track), shown);
    });
}

#[test]
fn a_speedscope_file_shows_them() {
    each_name(|name, trace| {
        let file = json(&exported_text(&Speedscope, trace));
        let frame = file["shared"]["frames"][0]["name"].as_str().unwrap();
        assert_eq!(without_symbols(frame), shown(name));
        let profile = file["profiles"][0]["name"].as_str().unwrap();
        assert_eq!(without_symbols(profile), format!("rank 0: {}", shown(name)));
    });
}

#[test]
fn collapsed_stacks_have_a_frame_for_each() {
    each_name(|name, trace| {
        let text = exported_text(&CollapsedStacks, trace);
        let mut frames = Vec::new();
        for line in text.lines() {
            let (stack, weight) = line.rsplit_once(' ').expect("a space before the weight");
            weight.parse::<u64>().expect("a whole number");
            frames.push(stack.split(';').map(unescaped).collect::<Vec<_>>());
        }
        assert_eq!(
            frames,
            [vec!["trace", name, name], vec!["trace", name, name, name]]
        );
    });
}

/// `%3B` to `;` and so on.
fn unescaped(frame: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = frame.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'%' {
            let (digits, after) = rest.split_at(2);
            let digits = std::str::from_utf8(digits).unwrap();
            bytes.push(u8::from_str_radix(digits, 16).expect("two hex digits"));
            rest = after;
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).expect("UTF-8")
}

#[cfg(feature = "flamegraph")]
#[test]
fn flame_graphs_are_pictures_and_run_nothing_but_their_own_script() {
    use crate::flame_graph::assert_is_svg;
    use trace_runtime::export::FlameGraph;
    each_name(|name, trace| {
        let graph = FlameGraph::new().with_title(name);
        assert_is_svg(&exported_text(&graph, trace));
        let mut svg = Vec::new();
        let mut slower = trace.clone();
        slower.entries[1].duration_us += 1.0;
        graph.export_difference(trace, &slower, &mut svg).unwrap();
        assert_is_svg(&String::from_utf8(svg).unwrap());
    });
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_keeps_them() {
    use crate::parquet_tables::{rows, text};
    use trace_runtime::export::parquet::{ParquetEntries, ParquetShapes};
    each_name(|name, trace| {
        let (_, entries) = rows(&ParquetEntries, trace);
        assert_eq!(
            (
                text(&entries[0]["operation"]),
                text(&entries[0]["device_id"])
            ),
            (name, name)
        );
        assert_eq!(json(text(&entries[0]["meta"]))[name], name);
        let (_, shapes) = rows(&ParquetShapes, trace);
        assert_eq!(text(&shapes[0]["operation"]), name);
    });
}

#[test]
fn csv_has_them_in_one_field() {
    each_name(|name, trace| {
        let report = trace.report();
        let tables = [
            exported_text(&CsvTable::ByOp, trace),
            exported_text(&CsvTable::ByShape, trace),
            report.ops_csv(),
            report.shapes_csv(),
        ];
        for text in tables {
            let records = records(&text);
            assert_eq!(records.len(), 2);
            assert_eq!(records[0].len(), records[1].len());
            assert_eq!(records[1][0], csv_name(name));
        }
    });
}

/// Characters that could change a terminal are escaped. Spreadsheets read some first characters as the start of a
/// formula; a quote before them makes them text.
fn csv_name(name: &str) -> String {
    let name = printable(name);
    let formula = name.starts_with(['=', '+', '-', '@']);
    format!("{}{name}", if formula { "'" } else { "" })
}

#[test]
fn reports_escape_them() {
    each_name(|name, trace| {
        let report = trace.report();
        let markdown = report.to_markdown(12);
        for text in [report.to_text(&TextStyle::default()), markdown.clone()] {
            for line in text.lines() {
                assert_eq!(printable(line), line, "nothing in it moves a cursor");
            }
        }
        if !name.contains('`') {
            let outside_of_code = |line| str::split(line, '`').step_by(2);
            let outside: String = markdown.lines().flat_map(outside_of_code).collect();
            assert!(!outside.replace("\\<", "").contains('<'), "{outside:.2000}");
        }
        let mut columns = None;
        for line in markdown.lines() {
            // A bar after a backslash is part of the text.
            let bars = line
                .replace("\\\\", "")
                .replace("\\|", "")
                .matches('|')
                .count();
            let table = line.starts_with('|');
            assert!(
                !table || columns.is_none_or(|columns| columns == bars),
                "{line:.200}"
            );
            columns = table.then_some(bars);
        }
        let report = json(&report.to_json().unwrap());
        assert!(report.to_string().contains(&Value::from(name).to_string()));
    });
}

#[test]
fn halves_of_characters_in_a_file_are_not_written_again() {
    let trace = read::from_slice(HALVES.as_bytes()).expect("a strange name is not an error");
    let name = "half \u{fffd} of a crab \u{fffd}";
    let back = RecordedExecutionTrace::from(&trace);
    assert_eq!(back.entries[0].operation, name);
    assert_eq!(
        back.entries[0].device_id.as_deref(),
        Some("\u{fffd}\u{fffd}")
    );
    assert_eq!(back.metadata["half \u{fffd}"], "of a crab \u{fffd}");
    for text in [
        exported_text(&TraceJson, &trace),
        exported_text(&ChromeTrace::new(), &trace),
        exported_text(&Speedscope, &trace),
    ] {
        json(&text);
        let again: Result<TraceStore, _> = read::from_slice(text.as_bytes());
        assert!(again.is_err() || again.unwrap().len() == 1);
    }
    assert_eq!(
        decode(&exported(&PerfettoTrace::new(), &trace)).slices[0].name,
        name
    );
}

#[test]
fn our_json_with_half_a_character_is_an_error_with_its_position() {
    let text = exported_text(&TraceJson, &called("crab")).replace("\"crab\"", r#""\ud83e""#);
    let error = read::from_slice(text.as_bytes()).unwrap_err();
    assert!(error.position().is_some(), "{error}");
}
