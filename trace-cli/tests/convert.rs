//! `optrace convert`: every format, every kind of output, and every mistake in the options.

mod process;

use flate2::read::GzDecoder;
use process::{Folder, optrace, optrace_reading, torch_trace};
use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::Path;

/// The path of a file with this name in the folder.
fn within(folder: &Folder, name: &str) -> String {
    let path = folder.path().join(name);
    path.to_str().expect("a path in UTF-8").to_owned()
}

fn names(folder: &Folder) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn ops(path: &str) -> String {
    optrace(&["report", path, "--format", "csv"]).fine()
}

#[test]
fn a_memory_snapshot_is_named_by_its_ending() {
    let folder = Folder::new();
    let trace = folder.file("t.json", torch_trace(1));
    let path = within(&folder, "memory.pickle");
    assert_eq!(optrace(&["convert", &trace, "-o", &path]).fine(), "");
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.starts_with(&[0x80, 2]) && bytes.ends_with(b"."));
    let has = |text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
    assert!(has(b"device_traces") && has(b"aten::mm"));
}

#[test]
fn formats_that_can_be_read_give_the_same_trace_back() {
    let folder = Folder::new();
    let trace = folder.file("t.json", torch_trace(1));
    for name in [
        "own.json",
        "own.chrome.json",
        "own.json.gz",
        "own.pt.trace.json.gz",
    ] {
        let path = within(&folder, name);
        optrace(&["convert", &trace, "-o", &path]).fine();
        assert_eq!(ops(&path), ops(&trace), "{name}");
        let again = optrace(&["convert", &path, "--to", "json"]).fine();
        assert_eq!(
            again,
            optrace(&["convert", &trace, "--to", "json"]).fine(),
            "{name}"
        );
    }
}

#[test]
fn the_format_is_that_of_the_ending_or_of_the_option() {
    let folder = Folder::new();
    let trace = folder.file("t.json", torch_trace(1));
    for (name, format, begins) in [
        ("own.json", "json", "{\n  \"schema_version\""),
        ("t.chrome.json", "chrome", "{\n\"schemaVersion\": 1"),
        ("t.speedscope.json", "speedscope", "{\"$schema\""),
        ("t.folded", "collapsed", "trace;"),
        ("t.SVG", "svg", "<?xml"),
        ("t.csv", "csv", "operation,input_shapes,"),
    ] {
        let path = within(&folder, name);
        optrace(&["convert", &trace, "-o", &path]).fine();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(begins), "{name}: {text:.100}");
        for ended in [
            optrace(&["convert", &trace, "--to", format]),
            optrace(&["convert", &trace, "--to", format, "-o", "-"]),
            optrace_reading(&["convert", "-", "--to", format], torch_trace(1).as_bytes()),
        ] {
            assert_eq!(ended.fine(), text, "{name}");
        }
        // An existing file is replaced, and the option overrides the ending.
        optrace(&["convert", &trace, "--to", "collapsed", "-o", &path]).fine();
        assert!(fs::read_to_string(&path).unwrap().starts_with("trace;"));
    }
    let path = within(&folder, "t.pftrace");
    optrace(&["convert", &trace, "-o", &path]).fine();
    assert!(Path::new(&path).metadata().unwrap().len() > 100);
    assert!(!Path::new("-").exists());
}

#[test]
fn a_name_that_ends_in_gz_is_compressed() {
    let folder = Folder::new();
    let trace = folder.file("t.json", torch_trace(1));
    for name in ["t.chrome.json", "t.collapsed", "t.csv", "t.pftrace"] {
        let (plain, small) = (
            within(&folder, name),
            within(&folder, &format!("{name}.gz")),
        );
        optrace(&["convert", &trace, "-o", &plain]).fine();
        optrace(&["convert", &trace, "-o", &small]).fine();
        let mut read = Vec::new();
        GzDecoder::new(fs::File::open(&small).unwrap())
            .read_to_end(&mut read)
            .unwrap();
        assert!(read == fs::read(&plain).unwrap(), "{name}");
    }
}

#[test]
fn mistakes_in_options_are_reported_before_the_trace_is_read() {
    let folder = Folder::new();
    let missing = within(&folder, "missing.json");
    for (output, expected) in [
        ("t.xyz", "choose a format with `--to`"),
        ("t", "`.pftrace`"),
        ("t.gz", "does not name a format"),
        ("t.json.zst", "use the ending `.gz`"),
    ] {
        let path = within(&folder, output);
        let error = optrace(&["convert", &missing, "-o", &path]).failed();
        assert!(
            error.contains(output) && error.contains(expected),
            "{error}"
        );
    }
    for flag in ["--split", "--by-rank"] {
        let error = optrace(&["convert", &missing, "-o", "-", flag]).failed();
        assert!(error.contains("name a file with `--output`"), "{error}");
        let error = optrace(&["convert", &missing, flag]);
        assert!(
            error.code == 2 && error.err.contains("--output"),
            "{}",
            error.err
        );
    }
    let unknown = optrace(&["convert", &missing, "--to", "xml"]);
    assert!(
        unknown.code == 2 && unknown.err.contains("perfetto"),
        "{}",
        unknown.err
    );
    assert!(names(&folder).is_empty());
}

#[test]
fn outputs_that_cannot_be_written_are_named() {
    let folder = Folder::new();
    let trace = folder.file("t.json", torch_trace(1));
    let nowhere = within(&folder, "no/such/folder.json");
    let error = optrace(&["convert", &trace, "-o", &nowhere]).failed();
    assert!(error.contains("no/such/folder.json"), "{error}");
    let directory = within(&folder, "a.json");
    fs::create_dir(&directory).unwrap();
    let error = optrace(&["convert", &trace, "-o", &directory]).failed();
    assert!(
        error.contains("is a directory; name a file in it"),
        "{error}"
    );
    assert_eq!(names(&folder), ["a.json", "t.json"]);
}

#[test]
fn a_file_for_each_rank_is_written_and_listed() {
    let folder = Folder::new();
    let ranks = [0, 1].map(|rank| {
        let text = torch_trace(1).replace("\"rank\": 0", &format!("\"rank\": {rank}"));
        folder.file(&format!("in{rank}.json"), text)
    });
    let path = within(&folder, "both.chrome.json.gz");
    let merged = within(&folder, "both.json");
    assert_eq!(
        optrace(&["merge", &ranks[0], &ranks[1], "-o", &merged]).code,
        0
    );
    let listed = optrace(&["convert", &merged, "-o", &path, "--by-rank"]).fine();
    let listed: Vec<&str> = listed.lines().collect();
    assert_eq!(
        listed,
        [0, 1].map(|rank| within(&folder, &format!("both.chrome.rank-{rank}.json.gz")))
    );
    assert!(listed.iter().all(|path| ops(path).contains("aten::mm")));
}

/// Ops one after the other, each of which gives two events in both formats.
#[test]
fn a_chakra_trace_of_several_ranks_is_a_file_for_each() {
    let folder = Folder::new();
    let files = [0, 1].map(|rank| {
        let text = torch_trace(1).replace("\"rank\": 0", &format!("\"rank\": {rank}"));
        folder.file(&format!("in{rank}.json"), text)
    });
    let merged = within(&folder, "merged.json");
    // Merging reports on standard error how the clocks were aligned.
    assert_eq!(
        optrace(&["merge", &files[0], &files[1], "-o", &merged]).code,
        0
    );
    let listed = optrace(&["convert", &merged, "-o", &within(&folder, "job.et")]).fine();
    let paths = [within(&folder, "job.0.et"), within(&folder, "job.1.et")];
    assert_eq!(listed, format!("{}\n{}\n", paths[0], paths[1]));
    assert!(
        paths
            .iter()
            .all(|path| fs::metadata(path).unwrap().len() > 100)
    );
    // A single rank is written to one file with the given name.
    optrace(&["convert", &files[0], "-o", &within(&folder, "one.et")]).fine();
    assert!(Path::new(&within(&folder, "one.et")).exists());
}

fn long_trace(ops: usize) -> String {
    let mut text = String::from("[");
    for op in 0..ops {
        let comma = if op == 0 { "" } else { "," };
        let _ = write!(
            text,
            r#"{comma}{{"ph":"X","name":"op","ts":{op},"dur":1,"args":{{"Output Dims":[[2]]}}}}"#
        );
    }
    text + "]"
}

#[test]
fn more_events_than_viewers_open_are_rejected_without_split() {
    let folder = Folder::new();
    let trace = folder.file("in.json", long_trace(500_001));
    for (format, rejected) in [("speedscope", "-"), ("chrome", "no.json")] {
        let error = optrace(&["convert", &trace, "--to", format, "-o", rejected]).failed();
        assert!(
            error.contains("1000002 events") && error.contains("`--split`"),
            "{error}"
        );
        let path = within(&folder, &format!("t.{format}.json"));
        let listed = optrace(&["convert", &trace, "-o", &path, "--split"]).fine();
        let sizes: Vec<usize> = listed
            .lines()
            .map(|path| {
                let text = fs::read_to_string(path).unwrap();
                text.matches("\"type\":\"O\"").count() + text.matches("\"cpu_op\"").count()
            })
            .collect();
        assert_eq!((sizes.len(), sizes.iter().sum()), (2, 500_001), "{listed}");
    }
    assert!(names(&folder).contains(&"t.1-of-2.speedscope.json".to_owned()));
    assert!(!Path::new("no.json").exists());
}

#[cfg(not(feature = "parquet"))]
#[test]
fn without_the_parquet_feature_the_error_names_it() {
    let error = optrace(&["convert", "t.json", "--to", "parquet"]).failed();
    assert!(error.contains("--features parquet"), "{error}");
}

#[cfg(feature = "parquet")]
#[test]
fn tables_are_written_as_parquet() {
    let folder = Folder::new();
    let trace = folder.file("t.json", torch_trace(1));
    for name in ["t.parquet", "t.shapes.parquet"] {
        let path = within(&folder, name);
        optrace(&["convert", &trace, "-o", &path]).fine();
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    }
}
