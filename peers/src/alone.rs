//! Measurements in a separate process, where no other subject has used the allocator before.

use crate::statistics::Spread;
use crate::subject::Subject;
use crate::subjects::{Ours, TensorLogic};
use crate::table::{Table, number};
use std::process::Command;
use std::time::Instant;
use trace_runtime::Session;

const OPS: usize = 1_000_000;
const PROCESSES: usize = 9;
const PARTS: [&str; 3] = ["finish_store", "finish", "tensorlogic"];

/// Nanoseconds per op of one part. Called in the processes that [`Finishing::run`] starts.
pub fn part(name: &str) -> Option<f64> {
    let per_op = |nanoseconds: u128| nanoseconds as f64 / OPS as f64;
    let session = || Session::start().expect("no other session runs");
    match name {
        "finish_store" => {
            let session = session();
            Ours.with_shapes(OPS);
            let start = Instant::now();
            let store = session.finish_store();
            let taken = start.elapsed();
            assert!(store.len() >= OPS);
            Some(per_op(taken.as_nanos()))
        }
        "finish" => {
            let session = session();
            Ours.with_shapes(OPS);
            let start = Instant::now();
            let trace = session.finish();
            let taken = start.elapsed();
            assert!(trace.entries.len() >= OPS);
            Some(per_op(taken.as_nanos()))
        }
        "tensorlogic" => TensorLogic
            .with_shapes(OPS)
            .map(|time| per_op(time.as_nanos())),
        _ => None,
    }
}

/// The time to finish after recording 10^6 ops.
pub struct Finishing {
    spreads: Vec<Spread>,
}

impl Finishing {
    pub fn run() -> Finishing {
        let mut taken = vec![Vec::new(); PARTS.len()];
        for _ in 0..PROCESSES {
            for (part, taken) in PARTS.into_iter().zip(&mut taken) {
                taken.push(answer("peers", &["alone", part])[0]);
            }
        }
        Finishing {
            spreads: taken.into_iter().map(Spread::of).collect(),
        }
    }

    pub fn store(&self) -> Spread {
        self.spreads[0]
    }

    pub fn finish_over_tensorlogic(&self) -> Spread {
        self.spreads[1].over(self.spreads[2])
    }

    pub fn print(&self) {
        let heads = ["median", "minimum"];
        let mut table = Table::new("ns per op, 10^6 ops, a process each", &heads);
        let rows = [
            "ours, finish_store() after recording",
            "ours, finish() after recording",
            "tensorlogic, recording",
        ];
        for (row, spread) in rows.into_iter().zip(&self.spreads) {
            table.row(row, [spread.median, spread.minimum].map(number));
        }
        table.print();
    }
}

/// The memory of 10^6 of our ops, measured by the program `memory` with a counting allocator.
pub struct Memory {
    pub recorded_bytes_per_op: f64,
    pub store_bytes_per_op: f64,
    pub allocations_per_op: f64,
    pub finish_peak_over_recorded: f64,
}

impl Memory {
    pub fn run() -> Memory {
        let found = answer("memory", &[]);
        Memory {
            recorded_bytes_per_op: found[0],
            store_bytes_per_op: found[1],
            allocations_per_op: found[2],
            finish_peak_over_recorded: found[3],
        }
    }

    pub fn print(&self) {
        let mut table = Table::new("memory of ours, 10^6 ops with shapes", &[""]);
        for (row, value) in [
            ("bytes per op while recording", self.recorded_bytes_per_op),
            ("bytes per op in the store", self.store_bytes_per_op),
            (
                "finish_store(): peak over recorded bytes",
                self.finish_peak_over_recorded,
            ),
        ] {
            table.row(row, [number(value)]);
        }
        let allocations = format!("{:.5}", self.allocations_per_op);
        table.row("allocations per op while recording", [allocations]);
        table.print();
    }
}

/// The numbers that a program of this package prints.
pub fn answer(program: &str, arguments: &[&str]) -> Vec<f64> {
    let this = std::env::current_exe().expect("this program has a path");
    let output = Command::new(this.with_file_name(program))
        .args(arguments)
        .output()
        .expect("the programs of this package are built together");
    assert!(output.status.success(), "`{program}` failed: {output:?}");
    String::from_utf8_lossy(&output.stdout)
        .split_whitespace()
        .map(|number| number.parse().expect("a number"))
        .collect()
}
