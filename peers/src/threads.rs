//! Ops per second of two threads against one.

use crate::statistics::Spread;
use crate::subject::Subject;
use crate::table::{Table, number};
use std::sync::Barrier;
use std::thread::scope;

const ROUNDS: usize = 15;
const CALLS: usize = 8192;
const SLICES: usize = 15;

/// The speed of two threads divided by that of one: the median over the rounds, and the ratio of the best values.
#[derive(Clone, Copy)]
pub struct Scaling {
    pub median: f64,
    pub best: f64,
}

pub struct Threads {
    rows: Vec<(&'static str, Scaling)>,
}

impl Threads {
    pub fn run(subjects: &[Box<dyn Subject>]) -> Threads {
        let mut rates = vec![Vec::new(); subjects.len()];
        for _ in 0..ROUNDS {
            for (subject, rates) in subjects.iter().zip(&mut rates) {
                rates.push((rate(&**subject, 1), rate(&**subject, 2)));
            }
        }
        let rows = subjects.iter().zip(&rates).map(|(subject, rates)| {
            let best = |rates: &mut dyn Iterator<Item = f64>| rates.fold(0.0, f64::max);
            let scaling = Scaling {
                median: Spread::of(rates.iter().map(|(one, two)| two / one)).median,
                best: best(&mut rates.iter().map(|rates| rates.1))
                    / best(&mut rates.iter().map(|rates| rates.0)),
            };
            (subject.name(), scaling)
        });
        Threads {
            rows: rows.collect(),
        }
    }

    pub fn of(&self, name: &str) -> Option<Scaling> {
        let row = self.rows.iter().find(|row| row.0 == name)?;
        Some(row.1)
    }

    pub fn print(&self) {
        let mut table = Table::new("ops per second, 2 threads over 1", &["median", "best"]);
        for (name, scaling) in &self.rows {
            table.row(name, [scaling.median, scaling.best].map(number));
        }
        table.print();
    }
}

/// Calls per nanosecond of this many threads, with shapes if the subject records them.
fn rate(subject: &dyn Subject, threads: usize) -> f64 {
    let barrier = Barrier::new(threads);
    let thread = || {
        barrier.wait();
        // The median, because in some slices the thread was not running.
        let slices = (0..SLICES).filter_map(|_| {
            let slice = subject.with_shapes(CALLS);
            slice.or_else(|| subject.bare(CALLS))
        });
        CALLS as f64 / Spread::of(slices.map(|time| time.as_nanos() as f64)).median
    };
    let mut sum = 0.0;
    subject.collect(&mut || {
        sum = scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(thread)).collect();
            let rates = threads.into_iter().map(|thread| thread.join());
            rates.map(|rate| rate.expect("subjects do not panic")).sum()
        });
    });
    sum
}
