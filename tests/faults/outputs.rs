//! Files that cannot be written, and files that several processes write.

use crate::row::{Fault, Row, ended, folder, other_process, part, skip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use trace_runtime::{Session, TraceStore, TraceView as _, read, traced_op};

pub(crate) const FAULTS: &[Fault] = &[
    ("full disk", full_disk),
    ("directory that cannot be written", unwritable),
    ("closed pipe", closed_pipe),
    ("twelve processes with one `OPTRACE`", one_name),
    ("eight ranks with one `OPTRACE`", ranks_with_one_name),
];

const TIMES: u64 = 1000;

#[traced_op]
fn leaf(x: &[f32]) -> f32 {
    x[0]
}

fn leaves() {
    for _ in 0..TIMES {
        leaf(&[1.0]);
        ended();
    }
}

/// Records, and returns the trace that could not be written.
fn lost_to(path: &Path) -> TraceStore {
    let session = Session::builder().output(path).start().unwrap();
    leaves();
    let error = session.try_finish().unwrap_err();
    eprintln!("{error}");
    error.into_trace().expect("the trace is not lost")
}

fn full_disk() -> Row {
    let disk = folder().join("disk");
    fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "none"])
        .arg(&disk)
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        skip();
    }
    let old = disk.join("run.json");
    fs::write(&old, "an old file").unwrap();
    let trace = lost_to(&old);
    let kept = fs::read_to_string(&old);
    let files = fs::read_dir(&disk).unwrap().count();
    let unmounted = Command::new("umount").arg(&disk).status().unwrap();
    assert!(unmounted.success());
    assert_eq!(kept.unwrap(), "an old file");
    assert_eq!(files, 1, "nothing else is left");
    Row::of(&trace)
}

/// A folder of the kernel: it exists, and no user may create a file in it.
fn unwritable() -> Row {
    if !Path::new("/proc/self").exists() {
        skip();
    }
    Row::of(&lost_to(Path::new("/proc/run.json")))
}

fn closed_pipe() -> Row {
    let pipe = folder().join("pipe.json");
    let made = Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        skip();
    }
    // Opens the pipe, so that the session can open it too, and closes it without reading.
    let session = Session::builder().output(&pipe).start().unwrap();
    for _ in 0..100 {
        leaves();
    }
    let reader = {
        let pipe = pipe.clone();
        std::thread::spawn(move || drop(fs::File::open(pipe).unwrap()))
    };
    let error = session.try_finish().unwrap_err();
    reader.join().unwrap();
    Row::of(&error.into_trace().expect("the trace is not lost"))
}

/// A process that records because of `OPTRACE`. All such processes are recording when the first one ends.
fn records_by_environment() -> Row {
    let session = Session::from_env().unwrap();
    leaves();
    let mut line = String::new();
    println!("ready");
    std::io::stdin().read_line(&mut line).unwrap();
    drop(session);
    std::process::exit(0)
}

fn started(number: usize, command: &mut Command) -> Child {
    use std::io::BufRead as _;
    let mut child = command
        .env("FAULT_NUMBER", number.to_string())
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

fn traces_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn all_of(folder: &Path, processes: u64) -> Row {
    let paths = traces_in(folder);
    assert_eq!(paths.len() as u64, processes, "{paths:?}");
    let rows = paths.iter().map(|path| Row::of_file(path));
    rows.fold(Row::default(), Row::plus)
        .with_ended(processes * TIMES)
}

fn one_name() -> Row {
    if part().is_some() {
        return records_by_environment();
    }
    let output = folder().join("run.json");
    let children: Vec<_> = (0..12)
        .map(|number| started(number, other_process("records").env("OPTRACE", &output)))
        .collect();
    let mut reports = 0;
    for mut child in children {
        drop(child.stdin.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let stderr = String::from_utf8_lossy(&output.stderr);
        reports += usize::from(stderr.contains("another process has written"));
    }
    assert_eq!(reports, 11, "all but the first report where their trace is");
    all_of(&folder(), 12)
}

fn ranks_with_one_name() -> Row {
    if part().is_some() {
        return records_by_environment();
    }
    let output = folder().join("run.json");
    let children: Vec<_> = (0..8)
        .map(|rank| {
            let mut command = other_process("records");
            command
                .env("OPTRACE", &output)
                .env("RANK", rank.to_string())
                .env("WORLD_SIZE", "8");
            started(rank, &mut command)
        })
        .collect();
    for mut child in children {
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
    let mut ranks: Vec<_> = traces_in(&folder())
        .iter()
        .map(|path| read::open(path).unwrap().view(0).rank())
        .collect();
    ranks.sort_unstable();
    assert_eq!(ranks, (0..8).map(Some).collect::<Vec<_>>());
    assert!(folder().join("run.rank-7.json").exists());
    all_of(&folder(), 8)
}
