//! Traces of other profilers are read with their ops, nesting, shapes and times to the nanosecond.

mod dialects;

use dialects::{NEW, OLD};
use std::fmt::Write as _;
use trace_runtime::model::wire::metadata::LEFT_OUT_PREFIX;
use trace_runtime::{Outcome, RecordedExecutionTrace, TraceStore, TraceView, read};

pub(crate) fn open(json: &str) -> TraceStore {
    read::from_slice(json.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{json}"))
}

fn error(json: impl AsRef<[u8]>) -> String {
    read::from_slice(json.as_ref()).unwrap_err().to_string()
}

/// One line per entry: its name below its parent's, with start and duration.
pub(crate) fn tree(trace: &impl TraceView) -> String {
    let mut lines = String::new();
    for view in trace.views() {
        let mut depth = 0;
        let mut parent = view.parent();
        while let Some(step) = parent {
            depth += 1;
            let index = trace.index_of_step(step).expect("a parent is an entry");
            parent = trace.views().nth(index).unwrap().parent();
        }
        let start = view.start_ns().expect("a start");
        lines.push_str(&"  ".repeat(depth));
        lines.push_str(view.operation());
        writeln!(lines, " {start}+{}", view.duration_ns()).unwrap();
    }
    lines
}

fn x(name: &str, ts: &str, dur: &str) -> String {
    format!(
        r#"{{"ph":"X","cat":"cpu_op","name":"{name}","pid":1,"tid":7,"ts":{ts},"dur":{dur},"args":{{}}}}"#
    )
}

fn object(events: &[String]) -> String {
    format!(
        r#"{{"schemaVersion": 1, "traceEvents": [{}]}}"#,
        events.join(",\n")
    )
}

#[test]
fn the_parent_of_an_op_is_the_smallest_op_that_contains_it() {
    let trace = open(&object(&[
        x("inner", "12", "3"),
        x("sibling", "20", "10"),
        x("outer", "10", "20"),
        x("sticks out", "25", "10"),
        x("inside both ends", "12", "3"),
        x("at the end", "35", "0"),
    ]));
    assert_eq!(
        tree(&trace),
        "outer 0+20000\n\
         \x20 inner 2000+3000\n\
         \x20   inside both ends 2000+3000\n\
         \x20 sibling 10000+10000\n\
         sticks out 15000+10000\n\
         \x20 at the end 25000+0\n"
    );
}

#[test]
fn times_past_the_precision_of_a_double_are_exact() {
    let trace = open(&object(&[
        x("a", "1661203462598738.001", "0.001"),
        x("b", "1661203462598738.003", "1e-3"),
    ]));
    assert_eq!(tree(&trace), "a 0+1\nb 2+1\n");
    assert_eq!(trace.metadata()["read.base_ns"], "1661203462598738001");
}

#[test]
fn begin_and_end_events_are_read_like_complete_events() {
    let begin = |name: &str, phase: &str, ts: u32| {
        format!(r#"{{"name":"{name}","ph":"{phase}","pid":1,"tid":7,"ts":{ts}}}"#)
    };
    let pairs = open(&object(&[
        begin("outer", "B", 10),
        begin("same", "B", 10),
        begin("same", "E", 30),
        begin("outer", "E", 30),
        begin("stray", "E", 31),
        begin("open", "B", 40),
        begin("last", "B", 50),
        begin("last", "E", 60),
    ]));
    let complete = open(&object(&[
        x("outer", "10", "20"),
        x("same", "10", "20"),
        x("open", "40", "20"),
        x("last", "50", "10"),
    ]));
    assert_eq!(tree(&pairs), tree(&complete));
    let outcomes: Vec<_> = pairs.views().map(|view| view.outcome()).collect();
    assert_eq!(outcomes[2], Outcome::Unfinished);
    assert_eq!(
        outcomes.iter().filter(|&&one| one == Outcome::Ok).count(),
        3
    );
    assert_eq!(pairs.metadata()["read.left_out.ends without a begin"], "1");
}

#[test]
fn ranks_devices_and_names_come_from_the_header_and_from_metadata_events() {
    let reader = read::Reader::new().with_frames();
    let trace = reader.from_slice(
        br#"{"distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
            "deviceProperties": [{"id": 0, "name": "A100", "numSms": 108}], "baseTimeNanoseconds": 5,
            "traceEvents": [
              {"ph":"M","name":"thread_name","pid":9,"tid":9,"ts":0,"args":{"name":"thread 9 (python)"}},
              {"ph":"X","cat":"cpu_op","name":"a","pid":9,"tid":9,"ts":1,"dur":1},
              {"ph":"X","cat":"python_function","name":"f","pid":9,"tid":9,"ts":1,"dur":1},
              {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":9,"ts":1,"dur":1,"args":{"device":0}}],
            "traceName": "t.json"}"#,
    )
    .unwrap();
    assert!(trace.views().all(|view| view.rank() == Some(3)));
    let names: Vec<_> = trace
        .views()
        .map(|view| {
            trace
                .thread_name(view.rank(), view.thread().unwrap())
                .unwrap()
        })
        .collect();
    assert_eq!(
        names,
        [
            "thread 9 (python)",
            "thread 9 (python), python",
            "cuda:0 stream 9"
        ]
    );
    let metadata = trace.metadata();
    assert_eq!(metadata["device.cuda:0.name"], "A100");
    assert_eq!(metadata["distributed.world_size"], "8");
    assert_eq!(metadata["traceName"], "t.json");
}

#[test]
fn memory_events_have_their_device_and_the_op_that_ran() {
    let memory = |ts: u32, bytes: i64, device: &str| {
        format!(
            r#"{{"ph":"i","s":"t","name":"[memory]","pid":1,"tid":7,"ts":{ts},"args":{{"Bytes":{bytes},
                "Device Type":{device},"Addr":4096,"Total Allocated":100}}}}"#
        )
    };
    let trace = open(&object(&[
        x("outer", "10", "20"),
        memory(15, 64, r#"0,"Device Id":-1"#),
        x("inner", "15", "5"),
        memory(25, -64, r#"1,"Device Id":2"#),
        memory(40, 8, r#"0,"Device Id":-1"#),
        r#"{"ph":"i","name":"other","pid":1,"tid":7,"ts":1}"#.to_owned(),
    ]));
    let events: Vec<_> = trace
        .memory_events()
        .map(|event| (event.at_ns, event.bytes, event.device_id, event.during))
        .collect();
    assert_eq!(
        events,
        [
            (5000, 64, "cpu", Some(1)),
            (15_000, -64, "cuda:2", Some(0)),
            (30_000, 8, "cpu", None)
        ]
    );
    let first = trace.memory_events().next().unwrap();
    assert_eq!((first.address, first.allocated), (Some(4096), Some(100)));
    assert_eq!(trace.metadata()["read.left_out.instant events"], "1");
}

#[test]
fn events_that_are_not_kept_are_counted() {
    let trace = open(
        r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":-4},
            {"ph":"X","name":"b","pid":1,"tid":1,"ts":"never","dur":1},
            {"ph":"C","name":"c","pid":1,"ts":1,"args":{"x":1}},
            {"ph":"?"}, {}]"#,
    );
    assert_eq!(trace.entry_count(), 1);
    let mut counts: Vec<_> = trace
        .metadata()
        .iter()
        .filter_map(|(key, count)| Some((key.strip_prefix(LEFT_OUT_PREFIX)?, count.as_str())))
        .collect();
    counts.sort_unstable();
    assert_eq!(
        counts,
        [
            ("counter samples", "1"),
            ("events of an unknown phase", "1"),
            ("events without a phase", "1"),
            ("events without a readable time", "1"),
            ("negative durations, taken as zero", "1"),
        ]
    );
}

#[test]
fn names_are_kept_as_they_are() {
    let name = "名前 😀 \u{1b}[31m \u{7} \"quoted\" back\\slash \u{202e} ".to_owned()
        + &"long".repeat(5000);
    let event =
        serde_json::json!([{"ph": "X", "name": name, "pid": 1, "tid": 1, "ts": 0, "dur": 1}]);
    let trace = open(&event.to_string());
    assert_eq!(trace.views().next().unwrap().operation(), name);
}

#[test]
fn our_own_json_opens_as_well() {
    let mut owned = RecordedExecutionTrace::new().with_metadata("run", "1");
    owned.add_entry(trace_runtime::RecordedTraceEntry::new(0, "matmul").with_device_id("cuda:0"));
    let store = open(&owned.to_json().unwrap());
    assert_eq!(RecordedExecutionTrace::from(&store), owned);
}

#[test]
fn an_error_has_its_position_and_what_was_expected() {
    for (json, part) in [
        (
            "{\"traceEvents\": [\n  {\"ph\": \"X\" \"ts\": 1}]}",
            "expected `,` or `}` at line 2 column 14",
        ),
        (
            "{\"traceEvents\": [\n  {\"ph\": ]}]}",
            "expected a value at line 2 column 10",
        ),
        (
            "[1, 2]",
            "expected an event, which is an object at line 1 column 2",
        ),
        (
            "{\"traceEvents\": []} x",
            "the trace is complete here at line 1 column 21",
        ),
        ("{\"traceEvents\": [{\"ph\": \"X", "ends too early"),
        ("{\"traceEvents\": [\n", "ends too early"),
        ("[{\"a\": 1}]", "none of its 1 events has a name"),
    ] {
        let error = error(json);
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_trace_cut_off_anywhere_is_an_error_or_the_events_before_the_cut() {
    for whole in [OLD, NEW] {
        for end in 0..whole.len() {
            match read::from_slice(&whole.as_bytes()[..end]) {
                Ok(trace) => assert!(
                    whole.starts_with("\n[") && trace.entry_count() <= 4,
                    "{end}"
                ),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
}

/// A small generator, so that a failure can be run again.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

#[test]
fn any_bytes_are_a_trace_or_an_error_without_a_panic() {
    let mut random = Random(0x5eed);
    for _ in 0..3000 {
        let mut bytes = OLD.as_bytes().to_vec();
        for _ in 0..=random.below(6) {
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(3) {
                0 => bytes[at] = random.below(256) as u8,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"{}[]\",:\\0e.-"[random.below(12) as usize]),
            }
        }
        let _ = read::from_slice(&bytes);
    }
}

#[test]
fn nesting_equals_that_of_a_slow_implementation_of_the_rule() {
    let mut random = Random(0xace);
    for _ in 0..300 {
        let spans: Vec<(u64, u64, u64)> = (0..random.below(40))
            .map(|_| (random.below(3), random.below(30), random.below(12)))
            .collect();
        let events: Vec<String> = spans
            .iter()
            .enumerate()
            .map(|(index, (tid, start, length))| {
                format!(
                    r#"{{"ph":"X","name":"{index}","pid":1,"tid":{tid},"ts":{start},"dur":{length}}}"#
                )
            })
            .collect();
        let trace = open(&object(&events));

        let mut sorted: Vec<usize> = (0..spans.len()).collect();
        sorted.sort_by_key(|&index| (spans[index].1, std::cmp::Reverse(spans[index].2)));
        let views: Vec<_> = trace.views().collect();
        for (step, (&index, view)) in sorted.iter().zip(&views).enumerate() {
            assert_eq!(view.operation(), index.to_string());
            // The parent is the latest earlier entry of the thread that lasts at least until this end. All entries of
            // the thread between the two must also fit into it: an entry that ends later than it closes it.
            let end = |index: usize| spans[index].1 + spans[index].2;
            let holds = |outer: usize, inner: usize| end(outer) >= end(inner);
            let earlier: Vec<usize> = (0..step)
                .filter(|&one| spans[sorted[one]].0 == spans[index].0)
                .collect();
            let parent = earlier.iter().rev().copied().find(|&one| {
                holds(sorted[one], index)
                    && earlier
                        .iter()
                        .filter(|&&other| other > one)
                        .all(|&other| holds(sorted[one], sorted[other]))
            });
            assert_eq!(view.parent(), parent, "{spans:?}");
        }
    }
}

#[test]
fn a_stream_in_parts_of_any_size_is_read_like_the_whole() {
    struct InParts<'a>(&'a [u8], usize);
    impl std::io::Read for InParts<'_> {
        fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
            let count = self.1.min(room.len());
            self.0.read(&mut room[..count])
        }
    }
    let event = |ts: u32| {
        format!(
            r#"{{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": {ts}, "dur": 2,
                "args": {{"Input Dims": [[2, {ts}]], "External id": {ts}}}}}"#
        )
    };
    // Longer than the part that is searched at once.
    let events: Vec<String> = (0..8000).map(|number| event(number * 3)).collect();
    let array = format!("\u{feff}[{}]", events.join(",\n"));
    let object = format!(
        r#"{{"schemaVersion": 1, "traceEvents": {}, "distributedInfo": {{"rank": 3}}}}"#,
        array.trim_start_matches('\u{feff}')
    );
    let recorded = r#"{"operations": 1, "entries": [], "total_duration_us": 0.0, "metadata": {}}"#;

    for text in [array.as_str(), &object, recorded] {
        let whole =
            read::from_slice(text.as_bytes()).map(|trace| RecordedExecutionTrace::from(&trace));
        let whole = whole.map_err(|error| error.to_string());
        for at_once in [1000, 65_537, usize::MAX] {
            let parts = InParts(text.as_bytes(), at_once);
            let read = read::from_reader(parts);
            let read = read.map(|trace| RecordedExecutionTrace::from(&trace));
            assert_eq!(read.map_err(|error| error.to_string()), whole);
        }
    }
    let cut = &object[..object.len() / 2];
    let whole = read::from_slice(cut.as_bytes()).unwrap_err();
    let parts = read::from_reader(InParts(cut.as_bytes(), 1000)).unwrap_err();
    assert_eq!(parts.position(), whole.position());
    assert!(parts.to_string().contains("ends too early"), "{parts}");
}
