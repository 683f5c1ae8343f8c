//! The ending of an output file picks its format, and a path is checked before the trace exists.

use crate::random_trace::two_ranks;
use std::fs;
use std::path::PathBuf;
use trace_runtime::export::{FileFormat, OutputFile, write_file};
use trace_runtime::model::TraceErrorKind;
use trace_runtime::{TraceView as _, read};

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("output-file-{name}"));
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn every_ending_writes_its_format_or_names_the_missing_feature() {
    let folder = folder("endings");
    for (ending, format) in FileFormat::endings() {
        let path = folder.join(format!("run{}", ending.to_uppercase()));
        assert_eq!(FileFormat::of(&path).unwrap(), format, "{ending}");
        match write_file(&two_ranks(), &path) {
            Ok(()) => assert!(fs::metadata(&path).unwrap().len() > 0, "{ending}"),
            Err(error) => {
                assert_eq!(error.kind(), TraceErrorKind::UnknownFormat, "{error}");
                let text = error.to_string();
                let missing = ["parquet", "html"]
                    .into_iter()
                    .find(|feature| text.contains(&format!("the feature `{feature}`")));
                assert!(missing.is_some(), "{text}");
                #[cfg(feature = "parquet")]
                assert_ne!(missing, Some("parquet"));
                assert!(!path.exists());
            }
        }
    }
}

#[test]
fn a_trace_is_read_back_from_the_formats_that_keep_everything() {
    let folder = folder("read-back");
    for name in ["run.json", "run.chrome.json"] {
        let path = folder.join(name);
        fs::write(&path, "an old file").unwrap();
        write_file(&two_ranks(), &path).unwrap();
        let (back, trace) = (read::open(&path).unwrap(), two_ranks());
        assert_eq!(back.entry_count(), trace.entry_count());
        for (read, written) in back.views().zip(trace.views()) {
            assert_eq!(read.operation(), written.operation(), "{name}");
            assert_eq!(read.start_ns(), written.start_ns(), "{name}");
            assert_eq!(read.end_ns(), written.end_ns(), "{name}");
            assert!(read.inputs().eq(written.inputs()), "{name}");
        }
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
}

#[test]
fn a_compressed_file_has_the_content_of_the_plain_one() {
    use std::io::Read as _;
    let folder = folder("gzip");
    for name in ["run.json", "run.pftrace", "run.collapsed"] {
        let (plain, compressed) = (folder.join(name), folder.join(format!("{name}.gz")));
        write_file(&two_ranks(), &plain).unwrap();
        write_file(&two_ranks(), &compressed).unwrap();
        let mut content = Vec::new();
        flate2::read::GzDecoder::new(fs::File::open(&compressed).unwrap())
            .read_to_end(&mut content)
            .unwrap();
        assert_eq!(content, fs::read(&plain).unwrap(), "{name}");
    }
    let error = read::open(folder.join("run.json.gz")).unwrap_err();
    assert_eq!(error.kind(), TraceErrorKind::Compressed);
}

#[test]
fn a_path_that_cannot_be_written_is_an_error_before_there_is_a_trace() {
    let folder = folder("checked");
    let kind = |path: PathBuf| OutputFile::new(path).unwrap_err().kind();
    assert_eq!(kind(folder.clone()), TraceErrorKind::Directory);
    assert_eq!(kind(folder.join("missing/run.json")), TraceErrorKind::Write);
    for name in ["run", "run.txt", "json", "run.gz", "run.json.zst"] {
        let error = OutputFile::new(folder.join(name)).unwrap_err();
        assert_eq!(error.kind(), TraceErrorKind::UnknownFormat, "{name}");
        let text = error.to_string();
        for ending in [".json", ".pftrace", ".parquet", ".collapsed", ".gz"] {
            assert!(text.contains(&format!("`{ending}`")), "{text}");
        }
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    // A path without a directory is in the current one.
    assert!(OutputFile::new("run.json").is_ok());
}
