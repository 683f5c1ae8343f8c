//! The ops that a session records: by limit, sample, schedule, pause, filter and thread.

use crate::{count, leaf, turn, twice};
use trace_runtime::{Filter, Schedule, Session, TraceView, traced_op};

#[test]
fn past_the_memory_limit_ops_are_dropped_and_counted() {
    let _turn = turn();
    let session = Session::builder().memory_limit(64 << 10).start().unwrap();
    for _ in 0..10_000 {
        leaf(&[1.0]);
    }
    let store = session.finish_store();
    let dropped: usize = store.metadata()["dropped"].parse().unwrap();
    assert!(dropped > 1000 && !store.is_empty());
    assert_eq!(store.len() + dropped, 10_000);
    assert!(store.heap_bytes() <= 80 << 10, "{}", store.heap_bytes());
}

#[test]
fn sampling_keeps_the_first_of_each_n_and_counts_the_rest() {
    let _turn = turn();
    let session = Session::builder().sample(10).start().unwrap();
    for _ in 0..95 {
        leaf(&[1.0]);
    }
    let trace = session.finish();
    assert_eq!(trace.step_count(), 10);
    assert_eq!(trace.metadata["sampled_out"], "85");
}

#[test]
fn async_ops_are_sampled_as_others_are() {
    #[traced_op]
    async fn later(x: &[f32]) -> f32 {
        leaf(x)
    }
    let _turn = turn();
    let session = Session::builder().sample(4).start().unwrap();
    for _ in 0..12 {
        let future = std::pin::pin!(later(&[1.0]));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(future.poll(&mut context).is_ready());
    }
    let trace = session.finish();
    assert_eq!((count(&trace, "later"), count(&trace, "leaf")), (3, 3));
    assert_eq!(trace.metadata["sampled_out"], "18");
}

#[test]
fn a_schedule_keeps_only_its_active_steps() {
    let _turn = turn();
    let schedule = Schedule::new().wait(1).warm_up(1).active(2).repeat(2);
    let mut session = Session::builder().schedule(schedule).start().unwrap();
    for step in 0..12 {
        leaf(&vec![0.0; step]);
        session.step();
    }
    let trace = session.finish();
    let steps: Vec<_> = trace
        .entries
        .iter()
        .map(|entry| entry.input_shapes[0][0])
        .collect();
    assert_eq!(steps, [2, 3, 6, 7]);
}

#[test]
fn a_paused_session_records_nothing_until_it_is_resumed() {
    let _turn = turn();
    let mut session = Session::start().unwrap();
    leaf(&[1.0]);
    session.pause();
    assert!(!session.is_active());
    leaf(&[1.0, 2.0]);
    std::thread::spawn(|| leaf(&[1.0, 2.0])).join().unwrap();
    session.step();
    session.resume();
    assert!(session.is_active());
    leaf(&[1.0, 2.0, 3.0]);
    let trace = session.finish();
    let lens: Vec<_> = trace
        .entries
        .iter()
        .map(|entry| entry.input_shapes[0][0])
        .collect();
    assert_eq!(lens, [1, 3]);
    assert_eq!(trace.metadata["dropped"], "0");
}

#[test]
fn a_filter_leaves_ops_out_by_name() {
    let _turn = turn();
    let record = |filter| {
        let session = Session::builder().filter(filter).start().unwrap();
        twice(&[1.0]);
        let trace = session.finish();
        assert_eq!(trace.metadata["dropped"], "0");
        let names = trace.entries.iter().map(|entry| entry.operation.clone());
        let parents: Vec<_> = trace.entries.iter().map(|entry| entry.parent).collect();
        (names.collect::<Vec<_>>(), parents)
    };
    let all = ["twice", "leaf", "leaf"].map(str::to_owned).to_vec();
    assert_eq!(
        record(Filter::new()),
        (all.clone(), vec![None, Some(0), Some(0)])
    );
    assert_eq!(
        record(Filter::new().only("lea*")),
        (all[1..].to_vec(), vec![None, None])
    );
    assert_eq!(
        record(Filter::new().without("*e")),
        (all[1..].to_vec(), vec![None, None])
    );
    assert_eq!(
        record(Filter::new().only("twice").only("other")).0,
        all[..1]
    );
}

#[test]
fn a_filter_leaves_out_what_is_too_short_and_counts_it() {
    #[traced_op]
    fn wait(ms: u64) {
        std::thread::sleep(std::time::Duration::from_millis(ms));
        leaf(&[1.0]);
    }
    let _turn = turn();
    let minimum = std::time::Duration::from_millis(20);
    let session = Session::builder()
        .filter(Filter::new().min_duration(minimum))
        .start()
        .unwrap();
    for ms in [0, 30, 0] {
        wait(ms);
    }
    let trace = session.finish();
    assert_eq!(trace.step_count(), 1);
    assert!(trace.entries[0].duration_us >= 20_000.0);
    assert_eq!(trace.metadata["filtered_out"], "5");
    assert_eq!(trace.metadata["dropped"], "0");
}

#[test]
fn one_thread_can_be_recorded_alone() {
    let _turn = turn();
    let session = Session::builder().this_thread_only().start().unwrap();
    std::thread::spawn(|| leaf(&[1.0])).join().unwrap();
    twice(&[1.0]);
    assert_eq!(session.finish().step_count(), 3);
}
