//! The work of each rank in each step, compared with the other ranks.

use super::super::CausalModel;
use super::peers::numbered_steps;
use crate::analyze::communication::CommunicationRule;
use crate::analyze::forest::NONE;
use crate::analyze::intervals::add_ns;
use crate::model::TraceView;
use crate::model::json_struct::json_struct;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The largest number of columns. In a longer loop, several steps share a column.
const MOST_COLUMNS: usize = 512;

/// Work of each rank in each step, as a multiple of the mean over ranks in that step. Communication does not count.
///
/// A rank whose row is above 1 in every step is slow; one whose row is above 1 in some steps has an occasional problem.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Heatmap {
    /// The ranks, one row each.
    pub ranks: Vec<u32>,
    /// The number of the first step of each column. In a loop with more than 512 steps, several steps share a column.
    /// Empty if the trace has no steps: there is one column then.
    pub steps: Vec<u64>,
    /// The values, by rank and then by column; 0 if a rank did nothing in it.
    pub cells: Vec<Vec<f64>>,
}

json_struct!(Heatmap {
    required: [ranks, steps, cells],
    optional: [],
});

/// Characters from the least work to the most.
const SHADES: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

impl<T: TraceView + ?Sized> CausalModel<'_, T> {
    /// The work of each rank in each step, compared with the other ranks. Empty if the trace has no ranks.
    pub fn heatmap(&self) -> Heatmap {
        let ranks: BTreeSet<u32> = self.lanes.all.iter().filter_map(|lane| lane.rank).collect();
        let ranks: Vec<u32> = ranks.into_iter().collect();
        if ranks.is_empty() {
            return Heatmap::default();
        }
        let (step_of, steps) = numbered_steps(self.trace);
        let columns = steps.len().clamp(1, MOST_COLUMNS);
        let column = |position: usize| position * columns / steps.len().max(1);
        let mut work = vec![vec![0u64; columns]; ranks.len()];
        let communicates = self.communicates();
        for (lane, pieces) in self.lanes.all.iter().zip(&self.pieces) {
            let Some(row) = lane.rank.and_then(|rank| ranks.binary_search(&rank).ok()) else {
                continue;
            };
            for piece in pieces.iter().filter(|piece| piece.is_work()) {
                let entry = piece.node as usize;
                if communicates.get(entry) != Some(&false) {
                    continue;
                }
                let column = match step_of.get(entry) {
                    Some(&NONE) => continue,
                    Some(&step) => column(step as usize),
                    None => 0,
                };
                work[row][column] += piece.length();
            }
        }
        let mean = |column: usize| {
            let sum: u64 = work.iter().map(|row| row[column]).sum();
            sum as f64 / ranks.len() as f64
        };
        let means: Vec<f64> = (0..columns).map(mean).collect();
        let multiple = |(&ns, &mean): (&u64, &f64)| if mean > 0.0 { ns as f64 / mean } else { 0.0 };
        Heatmap {
            cells: work
                .iter()
                .map(|row| row.iter().zip(&means).map(multiple).collect())
                .collect(),
            ranks,
            steps: (0..columns.min(steps.len()))
                .map(|at| steps[(at * steps.len()).div_ceil(columns)])
                .collect(),
        }
    }

    /// The work of each rank without communication.
    pub(crate) fn rank_work(&self) -> BTreeMap<u32, u64> {
        let communicates = self.communicates();
        let mut work = BTreeMap::new();
        for (lane, pieces) in self.lanes.all.iter().zip(&self.pieces) {
            let Some(rank) = lane.rank else { continue };
            let own = pieces.iter().filter(|piece| {
                piece.is_work() && communicates.get(piece.node as usize) == Some(&false)
            });
            let sum = work.entry(rank).or_default();
            own.for_each(|piece| add_ns(sum, piece.length()));
        }
        work
    }

    /// By entry: true if it is communication.
    pub(super) fn communicates(&self) -> Vec<bool> {
        let mut rule = CommunicationRule::default();
        let mut found: Vec<bool> = self.trace.views().map(|view| rule.holds(&view)).collect();
        for meeting in &self.meetings.all {
            for &entry in &meeting.entries {
                found[entry as usize] = true;
            }
        }
        found
    }
}

impl Heatmap {
    /// One line per rank, with at most `width` columns for the steps: if there are more, several share one column
    /// and the largest counts. The last number is the rank's mean.
    pub fn to_text(&self, width: usize) -> String {
        let digits = self
            .ranks
            .iter()
            .max()
            .map_or(1, |rank| rank.to_string().len());
        let mut text = String::new();
        for (row, rank) in self.ranks.iter().enumerate() {
            let (shades, mean) = (self.shades(row, width), self.mean(row));
            let _ = writeln!(text, "rank {rank:>digits$} {shades} {mean:.2}×");
        }
        if !self.ranks.is_empty() {
            let _ = writeln!(text, "{}", self.legend());
        }
        text
    }

    /// The cells of a row, one character for each column, at most `width`.
    pub(crate) fn shades(&self, row: usize, width: usize) -> String {
        let (low, high) = self.range();
        let cells = &self.cells[row];
        let columns = cells.len().min(width.max(1));
        let shaded = (0..columns).map(|column| {
            let from = column * cells.len() / columns;
            let to = ((column + 1) * cells.len() / columns).max(from + 1);
            let cell = cells[from..to].iter().copied().fold(0.0, f64::max);
            shade(cell, low, high)
        });
        shaded.collect()
    }

    /// The mean of a row.
    pub(crate) fn mean(&self, row: usize) -> f64 {
        let cells = &self.cells[row];
        cells.iter().sum::<f64>() / cells.len().max(1) as f64
    }

    /// The meaning of the characters.
    pub(crate) fn legend(&self) -> String {
        let (low, high) = self.range();
        format!(
            "{} = {low:.2}× to {} = {high:.2}× the mean work of the ranks in the step",
            SHADES[0], SHADES[7]
        )
    }

    /// The heatmap as a picture: a cell for each rank and step, red above the mean and blue below it.
    pub fn to_svg(&self) -> String {
        let (width, height, left, top) = (16, 16, 70, 40);
        let columns = self.cells.first().map_or(0, Vec::len);
        let (w, h) = (
            left + width * columns + 10,
            top + height * self.ranks.len() + 30,
        );
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" \
             font-family=\"sans-serif\" font-size=\"11\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"8\" y=\"18\">work of each rank in each step, as a multiple of the mean of the ranks</text>\n"
        );
        let most = self.range().1.max(1.01) - 1.0;
        for (row, (rank, cells)) in self.ranks.iter().zip(&self.cells).enumerate() {
            let y = top + height * row;
            let _ = writeln!(svg, "<text x=\"8\" y=\"{}\">rank {rank}</text>", y + 12);
            for (column, &cell) in cells.iter().enumerate() {
                let x = left + width * column;
                let step = self
                    .steps
                    .get(column)
                    .map_or_else(String::new, |step| format!("step {step}, "));
                let strength = ((cell - 1.0).abs() / most).min(1.0);
                let faded = (255.0 - 200.0 * strength).round() as u8;
                let fill = if cell >= 1.0 {
                    format!("rgb(255,{faded},{faded})")
                } else {
                    format!("rgb({faded},{faded},255)")
                };
                let _ = writeln!(
                    svg,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"{fill}\">\
                     <title>{step}rank {rank}: {cell:.3}</title></rect>",
                    width - 1,
                    height - 1
                );
            }
        }
        let y = top + height * self.ranks.len() + 16;
        if let (Some(first), Some(last)) = (self.steps.first(), self.steps.last()) {
            let _ = writeln!(
                svg,
                "<text x=\"{left}\" y=\"{y}\">steps {first} to {last}</text>"
            );
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn range(&self) -> (f64, f64) {
        let cells = || self.cells.iter().flatten().copied();
        (
            cells().fold(f64::INFINITY, f64::min).min(1.0),
            cells().fold(1.0, f64::max),
        )
    }
}

fn shade(cell: f64, low: f64, high: f64) -> char {
    let place = if high > low {
        (cell - low) / (high - low)
    } else {
        0.0
    };
    SHADES[((place * 7.0).round().max(0.0) as usize).min(7)]
}
