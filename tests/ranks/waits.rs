//! Each class of wait on the smallest trace that shows it.

use crate::job::Job;
use trace_runtime::TraceStore;
use trace_runtime::analyze::{CausalModel, WaitClass};

/// Class, waiting rank, start, length, late rank.
fn waits(trace: &TraceStore) -> Vec<(WaitClass, u32, i64, u64, u32)> {
    let waits = CausalModel::new(trace).waits_between_ranks();
    waits
        .iter()
        .map(|wait| {
            (
                wait.class,
                wait.rank,
                wait.start_ns,
                wait.ns,
                wait.late_rank,
            )
        })
        .collect()
}

/// Rank, op and time of every cause, largest first.
fn blames(trace: &TraceStore) -> Vec<(u32, String, u64)> {
    let states = CausalModel::new(trace).wait_states();
    states
        .blames
        .into_iter()
        .map(|blame| (blame.rank, blame.operation, blame.ns))
        .collect()
}

fn blame(rank: u32, operation: &str, ns: u64) -> (u32, String, u64) {
    (rank, operation.to_owned(), ns)
}

#[test]
fn a_receive_waits_for_its_late_sender() {
    let mut job = Job::default();
    job.op(0, "matmul", 0, 701);
    job.comm(0, "send", (701, 710), &[("peer", "1")]);
    job.op(1, "matmul", 0, 300);
    job.comm(1, "recv", (300, 715), &[("peer", "0")]);
    let trace = job.trace();
    assert_eq!(waits(&trace), [(WaitClass::LateSender, 1, 300, 401, 0)]);
    assert_eq!(blames(&trace), [blame(0, "matmul", 401)]);
    let states = CausalModel::new(&trace).wait_states();
    let receiver = &states.ranks[1];
    assert_eq!(
        (receiver.working_ns, receiver.waiting_ns, receiver.idle_ns),
        (314, 401, 0)
    );
    assert_eq!(states.ranks[0].caused_ns, 401);
}

#[test]
fn a_send_that_blocks_waits_for_its_late_receiver_and_one_that_returned_does_not() {
    for (end, expected) in [(650, 500), (600, 0)] {
        let mut job = Job::default();
        job.comm(0, "send", (100, end), &[("peer", "1")]);
        job.op(1, "load", 0, 600);
        job.comm(1, "recv", (600, 660), &[("peer", "0")]);
        let trace = job.trace();
        let found = waits(&trace);
        if expected == 0 {
            assert_eq!(found, []);
        } else {
            assert_eq!(found, [(WaitClass::LateReceiver, 0, 100, expected, 1)]);
            assert_eq!(blames(&trace), [blame(1, "load", 500)]);
        }
    }
}

#[test]
fn every_rank_waits_for_the_last_one_at_a_barrier_and_at_an_all_reduce() {
    for (name, class) in [
        ("barrier", WaitClass::WaitAtBarrier),
        ("all_reduce", WaitClass::WaitAtNxN),
        ("all-gather", WaitClass::WaitAtNxN),
        ("reduce_scatter", WaitClass::WaitAtNxN),
        ("all_to_all", WaitClass::WaitAtNxN),
    ] {
        let mut job = Job::default();
        for (rank, start) in [(0, 100), (1, 250), (2, 400)] {
            job.op(rank, "forward", 0, start);
            job.comm(rank, name, (start, 430), &[]);
        }
        let trace = job.trace();
        let expected = [(class, 0, 100, 300, 2), (class, 1, 250, 150, 2)];
        let mut found = waits(&trace);
        found.sort_by_key(|wait| wait.1);
        assert_eq!(found, expected, "{name}");
        assert_eq!(blames(&trace), [blame(2, "forward", 450)], "{name}");
    }
}

#[test]
fn only_those_before_the_root_wait_at_a_broadcast() {
    let mut job = Job::default();
    for (rank, start) in [(0, 100), (1, 300), (2, 500)] {
        job.op(rank, "load", 0, start);
        job.comm(rank, "broadcast", (start, 520), &[("root", "1")]);
    }
    let trace = job.trace();
    assert_eq!(waits(&trace), [(WaitClass::LateBroadcast, 0, 100, 200, 1)]);
}

#[test]
fn a_broadcast_that_the_receiver_left_before_the_root_came_waits_until_its_own_end() {
    let mut job = Job::default();
    job.comm(0, "bcast", (100, 180), &[("root", "1")]);
    job.comm(1, "bcast", (300, 320), &[("root", "1")]);
    assert_eq!(
        waits(&job.trace()),
        [(WaitClass::LateBroadcast, 0, 100, 80, 1)]
    );
}

#[test]
fn only_the_root_waits_at_a_reduce() {
    for name in ["reduce", "gather"] {
        let mut job = Job::default();
        for (rank, start) in [(0, 100), (1, 300), (2, 500)] {
            job.op(rank, "backward", 0, start);
            job.comm(rank, name, (start, 520), &[("root", "0")]);
        }
        let trace = job.trace();
        assert_eq!(waits(&trace), [(WaitClass::EarlyReduce, 0, 100, 400, 2)]);
        assert_eq!(blames(&trace), [blame(2, "backward", 400)], "{name}");
    }
}

#[test]
fn the_op_that_took_longer_is_the_cause_and_not_the_one_that_ran_last() {
    let mut job = Job::default();
    // Both ranks run the same ops; `attention` is slow on rank 1.
    job.op(0, "attention", 0, 100);
    job.op(0, "mlp", 100, 300);
    job.comm(0, "all_reduce", (300, 510), &[]);
    job.op(1, "attention", 0, 300);
    job.op(1, "mlp", 300, 500);
    job.comm(1, "all_reduce", (500, 510), &[]);
    let trace = job.trace();
    assert_eq!(blames(&trace), [blame(1, "attention", 200)]);
}

#[test]
fn a_wait_that_the_late_rank_only_passes_on_is_charged_to_its_cause() {
    let mut job = Job::default();
    job.op(0, "stage", 0, 1000);
    job.comm(0, "send", (1000, 1010), &[("peer", "1")]);
    job.comm(1, "recv", (0, 1010), &[("peer", "0")]);
    job.op(1, "stage", 1010, 1110);
    job.comm(1, "send", (1110, 1120), &[("peer", "2")]);
    job.comm(2, "recv", (0, 1120), &[("peer", "1")]);
    let trace = job.trace();
    let model = CausalModel::new(&trace);
    let waits = model.waits_between_ranks();
    assert_eq!((waits[0].ns, waits[1].ns), (1000, 1110));
    // The 1110 consist of 1000 in which rank 1 waited, 100 of its stage and 10 of its receive.
    let causes: Vec<_> = waits[1]
        .blames
        .iter()
        .map(|blame| (blame.rank, blame.operation.as_str(), blame.ns))
        .collect();
    assert_eq!(
        causes,
        [(0, "stage", 1000), (1, "stage", 100), (1, "recv", 10)]
    );
    // The path crosses both messages.
    let path = model.critical_path();
    assert_eq!(path.length_ns, 1000 + 10 + 100 + 10);
    assert_eq!(path.ops[0].operation, "stage");
}

#[test]
fn messages_match_by_tag_and_by_sequence_number() {
    let mut job = Job::default();
    job.comm(0, "send", (100, 110), &[("peer", "1"), ("tag", "7")]);
    job.comm(0, "send", (500, 510), &[("peer", "1"), ("tag", "8")]);
    // The receiver calls its receives in the other order.
    job.comm(1, "recv", (0, 511), &[("peer", "0"), ("tag", "8")]);
    job.comm(1, "recv", (520, 530), &[("peer", "0"), ("tag", "7")]);
    let trace = job.trace();
    assert_eq!(waits(&trace), [(WaitClass::LateSender, 1, 0, 500, 0)]);

    let mut job = Job::default();
    let facts = |number: &'static str, peer| [("peer", peer), ("sequence", number)];
    job.comm(0, "send", (100, 110), &facts("4", "1"));
    job.comm(0, "send", (300, 310), &facts("5", "1"));
    // The first receive is not in the trace.
    job.comm(1, "recv", (200, 320), &facts("5", "0"));
    let trace = job.trace();
    assert_eq!(waits(&trace), [(WaitClass::LateSender, 1, 200, 100, 0)]);
    let states = CausalModel::new(&trace).wait_states();
    assert_eq!(states.unmatched_messages, 1);
}

#[test]
fn peers_that_are_not_named_are_found_by_the_times_of_all_their_messages() {
    let mut job = Job::default();
    // A pipeline 0 → 1 → 2 that does not name peers. Rank 0 waits for rank 1 once.
    for k in 0..3 {
        let at = 1000 * k;
        job.comm(0, "forward-send", (at + 100, at + 120), &[]);
        job.comm(1, "forward-recv", (at + 50 + k, at + 121), &[]);
        job.comm(1, "forward-send", (at + 500, at + 520), &[]);
        job.comm(2, "forward-recv", (at + 450, at + 522), &[]);
    }
    let found = waits(&job.trace());
    let pairs: Vec<(u32, u32)> = found.iter().map(|wait| (wait.1, wait.4)).collect();
    assert_eq!(pairs, [(1, 0), (2, 1), (1, 0), (2, 1), (1, 0), (2, 1)]);
}

#[test]
fn a_thread_that_waits_while_another_works_does_not_make_the_rank_wait() {
    use trace_runtime::OpKind::{Communication, Compute};
    let mut job = Job::default();
    job.on_thread(0, 1, "backward", 0, 400, Compute, &[]);
    job.on_thread(0, 2, "all_reduce", 100, 510, Communication, &[]);
    job.on_thread(1, 1, "backward", 0, 500, Compute, &[]);
    job.on_thread(1, 1, "all_reduce", 500, 510, Communication, &[]);
    let trace = job.trace();
    let states = CausalModel::new(&trace).wait_states();
    assert_eq!(states.total_ns, 400);
    let rank = &states.ranks[0];
    assert_eq!(
        (rank.working_ns, rank.waiting_ns, rank.idle_ns, rank.span_ns),
        (410, 100, 0, 510)
    );
}
