//! Jobs with one planted problem each: the report, the wait states and the what-if analysis name it.

use crate::job::Job;
use trace_runtime::analyze::{CausalModel, Slowdown, Usual};
use trace_runtime::model::{NewEntry, TraceStoreBuilder};
use trace_runtime::{OpKind, TraceStore};

/// A job that is simulated: every rank has its own time, and waits where MPI would wait.
struct Simulation {
    job: Job,
    at: Vec<i64>,
    calls: usize,
    random: u64,
}

impl Simulation {
    fn new(ranks: usize) -> Simulation {
        Simulation {
            job: Job::default(),
            at: vec![0; ranks],
            calls: 0,
            random: 88_172_645_463_325_252,
        }
    }

    /// A time that varies by a few percent, as those of real ops do.
    fn about(&mut self, ns: i64) -> i64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ns + ns * (self.random % 41) as i64 / 1000 - ns / 50
    }

    fn work(&mut self, rank: usize, op: &str, ns: i64) {
        let end = self.at[rank] + self.about(ns);
        self.job.op(rank as u32, op, self.at[rank], end);
        self.at[rank] = end;
    }

    fn load(&mut self, rank: usize, ns: i64) {
        let end = self.at[rank] + self.about(ns);
        let start = self.at[rank];
        self.job
            .on_thread(rank as u32, 1, "load_batch", start, end, OpKind::Io, &[]);
        self.at[rank] = end;
    }

    fn all_reduce(&mut self, ns: i64) {
        self.calls += 1;
        let number = self.calls.to_string();
        let facts = [("process_group", "world"), ("sequence", number.as_str())];
        let end = *self.at.iter().max().unwrap() + self.about(ns);
        for (rank, at) in self.at.iter_mut().enumerate() {
            self.job.comm(rank as u32, "all_reduce", (*at, end), &facts);
            *at = end;
        }
    }

    fn message(&mut self, from: usize, to: usize, ns: i64) {
        self.calls += 1;
        let tag = self.calls.to_string();
        let (sender, receiver) = (from.to_string(), to.to_string());
        let sent = self.at[from];
        let facts = [("peer", receiver.as_str()), ("tag", tag.as_str())];
        self.job
            .comm(from as u32, "send", (sent, sent + 500), &facts);
        self.at[from] += 500;
        let facts = [("peer", sender.as_str()), ("tag", tag.as_str())];
        let asked = self.at[to];
        let end = asked.max(sent) + self.about(ns);
        self.job.comm(to as u32, "recv", (asked, end), &facts);
        self.at[to] = end;
    }

    /// Runs `step` for each of `count` steps and marks them on every rank.
    fn steps(mut self, count: u64, mut step: impl FnMut(&mut Simulation, u64)) -> TraceStore {
        for number in 0..count {
            let begun = self.at.clone();
            step(&mut self, number);
            for (rank, begun) in begun.into_iter().enumerate() {
                self.job.step(rank as u32, number, begun, self.at[rank]);
            }
        }
        self.job.trace()
    }
}

/// The headline, the largest cause of waiting, and the slowdown.
fn answers(trace: &TraceStore) -> (String, String, Slowdown) {
    let model = CausalModel::new(trace);
    let states = model.wait_states();
    let blame = states.blames.first();
    let blame = blame.map_or(String::new(), |blame| {
        format!("rank {} {}", blame.rank, blame.operation)
    });
    (
        trace.report().answer,
        blame,
        model.what_if().slowdown(Usual::Median),
    )
}

const RANKS: usize = 4;

/// A step of data-parallel training in which the ranks take the times that `slower` returns, in percent.
fn data_parallel(slower: impl Fn(usize, &str, u64) -> i64) -> TraceStore {
    Simulation::new(RANKS).steps(20, |job, step| {
        for rank in 0..RANKS {
            job.load(rank, 1_000 * slower(rank, "load_batch", step));
            for op in ["embed", "attention", "mlp"] {
                job.work(rank, op, 3_000 * slower(rank, op, step));
            }
        }
        job.all_reduce(100_000);
        for rank in 0..RANKS {
            job.work(rank, "update", 20_000);
        }
    })
}

#[test]
fn a_rank_that_computes_longer_is_named_with_its_op() {
    let slower = |rank: usize, op: &str, _| if rank == 2 && op == "mlp" { 160 } else { 100 };
    let (report, blame, what_if) = answers(&data_parallel(slower));
    assert!(report.starts_with("rank 2 is the slowest"), "{report}");
    assert_eq!(blame, "rank 2 mlp");
    assert!(
        what_if.cause.contains("the cause is rank 2, mostly in mlp"),
        "{}",
        what_if.cause
    );
    // 60 % of 300 µs in each of 20 steps, up to the noise of the other ops.
    let cost = what_if.ranks[0].cost_ns as f64 / (20.0 * 180_000.0);
    assert!((0.9..1.1).contains(&cost), "{cost}");
}

#[test]
fn a_rank_that_loads_its_data_slowly_is_named_with_the_loading() {
    let slower = |rank: usize, op: &str, _| {
        if rank == 1 && op == "load_batch" {
            400
        } else {
            100
        }
    };
    let (report, blame, what_if) = answers(&data_parallel(slower));
    assert!(report.starts_with("rank 1 is the slowest"), "{report}");
    assert_eq!(blame, "rank 1 load_batch");
    assert!(
        what_if.cause.contains("rank 1, mostly in load_batch"),
        "{}",
        what_if.cause
    );
}

#[test]
fn one_slow_step_of_one_rank_is_a_slow_step_and_not_a_straggler() {
    let slower = |rank: usize, op: &str, step| {
        if (rank, op, step) == (3, "attention", 7) {
            1_500
        } else {
            100
        }
    };
    let trace = data_parallel(slower);
    let (report, blame, what_if) = answers(&trace);
    assert!(report.contains("step 7"), "{report}");
    assert!(!report.contains("is the slowest"), "{report}");
    assert_eq!(blame, "rank 3 attention");
    assert!(
        what_if.cause.contains("rank 3, mostly in attention"),
        "{}",
        what_if.cause
    );
    assert!(what_if.cause.contains("step 7"), "{}", what_if.cause);
}

#[test]
fn equal_ranks_have_no_straggler_whatever_their_noise() {
    let (report, _, what_if) = answers(&data_parallel(|_, _, _| 100));
    assert!(!report.contains("is the slowest"), "{report}");
    assert!(
        what_if.cause.starts_with("no straggler"),
        "{}",
        what_if.cause
    );
}

/// A ring in which every rank passes a part of the result on. The link from `slow` takes longer.
#[test]
fn a_slow_link_is_named_at_the_rank_that_receives_from_it() {
    let trace = Simulation::new(RANKS).steps(20, |job, _| {
        for rank in 0..RANKS {
            job.work(rank, "forward", 300_000);
        }
        for rank in 0..RANKS {
            let ns = if rank == 1 { 400_000 } else { 50_000 };
            job.message(rank, (rank + 1) % RANKS, ns);
        }
        job.all_reduce(50_000);
    });
    let (report, blame, what_if) = answers(&trace);
    assert!(report.starts_with("rank 2 is the slowest"), "{report}");
    assert_eq!(blame, "rank 2 recv");
    assert!(
        what_if.cause.contains("rank 2, mostly in recv"),
        "{}",
        what_if.cause
    );
}

#[test]
fn a_long_stage_of_a_pipeline_is_named_and_no_rank_of_it() {
    // Stage 0 is ranks 0 and 1, stage 1 is ranks 2 and 3; stage 1 has the longer layers.
    let mut simulation = Simulation::new(RANKS);
    for rank in 0..RANKS {
        let stage = (rank / 2).to_string();
        simulation.job.fact(&format!("rank.{rank}.stage"), &stage);
    }
    let trace = simulation.steps(20, |job, _| {
        for _ in 0..4 {
            for rank in 0..2 {
                job.work(rank, "forward", 200_000);
                job.message(rank, rank + 2, 20_000);
                job.work(rank + 2, "forward", 340_000);
            }
        }
        job.all_reduce(50_000);
    });
    let (report, blame, what_if) = answers(&trace);
    assert!(
        blame == "rank 2 forward" || blame == "rank 3 forward",
        "{blame}"
    );
    assert!(
        what_if.cause.contains("the cause is stage 1"),
        "{}",
        what_if.cause
    );
    assert!(report.contains("stage 1"), "{report}");
}

/// A rank of a job without a straggler. Its clock is wrong by `offset` and has the given drift.
fn on_clock(rank: u32, offset: i64, drift: f64) -> TraceStore {
    let at = |ns: i64| ns + offset + (ns as f64 * drift).round() as i64;
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(Some(1), Some(rank), None);
    let mut push = |name: &str, start: i64, end: i64, kind| {
        let (start, end) = (at(start), at(end));
        let mut entry = NewEntry::new(name, thread, start, end.abs_diff(start));
        entry.kind = Some(kind);
        builder.push(&entry).unwrap();
    };
    for step in 0..200i64 {
        let (begin, own) = (
            1_000_000 * step,
            (step * 7 + i64::from(rank) * 3) % 11 * 1_000,
        );
        push("backward", begin, begin + 800_000 + own, OpKind::Compute);
        push(
            "all_reduce",
            begin + 800_000 + own,
            begin + 900_000,
            OpKind::Communication,
        );
    }
    builder.finish()
}

#[test]
fn a_clock_that_drifts_is_not_a_straggler() {
    // A tenth of a percent: 200 µs over the run, twenty times the differences between the ranks.
    let ranks = [
        on_clock(0, 0, 0.0),
        on_clock(1, -3_000_000, 1e-3),
        on_clock(2, 7_000, 0.0),
    ];
    let trace = TraceStore::merge(&ranks).unwrap();
    let (report, _, what_if) = answers(&trace);
    assert!(!report.contains("is the slowest"), "{report}");
    assert!(
        what_if.cause.starts_with("no straggler"),
        "{}",
        what_if.cause
    );
    let states = CausalModel::new(&trace).wait_states();
    // Ranks differ by at most 10 µs of 900 in a step.
    assert!(states.total_ns < 200 * 3 * 12_000, "{}", states.total_ns);
}

#[test]
fn the_report_shows_the_work_of_each_rank_by_step() {
    let trace = data_parallel(|rank, _, step| if rank == 2 && step >= 10 { 200 } else { 100 });
    let report = trace.report();
    let map = &report.rank_steps;
    assert_eq!((&map.ranks[..], map.steps.len()), (&[0, 1, 2, 3][..], 20));
    // Twice the work of the three others: 8/5 of the mean.
    assert!((map.cells[2][3] - 1.0).abs() < 0.05, "{}", map.cells[2][3]);
    assert!(
        (map.cells[2][15] - 1.6).abs() < 0.08,
        "{}",
        map.cells[2][15]
    );
    let text = report.to_string();
    let row = text.lines().find(|line| line.contains('█')).unwrap_or("");
    assert!(
        row.starts_with('2') && row.ends_with("██████████"),
        "{text}"
    );
    let json: serde_json::Value = serde_json::from_str(&report.to_json().unwrap()).unwrap();
    assert_eq!(json["rank_steps"]["cells"][2].as_array().unwrap().len(), 20);
    // Without several ranks there is nothing to compare.
    assert_eq!(on_clock(0, 0, 0.0).report().rank_steps.ranks.len(), 0);
}

#[test]
fn steps_of_a_long_loop_share_columns() {
    let trace = Simulation::new(2).steps(1200, |job, step| {
        job.work(0, "work", 1_000);
        job.work(1, "work", if step >= 600 { 2_000 } else { 1_000 });
        job.all_reduce(100);
    });
    let map = CausalModel::new(&trace).heatmap();
    assert_eq!((map.steps.len(), map.cells[1].len()), (512, 512));
    assert_eq!((map.steps[0], map.steps[256]), (0, 600));
    assert!((map.cells[1][100] - 1.0).abs() < 0.05 && (map.cells[1][400] - 4.0 / 3.0).abs() < 0.05);
}
