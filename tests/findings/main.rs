//! Each rule of the findings on the smallest trace that shows it, and on one that does not.

mod advice;
mod ahead;
mod devices;
mod host;
mod memory;
mod parts;
mod ranks;
mod scenarios;

use std::fmt::Write as _;
use trace_runtime::analyze::{Finding, FindingKind, Findings, findings};
use trace_runtime::{TraceStore, read};

/// Events of a profiler, as Chrome JSON; times in microseconds.
#[derive(Default)]
pub(crate) struct Profile(String);

impl Profile {
    pub(crate) fn event(
        &mut self,
        cat: &str,
        name: &str,
        (pid, tid): (u32, u32),
        at: (u64, u64),
        args: &str,
    ) {
        let comma = if self.0.is_empty() { "" } else { ",\n" };
        let (ts, dur) = at;
        write!(
            self.0,
            r#"{comma}{{"ph":"X","cat":"{cat}","name":"{name}","pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur},"args":{{{args}}}}}"#
        )
        .unwrap();
    }

    pub(crate) fn op(&mut self, name: &str, start: u64, duration: u64) -> &mut Self {
        self.event("cpu_op", name, (1, 1), (start, duration), "");
        self
    }

    pub(crate) fn step(&mut self, number: u32, start: u64, duration: u64) -> &mut Self {
        let name = format!("ProfilerStep#{number}");
        self.event("user_annotation", &name, (1, 1), (start, duration), "");
        self
    }

    /// A launch at `start`, and the kernel that it launches.
    pub(crate) fn launch(
        &mut self,
        start: u64,
        id: u64,
        kernel: &str,
        at: (u64, u64),
    ) -> &mut Self {
        self.call("cudaLaunchKernel", (start, 4), id);
        self.kernel(kernel, at, id)
    }

    /// A runtime call.
    pub(crate) fn call(&mut self, name: &str, at: (u64, u64), id: u64) -> &mut Self {
        let correlation = format!(r#""correlation":{id}"#);
        self.event("cuda_runtime", name, (1, 1), at, &correlation);
        self
    }

    /// The kernel that the call with this id launched.
    pub(crate) fn kernel(&mut self, kernel: &str, at: (u64, u64), id: u64) -> &mut Self {
        let cat = if kernel.starts_with("Memcpy") {
            "gpu_memcpy"
        } else {
            "kernel"
        };
        let args = format!(r#""correlation":{id},"stream":7,"device":0"#);
        self.event(cat, kernel, (0, 7), at, &args);
        self
    }

    pub(crate) fn synchronise(&mut self, start: u64, duration: u64) -> &mut Self {
        self.event(
            "cuda_runtime",
            "cudaDeviceSynchronize",
            (1, 1),
            (start, duration),
            "",
        );
        self
    }

    pub(crate) fn read(&self) -> TraceStore {
        let text = format!(r#"{{"traceEvents":[{}]}}"#, self.0);
        read::from_slice(text.as_bytes()).unwrap()
    }
}

pub(crate) fn of_kind(found: &Findings, kind: FindingKind) -> Option<&Finding> {
    found.list.iter().find(|finding| finding.kind == kind)
}

pub(crate) fn kinds(trace: &TraceStore) -> Vec<FindingKind> {
    findings(trace).list.iter().map(|one| one.kind).collect()
}

pub(crate) fn near(share: f64, expected: f64) -> bool {
    (share - expected).abs() < 0.005
}
