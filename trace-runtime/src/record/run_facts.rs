//! Facts about the run, which are in the metadata of every trace of a session.

use super::session::compiled_out;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::OnceLock;
use trace_core::__engine::clock::Clock;

/// The program, the machine and the clock.
pub(super) fn facts(clock: &Clock) -> HashMap<String, String> {
    let program = std::env::args_os().next().unwrap_or_default();
    let program = PathBuf::from(program);
    let mut facts: HashMap<String, String> = [
        (
            "program",
            program
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
        ),
        ("arg_count", std::env::args_os().skip(1).count().to_string()),
        ("pid", std::process::id().to_string()),
        ("os", std::env::consts::OS.to_owned()),
        ("arch", std::env::consts::ARCH.to_owned()),
        (
            "cores",
            std::thread::available_parallelism()
                .map_or(0, usize::from)
                .to_string(),
        ),
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("clock", clock.name().to_owned()),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect();
    facts.extend(fixed_facts().iter().cloned());
    facts.extend(compiled_out());
    facts
}

/// The facts that are read from files and do not change while the process runs.
fn fixed_facts() -> &'static [(String, String)] {
    static FACTS: OnceLock<Vec<(String, String)>> = OnceLock::new();
    FACTS.get_or_init(|| {
        let known = [("cpu", processor()), ("program_build", build_of_program())];
        known
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value?)))
            .collect()
    })
}

/// The processor's name, if the system has a file with it.
fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The size and the time of the program's file, which distinguish two builds without reading it.
fn build_of_program() -> Option<String> {
    let file = std::fs::metadata(std::env::current_exe().ok()?).ok()?;
    let modified = file
        .modified()
        .ok()?
        .duration_since(std::time::UNIX_EPOCH)
        .ok()?;
    Some(format!("{} bytes of {}", file.len(), modified.as_secs()))
}
