//! Runs `optrace` as a process and collects its output and exit code.
#![allow(
    dead_code,
    reason = "each test file is a separate program and uses a part of this"
)]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A temporary folder, deleted after the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!(
            "optrace-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        fs::write(&path, content).expect("a file for the test");
        path.to_str().expect("a path in UTF-8").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    #[track_caller]
    pub(crate) fn fine(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }

    /// The one line on standard error; the exit code must be 2 and standard output empty.
    #[track_caller]
    pub(crate) fn failed(self) -> String {
        assert_eq!((self.code, self.out.as_str()), (2, ""), "{}", self.err);
        assert_eq!(self.err.lines().count(), 1, "{}", self.err);
        self.err
    }
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_optrace"));
    command.args(args).env_remove("NO_COLOR");
    command
}

fn ended(output: Output) -> Ended {
    Ended {
        code: output.status.code().expect("not killed"),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

pub(crate) fn optrace(args: &[&str]) -> Ended {
    ended(
        command(args)
            .stdin(Stdio::null())
            .output()
            .expect("it runs"),
    )
}

pub(crate) fn optrace_reading(args: &[&str], input: &[u8]) -> Ended {
    let mut child = command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input).expect("it reads");
    drop(stdin);
    ended(child.wait_with_output().expect("it ends"))
}

/// Runs it with a standard output that is closed at once.
pub(crate) fn optrace_into_closed_pipe(args: &[&str]) -> Ended {
    let mut child = command(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    drop(child.stdout.take());
    let mut ended = ended(child.wait_with_output().expect("it ends"));
    ended.out.clear();
    ended
}

/// Eight steps of a small network, as torch writes them.
pub(crate) fn torch_trace(slowdown: u32) -> String {
    let mut events = vec![
        r#"{"ph":"M","name":"thread_name","pid":5,"tid":5,"ts":0,"args":{"name":"main"}}"#
            .to_owned(),
    ];
    for step in 0..8 {
        let at = 1000 * step;
        let mm = 100 * slowdown;
        let op = |name: &str, at: u32, dur: u32, args: &str| {
            format!(
                r#"{{"ph":"X","cat":"cpu_op","name":"{name}","pid":5,"tid":5,"ts":{at}.250,"dur":{dur},"args":{{{args}}}}}"#
            )
        };
        events.extend([
            op("step", at, 900, ""),
            op("aten::linear", at + 10, mm + 40, r#""Input Dims":[[64,32],[8,32]]"#),
            op("aten::mm", at + 20, mm, r#""Input Dims":[[64,32],[32,8]],"Input type":["float","float"]"#),
            format!(
                r#"{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":5,"tid":5,"ts":{},"dur":5,"args":{{"correlation":{}}}}}"#,
                at + 30,
                step + 1
            ),
            format!(
                r#"{{"ph":"X","cat":"kernel","name":"sgemm","pid":0,"tid":7,"ts":{},"dur":{},"args":{{"device":0,"stream":7,"correlation":{}}}}}"#,
                at + 60,
                50 * slowdown,
                step + 1
            ),
            format!(
                r#"{{"ph":"i","s":"t","name":"[memory]","pid":5,"tid":5,"ts":{},"args":{{"Bytes":4096,"Device Type":0,"Device Id":-1,"Addr":{}}}}}"#,
                at + 25,
                4096 * (step + 1)
            ),
        ]);
    }
    format!(
        r#"{{"schemaVersion": 1, "distributedInfo": {{"rank": 0}}, "traceEvents": [{}]}}"#,
        events.join(",\n")
    )
}

/// A trace with these ops, one after the other.
pub(crate) fn trace_of(names: &[&str]) -> String {
    let events: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(index, name)| {
            serde_json::json!({
                "ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1,
                "ts": index * 10, "dur": 9, "args": {"Input Dims": [[2, 3]]}
            })
        })
        .collect();
    serde_json::to_string(&events).expect("JSON")
}
