//! The fault suite: recordings of programs that fail, or whose threads or disk fail.
//!
//! Each fault runs in a separate process and prints a row: the ops that ended, those that are in the trace, and those
//! that the trace counts as lost. The last two add up to the first on every row. `scripts/faults.sh` runs it;
//! `cargo test --test faults -- disk` runs the faults whose name contains `disk`.

#[cfg(feature = "enabled")]
mod crashes;
#[cfg(feature = "enabled")]
mod endings;
#[cfg(feature = "enabled")]
mod in_ops;
#[cfg(feature = "enabled")]
mod limits;
#[cfg(feature = "enabled")]
mod outputs;
#[cfg(feature = "enabled")]
mod row;
#[cfg(feature = "enabled")]
mod threads;

#[cfg(feature = "enabled")]
fn main() -> std::process::ExitCode {
    row::run(&[
        in_ops::FAULTS,
        threads::FAULTS,
        endings::FAULTS,
        crashes::FAULTS,
        outputs::FAULTS,
        limits::FAULTS,
    ])
}

#[cfg(not(feature = "enabled"))]
fn main() {}
