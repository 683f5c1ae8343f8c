//! Handles of ops, and recordings of one closure.

use crate::{leaf, turn, twice};
use trace_runtime::{Session, current_op, in_op, record, traced_op, with_recorder};

#[test]
fn a_handle_carries_the_parent_to_other_threads() {
    #[traced_op]
    fn layer() {
        let here = current_op();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let here = here.clone();
                scope.spawn(move || in_op(&here, || twice(&[1.0])));
            }
        });
        leaf(&[2.0]);
    }
    let _turn = turn();
    let session = Session::start().unwrap();
    layer();
    let trace = session.finish();
    let by_name = |name| {
        trace
            .entries
            .iter()
            .filter(move |entry| entry.operation == name)
    };
    assert_eq!(by_name("twice").count(), 3);
    let layer = by_name("layer").next().unwrap();
    for entry in by_name("twice") {
        assert_eq!(entry.parent, Some(layer.step));
        assert_ne!(entry.thread, layer.thread);
    }
    assert_eq!(
        by_name("leaf")
            .filter(|leaf| leaf.parent == Some(layer.step))
            .count(),
        1
    );
}

#[test]
fn an_empty_handle_changes_nothing() {
    let _turn = turn();
    let nothing = current_op();
    let (sum, trace) = record(|| in_op(&nothing, || leaf(&[1.0])));
    assert_eq!((sum, trace.entries[0].parent), (1.0, None));
}

#[test]
fn record_is_independent_of_a_session_around_it() {
    let _turn = turn();
    let session = Session::start().unwrap();
    let ((), inner) = record(|| {
        twice(&[1.0]);
    });
    leaf(&[1.0]);
    let outer = session.finish();
    assert_eq!((inner.step_count(), outer.step_count()), (3, 1));
}

#[test]
fn record_ends_even_when_its_body_panics() {
    let _turn = turn();
    let panicked = std::panic::catch_unwind(|| record(|| panic!("on purpose")));
    assert!(panicked.is_err());
    assert!(with_recorder(|_| ()).is_none());
    let (_, trace) = record(|| leaf(&[1.0]));
    assert_eq!(trace.step_count(), 1);
}

#[test]
fn without_a_recording_there_is_no_recorder() {
    let _turn = turn();
    assert!(with_recorder(|recorder| recorder.begin_op("nowhere")).is_none());
}
