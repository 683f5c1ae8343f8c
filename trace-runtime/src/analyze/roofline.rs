//! FLOP/s of each op, compared with the peak that its arithmetic intensity allows.

use super::machine_peaks::MachinePeaks;
use super::op_row::OpRow;
use crate::model::json_struct::json_struct;
use crate::model::order::descending;

/// A row of an op table, compared with the peak FLOP/s that its arithmetic intensity allows.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct RooflinePoint {
    /// The op's name.
    pub operation: String,
    /// The dims of its inputs, if the row has them.
    pub input_shapes: Option<Vec<Vec<usize>>>,
    /// FLOPs per byte moved.
    pub arithmetic_intensity: f64,
    /// FLOP/s that it reaches.
    pub flops_per_s: f64,
    /// FLOP/s that the machine could reach at this intensity.
    pub attainable_flops_per_s: f64,
    /// The share of the attainable FLOP/s that it reaches.
    pub efficiency: f64,
    /// True if memory bandwidth limits it, false if FLOP/s do.
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

/// The rows whose FLOPs are known, sorted by the FLOPs that the machine could have done in their time but did not, most
/// first.
///
/// If some rows have device time, only those count: the peaks are those of the device. An op whose work is done by ops
/// inside it is left out.
pub fn roofline(rows: &[OpRow], peaks: &MachinePeaks) -> Vec<RooflinePoint> {
    let on_devices = rows
        .iter()
        .any(|row| row.flops_per_s.is_some() && row.device_ns().is_some());
    let mut points: Vec<(f64, RooflinePoint)> = rows
        .iter()
        .filter(|row| row.device_ns().is_some() == on_devices && does_the_work(row))
        .filter_map(|row| {
            let (intensity, reached) = (row.arithmetic_intensity?, row.flops_per_s?);
            let attainable = peaks.attainable(intensity);
            let time_ns = row.device_ns().unwrap_or(row.total_ns);
            let wasted = (attainable - reached) * time_ns as f64;
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

/// True if the work of a row is done by the op itself and not by ops inside it.
fn does_the_work(row: &OpRow) -> bool {
    match row.device_ns() {
        Some(_) => row.accelerator || row.device_self_ns > row.device_total_ns / 2,
        None => row.self_ns >= row.total_ns / 2,
    }
}
