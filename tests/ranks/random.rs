//! Random jobs of ranks that compute, meet and exchange messages, simulated with their true waits.

use crate::job::Job;
use proptest::prelude::*;
use trace_runtime::TraceStore;
use trace_runtime::analyze::{CausalModel, Scenario};

/// The next event of a job.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// A rank computes.
    Work(usize, u8, i64),
    /// A rank does something that is not traced.
    Gap(usize, i64),
    /// All ranks meet; the transfer takes this time.
    AllReduce(i64),
    /// A rank sends to another one.
    Message(usize, usize, i64),
}

pub(crate) const RANKS: usize = 4;

pub(crate) fn events() -> impl Strategy<Value = Vec<Event>> {
    let rank = 0..RANKS;
    let event = prop_oneof![
        4 => (rank.clone(), 0u8..3, 1i64..500).prop_map(|(rank, op, ns)| Event::Work(rank, op, ns)),
        1 => (rank.clone(), 1i64..50).prop_map(|(rank, ns)| Event::Gap(rank, ns)),
        1 => (1i64..60).prop_map(Event::AllReduce),
        2 => (rank, 1..RANKS, 1i64..40)
            .prop_map(|(from, by, ns)| Event::Message(from, (from + by) % RANKS, ns)),
    ];
    proptest::collection::vec(event, 1..60)
}

/// Runs the events; returns the trace and the waiting of each rank.
pub(crate) fn run(events: &[Event]) -> (TraceStore, [u64; RANKS]) {
    let mut job = Job::default();
    let mut at = [0i64; RANKS];
    let mut waited = [0u64; RANKS];
    for event in events {
        match *event {
            Event::Work(rank, op, ns) => {
                job.op(
                    rank as u32,
                    ["a", "b", "c"][usize::from(op)],
                    at[rank],
                    at[rank] + ns,
                );
                at[rank] += ns;
            }
            Event::Gap(rank, ns) => at[rank] += ns,
            Event::AllReduce(ns) => {
                let last = *at.iter().max().unwrap();
                for (rank, at) in at.iter_mut().enumerate() {
                    job.comm(rank as u32, "all_reduce", (*at, last + ns), &[]);
                    waited[rank] += last.abs_diff(*at);
                    *at = last + ns;
                }
            }
            Event::Message(from, to, ns) => {
                let (asked, sent) = (at[to], at[from]);
                let begin = asked.max(sent);
                // The send returns at once.
                let (peer, own) = (to.to_string(), from.to_string());
                job.comm(from as u32, "send", (sent, sent + 1), &[("peer", &peer)]);
                job.comm(to as u32, "recv", (asked, begin + ns), &[("peer", &own)]);
                at[from] = sent + 1;
                at[to] = begin + ns;
                waited[to] += sent.saturating_sub(asked).max(0).unsigned_abs();
            }
        }
    }
    (job.trace(), waited)
}

proptest! {
    #[test]
    fn waits_are_those_of_the_simulation_and_every_rank_adds_up(events in events()) {
        let (trace, waited) = run(&events);
        let model = CausalModel::new(&trace);
        let states = model.wait_states();
        for time in &states.ranks {
            prop_assert_eq!(
                time.working_ns + time.waiting_ns + time.idle_ns,
                time.span_ns
            );
            prop_assert_eq!(time.waiting_ns, waited[time.rank as usize]);
        }
        prop_assert_eq!(states.total_ns, waited.iter().sum::<u64>());
        prop_assert_eq!(states.blames.iter().map(|blame| blame.ns).sum::<u64>(), states.total_ns);
        for wait in model.waits_between_ranks() {
            prop_assert_eq!(wait.blames.iter().map(|blame| blame.ns).sum::<u64>(), wait.ns);
            prop_assert!(wait.rank != wait.late_rank);
        }
    }
}

/// The same events with `a` three times as long, and transfers without a time.
fn changed(events: &[Event]) -> Vec<Event> {
    let change = |event: &Event| match *event {
        Event::Work(rank, 0, ns) => Event::Work(rank, 0, 3 * ns),
        ref other => other.clone(),
    };
    events.iter().map(change).collect()
}

proptest! {
    #[test]
    fn a_replay_gives_the_times_of_a_simulation_with_the_same_changes(events in events()) {
        let (trace, _) = run(&events);
        let model = CausalModel::new(&trace);
        let job = model.what_if();
        let span = |trace: &TraceStore| {
            let model = CausalModel::new(trace);
            model.critical_path().span_ns
        };
        prop_assert_eq!(job.recorded().total_ns, span(&trace));
        let (after, _) = run(&changed(&events));
        let predicted = job.run(&Scenario::new().scale("a", 3.0));
        prop_assert_eq!(predicted.total_ns, span(&after));
        prop_assert_eq!(job.run(&Scenario::new().scale("none", 3.0)).total_ns, span(&trace));
    }
}
