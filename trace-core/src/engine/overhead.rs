//! The cost of recording one op on this machine.

use super::clock::Clock;
use super::local::Local;
use super::recorder::{self, Recorder};
use super::site::{NO_KIND, Site};
use super::state;
use crate::{DType, Device};
use std::sync::OnceLock;

const OPS: u64 = 128;
const ROUNDS: usize = 5;

/// Nanoseconds that one op with two inputs and an output takes to record: the best of a few rounds,
/// measured once per process, which takes tens of microseconds.
pub fn measure_ns() -> u64 {
    static MEASURED: OnceLock<u64> = OnceLock::new();
    *MEASURED.get_or_init(|| {
        let site = Site {
            name: "overhead",
            kind: NO_KIND,
        };
        let local = Local::new();
        local.with(|recorder| {
            *recorder = Recorder::with_clock(Clock::counter(), None);
            recorder.seen = state::now();
        });
        let mut clock = Clock::counter();
        let matrix = |sink: &mut crate::TensorSink| sink.tensor(&[8, 8], DType::F32, Device::Cpu);
        let best = (0..ROUNDS)
            .map(|_| {
                let start = clock.now();
                for _ in 0..OPS {
                    let op = recorder::begin(&local, site, state::now(), (matrix, matrix));
                    recorder::end(&local, op, matrix);
                }
                clock.now().saturating_sub(start)
            })
            .min()
            .unwrap_or(0);
        // Frees the recorder.
        local.with(|recorder| drop(std::mem::replace(recorder, Recorder::idle())));
        clock.scale(0).ns(best).unsigned_abs() / OPS
    })
}
