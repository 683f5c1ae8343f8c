//! Runs every subject in turn, round after round, so that noise on the machine affects all of them.

use crate::statistics::Spread;
use crate::subject::{Column, Subject};
use crate::table::{NONE, Table, number};

/// Fewer than the number of spans that fastrace keeps in one root span.
const CALLS: usize = 8192;

/// Nanoseconds per call, by subject, column and round.
pub struct Rounds {
    names: Vec<&'static str>,
    taken: Vec<[Vec<f64>; 3]>,
}

/// The first of [`subjects::all`](crate::subjects::all).
const PLAIN: usize = 0;
const FLOOR: usize = 1;
const OURS: usize = 2;

impl Rounds {
    pub fn run(subjects: &[Box<dyn Subject>], rounds: usize) -> Rounds {
        let mut taken = vec![[const { Vec::new() }; 3]; subjects.len()];
        // The first round is not counted: it has page faults and initialises lazy statics.
        for round in 0..=rounds {
            for turn in 0..subjects.len() {
                // The order changes, so that a subject does not always follow the same other subject.
                let index = (turn + round) % subjects.len();
                for (column, taken) in Column::ALL.into_iter().zip(&mut taken[index]) {
                    if let Some(time) = column.measure(&*subjects[index], CALLS)
                        && round > 0
                    {
                        taken.push(time.as_nanos() as f64 / CALLS as f64);
                    }
                }
            }
        }
        Rounds {
            names: subjects.iter().map(|subject| subject.name()).collect(),
            taken,
        }
    }

    /// The difference to the plain call of the same round.
    fn over_plain(&self, subject: usize, column: Column) -> Option<Spread> {
        let taken = &self.taken[subject][column as usize];
        let plain = &self.taken[PLAIN][Column::Bare as usize];
        if taken.is_empty() {
            return None;
        }
        Some(Spread {
            median: Spread::of(taken.iter().zip(plain).map(|(taken, plain)| taken - plain)).median,
            minimum: Spread::of(taken.iter().copied()).minimum
                - Spread::of(plain.iter().copied()).minimum,
        })
    }

    fn of_ours(&self, column: Column) -> Spread {
        self.over_plain(OURS, column).expect("ours does all")
    }

    pub fn floor(&self) -> Spread {
        self.over_plain(FLOOR, Column::Bare)
            .expect("it is measured")
    }

    pub fn shapes_over_floor(&self) -> Spread {
        self.of_ours(Column::WithShapes).over(self.floor())
    }

    /// The cost of ours with shapes, divided by that of the cheapest bare span of a peer.
    pub fn shapes_over_peers(&self) -> Spread {
        let peers = (OURS + 1..self.names.len())
            .filter_map(|peer| self.over_plain(peer, Column::Bare))
            .reduce(|a, b| Spread {
                median: a.median.min(b.median),
                minimum: a.minimum.min(b.minimum),
            });
        let ours = self.of_ours(Column::WithShapes);
        ours.over(peers.expect("there are peers"))
    }

    pub fn off(&self) -> Spread {
        self.of_ours(Column::Off)
    }

    pub fn print(&self) {
        let plain = Spread::of(self.taken[PLAIN][0].iter().copied());
        println!(
            "{} rounds of {CALLS} calls each, interleaved; the plain call takes {} ns (minimum {})",
            self.taken[PLAIN][0].len(),
            number(plain.median),
            number(plain.minimum),
        );
        let mut table = Table::new(
            "ns per call over the plain call",
            &[
                "bare", "minimum", "x floor", "shapes", "minimum", "x floor", "off", "minimum",
            ],
        );
        for subject in FLOOR..self.names.len() {
            let cells = Column::ALL.map(|column| self.cells(subject, column));
            table.row(self.names[subject], cells.into_iter().flatten());
        }
        table.print();
    }

    fn cells(&self, subject: usize, column: Column) -> Vec<String> {
        let spread = self.over_plain(subject, column);
        let show = |value: Option<f64>| value.map_or(NONE.to_owned(), number);
        let mut cells = vec![
            show(spread.map(|spread| spread.median)),
            show(spread.map(|spread| spread.minimum)),
        ];
        if column != Column::Off {
            cells.push(show(spread.map(|spread| spread.over(self.floor()).median)));
        }
        cells
    }
}
