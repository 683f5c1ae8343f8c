//! Peak FLOP/s and memory bandwidth of a machine: given, from a trace, or measured.

use crate::model::TraceView;
use crate::model::json_struct::json_struct;
use crate::model::wire::metadata::{PEAK_BYTES_PER_S, PEAK_FLOPS_PER_S};
use std::hint::black_box;
use std::time::Duration;

/// Peak FLOP/s and memory bandwidth of a machine, for the roofline.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct MachinePeaks {
    /// Floating-point operations per second.
    pub flops_per_s: f64,
    /// Bytes to and from memory per second.
    pub bytes_per_s: f64,
}

json_struct!(MachinePeaks {
    required: [flops_per_s, bytes_per_s],
    optional: [],
});

impl MachinePeaks {
    /// The peaks of a machine: FLOP/s, and bytes per second to and from memory.
    pub const fn new(flops_per_s: f64, bytes_per_s: f64) -> MachinePeaks {
        MachinePeaks {
            flops_per_s,
            bytes_per_s,
        }
    }

    /// The peaks in a trace's metadata: `peak_flops_per_s` and `peak_bytes_per_s`. `None` unless it has both.
    pub fn of<T: TraceView + ?Sized>(trace: &T) -> Option<MachinePeaks> {
        let number = |key: &str| {
            let value: f64 = trace.metadata().get(key)?.trim().parse().ok()?;
            (value.is_finite() && value > 0.0).then_some(value)
        };
        Some(MachinePeaks {
            flops_per_s: number(PEAK_FLOPS_PER_S)?,
            bytes_per_s: number(PEAK_BYTES_PER_S)?,
        })
    }

    /// Measures the FLOP/s and the bandwidth that `threads` threads of this machine reach together. Runs
    /// multiplications and additions of `f32` in registers, and copies more memory than caches hold; takes tens of
    /// milliseconds.
    ///
    /// A generic build may measure less than the processor could reach with its special instructions. `now` returns the
    /// time since any fixed moment; the library does not read a clock itself.
    ///
    /// ```no_run
    /// use std::time::Instant;
    /// use trace_runtime::analyze::MachinePeaks;
    ///
    /// let (threads, start) = (std::thread::available_parallelism(), Instant::now());
    /// let peaks = MachinePeaks::measure(threads.map_or(1, Into::into), || start.elapsed());
    /// ```
    pub fn measure(threads: usize, now: impl Fn() -> Duration + Sync) -> MachinePeaks {
        let on_all = |one: &(dyn Fn() -> f64 + Sync)| -> f64 {
            std::thread::scope(|scope| {
                let running: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(one)).collect();
                running
                    .into_iter()
                    .filter_map(|thread| thread.join().ok())
                    .sum()
            })
        };
        MachinePeaks {
            flops_per_s: on_all(&|| best_rate(FLOPS_A_ROUND as f64, &now, compute)),
            bytes_per_s: on_all(&|| {
                let (from, mut to) = (vec![1u8; COPY_BYTES], vec![0u8; COPY_BYTES]);
                // Read once, written once.
                best_rate(2.0 * COPY_BYTES as f64, &now, || {
                    to.copy_from_slice(black_box(&from));
                    black_box(&mut to);
                })
            }),
        }
    }

    /// FLOPs per second that work of this arithmetic intensity can reach.
    pub fn attainable(&self, flops_per_byte: f64) -> f64 {
        self.flops_per_s.min(flops_per_byte * self.bytes_per_s)
    }
}

const COPY_BYTES: usize = 32 << 20;
const LANES: usize = 64;
const STEPS: usize = 40_000;
const FLOPS_A_ROUND: usize = 2 * LANES * STEPS;
const ROUNDS: usize = 6;

/// Work per second in the best of a few rounds. The first one warms up, and others may be disturbed.
fn best_rate(work: f64, now: &impl Fn() -> Duration, mut round: impl FnMut()) -> f64 {
    let best = (0..ROUNDS)
        .map(|_| {
            let start = now();
            round();
            now().saturating_sub(start)
        })
        .min()
        .unwrap_or_default();
    work / best.as_secs_f64().max(1e-9)
}

/// There are enough independent chains to keep every vector unit busy.
fn compute() {
    let mut lanes = [1.0f32; LANES];
    let (factor, term) = (black_box(0.999_f32), black_box(0.001_f32));
    for _ in 0..STEPS {
        for lane in &mut lanes {
            *lane = *lane * factor + term;
        }
    }
    black_box(lanes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn a_round_of_a_millisecond_gives_its_work_by_the_second() {
        let clock = AtomicU64::new(0);
        let stepped = || Duration::from_millis(clock.fetch_add(1, Ordering::Relaxed));
        let peaks = MachinePeaks::measure(1, stepped);
        let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-9;
        assert!(
            close(peaks.flops_per_s, FLOPS_A_ROUND as f64 * 1e3),
            "{peaks:?}"
        );
        assert!(
            close(peaks.bytes_per_s, COPY_BYTES as f64 * 2e3),
            "{peaks:?}"
        );
    }
}
