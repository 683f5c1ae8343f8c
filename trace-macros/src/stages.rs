//! Checks that only the validation stage can reject user code.

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn only_validation_reports_mistakes() {
    const REPORTS: [&str; 8] = [
        "Mistakes",
        "syn::Error",
        "compile_error",
        "panic!",
        "unreachable!",
        ".unwrap()",
        ".expect(",
        "assert",
    ];
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut checked = 0;
    for path in rust_files(&source) {
        let relative = path.strip_prefix(&source).unwrap();
        let is_test = ["stages.rs", "snapshots.rs"]
            .iter()
            .any(|test| relative.ends_with(test));
        let is_validation = relative
            .components()
            .any(|part| part.as_os_str().to_string_lossy().starts_with("validate"));
        if is_test || is_validation {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for report in REPORTS {
            assert!(
                !text.contains(report),
                "`{report}` in {}",
                relative.display()
            );
        }
        checked += 1;
    }
    assert!(checked >= 10, "only {checked} files");
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}
