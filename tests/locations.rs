//! The location of an op: file and line of the annotated function or the `op!`, from the recording to every output.
//! Also the module of an op, by which ops are filtered.
#![cfg(feature = "enabled")]

mod layers;

use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use trace_runtime::analyze::by_op;
use trace_runtime::export::{ChromeTrace, CsvTable, Exporter};
use trace_runtime::report::TextStyle;
use trace_runtime::{
    Filter, RecordedExecutionTrace, Session, TraceStore, TraceView, op, read, record, traced_op,
};

/// Sessions do not nest.
static ONE_SESSION: Mutex<()> = Mutex::new(());

/// The location of a line before this call.
macro_rules! lines_above {
    ($lines:literal) => {
        format!("{}:{}", file!(), line!() - $lines)
    };
}

/// Names with locations, in order.
fn locations(trace: &RecordedExecutionTrace) -> Vec<(&str, Option<&str>)> {
    trace
        .entries
        .iter()
        .map(|entry| (entry.operation.as_str(), entry.location.as_deref()))
        .collect()
}

fn poll_once<R>(future: impl Future<Output = R>) -> R {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("it waits"),
    }
}

/// Three methods: annotated alone, in an annotated block, and in a trait.
struct Scale(f32);

impl Scale {
    #[traced_op]
    fn once(&self, x: &[f32]) -> Vec<f32> {
        x.iter().map(|x| x * self.0).collect()
    }
}

#[traced_op]
impl Scale {
    fn twice(&self, x: &[f32]) -> Vec<f32> {
        self.once(&self.once(x))
    }
}

trait Layer {
    fn forward(&self, x: &[f32]) -> Vec<f32>;
}

impl Layer for Scale {
    #[traced_op]
    fn forward(&self, x: &[f32]) -> Vec<f32> {
        self.twice(x)
    }
}

#[test]
fn a_method_is_at_its_own_name() {
    let (forward, twice, once) = (lines_above!(7), lines_above!(18), lines_above!(25));
    // Twice, because the first execution registers the op and later ones only find it.
    let ((), trace) = record(|| {
        for _ in 0..2 {
            Scale(2.0).forward(&[1.0]);
        }
    });
    let once = ("Scale::once", Some(once.as_str()));
    let one_round = [
        ("Scale::forward", Some(forward.as_str())),
        ("Scale::twice", Some(twice.as_str())),
        once,
        once,
    ];
    assert_eq!(locations(&trace), [one_round, one_round].concat());
}

const NAME: &str = "given";

#[traced_op(name = NAME, kind = memory)]
fn named_by_a_constant(x: &[f32]) -> usize {
    x.len()
}

#[traced_op(name = "literal")]
async fn named_by_a_literal(x: &[f32]) -> usize {
    x.len()
}

#[traced_op]
fn returns_a_future(x: &[f32]) -> impl Future<Output = usize> {
    std::future::ready(x.len())
}

#[test]
fn every_kind_of_name_and_function_has_a_location() {
    let (given, literal, future) = (lines_above!(16), lines_above!(11), lines_above!(6));
    let ((), trace) = record(|| {
        named_by_a_constant(&[1.0]);
        poll_once(named_by_a_literal(&[1.0]));
        poll_once(returns_a_future(&[1.0]));
    });
    assert_eq!(
        locations(&trace),
        [
            ("given", Some(given.as_str())),
            ("literal", Some(literal.as_str())),
            ("returns_a_future", Some(future.as_str())),
        ]
    );
}

#[test]
fn blocks_with_one_name_have_their_own_locations() {
    let name: &'static str = "block";
    let mut lines = Vec::new();
    let ((), trace) = record(|| {
        for _ in 0..3 {
            lines.clear();
            op!("block", {});
            lines.push(lines_above!(1));
            op!(name, {});
            lines.push(lines_above!(1));
            op!(name, {});
            lines.push(lines_above!(1));
            op!(name, kind = io, {});
            lines.push(lines_above!(1));
        }
    });
    let once: Vec<_> = lines
        .iter()
        .map(|line| ("block", Some(line.as_str())))
        .collect();
    assert_eq!(locations(&trace), once.repeat(3));
    // The functions are one op, whose row has all locations in the order of their first executions.
    let rows = by_op(&trace);
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].count, &rows[0].locations), (12, &lines));
    let first = lines[0].rsplit_once('/').map(|(_, name)| name);
    let text = trace
        .report()
        .to_text(&TextStyle::default().with_width(300));
    assert!(text.contains(&format!("{} +3", first.unwrap())), "{text}");
}

/// A function whose name is an argument of a macro has the location at which the caller wrote the name.
macro_rules! function {
    ($name:ident) => {
        #[traced_op]
        fn $name() {}
    };
}

function!(made_by_a_macro);

#[test]
fn a_function_of_a_macro_is_where_its_name_was_written() {
    let here = lines_above!(4);
    let ((), trace) = record(made_by_a_macro);
    assert_eq!(
        locations(&trace),
        [("made_by_a_macro", Some(here.as_str()))]
    );
}

#[test]
fn ops_named_at_run_time_have_no_location() {
    let mut recorder = trace_runtime::TraceRecorder::new();
    recorder.begin_op("matmul");
    recorder.end_op();
    assert_eq!(locations(&recorder.finish()), [("matmul", None)]);
}

#[test]
fn a_location_is_in_every_format_that_is_read_back() {
    let ((), trace) = record(|| {
        Scale(2.0).forward(&[1.0]);
    });
    let expected = locations(&trace);
    assert!(expected.iter().all(|(_, location)| location.is_some()));

    let json = read::from_slice(trace.to_json().unwrap().as_bytes()).unwrap();
    let mut chrome = Vec::new();
    ChromeTrace::default().export(&trace, &mut chrome).unwrap();
    let chrome = read::from_slice(&chrome).unwrap();
    let store = TraceStore::try_from(&trace).unwrap();
    for read in [json, chrome, store] {
        let read = RecordedExecutionTrace::from(&read);
        assert_eq!(locations(&read), expected);
    }

    let mut csv = Vec::new();
    CsvTable::ByOp.export(&trace, &mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let forward = csv.lines().find(|line| line.starts_with("Scale::forward"));
    assert!(forward.unwrap().ends_with(expected[0].1.unwrap()), "{csv}");
}

fn recorded_with(filter: Filter) -> Vec<String> {
    let _guard = ONE_SESSION.lock().unwrap_or_else(PoisonError::into_inner);
    let session = Session::builder()
        .filter(filter)
        .this_thread_only()
        .start()
        .unwrap();
    for _ in 0..2 {
        layers::model(&[1.0]);
    }
    let store = session.finish_store();
    let names = store.views().map(|view| view.operation().to_owned());
    let names: Vec<String> = names.collect();
    let (first, second) = names.split_at(names.len() / 2);
    assert_eq!(first, second);
    first.to_vec()
}

#[test]
fn ops_are_filtered_by_the_module_they_are_written_in() {
    let here = module_path!();
    let layers = format!("{here}::layers");
    let attention = format!("{layers}::attention");
    let all = ["model", "Attention::forward", "softmax", "Attention::norm"];
    assert_eq!(recorded_with(Filter::new()), all);
    assert_eq!(recorded_with(Filter::new().only_module(here)), all);
    assert_eq!(
        recorded_with(Filter::new().only_module(&attention)),
        all[1..]
    );
    assert_eq!(
        recorded_with(Filter::new().without_module(&attention)),
        all[..1]
    );
    let both = Filter::new().only_module(&attention).only("*::*");
    assert_eq!(recorded_with(both), [all[1], all[3]]);
    assert!(recorded_with(Filter::new().only_module("another_crate")).is_empty());

    let text = format!("module={attention},!softmax");
    let parsed = Filter::parse(&text).unwrap();
    assert_eq!(recorded_with(parsed), [all[1], all[3]]);
}
