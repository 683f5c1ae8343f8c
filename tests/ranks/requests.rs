//! Calls that do not block: a rank arrives when the call begins, and waits in the op that completes it.

use crate::job::Job;
use trace_runtime::TraceStore;
use trace_runtime::analyze::{CausalModel, Scenario, WaitClass, WaitState, collectives};

/// Class, waiting rank, op, start, length and late rank, in the order of ranks and starts.
fn waits(trace: &TraceStore) -> Vec<(WaitClass, u32, String, i64, u64, u32)> {
    let waits = CausalModel::new(trace).waits_between_ranks();
    let mut waits: Vec<_> = waits
        .into_iter()
        .map(|wait| {
            let WaitState {
                class,
                rank,
                operation,
                start_ns,
                ns,
                late_rank,
                ..
            } = wait;
            (class, rank, operation, start_ns, ns, late_rank)
        })
        .collect();
    waits.sort_by_key(|wait| (wait.1, wait.3));
    waits
}

fn blames(trace: &TraceStore) -> Vec<(u32, String, u64)> {
    let states = CausalModel::new(trace).wait_states();
    let blames = states.blames.into_iter();
    blames
        .map(|blame| (blame.rank, blame.operation, blame.ns))
        .collect()
}

/// Rank 1 begins to receive a message at 100, computes until `waits_from`, and then waits for it. Rank 0 sends at
/// `sent`.
fn receive(sent: i64, waits_from: i64, end: i64) -> TraceStore {
    let mut job = Job::default();
    job.op(0, "matmul", 0, sent);
    job.comm(0, "mpi::send", (sent, sent + 10), &[("peer", "1")]);
    job.comm(
        1,
        "mpi::irecv",
        (100, 105),
        &[("peer", "0"), ("request", "1")],
    );
    job.op(1, "matmul", 105, waits_from);
    job.comm(1, "mpi::wait", (waits_from, end), &[("completes", "1")]);
    job.trace()
}

#[test]
fn a_late_sender_is_waited_for_in_the_op_that_completes_the_receive() {
    // Computation hides the time from 100 to 300.
    let trace = receive(701, 300, 715);
    assert_eq!(
        waits(&trace),
        [(
            WaitClass::LateSender,
            1,
            "mpi::wait".to_owned(),
            300,
            401,
            0
        )]
    );
    // Rank 0 computed for 701 and rank 1 for 195, and 5 in `irecv`.
    assert_eq!(blames(&trace), [(0, "matmul".to_owned(), 401)]);
    let states = CausalModel::new(&trace).wait_states();
    let time = &states.ranks[1];
    assert_eq!(
        (time.working_ns, time.waiting_ns, time.idle_ns),
        (214, 401, 0)
    );
    assert_eq!(time.span_ns, 615);
}

#[test]
fn a_message_that_arrived_before_the_wait_makes_no_rank_wait() {
    let trace = receive(250, 300, 304);
    assert_eq!(waits(&trace), []);
    assert_eq!(CausalModel::new(&trace).wait_states().unmatched_messages, 0);
}

#[test]
fn a_send_waits_for_a_late_receiver_when_it_is_completed() {
    for (asked, expected) in [(600, Some(400)), (150, None)] {
        let mut job = Job::default();
        job.comm(
            0,
            "mpi::isend",
            (100, 105),
            &[("peer", "1"), ("request", "9")],
        );
        job.op(0, "next", 105, 200);
        job.comm(0, "mpi::wait", (200, 650), &[("completes", "9")]);
        job.op(1, "load", 0, asked);
        job.comm(1, "mpi::recv", (asked, 660), &[("peer", "0")]);
        let found = waits(&job.trace());
        match expected {
            Some(ns) => assert_eq!(
                found,
                [(
                    WaitClass::LateReceiver,
                    0,
                    "mpi::wait".to_owned(),
                    200,
                    ns,
                    1
                )]
            ),
            None => assert_eq!(found, []),
        }
    }
}

#[test]
fn an_all_reduce_in_the_background_is_waited_for_only_where_it_is_completed() {
    let mut job = Job::default();
    let facts = |request: &'static str| {
        [
            ("collective", "all_reduce"),
            ("process_group", "world"),
            ("sequence", "1"),
            ("request", request),
        ]
    };
    // Ranks 0, 1 and 2 begin it at 100, 150 and 500, and compute until they wait for it.
    for (rank, begin, wait) in [(0, 100, 300), (1, 150, 550), (2, 500, 520)] {
        job.op(rank, "backward", 0, begin);
        job.comm(
            rank,
            "mpi::iall_reduce",
            (begin, begin + 4),
            &facts(["1", "2", "3"][rank as usize]),
        );
        job.op(rank, "backward", begin + 4, wait);
        let request = ["1", "2", "3"][rank as usize];
        job.comm(rank, "mpi::wait", (wait, 600), &[("completes", request)]);
    }
    let trace = job.trace();
    assert_eq!(
        waits(&trace),
        [(WaitClass::WaitAtNxN, 0, "mpi::wait".to_owned(), 300, 200, 2)]
    );
    let table = collectives(&trace);
    assert_eq!((table.len(), table[0].calls, table[0].ranks), (1, 1, 3));
    // The transfer is from the last begin to the end. Only rank 0 waits.
    assert_eq!(table[0].transfer_ns, 100);
    assert_eq!(table[0].wait_ns, [(0, 200), (1, 0), (2, 0)]);
}

#[test]
fn one_op_that_completes_several_requests_waits_for_one_after_the_other() {
    let mut job = Job::default();
    for (rank, sent) in [(1, 400), (2, 700), (3, 50)] {
        job.op(rank, "matmul", 0, sent);
        job.comm(rank, "mpi::send", (sent, sent + 5), &[("peer", "0")]);
    }
    for (at, peer) in [(10, "1"), (20, "2"), (30, "3")] {
        job.comm(
            0,
            "mpi::irecv",
            (at, at + 5),
            &[("peer", peer), ("request", peer)],
        );
    }
    job.comm(0, "mpi::wait_all", (100, 720), &[("completes", "1,2,3")]);
    let trace = job.trace();
    let all = "mpi::wait_all".to_owned();
    assert_eq!(
        waits(&trace),
        [
            (WaitClass::LateSender, 0, all.clone(), 100, 300, 1),
            (WaitClass::LateSender, 0, all, 400, 300, 2),
        ]
    );
    let states = CausalModel::new(&trace).wait_states();
    assert_eq!(states.total_ns, 600);
    assert_eq!(states.ranks[0].waiting_ns, 600);
    let blamed: u64 = states.blames.iter().map(|blame| blame.ns).sum();
    assert_eq!(blamed, 600);
}

#[test]
fn a_replay_moves_the_wait_and_not_the_work_before_it() {
    let trace = receive(701, 300, 715);
    let model = CausalModel::new(&trace);
    let job = model.what_if();
    assert_eq!(job.recorded().total_ns, 715);
    // Rank 0 sends at 350 (half of 701, rounded): rank 1 waits until then and needs 14 more.
    let rank = Scenario::new().scale_rank(0, 0.5);
    assert_eq!(job.run(&rank).total_ns, 351 + 14);
    // If it is ten times faster, no rank waits: rank 1 begins its wait at 300.
    let rank = Scenario::new().scale_rank(0, 0.1);
    assert_eq!(job.run(&rank).total_ns, 300 + 14);
}

#[test]
fn a_request_that_is_never_completed_is_matched_and_waits_for_nothing() {
    let mut job = Job::default();
    job.op(0, "matmul", 0, 500);
    job.comm(0, "mpi::send", (500, 510), &[("peer", "1")]);
    job.comm(
        1,
        "mpi::irecv",
        (100, 105),
        &[("peer", "0"), ("request", "1")],
    );
    let trace = job.trace();
    assert_eq!(waits(&trace), []);
    assert_eq!(CausalModel::new(&trace).wait_states().unmatched_messages, 0);
}
