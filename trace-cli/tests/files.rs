//! Files that are not traces get an error that describes their content. Names in traces are untrusted text.

mod process;

use process::{Folder, optrace, optrace_reading, torch_trace, trace_of};
use std::fs;
use trace_runtime::report::display_width;

#[test]
fn a_file_that_is_not_a_trace_gets_an_error_that_names_what_it_is() {
    let folder = Folder::new();
    let trace = torch_trace(1);
    for (name, content, expected) in [
        ("empty.json", &b""[..], "the file is empty"),
        ("spaces.json", b"  \n ", "the file is empty"),
        (
            "cut.json",
            &trace.as_bytes()[..trace.len() / 2],
            "ends too early",
        ),
        ("binary.json", b"\x00\x01\x02\x03", "binary data"),
        ("page.json", b"<!DOCTYPE html><html>", "HTML"),
        ("table.json", b"op,count\n", "begins with `op,count`"),
        (
            "other.json",
            br#"{"name": "x", "dependencies": {}}"#,
            "JSON but not a trace: it has `name`, `dependencies`",
        ),
        ("list.json", b"[1, 2, 3]", "expected an event"),
        (
            "broken.json",
            b"{\"traceEvents\": [\n{\"ph\" \"X\"}]}",
            "at line 2 column 7",
        ),
        (
            "future.json",
            br#"{"schema_version": 99, "entries": []}"#,
            "schema version 99",
        ),
        (
            "bad.json.gz",
            b"\x1f\x8b\x08\x00junk",
            "gzip data is damaged",
        ),
        (
            "bad.json.zst",
            b"\x28\xb5\x2f\xfdjunk",
            "zstd data is damaged",
        ),
    ] {
        let path = folder.file(name, content);
        for command in ["report", "tree", "timeline", "memory", "flame", "convert"] {
            let error = optrace(&[command, &path]).failed();
            assert!(
                error.starts_with("optrace: ") && error.contains(name),
                "{error}"
            );
            assert!(error.contains(expected), "{error}");
        }
        let piped = optrace_reading(&["report", "-"], content).failed();
        assert!(
            piped.contains("standard input: ") && piped.contains(expected),
            "{piped}"
        );
    }
}

#[test]
fn missing_files_and_folders_get_different_errors() {
    let folder = Folder::new();
    let missing = folder.path().join("missing.json");
    let missing = missing.to_str().unwrap();
    let error = optrace(&["report", missing]).failed();
    assert!(error.contains("missing.json: no such file"), "{error}");
    let error = optrace(&["report", folder.path().to_str().unwrap()]).failed();
    assert!(
        error.contains("is a directory; name a trace file in it"),
        "{error}"
    );
    let there = folder.file("t.json", torch_trace(1));
    let error = optrace(&["diff", &there, missing]).failed();
    assert!(error.contains("missing.json"), "{error}");
}

#[test]
fn hostile_names_neither_move_the_cursor_nor_break_the_tables() {
    let long = "long".repeat(3000);
    let names = [
        "\u{1b}[31mred\u{1b}[0m",
        "\u{1b}]0;title\u{7}",
        "line\nbreak\r\ttab",
        "nul\0 del\u{7f} c1\u{9b}31m",
        "right\u{202e}to\u{2066}left",
        "日本語の演算子と長い名前、もっと長い名前、さらにもっと長い名前、まだまだ続く名前",
        "emoji 😀👩‍👩‍👧‍👦🏳️‍🌈",
        "a;b c|d,e\"f`g<h>&i",
        &long,
        "",
    ];
    let folder = Folder::new();
    let trace = folder.file("t.json", trace_of(&names));
    for command in ["report", "tree", "timeline", "memory"] {
        for format in ["text", "md"] {
            let text = optrace(&[command, &trace, "--format", format]).fine();
            let hostile = |char: &char| {
                (char.is_control() && *char != '\n') || matches!(char, '\u{202e}' | '\u{2066}')
            };
            assert_eq!(
                text.chars().find(hostile),
                None,
                "{command} {format}: {text}"
            );
            for line in text.lines().filter(|_| format == "text") {
                assert!(
                    display_width(line) <= 80,
                    "{command}: {} {line}",
                    display_width(line)
                );
            }
        }
    }
    let diff = optrace(&["diff", &trace, &trace]).fine();
    assert!(
        !diff.contains('\u{1b}') && !diff.contains('\u{202e}'),
        "{diff}"
    );
    let svg = optrace(&["flame", &trace]).fine();
    assert!(
        !svg.chars()
            .any(|char| char.is_control() && !matches!(char, '\n' | '\t' | '\r'))
    );
    assert!(!svg.contains("g<h>"));

    // Formats for programs do not cut names.
    let json = optrace(&["report", &trace, "--format", "json"]).fine();
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let kept: Vec<&str> = report["ops"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["operation"].as_str().unwrap())
        .collect();
    for name in names {
        assert!(kept.contains(&name), "{name:?}");
    }
    let copy = optrace(&["convert", &trace]).fine();
    let again = optrace_reading(&["report", "-", "--format", "json"], copy.as_bytes()).fine();
    assert_eq!(again, json);
}

#[test]
fn a_hostile_file_name_is_made_safe_in_errors() {
    let error = optrace(&["report", "no\u{1b}[31msuch\u{7}.json"]).failed();
    assert!(
        !error.contains('\u{1b}') && !error.contains('\u{7}'),
        "{error}"
    );
}

#[test]
fn text_fits_narrow_terminals_and_uses_wide_ones() {
    let folder = Folder::new();
    let trace = folder.file("t.json", torch_trace(1));
    let wide = folder.file("wide.json", trace_of(&["行列積と❤\u{fe0f}", "op"]));
    let widest = |args: &[&str]| {
        let text = optrace(args).fine();
        text.lines().map(display_width).max().unwrap_or(0)
    };
    for width in ["20", "33", "47", "60", "79"] {
        let columns: usize = width.parse().unwrap();
        for file in [&trace, &wide] {
            for command in ["report", "tree", "timeline", "memory"] {
                let used = widest(&[command, file, "--width", width]);
                assert!(used <= columns, "{command} {width}: {used}");
            }
            let used = widest(&["diff", file, file, "--width", width]);
            assert!(used <= columns, "diff {width}: {used}");
        }
    }
    assert!(widest(&["timeline", &trace, "--width", "200"]) > 120);
}

/// A hard link keeps the old file. Writing into the file in place would change both.
#[test]
fn an_output_file_is_replaced_as_a_whole() {
    let folder = Folder::new();
    let trace = folder.file("t.json", torch_trace(1));
    for command in ["report", "tree", "timeline", "memory", "flame", "convert"] {
        let output = folder.file("out.json", "old");
        let link = folder.path().join("link");
        fs::hard_link(&output, &link).unwrap();
        optrace(&[command, &trace, "-o", &output]).fine();
        assert_eq!(fs::read_to_string(&link).unwrap(), "old", "{command}");
        assert_ne!(fs::read_to_string(&output).unwrap(), "old", "{command}");
        fs::remove_file(&link).unwrap();
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);

    let error = optrace(&["report", &trace, "-o", folder.path().to_str().unwrap()]).failed();
    assert!(error.contains("is a directory"), "{error}");
}
