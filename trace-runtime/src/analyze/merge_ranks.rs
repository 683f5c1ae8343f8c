//! One trace of several ranks, on one clock.

use super::clocks::{by_exchanges, by_meetings};
use crate::model::merge::merged;
use crate::model::{TraceError, TraceStore};

impl TraceStore {
    /// One trace of several ranks.
    ///
    /// A trace without a rank gets its position in the list as its rank. Clocks are aligned in the first of these
    /// ways that the traces allow:
    ///
    /// 1. by readings that the ranks exchanged while they ran (`clock.exchanges` in the metadata; the crate `trace-mpi`
    ///    records them), with the drift between the first and the last one;
    /// 2. by the wall clock, if all traces have it, they differ by at most a day, and no collective or message
    ///    contradicts it: nothing is received before it is sent, and no rank leaves a collective before the last one
    ///    arrives;
    /// 3. by matched collectives, which end on all ranks at about the same time, and messages, with the drift if it
    ///    is larger than their scatter;
    /// 4. each rank begins at zero.
    ///
    /// `merge.clock` in the metadata records the method and the remaining error; `rank.R.clock.offset_ns`,
    /// `….drift_ppb` and `….error_ns` have the results for each rank. Facts that differ between the traces are kept
    /// under `rank.0.` and so on.
    ///
    /// # Errors
    /// Two traces are of the same rank, or the merged trace is too large.
    pub fn merge(traces: &[TraceStore]) -> Result<TraceStore, TraceError> {
        match by_exchanges(traces)? {
            Some(alignment) => merged(traces, &alignment),
            None => by_meetings(traces),
        }
    }
}
