//! Edges: the dependencies of one lane on another.

/// A dependency: the work of lane `to` from `to_at` on needs the work of lane `from` until `from_at`.
///
/// The order of the pieces within a lane is not listed: each piece depends on the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) from: u32,
    pub(super) from_at: i64,
    pub(super) to: u32,
    /// Never before `from_at`.
    pub(super) to_at: i64,
}

/// The edges and waits that the rules of this folder find in a trace.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) edges: Vec<Edge>,
    pub(super) waits: Vec<super::wait::Wait>,
    /// Number of lanes, including those that only join others.
    pub(super) lanes: u32,
}

impl Found {
    /// Adds an edge; one that would go back in time is moved to the moment of its target, because clocks of
    /// devices and ranks differ by a little.
    pub(super) fn edge(&mut self, from: u32, from_at: i64, to: u32, to_at: i64) {
        if from != to {
            self.edges.push(Edge {
                from,
                from_at: from_at.min(to_at),
                to,
                to_at,
            });
        }
    }

    /// A further lane without pieces, at which several lanes meet.
    pub(super) fn meeting_point(&mut self) -> u32 {
        self.lanes += 1;
        self.lanes - 1
    }
}
