//! The time of a job with other durations, on jobs that are small enough to compute by hand.

use crate::job::Job;
use trace_runtime::analyze::{CausalModel, Scenario, Usual};

/// Four ranks that compute and meet over some steps. Rank `slow` is slower by `extra`.
fn data_parallel(slow: u32, extra: i64) -> Job {
    let mut job = Job::default();
    let mut at = 0;
    for step in 0..5 {
        let latest = at + 1000 + extra;
        for rank in 0..4 {
            let end = at + 1000 + if rank == slow { extra } else { 0 };
            job.op(rank, "forward", at, at + 400);
            job.op(rank, "backward", at + 400, end);
            job.comm(rank, "all_reduce", (end, latest + 50), &[]);
            job.step(rank, step, at, latest + 50);
        }
        at = latest + 50;
    }
    job
}

#[test]
fn a_slow_rank_is_named_and_costs_its_extra_time() {
    let trace = data_parallel(2, 300).trace();
    let model = CausalModel::new(&trace);
    let job = model.what_if();
    assert_eq!(job.recorded().total_ns, 5 * 1350);
    assert_eq!(job.recorded().steps[3], (3, 1350));
    let found = job.slowdown(Usual::Mean);
    // The mean of `backward` is 675, so an ideal step takes 400 + 675 + 50.
    assert_eq!(found.ideal.total_ns, 5 * 1125);
    assert!((found.slowdown - 1.2).abs() < 1e-9);
    let first = &found.ranks[0];
    assert_eq!((first.name.as_str(), first.cost_ns), ("rank 2", 5 * 300));
    assert_eq!(found.ops[0].name, "backward");
    assert!(
        found
            .cause
            .contains("the cause is rank 2, mostly in backward"),
        "{}",
        found.cause
    );
    let map = model.heatmap();
    assert_eq!((map.ranks.len(), map.steps.len()), (4, 5));
    assert!((map.cells[2][0] - 1300.0 / 1075.0).abs() < 1e-9);
    let text = map.to_text(40);
    assert!(text.starts_with("rank 0 ▁▁▁▁▁ 0.93×\n"), "{text}");
    assert!(text.contains("rank 2 █████ 1.21×\n"), "{text}");
    assert_eq!(map.to_svg().matches("<title>").count(), 20);
}

#[test]
fn the_median_leaves_one_slow_rank_out() {
    let trace = data_parallel(2, 300).trace();
    let model = CausalModel::new(&trace);
    let found = model.what_if().slowdown(Usual::Median);
    assert_eq!(found.ideal.total_ns, 5 * 1050);
}

#[test]
fn equal_ranks_have_no_straggler() {
    let trace = data_parallel(2, 0).trace();
    let model = CausalModel::new(&trace);
    let found = model.what_if().slowdown(Usual::Mean);
    assert!((found.slowdown - 1.0).abs() < 1e-9);
    assert!(found.cause.starts_with("no straggler"), "{}", found.cause);
}

#[test]
fn scenarios_change_what_they_name() {
    let trace = data_parallel(2, 300).trace();
    let model = CausalModel::new(&trace);
    let job = model.what_if();
    let total = |scenario: Scenario| job.run(&scenario).total_ns;
    let new = Scenario::new;
    assert_eq!(total(new()), 5 * 1350);
    assert_eq!(total(new().scale("forward", 0.5)), 5 * 1150);
    assert_eq!(total(new().scale("*ward", 0.5)), 5 * 700);
    assert_eq!(total(new().without_communication()), 5 * 1300);
    // Rank 2 takes half of 1300. Now the other ranks are last, with 1000.
    assert_eq!(total(new().scale_rank(2, 0.5)), 5 * 1050);
    assert_eq!(total(new().usual_rank(2, Usual::Mean)), 5 * 1050);
    assert_eq!(total(new().usual_op("forward", Usual::Mean)), 5 * 1350);
    assert_eq!(
        total(new().scale("forward", 0.5).without_communication()),
        5 * 1100
    );
}

#[test]
fn a_long_stage_of_a_pipeline_is_named_and_not_one_of_its_ranks() {
    let mut job = Job::default();
    // Two pipelines of two stages; the second stage takes twice as long. Ranks 0 and 1 are the first stage.
    for replica in 0..2u32 {
        let (first, second) = (replica, replica + 2);
        let (to, from) = (second.to_string(), first.to_string());
        let (mut a, mut b) = (0, 0);
        for _ in 0..6 {
            job.op(first, "stage", a, a + 100);
            job.comm(first, "send", (a + 100, a + 101), &[("peer", &to)]);
            let ready = (a + 100).max(b);
            job.comm(second, "recv", (b, ready + 2), &[("peer", &from)]);
            job.op(second, "stage", ready + 2, ready + 202);
            a += 101;
            b = ready + 202;
        }
        for rank in [first, second] {
            let at = if rank == first { a } else { b };
            job.comm(rank, "all_reduce", (at, b + 10), &[]);
        }
    }
    for rank in 0..4 {
        job.fact(
            &format!("rank.{rank}.stage"),
            if rank < 2 { "0" } else { "1" },
        );
    }
    let trace = job.trace();
    let model = CausalModel::new(&trace);
    let found = model.what_if().slowdown(Usual::Mean);
    assert!(found.slowdown > 1.1, "{found:?}");
    assert_eq!(found.stages[0].name, "stage 1");
    assert!(
        found.cause.contains("the cause is stage 1"),
        "{}",
        found.cause
    );
}
