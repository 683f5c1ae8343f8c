//! Several ranks: wait states to the nanosecond, their causes, and what the job would take with other durations.

#[expect(dead_code, reason = "shared with tests that need more of it")]
#[path = "../support/arbitrary.rs"]
mod arbitrary;
mod clocks;
mod job;
mod merged;
mod published;
mod random;
mod requests;
mod simulation;
mod stragglers;
mod waits;
mod what_if;
