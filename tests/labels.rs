//! Labels distinguish the instances of an op: from the attribute, from `op!`, and from scopes.
#![cfg(feature = "enabled")]

mod counting;

use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use trace_runtime::export::{ChromeTrace, Exporter};
use trace_runtime::{
    RecordedExecutionTrace, Session, TraceStore, TraceView, current_op, in_op, label_scope, op,
    read, record, traced_op, with_recorder,
};

/// Sessions do not nest.
static ONE_SESSION: Mutex<()> = Mutex::new(());

struct Layer {
    name: String,
}

#[traced_op]
impl Layer {
    #[traced_op(label = &self.name)]
    fn forward(&self, x: &[f32]) -> Vec<f32> {
        matmul(x)
    }

    #[traced_op(label = self.name.as_str())]
    async fn load(&self, x: &[f32]) -> usize {
        x.len()
    }
}

#[traced_op]
fn matmul(x: &[f32]) -> Vec<f32> {
    op!("inner", label = "tile", inputs = [x], { x.to_vec() })
}

fn layers(count: usize) -> Vec<Layer> {
    (0..count)
        .map(|index| Layer {
            name: format!("layers.{index}"),
        })
        .collect()
}

/// Names with labels, in order.
fn labels(trace: &RecordedExecutionTrace) -> Vec<(&str, Option<&str>)> {
    trace
        .entries
        .iter()
        .map(|entry| (entry.operation.as_str(), entry.label.as_deref()))
        .collect()
}

#[test]
fn the_attribute_and_op_label_one_op() {
    let layers = layers(2);
    let ((), trace) = record(|| {
        for layer in layers.iter().chain(&layers) {
            layer.forward(&[1.0]);
        }
    });
    let one = |name| {
        [
            ("Layer::forward", Some(name)),
            ("matmul", None),
            ("inner", Some("tile")),
        ]
    };
    let round = [one("layers.0"), one("layers.1")].concat();
    assert_eq!(labels(&trace), [round.clone(), round].concat());
}

#[test]
fn scopes_label_what_runs_in_them_and_join() {
    let layers = layers(1);
    let ((), trace) = record(|| {
        label_scope("decoder", || {
            layers[0].forward(&[1.0]);
            with_recorder(|recorder| recorder.begin_op("by hand"));
            with_recorder(trace_runtime::TraceRecorder::end_op);
            label_scope("", || matmul(&[1.0]));
        });
        matmul(&[1.0]);
    });
    assert_eq!(
        labels(&trace),
        [
            ("Layer::forward", Some("decoder.layers.0")),
            ("matmul", Some("decoder")),
            ("inner", Some("decoder.tile")),
            ("by hand", Some("decoder")),
            ("matmul", Some("decoder")),
            ("inner", Some("decoder.tile")),
            ("matmul", None),
            ("inner", Some("tile")),
        ]
    );
}

#[test]
fn work_that_is_handed_over_has_the_label_of_its_scope() {
    let _alone = ONE_SESSION.lock().unwrap_or_else(PoisonError::into_inner);
    let session = Session::start().unwrap();
    label_scope("handed", || {
        with_recorder(|recorder| recorder.begin_nested("outer"));
        let here = current_op();
        let there = here.clone();
        std::thread::spawn(move || in_op(&there, || matmul(&[1.0])))
            .join()
            .unwrap();
        // On the thread of the scope the label is not repeated.
        in_op(&here, || matmul(&[1.0]));
        with_recorder(trace_runtime::TraceRecorder::end_nested);
    });
    let trace = session.finish();
    let outer = trace.entries.iter().find(|one| one.operation == "outer");
    let outer = outer.unwrap().step;
    let inner = trace.entries.iter().filter(|one| one.parent == Some(outer));
    let inner: Vec<_> = inner.map(|one| one.label.as_deref()).collect();
    assert_eq!(inner, [Some("handed"); 2]);
}

#[test]
fn trees_and_flame_graphs_have_a_level_for_labels() {
    let layers = layers(2);
    let ((), trace) = record(|| {
        for layer in &layers {
            layer.forward(&[1.0]);
        }
    });
    let tree = trace_runtime::analyze::call_tree(&trace);
    let mut roots: Vec<_> = tree
        .nodes
        .iter()
        .filter(|node| node.depth == 0)
        .map(|node| (node.operation.as_str(), node.label.as_deref(), node.count))
        .collect();
    roots.sort_unstable();
    assert_eq!(
        roots,
        [
            ("Layer::forward", Some("layers.0"), 1),
            ("Layer::forward", Some("layers.1"), 1)
        ]
    );
    let stacks = trace_runtime::TraceAnalyzer::flamegraph_collapsed(&trace);
    let stack = "trace;cpu;Layer::forward%20layers.1;matmul;inner%20tile ";
    assert!(stacks.contains(stack), "{stacks}");
}

#[test]
fn a_panic_leaves_the_scope() {
    let ((), trace) = record(|| {
        let caught = std::panic::catch_unwind(|| {
            label_scope("broken", || -> () { panic!("expected by the test") });
        });
        assert!(caught.is_err());
        matmul(&[1.0]);
    });
    assert_eq!(trace.entries[0].label, None);
}

#[test]
fn async_ops_have_labels() {
    let layers = layers(1);
    let (len, trace) = record(|| {
        let mut future = pin!(layers[0].load(&[1.0, 2.0]));
        let mut context = Context::from_waker(Waker::noop());
        match future.as_mut().poll(&mut context) {
            Poll::Ready(len) => len,
            Poll::Pending => panic!("it never waits"),
        }
    });
    assert_eq!(len, 2);
    assert_eq!(labels(&trace), [("Layer::load", Some("layers.0"))]);
}

#[test]
fn labels_survive_every_format_that_is_read_back() {
    let layers = layers(3);
    let ((), trace) = record(|| {
        for layer in &layers {
            layer.forward(&[1.0]);
        }
    });
    let store = TraceStore::try_from(&trace).unwrap();
    assert_eq!(store.view(0).label(), Some("layers.0"));
    let back = RecordedExecutionTrace::from(&store);
    assert_eq!(labels(&back), labels(&trace));
    let json = RecordedExecutionTrace::from_json(&trace.to_json().unwrap()).unwrap();
    assert_eq!(labels(&json), labels(&trace));
    let mut chrome = Vec::new();
    ChromeTrace::new().export(&store, &mut chrome).unwrap();
    let read = read::from_slice(&chrome).unwrap();
    let back = RecordedExecutionTrace::from(&read);
    assert_eq!(labels(&back), labels(&trace));
}

#[test]
fn a_label_that_repeats_allocates_nothing() {
    let layers = layers(12);
    let run = |times: usize| {
        for _ in 0..times {
            for layer in &layers {
                label_scope(&layer.name, || std::hint::black_box(layer.forward(&[])));
            }
        }
    };
    let _alone = ONE_SESSION.lock().unwrap_or_else(PoisonError::into_inner);
    let session = Session::builder().this_thread_only().start().unwrap();
    run(100);
    let labelled = counting::during(|| run(10));
    let dropped = session.finish().metadata["dropped"].clone();
    assert_eq!(dropped, "0");
    // 360 ops fill at most one new chunk.
    assert!(labelled.calls <= 4, "{} allocations", labelled.calls);
}

#[test]
fn the_report_has_a_row_for_each_label() {
    let layers = layers(2);
    let ((), trace) = record(|| {
        for layer in layers.iter().chain(&layers) {
            layer.forward(&[1.0]);
        }
    });
    let rows = trace_runtime::analyze::by_shape(&trace);
    let mut forward: Vec<_> = rows
        .iter()
        .filter(|row| row.operation == "Layer::forward")
        .map(|row| (row.label.as_deref(), row.count))
        .collect();
    forward.sort_unstable();
    assert_eq!(forward, [(Some("layers.0"), 2), (Some("layers.1"), 2)]);
    let ops = trace_runtime::analyze::by_op(&trace);
    let forward = ops.iter().find(|row| row.operation == "Layer::forward");
    assert_eq!(
        forward.map(|row| (row.label.as_deref(), row.count)),
        Some((None, 4))
    );
    let text = trace.report().to_string();
    assert!(text.contains("Layer::forward layers.1 [1]"), "{text}");
}
