//! Reads the clocks of two ranks at the same moment, by messages that are sent and answered.

use mpi::traits::{Communicator, Destination as _, Source as _};
use std::time::{Duration, Instant};
use trace_runtime::Session;
use trace_runtime::model::wire::metadata::{CLOCK_EXCHANGES, CLOCK_REFERENCE};

/// The least number of messages per rank, each with an answer. A single one may be interrupted for a tenth of a
/// millisecond; the error of the quickest of many is about a tenth of a microsecond on one machine.
const ROUNDS: usize = 100;
/// On a machine with more processes than processors, the other rank is often not running when a message arrives. So
/// exchanges are repeated until one is as quick as this, for a limited time.
const QUICK_NS: u64 = 10_000;
const LONGEST: Duration = Duration::from_millis(500);
/// A tag that programs hardly use.
const TAG: i32 = 31_741;
/// Sent instead of a time when a rank has enough readings.
const ENOUGH: u64 = u64::MAX;

/// Compares the trace clock of every rank with that of rank 0, and keeps the result in the metadata of the session.
///
/// All ranks of the communicator must call it, at the start and at the end of the recording: the two readings give the
/// drift. It sends 100 short messages to each rank, with answers, one rank after the other, and is not recorded. If all
/// of them take longer than 10 µs, it continues for up to half a second per rank.
pub fn exchange_clocks(session: &mut Session, world: &impl Communicator) {
    let (rank, size) = (world.rank(), world.size());
    if rank == 0 {
        for other in 1..size {
            let process = world.process_at_rank(other);
            loop {
                let mut asked = 0_u64;
                process.receive_into_with_tag(&mut asked, TAG);
                if asked == ENOUGH {
                    break;
                }
                process.send_with_tag(&session.elapsed_ns(), TAG);
            }
        }
        return;
    }
    let reference = world.process_at_rank(0);
    let mut quickest: Option<(u64, u64, u64)> = None;
    let mut began: Option<Instant> = None;
    for round in 0.. {
        let before = session.elapsed_ns();
        reference.send_with_tag(&before, TAG);
        let mut there = 0_u64;
        reference.receive_into_with_tag(&mut there, TAG);
        let after = session.elapsed_ns();
        let took = after.saturating_sub(before);
        if quickest.is_none_or(|known| took < known.0) {
            quickest = Some((took, u64::midpoint(before, after), there));
        }
        // The first answer comes when the ranks before this one are done.
        let began = began.get_or_insert_with(Instant::now);
        let quick = quickest.is_some_and(|known| known.0 <= QUICK_NS);
        if round + 1 >= ROUNDS && (quick || began.elapsed() > LONGEST) {
            break;
        }
    }
    reference.send_with_tag(&ENOUGH, TAG);
    let Some((took, own, there)) = quickest else {
        return;
    };
    let reading = format!("{own} {there} {}", took.div_ceil(2));
    let all = match session.metadata().get(CLOCK_EXCHANGES) {
        Some(earlier) => format!("{earlier};{reading}"),
        None => reading,
    };
    session.insert_metadata(CLOCK_EXCHANGES, all);
    session.insert_metadata(CLOCK_REFERENCE, "0");
}
