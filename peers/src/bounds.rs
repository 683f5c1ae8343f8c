//! The bounds that the measurements must keep.

use crate::alone::{Finishing, Memory};
use crate::lengths::Lengths;
use crate::rounds::Rounds;
use crate::table::{Table, number};
use crate::threads::Threads;

enum Limit {
    AtMost(f64),
    Below(f64),
    AtLeast(f64),
}

impl Limit {
    fn allows(&self, value: f64) -> bool {
        match *self {
            Limit::AtMost(limit) => value <= limit,
            Limit::Below(limit) => value < limit,
            Limit::AtLeast(limit) => value >= limit,
        }
    }

    fn text(&self) -> String {
        match self {
            Limit::AtMost(limit) => format!("<= {limit}"),
            Limit::Below(limit) => format!("< {limit}"),
            Limit::AtLeast(limit) => format!(">= {limit}"),
        }
    }
}

/// The median decides. The best value is also printed, as the cost without noise.
pub fn print(
    rounds: &Rounds,
    threads: &Threads,
    lengths: &Lengths,
    memory: &Memory,
    finishing: &Finishing,
) {
    let ours = threads.of("ours").expect("it is measured");
    let spread = |spread: crate::statistics::Spread| (spread.median, spread.minimum);
    let same = |value: f64| (value, value);
    let bounds = [
        (
            "with shapes, over the floor",
            spread(rounds.shapes_over_floor()),
            Limit::AtMost(1.3),
        ),
        (
            "with shapes, over the cheapest peer's bare span",
            spread(rounds.shapes_over_peers()),
            Limit::Below(1.0),
        ),
        (
            "not recording, ns over the plain call",
            spread(rounds.off()),
            Limit::AtMost(1.0),
        ),
        (
            "bytes per op in memory",
            same(memory.recorded_bytes_per_op.max(memory.store_bytes_per_op)),
            Limit::AtMost(32.0),
        ),
        (
            "allocations per op while recording",
            same(memory.allocations_per_op),
            Limit::AtMost(0.001),
        ),
        (
            "ops per second, 2 threads over 1",
            (ours.median, ours.best),
            Limit::AtLeast(1.9),
        ),
        (
            "dearest length over cheapest, 10^4 to 10^7 ops",
            spread(lengths.unevenness()),
            Limit::AtMost(1.2),
        ),
        (
            "finish_store(), ns per op",
            spread(finishing.store()),
            Limit::AtMost(10.0),
        ),
        (
            "finish_store(), peak over recorded bytes",
            same(memory.finish_peak_over_recorded),
            Limit::AtMost(1.2),
        ),
        (
            "finish(), over the recording of tensorlogic",
            spread(finishing.finish_over_tensorlogic()),
            Limit::AtMost(1.0),
        ),
    ];
    let mut table = Table::new("bound", &["median", "best", "limit", "met"]);
    for (name, (median, best), limit) in bounds {
        let met = match (limit.allows(median), limit.allows(best)) {
            (true, _) => "yes",
            (false, true) => "at best",
            (false, false) => "no",
        };
        let cells = [number(median), number(best), limit.text(), met.to_owned()];
        table.row(name, cells);
    }
    table.print();
}
