//! What an op reaches of what the machine could do, by how much it computes for each byte it moves.

use super::machine_peaks::MachinePeaks;
use super::op_table::OpRow;
use crate::model::json_struct::json_struct;
use crate::model::order::descending;

/// One row of an op table against the roof above it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RooflinePoint {
    /// The op's name.
    pub operation: String,
    /// The dims of its inputs, if the row has them.
    pub input_shapes: Option<Vec<Vec<usize>>>,
    /// FLOPs per byte moved.
    pub arithmetic_intensity: f64,
    /// What it reaches.
    pub flops_per_s: f64,
    /// What the machine could reach at this intensity.
    pub attainable_flops_per_s: f64,
    /// The one as a share of the other.
    pub efficiency: f64,
    /// Whether moving bytes limits it rather than computing.
    pub memory_bound: bool,
}

json_struct!(RooflinePoint {
    required: [
        operation,
        arithmetic_intensity,
        flops_per_s,
        attainable_flops_per_s,
        efficiency,
        memory_bound,
    ],
    optional: [input_shapes],
});

/// The rows whose FLOPs are known, those that waste the most FLOPs first.
pub fn roofline(rows: &[OpRow], peaks: &MachinePeaks) -> Vec<RooflinePoint> {
    let mut points: Vec<(f64, RooflinePoint)> = rows
        .iter()
        .filter_map(|row| {
            let (intensity, reached) = (row.arithmetic_intensity?, row.flops_per_s?);
            let attainable = peaks.attainable(intensity);
            let wasted = (attainable - reached) * row.sum_ns as f64;
            let point = RooflinePoint {
                operation: row.operation.clone(),
                input_shapes: row.input_shapes.clone(),
                arithmetic_intensity: intensity,
                flops_per_s: reached,
                attainable_flops_per_s: attainable,
                efficiency: reached / attainable,
                memory_bound: intensity * peaks.bytes_per_s < peaks.flops_per_s,
            };
            Some((wasted, point))
        })
        .collect();
    points.sort_by(|a, b| descending(a.0, b.0));
    points.into_iter().map(|(_, point)| point).collect()
}
