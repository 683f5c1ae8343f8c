//! The output of each command, in every format.

mod process;

use process::{Folder, optrace, optrace_into_closed_pipe, optrace_reading, torch_trace, trace_of};
use std::io::Write as _;

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let help = optrace(&["--help"]).fine();
    for command in [
        "report",
        "top",
        "tree",
        "path",
        "flame",
        "timeline",
        "memory",
        "diff",
        "compare",
        "baseline",
        "merge",
        "convert",
        "completions",
    ] {
        assert!(
            help.contains(&format!("\n  {command} ")),
            "{command}: {help}"
        );
        let own = optrace(&[command, "--help"]).fine();
        assert!(own.contains("Usage: optrace"), "{own}");
    }
    assert!(
        help.contains("Exit codes:") && help.contains("NO_COLOR"),
        "{help}"
    );
    assert!(optrace(&["--version"]).fine().starts_with("optrace "));
}

#[test]
fn a_bad_command_line_gets_an_error_that_helps() {
    for (args, expected) in [
        (&["repotr"][..], "report"),
        (&["report"], "<FILE>"),
        (&["report", "x", "--formt", "md"], "--format"),
        (
            &["report", "x", "--format", "xml"],
            "possible values: text, md, json, csv",
        ),
        (&["diff", "a"], "2 values required"),
        (&["diff", "--before", "a"], "--after"),
        (&["compare", "--", "a"], "two programs"),
        (
            &["diff", "a", "b", "--fail-over", "lots"],
            "a percentage such as `5%`",
        ),
        (&["merge"], "<RANK_FILES>"),
        (&[], "Usage"),
    ] {
        let ended = optrace(args);
        assert_eq!(ended.code, 2, "{args:?}");
        assert!(ended.out.is_empty());
        assert!(ended.err.contains(expected), "{args:?}: {}", ended.err);
    }
}

#[test]
fn a_report_is_one_line_and_then_tables() {
    let folder = Folder::new();
    let trace = folder.file("t.json", torch_trace(1));
    let text = optrace(&["report", &trace]).fine();
    assert!(
        text.starts_with("cuda:0 is idle 95 % of the time"),
        "{text}"
    );
    assert!(!text.contains("cudaLaunchKernel"), "{text}");
    assert!(text.contains("aten::mm [64×32]·[32×8]"), "{text}");
    assert!(!text.contains('\u{1b}'));

    let all = optrace(&["report", &trace, "--runtime-calls"]).fine();
    assert!(all.contains("cudaLaunchKernel"), "{all}");

    let markdown = optrace(&["report", &trace, "--format", "md"]).fine();
    assert!(
        markdown.contains("| --- |") || markdown.contains("|---|") || markdown.contains("| :"),
        "{markdown}"
    );

    let json = optrace(&["report", &trace, "--format", "json"]).fine();
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let ops = report["ops"].as_array().unwrap();
    let mm = ops
        .iter()
        .find(|row| row["operation"] == "aten::mm")
        .unwrap();
    assert_eq!((&mm["count"], &mm["self_ns"]), (&8.into(), &800_000.into()));

    let csv = optrace(&["report", &trace, "--format", "csv"]).fine();
    assert_eq!(csv.lines().count(), 5, "{csv}");
    let by_shape = optrace(&["report", &trace, "--format", "csv", "--by-shape"]).fine();
    assert!(by_shape.contains("64"), "{by_shape}");
}

#[test]
fn the_library_and_the_command_print_the_same() {
    let folder = Folder::new();
    let mut plain = trace_runtime::RecordedExecutionTrace::new();
    plain.add_entry(
        trace_runtime::RecordedTraceEntry::new(0, "matmul")
            .with_duration(std::time::Duration::from_micros(5)),
    );
    let trace = folder.file("t.json", plain.to_json().unwrap());
    let style = trace_runtime::report::TextStyle::default();
    assert_eq!(
        optrace(&["report", &trace]).fine(),
        plain.report().to_text(&style)
    );
}

#[test]
fn a_tree_shows_callers_above_what_they_call() {
    let folder = Folder::new();
    let trace = folder.file("t.json", torch_trace(1));
    let text = optrace(&["tree", &trace]).fine();
    let line = |op: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(op));
        line.unwrap_or_else(|| panic!("{op}: {text}"))
    };
    for (depth, op) in ["step", "aten::linear", "aten::mm", "sgemm"]
        .into_iter()
        .enumerate()
    {
        assert!(
            line(op).starts_with(&format!("{}{op} ", "  ".repeat(depth))),
            "{text}"
        );
    }
    assert!(line("aten::mm").contains("800 µs"), "{text}");
    let shallow = optrace(&["tree", &trace, "--depth", "1"]).fine();
    assert!(
        !shallow.contains("aten::mm") && shallow.contains("and 2 calls"),
        "{shallow}"
    );
    let json = optrace(&["tree", &trace, "--format", "json"]).fine();
    let tree: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(tree["nodes"][2]["operation"], "aten::mm");
}

#[test]
fn flame_graphs_are_drawn_alone_and_against_an_earlier_trace() {
    let folder = Folder::new();
    let before = folder.file("before.json", torch_trace(1));
    let after = folder.file("after.json", torch_trace(2));
    let alone = optrace(&["flame", &before, "--title", "mine <&>"]).fine();
    assert!(
        alone.contains("<svg") && alone.contains("aten::mm"),
        "{alone}"
    );
    assert!(alone.contains("mine &lt;&amp;&gt;"));
    let path = folder.path().join("diff.svg");
    let path = path.to_str().unwrap();
    let printed = optrace(&["flame", &after, "--against", &before, "-o", path]).fine();
    assert_eq!(printed, "");
    let drawn = std::fs::read_to_string(path).unwrap();
    assert!(drawn.contains("<svg") && drawn != alone);
}

#[test]
fn flame_graphs_of_memory_have_bytes() {
    let folder = Folder::new();
    let trace = folder.file("t.json", torch_trace(1));
    for by in ["live", "allocated"] {
        let stacks = optrace(&["flame", &trace, "--by", by, "--collapsed"]).fine();
        let bytes = |line: &str| line.rsplit(' ').next()?.parse::<u64>().ok();
        let sum: u64 = stacks.lines().filter_map(bytes).sum();
        assert_eq!(sum, 32768, "{stacks}");
        assert!(stacks.contains(";aten::linear;aten::mm 32768"), "{stacks}");
        let svg = optrace(&["flame", &trace, "--by", by]).fine();
        assert!(svg.contains("memory (32,768 bytes, 100%)"), "{svg}");
    }
    let times = optrace(&["flame", &trace, "--collapsed"]).fine();
    let converted = optrace(&["convert", &trace, "--to", "collapsed"]).fine();
    assert_eq!(times, converted);
    let both = optrace(&["flame", &trace, "--collapsed", "--against", &trace]);
    assert_eq!(both.code, 2);
}

#[test]
fn a_timeline_and_memory_show_threads_and_devices() {
    let folder = Folder::new();
    let trace = folder.file("t.json", torch_trace(1));
    let timeline = optrace(&["timeline", &trace]).fine();
    assert!(
        timeline.contains("main") && timeline.contains("cuda:0 stream 7"),
        "{timeline}"
    );
    assert!(
        timeline.contains('░') || timeline.contains('▒'),
        "{timeline}"
    );
    let csv = optrace(&["timeline", &trace, "--format", "csv"]).fine();
    assert!(
        csv.contains("main,32,") || csv.contains("main,24,"),
        "{csv}"
    );

    let memory = optrace(&["memory", &trace]).fine();
    assert!(memory.starts_with("peak 32.8 kB on cpu"), "{memory}");
    assert!(
        memory.contains("aten::mm") && memory.contains('█'),
        "{memory}"
    );
    let json = optrace(&["memory", &trace, "--format", "json"]).fine();
    let devices: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(devices["live"][0]["peak_bytes"], 32768);
    let nothing = folder.file("n.json", r#"{"traceEvents": []}"#);
    assert!(
        optrace(&["memory", &nothing])
            .fine()
            .contains("has no frees")
    );
}

#[test]
fn ranks_merge_into_one_trace() {
    let folder = Folder::new();
    let zero = folder.file("0.json", torch_trace(1));
    let one = folder.file(
        "1.json",
        torch_trace(1).replace(r#""rank": 0"#, r#""rank": 1"#),
    );
    let merged = optrace(&["merge", &zero, &one]);
    assert_eq!(merged.code, 0, "{}", merged.err);
    assert!(
        merged.err.starts_with("clocks aligned by: "),
        "{}",
        merged.err
    );
    let report = optrace_reading(&["report", "-"], merged.out.as_bytes()).fine();
    assert!(report.contains("2 ranks"), "{report}");
    let twice = optrace(&["merge", &zero, &zero]).failed();
    assert!(twice.contains("both of rank 0"), "{twice}");
    let stdin = optrace(&["merge", "-", "-"]).failed();
    assert!(stdin.contains("more than once"), "{stdin}");
}

#[test]
fn compressed_files_and_standard_input_read_the_same() {
    let folder = Folder::new();
    let json = torch_trace(1);
    let plain = optrace(&["report", &folder.file("t.json", &json)]).fine();

    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(json.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let zstd = ruzstd::encoding::compress_to_vec(json.as_bytes(), level);
    for (name, bytes) in [
        ("t.json.gz", &gzip),
        ("t.json.zst", &zstd),
        ("no-ending", &gzip),
    ] {
        assert_eq!(
            optrace(&["report", &folder.file(name, bytes)]).fine(),
            plain,
            "{name}"
        );
        assert_eq!(
            optrace_reading(&["report", "-"], bytes).fine(),
            plain,
            "{name}"
        );
    }
    assert_eq!(
        optrace_reading(&["report", "-"], json.as_bytes()).fine(),
        plain
    );

    for (name, bytes) in [("cut.gz", &gzip), ("cut.zst", &zstd)] {
        let cut = folder.file(name, &bytes[..bytes.len() / 2]);
        let error = optrace(&["report", &cut]).failed();
        assert!(error.contains("damaged or ends too early"), "{error}");
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let folder = Folder::new();
    let names: Vec<String> = (0..2000)
        .map(|index| format!("op number {index}"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let trace = folder.file("t.json", trace_of(&names));
    for args in [
        &["report", &trace, "--format", "json"][..],
        &["tree", &trace, "--min", "0%", "--format", "csv"],
        &["convert", &trace, "--to", "chrome"],
        &["convert", &trace, "--to", "json"],
        &["flame", &trace],
        &["--help"],
    ] {
        optrace_into_closed_pipe(args).fine();
    }
}

#[test]
fn completions_are_made_for_the_common_shells() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(optrace(&["completions", shell]).fine().contains("optrace"));
    }
}

#[test]
fn the_first_line_is_not_aligned_like_a_table() {
    let folder = Folder::new();
    let event = |name: &str, ms: u64| {
        let us = ms * 1000;
        format!(r#"[{{"ph": "X", "name": "{name}", "pid": 1, "tid": 1, "ts": 0, "dur": {us}}}]"#)
    };
    let slow = folder.file("slow.json", event("matmul", 2000));
    let fast = folder.file("fast.json", event("matmul", 1000));
    for (args, line) in [
        (&["tree", &slow][..], "2.00 s in ops, by caller"),
        (
            &["timeline", &slow],
            "2.00 s from the first start to the last end, left to right",
        ),
        (
            &["diff", &slow, &fast],
            "elapsed time per run 2.00 s → 1.00 s, a change of −50 %, which noise explains",
        ),
    ] {
        let text = optrace(args).fine();
        assert_eq!(text.lines().next(), Some(line), "{text}");
    }
}

const SYNCHRONISED: &str = r#"[
    {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":5,"dur":10},
    {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":7,"dur":5,"args":{"correlation":7}},
    {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":15,"dur":980,"args":{"device":0,"stream":7,"correlation":7}},
    {"ph":"X","cat":"cuda_runtime","name":"cudaDeviceSynchronize","pid":1,"tid":1,"ts":20,"dur":978,"args":{"correlation":8}}]"#;

#[test]
fn path_shows_the_critical_work_and_the_waits() {
    let folder = Folder::new();
    let file = folder.file("run.json", SYNCHRONISED);
    let text = optrace(&["path", &file]).fine();
    assert!(
        text.starts_with("987 µs of work on the critical path, 99 % of it on devices"),
        "{text}"
    );
    for expected in ["gemm", "cuda:0", "launch delay", "cudaDeviceSynchronize"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let full = optrace(&["path", &file, "--full", "--format", "csv"]).fine();
    let lines: Vec<&str> = full.lines().collect();
    assert_eq!(lines.len(), 3, "{full}");
    assert!(
        lines[2].contains("gemm") && lines[2].ends_with("3000,launch delay"),
        "{full}"
    );
    let json = optrace(&["path", &file, "--format", "json"]).fine();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["critical_path"]["device_ns"], 980_000);
    assert_eq!(json["lanes"][0]["waiting_ns"], 978_000);
    assert!(
        optrace(&["path", &file, "--format", "md"])
            .fine()
            .contains("gemm")
    );
}

#[test]
fn convert_adds_the_critical_path_where_the_format_has_tracks() {
    let folder = Folder::new();
    let file = folder.file("run.json", SYNCHRONISED);
    let chrome = optrace(&["convert", &file, "--to", "chrome", "--critical-path"]).fine();
    assert!(chrome.contains("\"critical_path\""), "{chrome}");
    let refused = optrace(&["convert", &file, "--to", "csv", "--critical-path"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("optrace path"), "{}", refused.err);
}
