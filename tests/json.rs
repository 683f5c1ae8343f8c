//! Traces as JSON: round trips, older and newer versions, and bad input.

#[path = "support/arbitrary.rs"]
mod arbitrary;

use arbitrary::text;
use proptest::prelude::*;
use trace_runtime::model::TraceErrorKind;
use trace_runtime::{RecordedExecutionTrace, RecordedTraceEntry, TraceStore};

proptest! {
    #[test]
    fn a_trace_is_read_back_as_it_was(trace in arbitrary::trace()) {
        let json = trace.to_json().unwrap();
        let read = RecordedExecutionTrace::from_json(&json).unwrap();
        prop_assert_eq!(text(&read), text(&trace));
        prop_assert_eq!(read.to_json().unwrap(), json, "the same trace gives the same bytes");
    }

    #[test]
    fn the_compact_store_loses_nothing(trace in arbitrary::trace()) {
        let store = TraceStore::try_from(&trace).unwrap();
        prop_assert_eq!(text(&RecordedExecutionTrace::from(&store)), text(&trace));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = RecordedExecutionTrace::from_json(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn a_damaged_trace_is_an_error_with_a_position_or_still_a_trace(
        trace in arbitrary::trace(),
        at in any::<prop::sample::Index>(),
        byte in prop::sample::select(b"{}[]\",:0e-x".to_vec()),
    ) {
        let mut json = trace.to_json().unwrap().into_bytes();
        let at = at.index(json.len());
        json[at] = byte;
        if let Ok(json) = String::from_utf8(json)
            && let Err(error) = RecordedExecutionTrace::from_json(&json)
        {
            let (line, column) = error.position().expect("a place");
            let place = format!("line {line} column {column}");
            prop_assert!(error.to_string().contains(&place), "{}", error);
        }
    }
}

/// A trace with the required keys only.
const MINIMAL: &str = r#"{
  "entries": [{
    "step": 0, "operation": "matmul", "device_id": null, "input_shapes": [[2, 3], [3, 4]],
    "output_shape": [2, 4], "duration_us": 12.5, "output_elements": 8, "memory_bytes": 64
  }],
  "total_duration_us": 12.5,
  "metadata": {"model": "tiny"}
}"#;

#[test]
fn json_with_the_required_keys_only_is_read() {
    let trace = RecordedExecutionTrace::from_json(MINIMAL).unwrap();
    let mut expected = RecordedExecutionTrace::new().with_metadata("model", "tiny");
    expected.add_entry(
        RecordedTraceEntry::new(0, "matmul")
            .with_input_shapes(vec![vec![2, 3], vec![3, 4]])
            .with_output_shape(vec![2, 4])
            .with_duration(std::time::Duration::from_nanos(12_500)),
    );
    assert_eq!(trace, expected);
}

#[test]
fn every_required_key_is_written() {
    let mut trace = RecordedExecutionTrace::new();
    trace.add_entry(RecordedTraceEntry::new(0, "a"));
    let json: serde_json::Value = serde_json::from_str(&trace.to_json().unwrap()).unwrap();
    let mut keys: Vec<_> = json["entries"][0].as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(
        keys,
        [
            "device_id",
            "duration_us",
            "input_shapes",
            "memory_bytes",
            "operation",
            "output_elements",
            "output_shape",
            "step"
        ],
        "default values are not written"
    );
    assert!(json["total_duration_us"].is_number() && json["metadata"].is_object());
}

#[test]
fn every_schema_version_is_still_read() {
    let trace = RecordedExecutionTrace::read("tests/data/trace-v1.json").unwrap();
    assert_eq!(trace.step_count(), 3);
    let inner = &trace.entries[1];
    assert_eq!(
        (inner.operation.as_str(), inner.parent),
        ("matmul", Some(0))
    );
    assert_eq!(inner.input_shapes, [[64, 32], [32, 8]]);
    assert_eq!(inner.memory_bytes, 64 * 8 * 4);
    assert_eq!(inner.flops, Some(2 * 64 * 32 * 8));
    let written: serde_json::Value = serde_json::from_str(&trace.to_json().unwrap()).unwrap();
    let fixture = std::fs::read_to_string("tests/data/trace-v1.json").unwrap();
    let fixture: serde_json::Value = serde_json::from_str(&fixture).unwrap();
    assert_eq!(written, fixture, "no key is lost or renamed");
}

fn error_of(json: &str) -> String {
    RecordedExecutionTrace::from_json(json)
        .unwrap_err()
        .to_string()
}

#[test]
fn a_file_of_a_newer_version_has_a_separate_kind_of_error() {
    let newer = MINIMAL.replacen('{', "{\"schema_version\": 7,", 1);
    let error = RecordedExecutionTrace::from_json(&newer).unwrap_err();
    assert_eq!(error.kind(), TraceErrorKind::NewerVersion);
    let text = error.to_string();
    assert!(
        text.contains("schema version 7") && text.contains("update"),
        "{text}"
    );
}

#[test]
fn bad_input_is_an_error_with_its_position_and_what_was_expected() {
    let bad = |from: &str, to: &str| {
        assert!(MINIMAL.contains(from), "{from}");
        error_of(&MINIMAL.replace(from, to))
    };
    for (error, expected) in [
        (
            bad("[2, 4]", "[2, 1e30]"),
            "expected usize at line 4 column",
        ),
        (bad("[2, 4]", "[2, -4]"), "expected usize at line 4 column"),
        (
            bad("12.5, \"output", "\"slow\", \"output"),
            "expected a number at line 4 column",
        ),
        (
            bad("\"step\": 0", "\"step\": \"first\""),
            "expected usize at line 3 column",
        ),
        (bad("\"step\": 0, ", ""), "missing field `step` at line"),
        (
            bad("\"total_duration_us\": 12.5,", ""),
            "missing field `total_duration_us`",
        ),
        (
            bad("\"step\": 0,", "\"step\": 0, \"step\": 1,"),
            "duplicate field `step`",
        ),
        (error_of(&MINIMAL[..150]), "ends too early"),
        (error_of(""), "ends too early"),
        (error_of("[]"), "expected a trace: an object with `entries`"),
        (error_of("12"), "expected a trace"),
        (
            error_of(&format!("{MINIMAL} x")),
            "trailing characters at line 8",
        ),
    ] {
        assert!(
            error.contains(expected),
            "{error}\n    should contain: {expected}"
        );
    }
}

#[test]
fn a_wrong_word_lists_the_right_ones() {
    let error = error_of(&MINIMAL.replace("\"step\": 0", "\"step\": 0, \"kind\": \"fun\\u001b\""));
    assert!(
        error.contains("`fun\\u{1b}` is no kind of op; expected one of compute, comm"),
        "{error}"
    );
}

#[test]
fn deep_nesting_is_an_error_not_a_stack_overflow() {
    let deep = format!("{{\"entries\": {}", "[".repeat(1_000_000));
    assert!(
        error_of(&deep).contains("line 1 column 13"),
        "refused at the second bracket"
    );
    let ignored = format!("{{\"unknown\": {}", "[".repeat(1_000_000));
    assert!(
        error_of(&ignored).contains("ends too early"),
        "passed over without recursion"
    );
}

#[test]
fn unknown_keys_and_words_of_newer_versions_are_ignored() {
    let newer = MINIMAL
        .replace(
            "\"step\": 0",
            "\"step\": 0, \"colour\": {\"r\": [1]}, \"input_dtypes\": [\"f3\"]",
        )
        .replacen('{', "{\"schema_version\": 1, \"mood\": null,", 1);
    let trace = RecordedExecutionTrace::from_json(&newer).unwrap();
    assert_eq!(trace.step_count(), 1);
}

#[test]
fn files_are_replaced_as_a_whole_and_errors_name_them() {
    let folder = std::env::temp_dir().join(format!("trace-json-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("trace.json");
    let trace = RecordedExecutionTrace::from_json(MINIMAL).unwrap();
    trace.write(&path).unwrap();
    assert_eq!(RecordedExecutionTrace::read(&path).unwrap(), trace);
    assert_eq!(
        std::fs::read_dir(&folder).unwrap().count(),
        1,
        "nothing is left beside it"
    );

    let json = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &json[..json.len() / 2]).unwrap();
    let error = RecordedExecutionTrace::read(&path).unwrap_err();
    assert_eq!(error.path(), Some(path.as_path()));
    assert!(error.position().is_some());
    assert!(
        error.to_string().starts_with(path.to_str().unwrap()),
        "{error}"
    );

    let missing = RecordedExecutionTrace::read(folder.join("none.json"))
        .unwrap_err()
        .to_string();
    assert!(missing.contains("none.json: no such file"), "{missing}");
    let nowhere = trace
        .write(folder.join("no/such/folder.json"))
        .unwrap_err()
        .to_string();
    assert!(
        nowhere.contains("folder.json: cannot be written"),
        "{nowhere}"
    );
    std::fs::remove_dir_all(folder).unwrap();
}
