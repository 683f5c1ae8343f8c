//! The keys of an entry's `meta` that identify the collective that it is part of.
//!
//! Readers fill them from Kineto's `Collective name`, `Process Group Name`, `Process Group Ranks` and `Seq`.
//! A program that records its own collectives sets them with `meta(process_group = …, sequence = …)`.

/// The kind of collective, as the library calls it: `allreduce`, `_allgather_base`.
pub(crate) const COLLECTIVE: &str = "collective";
/// The name of the process group; equal on every rank of the group.
pub(crate) const PROCESS_GROUP: &str = "process_group";
/// The ranks of the process group as text, such as `[0, 1]`.
pub(crate) const PROCESS_GROUP_RANKS: &str = "process_group_ranks";
/// The number of the call within its process group; equal on every rank of one call.
pub(crate) const SEQUENCE: &str = "sequence";
