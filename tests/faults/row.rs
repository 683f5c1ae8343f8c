//! Runs each fault in a separate process, and prints the table.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use trace_runtime::TraceView;

/// The name of a fault, and the function that a process with this fault runs.
pub(crate) type Fault = (&'static str, fn() -> Row);

/// The numbers of ops of one process: ended, recovered from the trace, and counted as lost.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) ended: u64,
    pub(crate) recovered: u64,
    pub(crate) counted: u64,
}

/// A process that takes longer than this is considered as hanging.
const LONGEST: Duration = Duration::from_secs(120);
const CHILD: &str = "FAULT";

/// Ops that ended in this process, by their callers' count.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// Counts an op after it has ended.
pub(crate) fn ended() {
    ENDED.fetch_add(1, Ordering::SeqCst);
}

impl Row {
    /// The row of a trace. The ops that have ended are those that this process has counted.
    pub(crate) fn of(trace: &dyn TraceView) -> Row {
        let number = |key: &str| -> u64 {
            let value = trace.metadata().get(key);
            value.map_or(0, |value| value.parse().expect("a number"))
        };
        Row {
            ended: ENDED.load(Ordering::SeqCst),
            recovered: trace.entry_count() as u64,
            counted: number("dropped") + number("still_running"),
        }
    }

    /// The row of a trace in a file.
    pub(crate) fn of_file(path: &Path) -> Row {
        Row::of(&trace_runtime::read::open(path).expect("a trace"))
    }

    /// The row of a process that may have ended inside an op: at least `ended` ops had ended, and at most `begun` had
    /// begun.
    pub(crate) fn with_ended_within(self, ended: u64, begun: u64) -> Row {
        self.with_ended((self.recovered + self.counted).clamp(ended, begun))
    }

    pub(crate) fn with_ended(self, ended: u64) -> Row {
        Row { ended, ..self }
    }

    pub(crate) fn plus(self, other: Row) -> Row {
        Row {
            ended: self.ended + other.ended,
            recovered: self.recovered + other.recovered,
            counted: self.counted + other.counted,
        }
    }

    fn adds_up(self) -> bool {
        self.ended > 0 && self.ended == self.recovered + self.counted
    }
}

/// A folder for the files of this process; the suite removes it.
pub(crate) fn folder() -> PathBuf {
    let folder = std::env::var_os("FAULT_FOLDER").expect("set by the suite");
    PathBuf::from(folder)
}

/// This program as another process of the same fault.
pub(crate) fn other_process(part: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .env("FAULT_PART", part)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The part of the fault that this process runs, if it is not the first process.
pub(crate) fn part() -> Option<String> {
    std::env::var("FAULT_PART").ok()
}

pub(crate) fn run(faults: &[&[Fault]]) -> ExitCode {
    let all = || faults.iter().copied().flatten();
    if let Ok(name) = std::env::var(CHILD) {
        let (_, fault) = all().find(|(known, _)| *known == name).expect("a fault");
        let row = fault();
        println!("ROW {} {} {}", row.ended, row.recovered, row.counted);
        return ExitCode::SUCCESS;
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--list") {
        return ExitCode::SUCCESS;
    }
    let wanted: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    println!(
        "{:<44} {:>10} {:>10} {:>10}",
        "fault", "ended", "recovered", "counted"
    );
    let mut failed = 0;
    for (name, _) in all() {
        if !wanted.is_empty() && !wanted.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        let outcome = in_a_process(name);
        match outcome {
            Ok(Some(row)) => {
                let verdict = if row.adds_up() {
                    ""
                } else {
                    "  DOES NOT ADD UP"
                };
                failed += u32::from(!row.adds_up());
                println!(
                    "{name:<44} {:>10} {:>10} {:>10}{verdict}",
                    row.ended, row.recovered, row.counted
                );
            }
            Ok(None) => println!("{name:<44} cannot be tried on this machine"),
            Err(reason) => {
                failed += 1;
                println!("{name:<44} FAILED: {reason}");
            }
        }
    }
    println!("{failed} failed");
    ExitCode::from(u8::from(failed > 0))
}

/// Exits with the code for a fault that cannot be tested on this machine.
pub(crate) fn skip() -> ! {
    std::process::exit(77)
}

fn in_a_process(name: &str) -> Result<Option<Row>, String> {
    let folder = std::env::temp_dir().join(format!(
        "faults-{}-{}",
        std::process::id(),
        name.replace(|c: char| !c.is_alphanumeric(), "-")
    ));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let mut child = Command::new(std::env::current_exe().map_err(|error| error.to_string())?)
        .env(CHILD, name)
        .env("FAULT_FOLDER", &folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let start = Instant::now();
    let exited = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(_) => break true,
            None if start.elapsed() > LONGEST => break false,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    if !exited {
        child.kill().map_err(|error| error.to_string())?;
    }
    let output = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    if !exited {
        return Err("it hangs".to_owned());
    }
    if output.status.code() == Some(77) {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let row = text.lines().find_map(|line| line.strip_prefix("ROW "));
    let Some(row) = row.filter(|_| output.status.success()) else {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}\n{text}{stderr}", output.status));
    };
    let numbers: Vec<u64> = row.split(' ').map(|word| word.parse().unwrap()).collect();
    Ok(Some(Row {
        ended: numbers[0],
        recovered: numbers[1],
        counted: numbers[2],
    }))
}
