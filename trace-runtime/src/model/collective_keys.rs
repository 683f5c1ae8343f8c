//! The keys of an entry's `meta` that identify the collective that it is part of.
//!
//! Readers fill them from Kineto's `Collective name`, `Process Group Name`, `Process Group Ranks`, `Src Rank`,
//! `Dst Rank` and `Seq`.
//! A program that records its own collectives sets them with `meta(process_group = …, sequence = …)`.

/// The kind of collective, as the library calls it: `allreduce`, `_allgather_base`.
pub(crate) const COLLECTIVE: &str = "collective";
/// The name of the process group; equal on every rank of the group.
pub(crate) const PROCESS_GROUP: &str = "process_group";
/// The ranks of the process group as text, such as `[0, 1]`.
pub(crate) const PROCESS_GROUP_RANKS: &str = "process_group_ranks";
/// The number of the call within its process group; equal on every rank of one call.
pub(crate) const SEQUENCE: &str = "sequence";
/// The rank at the other end of a send or receive.
pub(crate) const PEER: &str = "peer";
/// The tag of a send or receive; a send matches only receives of the same tag.
pub(crate) const TAG: &str = "tag";
/// On an op that returns before its communication is done: a number that no other op of the rank has under this key.
pub(crate) const REQUEST: &str = "request";
/// On an op that waits for requests: their numbers, with commas between them.
pub(crate) const COMPLETES: &str = "completes";
/// The rank that a collective with a root sends from or collects at.
pub(crate) const ROOT: &str = "root";
