//! `diff`, `compare` and `baseline`: exit codes, formats, and clear messages for mistakes.

mod process;

use process::{Folder, optrace};
use std::path::Path;

/// A trace in which `mm` takes `mm_us` and four other ops take a steady time.
fn trace(mm_us: f64, run: usize) -> String {
    let mut events = Vec::new();
    let mut at = 0.0;
    for call in 0..60 {
        for (op, us) in [
            ("mm", mm_us),
            ("add", 20.0),
            ("gelu", 30.0),
            ("norm", 10.0),
            ("copy", 15.0),
        ] {
            let us = us * (1.0 + 0.001 * ((call * 7 + run * 3) % 10) as f64);
            events.push(format!(
                r#"{{"ph":"X","cat":"cpu_op","name":"{op}","pid":1,"tid":1,"ts":{at:.3},"dur":{us:.3}}}"#
            ));
            at += us + 0.5;
        }
    }
    format!(r#"{{"traceEvents":[{}]}}"#, events.join(","))
}

/// Five traces, as arguments.
fn five(folder: &Folder, name: &str, mm_us: f64) -> Vec<String> {
    (0..5)
        .map(|run| folder.file(&format!("{name}{run}.json"), trace(mm_us, run)))
        .collect()
}

fn diff(before: &[String], after: &[String], more: &[&str]) -> process::Ended {
    let mut args = vec!["diff", "--before"];
    args.extend(before.iter().map(String::as_str));
    args.push("--after");
    args.extend(after.iter().map(String::as_str));
    args.extend(more);
    optrace(&args)
}

#[test]
fn the_exit_code_is_1_only_for_a_slowdown_above_a_limit() {
    let folder = Folder::new();
    let (before, after) = (five(&folder, "b", 50.0), five(&folder, "a", 60.0));
    let shown = diff(&before, &after, &[]);
    assert_eq!((shown.code, shown.err.as_str()), (0, ""));
    assert!(
        shown.out.contains("slower by") && shown.out.contains("mm"),
        "{}",
        shown.out
    );

    for limit in [["--fail-over", "5%"], ["--fail-op-over", "10%"]] {
        let failed = diff(&before, &after, &limit);
        assert_eq!(
            (failed.code, failed.err.as_str()),
            (1, ""),
            "{}",
            failed.out
        );
        assert!(failed.out.starts_with("too slow: "), "{}", failed.out);
    }
    for limits in [
        &["--fail-over", "30%", "--fail-op-over", "50%"][..],
        &["--fail-over", "5%", "--min-change", "100ms"],
        &["--fail-op-over", "10%", "--min-weight", "60%"],
    ] {
        let passed = diff(&before, &after, limits).fine();
        assert!(passed.starts_with("passed: "), "{passed}");
    }
    assert!(
        diff(
            &after,
            &before,
            &["--fail-over", "0%", "--fail-op-over", "0%"]
        )
        .fine()
        .contains("faster by")
    );
    assert!(
        diff(
            &before,
            &before,
            &["--fail-over", "0%", "--fail-op-over", "0%"]
        )
        .fine()
        .contains("the same")
    );
}

#[test]
fn two_files_are_one_run_a_side() {
    let folder = Folder::new();
    let before = folder.file("before.json", trace(50.0, 0));
    let after = folder.file("after.json", trace(400.0, 1));
    let text = optrace(&["diff", &before, &after]).fine();
    assert!(text.contains("note: one run a side cannot show"), "{text}");
    let failed = optrace(&["diff", &before, &after, "--fail-op-over", "5%"]);
    assert_eq!(failed.code, 1, "{}", failed.out);
}

#[test]
fn json_has_the_verdict_the_method_and_the_evidence() {
    let folder = Folder::new();
    let (before, after) = (five(&folder, "b", 50.0), five(&folder, "a", 60.0));
    let json = diff(
        &before,
        &after,
        &["--format", "json", "--fail-op-over", "5%"],
    );
    assert_eq!(json.code, 1);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["passed"], false);
    assert_eq!(json["failures"][0]["what"], "mm");
    assert_eq!(json["method"]["runs"], serde_json::json!([5, 5]));
    assert_eq!(json["total"]["verdict"], "slower");
    let changes: i64 = json["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["change_ns"].as_i64().unwrap())
        .sum();
    assert_eq!(Some(changes), json["total"]["change_ns"].as_i64());
    let mm = &json["rows"][0];
    assert_eq!(
        (&mm["operation"], &mm["verdict"]),
        (&"mm".into(), &"slower".into())
    );
    let quiet = mm["evidence"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["metric"] == "quiet time")
        .unwrap();
    assert!(
        (quiet["change"].as_f64().unwrap() - 0.2).abs() < 0.01,
        "{quiet}"
    );
    assert!(quiet["p"].as_f64().unwrap() < 1e-6, "{quiet}");
}

#[test]
fn markdown_fits_a_comment_and_csv_a_spreadsheet() {
    let folder = Folder::new();
    let (before, after) = (five(&folder, "b", 50.0), five(&folder, "a", 60.0));
    let markdown = diff(&before, &after, &["--format", "md", "--fail-op-over", "5%"]).out;
    assert!(
        markdown.starts_with("**too slow**: elapsed time per run"),
        "{markdown}"
    );
    assert!(
        markdown.contains("\n- `mm` takes 20 % longer and adds"),
        "{markdown}"
    );
    assert!(
        markdown.contains("| `mm` |") && markdown.len() < 8_000,
        "{markdown}"
    );
    let csv = diff(&before, &after, &["--format", "csv"]).fine();
    assert!(
        csv.starts_with("op,input_shapes,verdict,change_ns,more_calls_ns"),
        "{csv}"
    );
    assert_eq!(
        csv.lines().count(),
        1 + 6,
        "five ops and the time outside of them: {csv}"
    );
}

#[test]
fn a_baseline_is_accepted_before_and_refused_after() {
    let folder = Folder::new();
    let (before, after) = (five(&folder, "b", 50.0), five(&folder, "a", 60.0));
    let path = folder
        .path()
        .join("baseline.json")
        .to_str()
        .unwrap()
        .to_owned();
    let mut args = vec!["baseline", "-o", &path];
    args.extend(before.iter().map(String::as_str));
    assert_eq!(optrace(&args).fine(), "");
    let baseline = vec![path.clone()];
    assert!(
        diff(
            &baseline,
            &before,
            &["--fail-over", "5%", "--fail-op-over", "5%"]
        )
        .fine()
        .starts_with("passed")
    );
    assert_eq!(diff(&baseline, &after, &["--fail-over", "5%"]).code, 1);
    let error = diff(&before, &baseline, &[]).failed();
    assert!(
        error.contains("a baseline goes before the change"),
        "{error}"
    );
    let newer = std::fs::read_to_string(&path)
        .unwrap()
        .replacen(": 3,", ": 99,", 1);
    let newer = vec![folder.file("newer.json", newer)];
    let error = diff(&newer, &after, &[]).failed();
    assert!(
        error.contains("newer.json") && error.contains("version 99"),
        "{error}"
    );
    let pairs = diff(&before, &after[..3], &["--pairs"]).failed();
    assert!(
        pairs.contains("as many runs before (5) as after (3)"),
        "{pairs}"
    );
}

/// A program that writes a trace: a shell script that copies a prepared one.
#[cfg(unix)]
fn program(folder: &Folder, name: &str, body: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.file(name, format!("#!/bin/sh\n{body}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[cfg(unix)]
#[test]
fn compare_runs_both_programs_in_turns() {
    let folder = Folder::new();
    let (slow, fast) = (five(&folder, "s", 60.0), five(&folder, "f", 50.0));
    let log = folder.path().join("log");
    let log = log.to_str().unwrap();
    let body = |name: &str, files: &[String]| {
        let folder = Path::new(&files[0]).parent().unwrap().display();
        format!(
            "echo \"$OPTRACE\" >> {log}.files\necho {name} \"$@\" >> {log}\nn=$(( $(grep -c {name} {log}) % 5 ))\ncp {folder}/{name}$n.json \"$OPTRACE\""
        )
    };
    let before = program(&folder, "before", &body("f", &fast));
    let after = program(&folder, "after", &body("s", &slow));
    let args = [
        "compare",
        "--runs",
        "8",
        "--fail-op-over",
        "10%",
        "--",
        &before,
        "one",
        "--",
        &after,
        "two",
        "three",
    ];
    let ended = optrace(&args);
    assert_eq!(ended.code, 1, "{}{}", ended.out, ended.err);
    assert!(
        ended.out.starts_with("too slow: ") && ended.out.contains("mm"),
        "{}",
        ended.out
    );
    assert!(
        ended.err.contains("warm-up 1 of 1") && ended.err.contains("run 5 of at most 8"),
        "{}",
        ended.err
    );
    // The runs are steady, so the minimum number of runs is made, in alternating order.
    let files = std::fs::read_to_string(format!("{log}.files")).unwrap();
    let first = files.lines().next().unwrap();
    assert!(files.lines().all(|file| file == first), "{files}");
    let log = std::fs::read_to_string(log).unwrap();
    let order: Vec<&str> = log.lines().collect();
    let (f, s) = ("f one", "s two three");
    assert_eq!(order, [f, s, f, s, s, f, f, s, s, f, f, s]);
    let kept = folder.path().join("kept");
    let keep = ["compare", "--keep", kept.to_str().unwrap(), "--"];
    let ended = optrace(&[&keep[..], &[&before, "--", &before]].concat());
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(kept.join("before-1.json").exists() && kept.join("after-5.json").exists());
}

#[cfg(unix)]
#[test]
fn compare_reports_programs_that_fail() {
    let folder = Folder::new();
    let silent = program(&folder, "silent", "true");
    let broken = program(
        &folder,
        "broken",
        "echo first >&2; echo 'no model' >&2; exit 3",
    );
    let error = |program: &str| {
        let ended = optrace(&["compare", "--warmup", "0", "--", program, "--", program]);
        assert_eq!(ended.code, 2, "{}", ended.err);
        ended.err
    };
    assert!(
        error(&silent).contains("wrote no trace to the file in `OPTRACE`"),
        "{}",
        error(&silent)
    );
    let text = error(&broken);
    assert!(
        text.contains("broken` failed (exit status: 3): no model"),
        "{text}"
    );
    assert!(
        error("./missing-program").contains("cannot be run"),
        "{}",
        error("./missing-program")
    );
}

/// Two runs of a recommendation model on a GPU, before and after a compiler was turned on. The expected figures were
/// computed by hand from the events: the mean length of the six `ProfilerStep`s, and the sums of the device copies.
#[test]
fn the_explanation_of_a_real_pair_equals_one_made_by_hand() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/traces");
    let [before, after] =
        ["diff_control.json.gz", "diff_test.json.gz"].map(|name| folder.join(name));
    if !before.exists() {
        println!("skipped: there is no {}", before.display());
        return;
    }
    let json = optrace(&[
        "diff",
        before.to_str().unwrap(),
        after.to_str().unwrap(),
        "--format",
        "json",
    ])
    .fine();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["method"]["per"], "step");
    assert_eq!(
        json["total"]["before_ns"], 77_490_833,
        "464,945 µs in six steps"
    );
    assert_eq!(
        json["total"]["after_ns"], 124_066_833,
        "744,401 µs in six steps"
    );
    let rows = json["rows"].as_array().unwrap();
    let changes: i64 = rows
        .iter()
        .map(|row| row["change_ns"].as_i64().unwrap())
        .sum();
    assert_eq!(changes, 46_576_000);
    let row = |name: &str| rows.iter().find(|row| row["operation"] == name).unwrap();
    let copies = row("Memcpy DtoD (Device -> Device)");
    assert_eq!(copies["count"], serde_json::json!([18, 4645]));
    assert_eq!(
        copies["self_ns"],
        serde_json::json!([455_833, 15_488_667]),
        "2,735 and 92,932 µs in six steps"
    );
    assert_eq!(copies["verdict"], "slower");
    assert!(
        copies["more_calls_ns"].as_i64() > Some(0) && copies["slower_calls_ns"].as_i64() < Some(0),
        "{copies}"
    );
    let reduce = row("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)");
    assert_eq!(
        reduce["self_ns"],
        serde_json::json!([5_480_000, 15_347_000]),
        "32,880 and 92,082 µs"
    );
    // The host waits for the device to read a value, and copies small tensors one by one.
    let first: Vec<&str> = json["ops"].as_array().unwrap()[..4]
        .iter()
        .map(|op| op["operation"].as_str().unwrap())
        .collect();
    assert_eq!(
        first,
        [
            "(ops at the same time)",
            "aten::_local_scalar_dense",
            "aten::copy_",
            "Memcpy DtoD (Device -> Device)"
        ]
    );
}

#[test]
fn a_tail_in_one_run_a_side_fails() {
    let folder = Folder::new();
    let trace = |slow: &dyn Fn(usize) -> bool| {
        let events: Vec<String> = (0..30)
            .map(|call| {
                let us = if slow(call) { 30_000 } else { 950 + (call * 37) % 100 };
                format!(
                    r#"{{"ph":"X","cat":"cpu_op","name":"item","pid":1,"tid":1,"ts":{},"dur":{us}}}"#,
                    call * 40_000
                )
            })
            .collect();
        format!(r#"{{"traceEvents":[{}]}}"#, events.join(","))
    };
    let before = folder.file("before.json", trace(&|_| false));
    let after = folder.file("after.json", trace(&|call| call % 5 == 0));
    let failed = optrace(&["diff", &before, &after, "--fail-op-over", "5%"]);
    assert_eq!(failed.code, 1, "{}", failed.out);
    let interrupted = folder.file("interrupted.json", trace(&|call| call == 9));
    optrace(&[
        "diff",
        &before,
        &interrupted,
        "--fail-over",
        "5%",
        "--fail-op-over",
        "5%",
    ])
    .fine();
}

#[test]
fn tables_and_failures_have_short_names_and_json_the_whole_ones() {
    let folder = Folder::new();
    let kernel =
        "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)";
    let short = "vectorized_elementwise_kernel<AddFunctor>";
    let named = |name: &str, mm_us: f64| {
        let file = |run| {
            let text = trace(mm_us, run).replace(r#""mm""#, &format!(r#""{kernel}""#));
            folder.file(&format!("{name}{run}.json"), text)
        };
        (0..5).map(file).collect::<Vec<String>>()
    };
    let (before, after) = (named("b", 50.0), named("a", 60.0));
    let gate = ["--fail-op-over", "10%", "--width", "200"];
    let failed = diff(&before, &after, &gate).out;
    assert!(failed.contains(&format!("{short} takes ")), "{failed}");
    assert!(!failed.contains("void at::native"), "{failed}");
    let json = diff(&before, &after, &["--format", "json"]).fine();
    assert!(
        json.contains(kernel) && !json.contains(&format!("\"{short}")),
        "{json}"
    );
    for command in ["path", "tree"] {
        let shown = optrace(&[command, &before[0], "--width", "200"]).fine();
        assert!(
            shown.contains(short) && !shown.contains("void at"),
            "{command}: {shown}"
        );
    }
}
