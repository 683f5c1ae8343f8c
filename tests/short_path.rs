//! Ops that repeat are recorded on a shorter path than others. A trace must not show the difference.
#![cfg(feature = "enabled")]

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use trace_runtime::__private::{Op, begin};
use trace_runtime::{
    DType, Device, Outcome, RecordedExecutionTrace, TensorLike, TensorSink, op, record, traced_op,
    with_recorder,
};

/// `name [inputs] -> [output] (parent)` of each entry.
fn lines(trace: &RecordedExecutionTrace) -> Vec<String> {
    let line = |entry: &trace_runtime::RecordedTraceEntry| {
        let parent = entry.parent.map(|step| &*trace.entries[step].operation);
        format!(
            "{} {:?} -> {:?} ({})",
            entry.operation,
            entry.input_shapes,
            entry.output_shape,
            parent.unwrap_or("-")
        )
    };
    trace.entries.iter().map(line).collect()
}

#[traced_op]
fn take(x: &[f32], n: usize) -> Vec<f32> {
    x[..n].to_vec()
}

#[test]
fn every_change_of_shape_is_seen() {
    let data = [0.0; 8];
    let calls = [
        (8, 2),
        (8, 2),
        (8, 2),
        (8, 3),
        (8, 3),
        (4, 3),
        (8, 2),
        (4, 3),
        (8, 3),
    ];
    let ((), trace) = record(|| {
        for (len, n) in calls {
            take(&data[..len], n);
        }
    });
    let expected = calls.map(|(len, n)| format!("take [[{len}]] -> [{n}] (-)"));
    assert_eq!(lines(&trace), expected);
}

#[traced_op]
fn descend(x: &[f32], depth: usize) -> usize {
    match depth {
        0 => 0,
        depth => 1 + descend(&x[1..], depth - 1),
    }
}

#[test]
fn deep_recursion_nests_at_every_level_each_time() {
    let data = [0.0; 201];
    let ((), trace) = record(|| {
        for _ in 0..3 {
            descend(&data, 200);
        }
    });
    assert_eq!(trace.entries.len(), 3 * 201);
    for (step, entry) in trace.entries.iter().enumerate() {
        let depth = step % 201;
        assert_eq!(entry.input_shapes, [[201 - depth]]);
        assert_eq!(entry.parent, (depth > 0).then(|| step - 1), "{step}");
    }
}

#[traced_op]
fn fallible(x: &[f32], fails: bool) -> Result<(), String> {
    if fails {
        return Err(format!("{} elements", x.len()));
    }
    Ok(())
}

#[test]
fn failures_between_successes_keep_their_outcome() {
    let fails = [false, false, false, true, true, false, true, false, false];
    let ((), trace) = record(|| {
        for fails in fails {
            let _ = fallible(&[0.0], fails);
        }
    });
    let outcomes: Vec<_> = trace.entries.iter().map(|entry| entry.outcome).collect();
    let expected = fails.map(|fails| if fails { Outcome::Error } else { Outcome::Ok });
    assert_eq!(outcomes, expected);
}

/// Its `describe` runs an op.
struct Strange;

impl TensorLike for Strange {
    fn describe(&self, sink: &mut TensorSink) {
        take(&[0.0; 3], 1);
        sink.tensor(&[7], DType::F32, Device::Cpu);
        fallible(&[0.0], false).unwrap();
    }
}

#[traced_op]
fn use_strange(_: usize, strange: &Strange) -> Strange {
    let _ = strange;
    Strange
}

#[test]
fn an_op_inside_a_description_is_not_recorded_and_harms_nothing() {
    let ((), trace) = record(|| {
        for _ in 0..5 {
            use_strange(1, &Strange);
            take(&[0.0; 3], 1);
        }
    });
    let expected = ["use_strange [[7]] -> [7] (-)", "take [[3]] -> [1] (-)"].repeat(5);
    assert_eq!(lines(&trace), expected);
}

/// Ready at the second poll.
#[derive(Default)]
struct Later(bool);

impl Future for Later {
    type Output = ();

    fn poll(mut self: std::pin::Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

#[traced_op]
async fn waits(n: usize) {
    op!("block", inputs = [&[0.0f32; 2]], {
        take(&[0.0; 8], n);
        Later::default().await;
        take(&[0.0; 8], n);
    });
}

#[test]
fn a_block_that_waits_in_a_future_is_recorded_among_the_ops_of_others() {
    let ((), trace) = record(|| {
        for _ in 0..3 {
            let (mut one, mut two) = (pin!(waits(1)), pin!(waits(2)));
            let context = &mut Context::from_waker(Waker::noop());
            assert!(one.as_mut().poll(context).is_pending());
            take(&[0.0; 4], 4);
            assert!(two.as_mut().poll(context).is_pending());
            assert!(one.as_mut().poll(context).is_ready());
            take(&[0.0; 4], 4);
            assert!(two.as_mut().poll(context).is_ready());
        }
    });
    let count = |start: &str| {
        let lines = lines(&trace);
        lines.iter().filter(|line| line.starts_with(start)).count()
    };
    assert_eq!(count("block [[2]] ->"), 6);
    assert_eq!(count("waits"), 6);
    // Before the wait, the block contains its ops, and the ops of others are outside it.
    assert_eq!(count("take [[8]] -> [1] (block)"), 3);
    assert_eq!(count("take [[8]] -> [2] (block)"), 3);
    assert_eq!(count("take [[4]] -> [4] (-)"), 6);
}

#[test]
#[allow(
    clippy::many_single_char_names,
    reason = "each op is named after its variable"
)]
fn ops_may_end_in_any_order() {
    let ((), trace) = record(|| {
        for _ in 0..4 {
            let (mut a, mut b) = (begin("a", ()), begin("b", ()));
            let mut c = begin("c", ());
            Op::end(&mut a, ());
            Op::end(&mut c, ());
            let mut d = begin("d", ());
            Op::end(&mut b, ());
            Op::end(&mut d, ());
            let mut e = begin("e", ());
            Op::end(&mut e, ());
        }
    });
    let expected = [
        "a [] -> [] (-)",
        "b [] -> [] (a)",
        "c [] -> [] (b)",
        "d [] -> [] (b)",
        "e [] -> [] (-)",
    ]
    .repeat(4);
    assert_eq!(lines(&trace), expected);
}

#[traced_op]
fn by_hand() {
    with_recorder(|recorder| recorder.begin_nested("inside"));
    take(&[0.0; 3], 2);
}

#[test]
fn ops_left_open_inside_a_function_end_with_it() {
    let ((), trace) = record(|| {
        for _ in 0..4 {
            by_hand();
        }
    });
    let expected = [
        "by_hand [] -> [] (-)",
        "inside [] -> [] (by_hand)",
        "take [[3]] -> [2] (inside)",
    ]
    .repeat(4);
    assert_eq!(lines(&trace), expected);
}
