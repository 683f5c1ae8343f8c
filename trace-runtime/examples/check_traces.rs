//! Compares the figures of this crate for real traces with figures of other tools, to the nanosecond.
//!
//! `check_traces EXPECTED.json DIRECTORY` checks every file that the figures name; with
//! `TRACE KEY_AVERAGES.json` a trace against torch's own summary of it. `scripts/check-traces.sh`
//! runs both.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use trace_runtime::analyze::{OpRow, activity, by_op, by_shape};
use trace_runtime::read::Reader;
use trace_runtime::{
    RecordedExecutionTrace, RecordedTraceEntry, TraceError, TraceStore, TraceView, read,
};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [first, second] = arguments.as_slice() else {
        return Err("usage: check_traces EXPECTED.json DIRECTORY | TRACE KEY_AVERAGES.json".into());
    };
    let mut checks = Checks::default();
    if Path::new(second).is_dir() {
        let expected: BTreeMap<String, Value> = serde_json::from_slice(&std::fs::read(first)?)?;
        for (file, figures) in &expected {
            checks.file.clone_from(file);
            let path = Path::new(second).join(file.trim_end_matches(".gz"));
            checks.step_name = step_name(&path)?;
            checks.threads(&path)?;
            checks.figures(&read::open(path)?, figures)?;
        }
    } else {
        checks.file.clone_from(first);
        let summary: Value = serde_json::from_slice(&std::fs::read(second)?)?;
        checks.step_name = step_name(first)?;
        checks.key_averages(&read::open(first)?, &summary)?;
    }
    println!(
        "{} figures compared, {} differ",
        checks.compared, checks.wrong
    );
    Ok(if checks.wrong == 0 && checks.compared > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Only the ops of the host: kernels may have the name of an op.
///
/// The figures were computed from the events of the file, where a step is an event like any other. Here steps are not
/// ops, so they are added as ops again, with the name of their annotation, around the ops of their thread.
fn host_ops(trace: &TraceStore, step_name: &str) -> RecordedExecutionTrace {
    let mut host = RecordedExecutionTrace::from(trace);
    host.entries
        .retain(|entry| entry.device_id.is_none() && entry.kind.is_none());
    let ns = |us: f64| (us * 1000.0).round() as i64;
    let mut around: HashMap<usize, usize> = HashMap::new();
    let first_free = host.entries.iter().map(|entry| entry.step + 1).max();
    for (number, step) in (first_free.unwrap_or(0)..).zip(trace.steps()) {
        for op in host.entries.iter().filter(|op| op.parent.is_none()) {
            let start = ns(op.start_us().unwrap_or(0.0));
            let end = ns(op.start_us().unwrap_or(0.0) + op.duration_us);
            if op.thread == step.thread && step.start_ns <= start && end <= step.end_ns {
                around.insert(op.step, number);
            }
        }
        let mut op = RecordedTraceEntry::new(number, format!("{step_name}{}", step.number));
        op.set_start_us(Some(step.start_ns as f64 / 1000.0));
        op.duration_us = step.length_ns() as f64 / 1000.0;
        op.thread = step.thread;
        op.rank = step.rank;
        host.entries.push(op);
    }
    for op in &mut host.entries {
        op.parent = op.parent.or(around.get(&op.step).copied());
    }
    // Parents come before their children, and the steps of entries are ascending.
    host.entries.sort_by(|a, b| {
        let start = |op: &RecordedTraceEntry| ns(op.start_us().unwrap_or(0.0));
        let key = |op: &RecordedTraceEntry| (start(op), op.parent.is_some(), op.step);
        key(a).cmp(&key(b))
    });
    let numbers: HashMap<usize, usize> = host
        .entries
        .iter()
        .enumerate()
        .map(|(number, op)| (op.step, number))
        .collect();
    for op in &mut host.entries {
        op.step = numbers[&op.step];
        op.parent = op.parent.and_then(|parent| numbers.get(&parent).copied());
    }
    host
}

/// The name that annotations of steps have in a file, without the number.
fn step_name(path: impl AsRef<Path>) -> std::io::Result<&'static str> {
    let text = std::fs::read(path)?;
    let has = |name: &[u8]| text.windows(name.len()).any(|window| window == name);
    Ok(if has(b"\"step#0\"") {
        "step#"
    } else {
        "ProfilerStep#"
    })
}

/// If the only child of an op has the op's name, torch shows both as one op. The comparison must do the same.
fn merge_only_children(trace: &mut RecordedExecutionTrace) {
    loop {
        let mut children: HashMap<usize, usize> = HashMap::new();
        for parent in trace.entries.iter().filter_map(|entry| entry.parent) {
            *children.entry(parent).or_default() += 1;
        }
        let names: HashMap<usize, &str> = trace
            .entries
            .iter()
            .map(|entry| (entry.step, entry.operation.as_str()))
            .collect();
        let merged: HashMap<usize, usize> = trace
            .entries
            .iter()
            .filter_map(|entry| {
                let parent = entry.parent?;
                let same = names.get(&parent) == Some(&entry.operation.as_str());
                (same && children[&parent] == 1).then_some((entry.step, parent))
            })
            .collect();
        if merged.is_empty() {
            return;
        }
        trace
            .entries
            .retain(|entry| !merged.contains_key(&entry.step));
        for entry in &mut trace.entries {
            while let Some(&outer) = entry.parent.and_then(|parent| merged.get(&parent)) {
                entry.parent = Some(outer);
            }
        }
    }
}

#[derive(Default)]
struct Checks {
    file: String,
    step_name: &'static str,
    compared: usize,
    wrong: usize,
}

impl Checks {
    /// Checks that one thread and several threads read the same trace.
    fn threads(&mut self, path: &Path) -> Result<(), TraceError> {
        let trace = |threads| {
            let store = Reader::new().with_threads(threads).open(path)?;
            Ok::<_, TraceError>(RecordedExecutionTrace::from(&store))
        };
        if trace(1)? != trace(3)? {
            println!("{}: three threads read another trace than one", self.file);
            self.wrong += 1;
        }
        Ok(())
    }

    fn equal(&mut self, what: &str, ours: u64, expected: &Value) {
        self.compared += 1;
        if expected.as_u64() != Some(ours) {
            self.wrong += 1;
            println!("{}: {what} is {ours}, expected {expected}", self.file);
        }
    }

    fn figures(&mut self, trace: &TraceStore, expected: &Value) -> Result<(), Box<dyn Error>> {
        let events = trace.metadata()["read.events"].parse()?;
        self.equal("n_events", events, &expected["n_events"]);
        let on_device = |trace: &TraceStore| {
            let devices = trace.views().filter(|view| view.device_id().is_some());
            devices.count() as u64
        };
        self.equal("n_gpu", on_device(trace), &expected["n_gpu"]);
        self.device_time(trace, expected);
        self.host_time(trace, expected);
        self.kernels(trace, expected);
        self.memory(trace, expected);
        Ok(())
    }

    fn device_time(&mut self, trace: &TraceStore, expected: &Value) {
        let Some(exact) = expected.get("exact_ns") else {
            return;
        };
        let activity = activity(trace);
        let [all] = activity.ranks.as_slice() else {
            return self.equal("ranks with devices", activity.ranks.len() as u64, &1.into());
        };
        for (what, ours) in [
            ("span", all.span_ns),
            ("busy", all.busy_ns),
            ("idle", all.idle_ns),
            ("compute", all.compute_ns),
            ("comm", all.communication_ns),
            ("mem", all.memory_ns),
            ("comm_comp_overlap", all.overlap_ns),
            ("exposed_comm", all.exposed_communication_ns),
            ("exposed_mem", all.exposed_memory_ns),
        ] {
            self.equal(what, ours, &exact[what]);
        }
        let ten_thousandths = |share: f64| (share * 10_000.0).round() as u64;
        if let Some(percent) = expected["overlap_pct"].as_f64() {
            let ours = ten_thousandths(all.overlap_share().unwrap_or(0.0) * 100.0);
            self.equal("overlap_pct", ours, &ten_thousandths(percent).into());
        }
    }

    fn host_time(&mut self, trace: &TraceStore, expected: &Value) {
        let host = host_ops(trace, self.step_name);
        let ops = by_op(&host);
        let expected_ops = &expected["cpu_ops_ns"];
        self.equal("cpu ops", host.entries.len() as u64, &expected_ops["n"]);
        self.equal(
            "distinct cpu ops",
            ops.len() as u64,
            &expected_ops["distinct"],
        );
        let shapes = by_shape(&host).len() as u64;
        self.equal(
            "distinct ops × dims",
            shapes,
            &expected["distinct_name_dims"],
        );
        let own = ops.iter().map(|row| row.self_ns).sum();
        self.equal("total self", own, &expected_ops["total_self"]);
        for op in expected_ops["top_self"].as_array().into_iter().flatten() {
            let name = op["name"].as_str().unwrap_or_default();
            let row = ops.iter().find(|row| row.operation == name);
            let figure = |figure: fn(&OpRow) -> u64| row.map_or(0, figure);
            self.equal(
                &format!("{name} count"),
                figure(|row| row.count as u64),
                &op["count"],
            );
            self.equal(
                &format!("{name} total"),
                figure(|row| row.sum_ns),
                &op["total"],
            );
            self.equal(
                &format!("{name} self"),
                figure(|row| row.self_ns),
                &op["self"],
            );
        }
    }

    fn kernels(&mut self, trace: &TraceStore, expected: &Value) {
        let mut device = RecordedExecutionTrace::from(trace);
        device.entries.retain(|entry| entry.device_id.is_some());
        let kernels = by_op(&device);
        for kernel in expected["top_kernels_ns"].as_array().into_iter().flatten() {
            // The figures have cut names, so several kernels may share one.
            let name = kernel["name"].as_str().unwrap_or_default();
            let matches = kernels.iter().find(|row| {
                row.operation.starts_with(name)
                    && Some(row.count as u64) == kernel["count"].as_u64()
                    && Some(row.sum_ns) == kernel["sum"].as_u64()
                    && Some(row.min_ns) == kernel["min"].as_u64()
                    && Some(row.max_ns) == kernel["max"].as_u64()
            });
            self.equal(
                &format!("{name} (a kernel)"),
                u64::from(matches.is_some()),
                &1.into(),
            );
        }
    }

    fn memory(&mut self, trace: &TraceStore, expected: &Value) {
        for (device, figures) in expected["memory"].as_object().into_iter().flatten() {
            let id = match device.split_once(':') {
                Some(("1", number)) => format!("cuda:{number}"),
                _ => "cpu".to_owned(),
            };
            let events = || trace.memory_events().filter(|event| event.device_id == id);
            let sum = |taken: bool| {
                let events = events().filter(|event| (event.bytes > 0) == taken);
                events.map(|event| event.bytes.unsigned_abs()).sum()
            };
            self.equal("memory events", events().count() as u64, &figures["n"]);
            self.equal("bytes taken", sum(true), &figures["alloc_bytes"]);
            self.equal("bytes given back", sum(false), &figures["free_bytes"]);
            let taken = events().filter(|event| event.bytes > 0).count() as u64;
            self.equal("allocations", taken, &figures["n_alloc"]);
            let peak = events().filter_map(|event| event.allocated).max();
            if figures["peak_total_allocated"].is_null() {
                self.equal("peak", u64::from(peak.is_some()), &0.into());
            } else {
                self.equal("peak", peak.unwrap_or(0), &figures["peak_total_allocated"]);
            }
        }
    }

    /// Torch adds up microseconds as floats, so it may differ by one nanosecond per call.
    fn key_averages(&mut self, trace: &TraceStore, summary: &Value) -> Result<(), Box<dyn Error>> {
        let mut host = host_ops(trace, self.step_name);
        merge_only_children(&mut host);
        let mut ours: BTreeMap<(String, Option<String>), OpRow> = BTreeMap::new();
        for row in by_op(&host) {
            ours.insert((row.operation.clone(), None), row);
        }
        for row in by_shape(&host) {
            let shapes = serde_json::to_string(&row.input_shapes)?;
            ours.insert((row.operation.clone(), Some(shapes)), row);
        }
        let mut seen = BTreeSet::new();
        for table in ["key_averages", "key_averages_by_shape"] {
            for row in summary[table].as_array().ok_or("no such table")? {
                let shapes = match &row["input_shapes"] {
                    Value::String(_) => None,
                    shapes => Some(shapes.to_string()),
                };
                let key = (row["key"].as_str().unwrap_or_default().to_owned(), shapes);
                let name = format!("{} {}", key.0, key.1.as_deref().unwrap_or_default());
                let Some(own) = ours.get(&key) else {
                    self.equal(&name, 0, &row["count"]);
                    continue;
                };
                self.equal(&format!("{name} count"), own.count as u64, &row["count"]);
                for (what, own_ns, torch) in [
                    ("total", own.sum_ns, &row["cpu_time_total"]),
                    ("self", own.self_ns, &row["self_cpu_time_total"]),
                ] {
                    let torch_ns = (torch.as_f64().unwrap_or(-1.0) * 1000.0).round() as u64;
                    let within = torch_ns.abs_diff(own_ns) <= own.count as u64;
                    let close = if within { own_ns } else { torch_ns };
                    self.equal(&format!("{name} {what}"), own_ns, &close.into());
                }
                seen.insert(key);
            }
        }
        self.equal("rows", ours.len() as u64, &seen.len().into());
        Ok(())
    }
}
