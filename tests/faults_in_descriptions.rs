//! A panic in the code that describes an op does not reach the program: the function runs and returns as if nothing
//! recorded, the op is recorded without the value that could not be computed, and the report has a note.
#![cfg(feature = "enabled")]

use std::fmt;
use std::future::Future as _;
use std::hint::black_box;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use trace_runtime::{
    DType, Device, Outcome, RecordedExecutionTrace, TensorLike, TensorSink, op, record, traced_op,
};

/// A tensor that cannot be described.
struct Broken;

impl TensorLike for Broken {
    fn describe(&self, sink: &mut TensorSink) {
        sink.tensor(&[1], DType::F32, Device::Cpu);
        let dims: Vec<usize> = black_box(Vec::new());
        sink.tensor(&[dims[7]], DType::F32, Device::Cpu);
    }
}

struct Unprintable;

impl fmt::Display for Unprintable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("this value has no text")
    }
}

fn fails<T>() -> T {
    panic!("cannot be computed")
}

#[traced_op]
fn takes(x: &[f32], broken: &Broken, after: &[f32]) -> f32 {
    let _ = broken;
    x[0] + after[0]
}

#[traced_op]
fn returns(x: &[f32]) -> (Vec<f32>, Broken) {
    (x.to_vec(), Broken)
}

#[traced_op]
fn returns_one(x: &[f32]) -> Broken {
    let _ = x;
    Broken
}

#[traced_op]
fn holds(x: &[f32], parts: &[Broken]) -> usize {
    parts.len() + x.len()
}

#[traced_op(
    inputs(x),
    device = fails::<Device>(),
    flops = fails::<u64>(),
    bytes = 4 * x.len(),
    meta(first = Unprintable, second = 2)
)]
fn facts(x: &[f32]) -> f32 {
    x[0]
}

#[traced_op(flops = 2 * n * n)]
fn overflows(n: u8) -> u8 {
    n
}

#[traced_op(label = fails::<String>(), bytes = x.len())]
fn labelled(x: &[f32]) -> f32 {
    x[0]
}

#[traced_op(inputs(x[9..]), output(&result[9..]))]
fn expressions(x: &[f32]) -> Vec<f32> {
    x.to_vec()
}

#[traced_op(flops = fails::<u64>())]
async fn later(x: &[f32], broken: &Broken) -> (Vec<f32>, Broken) {
    let _ = broken;
    (x.to_vec(), Broken)
}

fn panics(trace: &RecordedExecutionTrace) -> Vec<(&str, &str)> {
    let mut panics: Vec<_> = trace
        .metadata
        .iter()
        .filter_map(|(key, value)| Some((key.strip_prefix("panicked.")?, value.as_str())))
        .collect();
    panics.sort_unstable();
    panics
}

#[test]
fn a_tensor_that_panics_is_left_out_and_those_before_it_are_kept() {
    let (result, trace) = record(|| takes(&[1.0, 2.0], &Broken, &[3.0; 3]));
    assert_eq!(result, 4.0);
    let entry = &trace.entries[0];
    assert_eq!(entry.outcome, Outcome::Ok);
    assert_eq!(entry.input_shapes, [vec![2], vec![1]]);
    assert!(entry.duration_us > 0.0);
    let [("describe.takes", message)] = panics(&trace)[..] else {
        panic!("{:?}", trace.metadata);
    };
    assert!(
        message.starts_with("1 index out of bounds: the len is 0 but the index is 7 at "),
        "{message}"
    );
    assert!(message.contains("faults_in_descriptions.rs:"), "{message}");
}

#[test]
fn outputs_and_parts_of_containers_too() {
    let ((both, _one, held), trace) = record(|| {
        (
            returns(&[1.0; 4]),
            returns_one(&[1.0]),
            holds(&[1.0; 5], &[Broken, Broken]),
        )
    });
    assert_eq!((both.0.len(), held), (4, 7));
    assert_eq!(trace.step_count(), 3);
    assert!(
        trace
            .entries
            .iter()
            .all(|entry| entry.outcome == Outcome::Ok)
    );
    assert_eq!(trace.entries[0].output_elements, 1 + 4);
    assert_eq!(trace.entries[1].output_shape, [1]);
    assert_eq!(trace.entries[2].input_shapes, [vec![5], vec![1]]);
    let counts: Vec<_> = panics(&trace)
        .into_iter()
        .map(|(key, value)| (key, value.split(' ').next().unwrap()))
        .collect();
    let expected = [
        ("describe.holds", "1"),
        ("describe.returns", "1"),
        ("describe.returns_one", "1"),
    ];
    assert_eq!(counts, expected);
}

#[test]
fn of_the_options_only_the_one_that_panics_is_missing() {
    let (result, trace) = record(|| facts(&[7.0, 8.0]));
    assert_eq!(result, 7.0);
    let entry = &trace.entries[0];
    assert_eq!(entry.input_shapes, [[2]]);
    assert_eq!((entry.flops, entry.bytes_moved), (None, Some(8)));
    assert_eq!(entry.device_id.as_deref(), Some("cpu"), "of its tensor");
    assert_eq!(entry.meta["second"], "2");
    assert_eq!(entry.meta.len(), 1, "{:?}", entry.meta);
    let keys: Vec<_> = panics(&trace).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["device.facts", "flops.facts", "meta.facts"]);
}

#[cfg(debug_assertions)]
#[test]
fn an_overflow_in_flops_is_counted_and_reported_once() {
    let (sum, trace) = record(|| {
        (0..100)
            .map(|n| usize::from(overflows(n + 100)))
            .sum::<usize>()
    });
    assert_eq!(sum, (100..200).sum::<usize>());
    assert_eq!(trace.step_count(), 100);
    let [("flops.overflows", message)] = panics(&trace)[..] else {
        panic!("{:?}", trace.metadata);
    };
    assert!(
        message.starts_with("100 attempt to multiply with overflow at "),
        "{message}"
    );
    let notes: Vec<_> = trace.report().notes;
    let notes: Vec<_> = notes
        .iter()
        .filter(|note| note.contains("panicked"))
        .collect();
    assert_eq!(notes.len(), 1);
    assert!(
        notes[0].starts_with("`flops` of `overflows` panicked 100 times"),
        "{}",
        notes[0]
    );
}

#[test]
fn labels_and_written_inputs_and_outputs_too() {
    let ((), trace) = record(|| {
        labelled(&[1.0]);
        assert_eq!(expressions(&[1.0]), [1.0]);
        let block = op!("block", inputs = [&[1.0f32; 3]], flops = fails::<u64>(), {
            5
        });
        assert_eq!(block, 5);
    });
    assert_eq!(trace.step_count(), 3);
    assert_eq!(trace.entries[0].label, None);
    assert_eq!(trace.entries[0].bytes_moved, Some(1));
    assert_eq!(trace.entries[2].input_shapes, [[3]]);
    let keys: Vec<_> = panics(&trace).into_iter().map(|(key, _)| key).collect();
    let expected = [
        "flops.block",
        "inputs.expressions",
        "label.labelled",
        "output.expressions",
    ];
    assert_eq!(keys, expected);
}

#[test]
fn async_ops_too() {
    let ((), trace) = record(|| {
        let future = pin!(later(&[1.0; 6], &Broken));
        let Poll::Ready((values, _)) = future.poll(&mut Context::from_waker(Waker::noop())) else {
            panic!("it never waits");
        };
        assert_eq!(values.len(), 6);
    });
    let entry = &trace.entries[0];
    assert_eq!(entry.input_shapes, [vec![6], vec![1]]);
    assert_eq!((entry.outcome, entry.output_elements), (Outcome::Ok, 1 + 6));
    let keys: Vec<_> = panics(&trace).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["describe.later", "flops.later"]);
}

#[traced_op]
fn panics_itself() {
    panic!("this one is the program's");
}

#[test]
fn the_hook_runs_for_the_panics_of_the_program_and_for_no_others() {
    static HEARD: AtomicUsize = AtomicUsize::new(0);
    // In a separate process, because the panic hook belongs to the process.
    let name = "the_hook_runs_for_the_panics_of_the_program_and_for_no_others";
    if std::env::var_os("WITH_A_HOOK").is_none() {
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env("WITH_A_HOOK", "1")
            .output()
            .unwrap();
        assert!(child.status.success(), "{child:?}");
        return;
    }
    std::panic::set_hook(Box::new(|_| {
        HEARD.fetch_add(1, Ordering::Relaxed);
    }));
    let (_, trace) = record(|| takes(&[1.0], &Broken, &[1.0]));
    assert_eq!(panics(&trace).len(), 1);
    assert_eq!(HEARD.load(Ordering::Relaxed), 0);
    let (caught, trace) = record(|| std::panic::catch_unwind(panics_itself));
    assert!(caught.is_err());
    assert_eq!(trace.entries[0].outcome, Outcome::Panicked);
    assert_eq!(HEARD.load(Ordering::Relaxed), 1);
}
