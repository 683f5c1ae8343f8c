//! Measures whether an op costs the same in a long recording. Each recording is a separate process: memory that was
//! used before is cheaper to fill, and a short recording would reuse some.

use crate::alone::answer;
use crate::statistics::Spread;
use crate::subject::{Column, Subject};
use crate::subjects::{Floor, Ours};
use crate::table::{Table, number};

const LENGTHS: [usize; 4] = [10_000, 100_000, 1_000_000, 10_000_000];
const ROUNDS: usize = 9;
const MOST_PROCESSES: usize = 10;
/// More than two chunks of ours, so that each slice includes the cost of new memory.
const SLICE: usize = 10_000;

/// Nanoseconds per call by length, the plain call included.
pub struct Lengths {
    ours: Vec<Spread>,
    floor: Vec<Spread>,
}

impl Lengths {
    pub fn run() -> Lengths {
        let mut ours = vec![Vec::new(); LENGTHS.len()];
        let mut floor = vec![Vec::new(); LENGTHS.len()];
        for _ in 0..ROUNDS {
            for (index, &length) in LENGTHS.iter().enumerate() {
                // A short recording has only a few slices to take the median of.
                for _ in 0..(1_000_000 / length).clamp(1, MOST_PROCESSES) {
                    let taken = answer("peers", &["length", &length.to_string()]);
                    ours[index].push(taken[0]);
                    floor[index].push(taken[1]);
                }
            }
        }
        let spreads = |taken: Vec<Vec<f64>>| taken.into_iter().map(Spread::of).collect();
        Lengths {
            ours: spreads(ours),
            floor: spreads(floor),
        }
    }

    /// The highest cost over the lowest.
    pub fn unevenness(&self) -> Spread {
        let uneven = |value: fn(&Spread) -> f64| {
            let values = self.ours.iter().map(value);
            values.clone().fold(0.0, f64::max) / values.fold(f64::INFINITY, f64::min)
        };
        Spread {
            median: uneven(|spread| spread.median),
            minimum: uneven(|spread| spread.minimum),
        }
    }

    pub fn print(&self) {
        let heads = ["10^4", "10^5", "10^6", "10^7"];
        let mut table = Table::new("ns per call by ops recorded", &heads);
        for (name, spreads) in [("ours, with shapes", &self.ours), ("floor", &self.floor)] {
            table.row(name, spreads.iter().map(|spread| number(spread.median)));
            let minima = spreads.iter().map(|spread| number(spread.minimum));
            table.row("  minimum", minima);
        }
        table.print();
    }
}

/// Nanoseconds per call of ours and of the floor in a recording of `calls` calls. Called in the processes that
/// [`Lengths::run`] starts.
pub fn length(calls: usize) -> (f64, f64) {
    let ours = per_call(&Ours, Column::WithShapes, calls);
    (ours, per_call(&Floor, Column::Bare, calls))
}

/// The median slice, because in some slices the thread was not running.
fn per_call(subject: &dyn Subject, column: Column, length: usize) -> f64 {
    let mut slices = Vec::new();
    subject.collect(&mut || {
        let slice = || match column {
            Column::WithShapes => subject.with_shapes(SLICE),
            _ => subject.bare(SLICE),
        };
        slices = (0..length / SLICE).filter_map(|_| slice()).collect();
    });
    let per_call = slices
        .iter()
        .map(|time| time.as_nanos() as f64 / SLICE as f64);
    Spread::of(per_call).median
}
