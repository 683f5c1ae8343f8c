//! `--steps`, `--skip-warm-up`, `--filter` and `tree --rows`, from the command line.

mod process;

use process::{Folder, optrace};

/// Four steps: the first takes three times as long, because of `init`.
fn training(folder: &Folder) -> String {
    let mut events = Vec::new();
    let mut at = 0;
    for (number, length) in [(0, 300), (1, 100), (2, 100), (3, 100)] {
        let mut add = |cat: &str, name: &str, start: u32, length: u32| {
            events.push(format!(
                r#"{{"ph": "X", "cat": "{cat}", "name": "{name}", "pid": 1, "tid": 1, "ts": {}, "dur": {length}}}"#,
                at + start
            ));
        };
        add(
            "user_annotation",
            &format!("ProfilerStep#{number}"),
            0,
            length,
        );
        if number == 0 {
            add("cpu_op", "init", 10, 200);
        }
        add("cpu_op", "aten::linear", length - 80, 60);
        add("cpu_op", "aten::mm", length - 70, 40);
        at += length;
    }
    let json = format!(r#"{{"traceEvents": [{}]}}"#, events.join(","));
    folder.file("steps.json", &json)
}

#[test]
fn a_report_shows_the_steps_and_what_made_one_slow() {
    let folder = Folder::new();
    let trace = training(&folder);
    let report = optrace(&["report", &trace]).fine();
    assert!(report.contains("Steps\n"), "{report}");
    assert!(
        report.contains("mean 150 µs, standard deviation 86.6 µs"),
        "{report}"
    );
    assert!(
        report.contains("Longer in the slowest step (0)"),
        "{report}"
    );
    assert!(!report.contains("ProfilerStep"), "{report}");
}

#[test]
fn every_command_can_be_restricted_to_steps() {
    let folder = Folder::new();
    let trace = training(&folder);
    let calls = |args: &[&str]| -> String {
        let mut all = vec!["report", &trace, "--format", "csv"];
        all.extend(args);
        optrace(&all).fine()
    };
    assert!(calls(&[]).contains("init"));
    for args in [
        &["--steps", "1..3"][..],
        &["--steps", "1.."],
        &["--skip-warm-up"],
        &["--skip-warm-up", "--steps", "..9"],
    ] {
        let csv = calls(args);
        assert!(
            !csv.contains("init") && csv.contains("aten::mm"),
            "{args:?}: {csv}"
        );
    }
    let text = optrace(&["report", &trace, "--steps", "2"]).fine();
    assert!(text.contains("only steps 2 of 0..3"), "{text}");
    let again = folder.path().join("part.json").to_str().unwrap().to_owned();
    optrace(&["convert", &trace, "--steps", "1..2", "-o", &again]).fine();
    let part: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&again).unwrap()).unwrap();
    assert_eq!(part["steps"].as_array().unwrap().len(), 2);
    assert_eq!(part["entries"].as_array().unwrap().len(), 4);
    for command in ["tree", "timeline"] {
        let shown = optrace(&[command, &trace, "--steps", "0"]).fine();
        assert!(!shown.is_empty(), "{command}");
    }
}

#[test]
fn steps_that_make_no_sense_are_refused() {
    let folder = Folder::new();
    let trace = training(&folder);
    let ended = optrace(&["report", &trace, "--steps", "7..9"]);
    assert_eq!(ended.code, 2);
    assert!(
        ended
            .err
            .contains("none of the steps 7..9 is in the trace, which has 0..3"),
        "{}",
        ended.err
    );
    let ended = optrace(&["report", &trace, "--steps", "9..7"]);
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("is empty"), "{}", ended.err);
    let plain = folder.file(
        "plain.json",
        r#"[{"ph": "X", "name": "x", "pid": 1, "tid": 1, "ts": 0, "dur": 1}]"#,
    );
    for args in [&["--steps", "1"][..], &["--skip-warm-up"]] {
        let mut all = vec!["tree", &plain];
        all.extend(args);
        let ended = optrace(&all);
        assert_eq!(ended.code, 2);
        assert!(ended.err.contains("has no steps"), "{}", ended.err);
    }
}

#[test]
fn a_filter_keeps_rows_and_their_shares() {
    let folder = Folder::new();
    let trace = training(&folder);
    let all = optrace(&["report", &trace]).fine();
    let line = |text: &str| {
        text.lines()
            .find(|line| line.starts_with("aten::mm"))
            .unwrap()
            .to_owned()
    };
    let some = optrace(&["report", &trace, "--filter", "MM"]).fine();
    assert_eq!(
        line(&all).split_whitespace().collect::<Vec<_>>(),
        line(&some).split_whitespace().collect::<Vec<_>>()
    );
    assert!(some.contains("match `MM`: 1 of 3"), "{some}");
    let none = optrace(&["report", &trace, "--filter", "conv*2d"]).fine();
    assert!(
        none.contains("none of the 3 ops matches `conv*2d`"),
        "{none}"
    );
    let csv = optrace(&["report", &trace, "--filter", "aten::*", "--format", "csv"]).fine();
    assert_eq!(csv.lines().count(), 3, "{csv}");
}

#[test]
fn a_tree_has_as_many_rows_as_requested() {
    let folder = Folder::new();
    let trace = training(&folder);
    let tree = optrace(&["tree", &trace, "--rows", "2"]).fine();
    assert!(
        tree.contains("aten::linear") && tree.contains("init"),
        "{tree}"
    );
    assert!(!tree.contains("aten::mm"), "{tree}");
    assert!(
        tree.contains("and 1 smaller calls (`--rows` shows more)"),
        "{tree}"
    );
}
