//! Sessions that the environment starts.

use crate::{directory, leaf};
use trace_runtime::{Session, TraceView, read};

/// The program that the tests below run, with variables of their choice.
#[test]
#[ignore = "run by other tests"]
fn program_with_a_session_from_the_environment() {
    let session = Session::from_env().unwrap_or_else(|error| panic!("{error}"));
    leaf(&[1.0]);
    if let Some(directory) = std::env::var_os("REMOVE") {
        std::fs::remove_dir_all(directory).unwrap();
    }
    drop(session);
}

/// Runs it, and returns whether it succeeded and its standard error.
fn program(variables: &[(&str, &std::ffi::OsStr)]) -> (bool, String) {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture"])
        .arg("environment::program_with_a_session_from_the_environment")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), errors)
}

#[test]
fn the_environment_starts_a_session_and_a_failed_write_is_one_line() {
    let directory = directory("environment");
    let path = directory.join("t-{rank}.json");
    let output = ("OPTRACE", path.as_os_str());
    let rank = ("RANK", "2".as_ref());
    assert_eq!(program(&[output, rank]), (true, String::new()));
    let trace = read::open(directory.join("t-2.json")).unwrap();
    assert_eq!(trace.view(0).rank(), Some(2));

    let (ok, errors) = program(&[output, ("REMOVE", directory.as_os_str())]);
    assert!(ok, "a program does not fail because of its trace");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(
        errors.starts_with("the recorded trace is lost: "),
        "{errors}"
    );
}

#[test]
fn variables_that_cannot_be_used_stop_the_start() {
    let (ok, errors) = program(&[("OPTRACE", "t.json".as_ref()), ("RANK", "one".as_ref())]);
    assert!(
        !ok && errors.contains("`RANK` is `one`; expected "),
        "{errors}"
    );
    #[cfg(unix)]
    {
        let not_utf_8 = std::os::unix::ffi::OsStrExt::from_bytes(b"t\xff.json");
        let (ok, errors) = program(&[("OPTRACE", not_utf_8)]);
        assert!(
            !ok && errors.contains("expected text that is valid UTF-8"),
            "{errors}"
        );
    }
}
