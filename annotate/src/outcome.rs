//! Builds and tests a project, and keeps the results for a comparison: messages of the compiler and results of tests.

use crate::project::{Project, Published};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// The results of building and testing one variant.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Errors and warnings of the crate itself, without positions; each with its number.
    pub messages: BTreeMap<String, usize>,
    pub errors: usize,
    pub passed: BTreeSet<String>,
    pub failed: BTreeSet<String>,
}

/// Whether the annotated functions run inside a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Idle,
    Recording,
}

/// The parts of the crate that are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    WithTests,
    /// For crates whose tests need files or crates that are not published.
    Library,
}

/// Read by the crate `session`.
const RECORD: &str = "ANNOTATE_RECORD";

impl Outcome {
    /// Builds the library, and its unit and integration tests if asked.
    pub fn check(
        &mut self,
        project: &Project,
        published: Published,
        target: &Path,
        parts: Parts,
    ) -> Result<(), String> {
        let mut command = cargo("check", project, published, target);
        if parts == Parts::WithTests {
            command.arg("--tests");
        }
        let output = command
            .arg("--message-format=json")
            .output()
            .map_err(|error| format!("cargo check: {error}"))?;
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            self.read_message(line);
        }
        if !output.status.success() && self.errors == 0 {
            return Err(format!(
                "cargo check failed before the crate itself:\n{}",
                String::from_utf8_lossy(&output.stderr)
            ));
        }
        Ok(())
    }

    fn read_message(&mut self, line: &str) {
        let Ok(line) = serde_json::from_str::<serde_json::Value>(line) else {
            return;
        };
        let message = &line["message"];
        let level = message["level"].as_str().unwrap_or_default();
        if line["reason"] != "compiler-message" || !matches!(level, "warning" | "error") {
            return;
        }
        let text = message["message"].as_str().unwrap_or_default();
        // The closing lines "N warnings emitted" and "aborting due to N errors" are not messages.
        if message["spans"].as_array().is_none_or(Vec::is_empty) && message["code"].is_null() {
            return;
        }
        self.errors += usize::from(level == "error");
        let span = &message["spans"][0];
        let place = format!(
            "{}:{}",
            span["file_name"].as_str().unwrap_or_default(),
            span["line_start"]
        );
        *self
            .messages
            .entry(format!("{level}: {text} ({place})"))
            .or_default() += 1;
    }

    /// Runs the tests.
    pub fn test(
        &mut self,
        project: &Project,
        published: Published,
        target: &Path,
        mode: Mode,
    ) -> Result<(), String> {
        let mut command = cargo("test", project, published, target);
        command.args(["--tests", "--no-fail-fast", "--", "--test-threads=2"]);
        if mode == Mode::Recording {
            command.env(RECORD, "1");
        }
        let output = command
            .output()
            .map_err(|error| format!("cargo test: {error}"))?;
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            self.read_result(line);
        }
        // A crash of a test process is also a result: the tests after it are missing.
        let text = String::from_utf8_lossy(&output.stderr);
        for line in text.lines().filter(|line| line.contains("(signal: ")) {
            self.failed.insert(line.trim().to_owned());
        }
        Ok(())
    }

    fn read_result(&mut self, line: &str) {
        let Some((name, result)) = line
            .strip_prefix("test ")
            .and_then(|line| line.rsplit_once(" ... "))
        else {
            return;
        };
        if result.starts_with("ok") {
            self.passed.insert(name.to_owned());
        } else if result.starts_with("FAILED") {
            self.failed.insert(name.to_owned());
        }
    }

    /// The messages that are not in `plain`, or occur more often than there.
    pub fn new_messages<'a>(&'a self, plain: &'a Outcome) -> impl Iterator<Item = &'a str> {
        self.messages
            .iter()
            .filter(|(message, count)| {
                plain
                    .messages
                    .get(*message)
                    .is_none_or(|before| before < count)
            })
            .map(|(message, _)| message.as_str())
    }

    /// Tests that pass in `plain` and do not pass here.
    pub fn broken<'a>(&'a self, plain: &'a Outcome) -> impl Iterator<Item = &'a str> {
        plain
            .passed
            .iter()
            .filter(|name| !self.passed.contains(*name))
            .map(String::as_str)
    }
}

fn cargo(verb: &str, project: &Project, published: Published, target: &Path) -> Command {
    let mut command = Command::new("cargo");
    command
        .args([verb, "--lib"])
        .current_dir(&project.folder)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
    if published.optimised {
        command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
    }
    if !published.features.is_empty() {
        command.args(["--features", &published.features.join(",")]);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_is_missing_counts_as_broken() {
        let (mut plain, mut annotated) = (Outcome::default(), Outcome::default());
        for line in ["test a ... ok", "test b ... ok", "test c ... FAILED"] {
            plain.read_result(line);
        }
        annotated.read_result("test a ... ok");
        assert_eq!(annotated.broken(&plain).collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn only_messages_that_are_new_are_reported() {
        let message = |text: &str| {
            format!(
                "{{\"reason\": \"compiler-message\", \"message\": {{\"level\": \"warning\", \
                 \"message\": \"{text}\", \"code\": null, \
                 \"spans\": [{{\"file_name\": \"a.rs\", \"line_start\": 1}}]}}}}"
            )
        };
        let (mut plain, mut annotated) = (Outcome::default(), Outcome::default());
        plain.read_message(&message("old"));
        annotated.read_message(&message("old"));
        annotated.read_message(&message("new"));
        let new: Vec<_> = annotated.new_messages(&plain).collect();
        assert_eq!(new, ["warning: new (a.rs:1)"]);
    }
}
