//! Two groups of runs compared: what changed, where, and whether chance explains it.
//!
//! # Method
//!
//! **Runs, not calls.** Calls of one run share its machine, its memory layout and its moment, so they are not
//! independent. Each run is reduced to a few figures ([`RunSummary`]), and the variation of those between runs is the
//! uncertainty. Figures are compared as logarithms, because disturbances multiply.
//!
//! **What is shown** is the quietest run of each side, the one with the smallest total: interference from other
//! programs only adds time. Its total is elapsed time per step, or of the run. The change of the total is split
//! exactly, in whole nanoseconds, into rows: op × input shapes by self time, the elapsed time in which no op ran
//! ([`OUTSIDE`]), and the time that ops on several threads or devices have in common ([`OVERLAP`], below zero). A row
//! is split into *more calls* (additional calls × the mean call before) and *slower calls* (the rest).
//!
//! **What is tested**, for the total, every op and every op × shapes that weighs enough:
//! - *quiet time*: calls × the quartile call. A quarter of the calls are rarely disturbed, so this varies by one to
//!   four percent between runs even on a busy machine. It finds slower code.
//! - *calls*: it finds ops that are called more often.
//! - *time*: the self time. It finds tails: calls that are slow once in a while.
//! - the *median*, the 95th percentile and the longest call of op × shapes, which have verdicts of their own and no
//!   influence on the row's.
//!
//! **The common change.** If four ops or more have a share of the time, the median of their changes is what they have
//! in common: the clock speed, the load of the machine, a compiler. Ops are judged by what they have beyond it, if
//! that makes them vary less between the runs of a side. The
//! total is judged by its quiet time as it is: a change to everything is a change of the total, and no op is blamed.
//! The *time* of the total is judged after removing by how much the median op exceeds its quiet time, which is
//! interference.
//!
//! **The test** is a t test with a variance that is a weighted mean of the item's own and the median of all items
//! (weight: four degrees of freedom), and never below a floor. Runs in turns ([`Design::Pairs`], `optrace compare`)
//! are tested by the differences within pairs, which cancels drift. For groups ([`Design::Groups`]) an assumed drift
//! between the groups is added: 1.5 % for quiet times, 25 % for times. With fewer than three runs a side the
//! variation between runs is assumed (35 %), and an op must change the total by 5 %: one run shows little, and
//! the result shows how little.
//!
//! **Blocks of calls.** A time must also change by more than its calls explain, or a few interrupted calls would decide.
//! Its error within a run comes from ten blocks of consecutive calls, because calls that follow each other are slow
//! together. The same holds for the quiet time of an op with fewer than 16 calls, and with fewer than three runs a side.
//!
//! **Many tests.** Holm's correction bounds the probability of any false verdict: 1 % for the total, 3 % for quiet
//! times and calls of all ops, 1 % for their times, whatever the dependence between the tests. The size that a verdict
//! needs, below, makes false verdicts much rarer than that.
//!
//! **Size.** A verdict also needs a change above the threshold, with and without the common change, in the direction
//! in which the time that is shown changed: nothing that shrinks is called slower.
//!
//! # Error rates
//!
//! Measured on the examples `transformer` and `train_mlp` on two shared cores, with a [`Gate`] at 5 % for the total and for
//! ops, by `scripts/gate-check.sh`. The figures are of 40 recordings of each program, and 20 of each planted slowdown, made
//! after the last change to the method. The 200 comparisons of a case are overlapping windows of these, at most 78
//! different ones, so a rate is less certain than 200 independent comparisons would make it.
//! - One binary against itself, with 1, 3 and 5 runs a side, with and without a load on a core: 10 of the 12 cases have 0
//!   failures of 200. `transformer` has 3 with five runs, and 5 with one run under load. Together 8 of 2,400. The goal of
//!   1 % in each case is missed in these two.
//! - Five runs a side find 200 of 200 of each planted slowdown: +10 % in an op with 10 % of the time or more (four cases),
//!   four calls that take ten times as long, twice the calls, a tail, an added op.
//! - Earlier recordings, which the constants were chosen on, show the limits: one case has 6 false alarms of 200. Where
//!   other programs make runs 1.6 to 10 times as long, between a fifth and all of the +10 % are found: the time that is
//!   shown may shrink by chance, and then nothing is called slower.
//!
//! # Assumptions
//!
//! Runs of a side do the same work. Disturbances between runs are independent after the common change is removed; in
//! groups they may drift as above. An op that is slow only in some runs is not found: the quietest run does not
//! show it. Where all ops of a trace change for different reasons, the median change is still called common.

mod baseline;
mod compare;
mod comparison;
mod decomposition;
mod gate;
mod item;
mod noise;
mod notes;
mod rows;
mod run_group;
mod run_summary;
mod statistics;
mod testing;
mod trace_diff;
mod verdict;

pub use baseline::BASELINE_VERSION;
pub use compare::{DiffSettings, diff};
pub use gate::{Gate, GateFailure};
pub use noise::Design;
pub use run_group::RunGroup;
pub use run_summary::{RowFigures, RowSummary, RunSummary};
pub use trace_diff::{DiffRow, Evidence, Method, OUTSIDE, OVERLAP, TotalChange, TraceDiff};
pub use verdict::Verdict;
