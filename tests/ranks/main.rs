//! Several ranks: wait states to the nanosecond, their causes, and what the job would take with other durations.

mod clocks;
mod job;
mod published;
mod random;
mod requests;
mod stragglers;
mod waits;
mod what_if;
