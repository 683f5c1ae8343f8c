//! Steps of a loop are not ops: they are read from annotations, recorded, and kept by every format.

mod found;

use proptest::prelude::*;
use trace_runtime::analyze::{
    StepRange, restrict_to_steps, step_of_entries, step_table, steps_after_warm_up,
};
use trace_runtime::model::MemoryEvent;
use trace_runtime::{TraceStep, TraceStore, TraceView, read};

pub(crate) fn chrome(events: &[String]) -> TraceStore {
    let json = format!(r#"{{"traceEvents": [{}]}}"#, events.join(","));
    read::from_slice(json.as_bytes()).unwrap()
}

pub(crate) fn event(
    cat: &str,
    name: &str,
    tid: u32,
    (start, end): (u32, u32),
    args: &str,
) -> String {
    let length = end - start;
    format!(
        r#"{{"ph": "X", "cat": "{cat}", "name": "{name}", "pid": 1, "tid": {tid}, "ts": {start}, "dur": {length},
            "args": {{{args}}}}}"#
    )
}

pub(crate) fn annotation(name: &str, span: (u32, u32)) -> String {
    event("user_annotation", name, 1, span, "")
}

pub(crate) fn op(name: &str, span: (u32, u32)) -> String {
    event("cpu_op", name, 1, span, "")
}

pub(crate) fn numbers(trace: &TraceStore) -> Vec<u64> {
    trace.steps().iter().map(|step| step.number).collect()
}

pub(crate) fn names(trace: &TraceStore) -> Vec<&str> {
    trace.views().map(|view| view.operation()).collect()
}

#[test]
fn merged_ranks_keep_their_steps() {
    let rank = |rank: u32| {
        let json = format!(
            r#"{{"distributedInfo": {{"rank": {rank}}}, "traceEvents": [{}, {}]}}"#,
            annotation("ProfilerStep#3", (0, 100)),
            op("x", (rank, 50)),
        );
        read::from_slice(json.as_bytes()).unwrap()
    };
    let both = TraceStore::merge(&[rank(0), rank(1)]).unwrap();
    let found: Vec<_> = both
        .steps()
        .iter()
        .map(|step| (step.rank, step.number))
        .collect();
    assert_eq!(found, [(Some(0), 3), (Some(1), 3)]);
}

#[cfg(feature = "enabled")]
#[trace_runtime::traced_op]
fn forward(x: &[f32]) -> f32 {
    x.iter().sum()
}

/// Everything that needs a session is in one test, because sessions do not nest and tests run in parallel.
#[cfg(feature = "enabled")]
#[test]
fn a_session_records_its_steps() {
    use trace_runtime::{Schedule, Session};

    let mut session = Session::builder().rank(2).start().unwrap();
    for _ in 0..3 {
        forward(&[1.0, 2.0]);
        session.step();
    }
    forward(&[1.0]);
    assert_eq!(session.snapshot().steps().len(), 3);
    let trace = session.finish();
    assert_eq!(trace.steps.len(), 3);
    assert_eq!(trace.steps[0].start_ns, 0);
    for (index, pair) in trace.steps.windows(2).enumerate() {
        assert_eq!((pair[0].number, pair[0].rank), (index as u64, Some(2)));
        assert_eq!(pair[0].end_ns, pair[1].start_ns);
    }
    let steps = step_of_entries(&trace);
    assert_eq!(steps, [Some(0), Some(1), Some(2), None]);

    let schedule = Schedule::new().wait(1).warm_up(1).active(2).repeat(1);
    let mut session = Session::builder().schedule(schedule).start().unwrap();
    for _ in 0..6 {
        forward(&[1.0, 2.0]);
        session.step();
    }
    let trace = session.finish();
    let numbers: Vec<_> = trace.steps.iter().map(|step| step.number).collect();
    assert_eq!(numbers, [2, 3], "only the steps that were kept");
    assert_eq!(step_of_entries(&trace), [Some(0), Some(1)]);
}

#[test]
fn steps_are_an_optional_key_of_the_json() {
    let bare = r#"{"entries": [], "total_duration_us": 0.0, "metadata": {}}"#;

    let trace = trace_runtime::RecordedExecutionTrace::from_json(bare).unwrap();
    assert!(trace.steps.is_empty());
    assert!(!trace.to_json().unwrap().contains("steps"));
    let with = r#"{"entries": [], "total_duration_us": 0.0, "metadata": {},
        "steps": [{"number": 7, "start_us": 1.5, "duration_us": 0.25, "later": true}]}"#;
    let trace = trace_runtime::RecordedExecutionTrace::from_json(with).unwrap();
    assert_eq!(trace.steps, [TraceStep::new(7, 1_500, 1_750)]);
}

/// Three steps of 100 µs with a kernel each, which runs 30 µs after its launch; in step 2 the kernel takes longer.
fn three_steps() -> TraceStore {
    let mut events = Vec::new();
    for (number, length) in [(1, 100), (2, 160), (3, 100)] {
        let start = number * 1000;
        let args = format!(r#""correlation": {number}"#);
        events.push(annotation(
            &format!("ProfilerStep#{number}"),
            (start, start + length),
        ));
        events.push(op("aten::mm", (start + 10, start + 20)));
        events.push(event(
            "cuda_runtime",
            "cudaLaunchKernel",
            1,
            (start + 12, start + 14),
            &args,
        ));
        let args = format!(r#""device": 0, "stream": 7, "correlation": {number}"#);
        let kernel = (start + 44, start + length - 6);
        events.push(event("kernel", "gemm", 7, kernel, &args));
        let args = format!(r#""Device Type": 1, "Device Id": 0, "Bytes": {number}"#);
        events.push(format!(
            r#"{{"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": {}, "args": {{{args}}}}}"#,
            start + 15
        ));
    }
    chrome(&events)
}

#[test]
fn the_table_has_device_time_and_the_ops_of_the_slowest_step() {
    let table = step_table(&three_steps());
    let rows: Vec<_> = table
        .steps
        .iter()
        .map(|row| {
            (
                row.number,
                row.length_ns,
                row.device_busy_ns,
                row.device_idle_ns,
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            (1, 100_000, Some(50_000), Some(50_000)),
            (2, 160_000, Some(110_000), Some(50_000)),
            (3, 100_000, Some(50_000), Some(50_000)),
        ]
    );
    // Idle time: 12 µs up to the launch, 32 µs in which the launched kernel is late, and 6 µs after it.
    let host_bound = table.steps.iter().map(|row| row.host_bound_ns);
    assert!(host_bound.eq([Some(18_000); 3]), "{:?}", table.steps);
    assert_eq!(table.steps[0].exposed_communication_ns, Some(0));
    assert_eq!((table.mean_ns, table.slowest), (120_000, Some(1)));
    // √((20² + 40² + 20²) / 3) µs.
    assert_eq!(table.deviation_ns, 28_284);
    let [slower] = &table.slower_ops[..] else {
        panic!("only the kernel differs: {:?}", table.slower_ops)
    };
    assert_eq!(
        (slower.operation.as_str(), slower.accelerator),
        ("gemm", true)
    );
    assert_eq!((slower.self_ns, slower.usual_ns), (110_000, 50_000));
    assert_eq!((slower.calls, slower.usual_calls), (1, 1.0));
}

#[test]
fn a_trace_restricted_to_steps_has_their_ops_whole() {
    let trace = three_steps();
    let part = restrict_to_steps(&trace, StepRange::new(2, 9)).unwrap();
    assert_eq!(numbers(&part), [2, 3]);
    let whole: Vec<_> = trace.views().skip(2).map(|view| view.to_entry()).collect();
    let kept: Vec<_> = part.views().map(|view| view.to_entry()).collect();
    assert_eq!(kept, whole);
    let bytes: Vec<_> = part
        .memory_events()
        .map(|event: MemoryEvent<'_>| event.bytes)
        .collect();
    assert_eq!(bytes, [2, 3]);
    assert_eq!(
        (part.runtime_calls().count(), part.launches().count()),
        (2, 2)
    );
    for launch in part.launches() {
        let work = part.view(part.index_of_step(launch.step).unwrap());
        let call = part.runtime_calls().nth(launch.call).unwrap();
        assert_eq!(work.start_ns().unwrap() - call.end_ns(), 30_000);
    }
    // Two ops of 10 µs, and kernels of 110 and 50 µs.
    assert_eq!(part.total_duration_us(), 180.0);
    assert_eq!(part.metadata()["selected_steps"], "2..3 of 1..3");
    // A part can be restricted again, and written.
    let one = restrict_to_steps(&part, "3".parse().unwrap()).unwrap();
    let json = trace_runtime::RecordedExecutionTrace::from(&one)
        .to_json()
        .unwrap();
    assert_eq!(read::from_slice(json.as_bytes()).unwrap().len(), 2);
}

#[test]
fn missing_steps_are_an_error_with_a_solution() {
    let none = chrome(&[op("x", (0, 1))]);
    let error = restrict_to_steps(&none, StepRange::new(0, 1))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("no steps") && error.contains("Session::step()"),
        "{error}"
    );
    let error = restrict_to_steps(&three_steps(), StepRange::new(7, 9))
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "none of the steps 7..9 is in the trace, which has 1..3"
    );
}

#[test]
fn warm_up_ends_with_the_first_step_of_the_usual_length() {
    let steps = |lengths: &[u32]| {
        let mut at = 0;
        let mut events = vec![op("x", (0, 1))];
        for (number, &length) in lengths.iter().enumerate() {
            events.push(annotation(&format!("step {number}"), (at, at + length)));
            at += length;
        }
        steps_after_warm_up(&chrome(&events)).unwrap()
    };
    assert_eq!(
        steps(&[900, 300, 100, 300, 101, 99, 100, 102]),
        StepRange::new(2, 7)
    );
    assert_eq!(steps(&[100, 100, 100]), StepRange::new(0, 2));
    assert_eq!(steps(&[900]), StepRange::new(0, 0));
    // At most half of the steps.
    assert_eq!(steps(&[900, 900, 900, 100]), StepRange::new(0, 3));
    assert_eq!(steps(&[900, 900, 100, 100]), StepRange::new(2, 3));
    assert_eq!(steps_after_warm_up(&chrome(&[op("x", (0, 1))])), None);
}

#[test]
fn ranges_that_make_no_sense_are_refused() {
    for text in [
        "",
        "..",
        "..=",
        "x",
        "5..x",
        "-1",
        "5..-1",
        "5...7",
        "+5",
        " 5",
        "5..=",
        "9..5",
        "5,6",
        "99999999999999999999",
    ] {
        let error = text.parse::<StepRange>().unwrap_err();
        assert!(error.contains(text), "{error}");
    }
}

proptest! {
    /// An annotation is a step or an entry, and nothing is lost.
    #[test]
    fn every_annotation_is_an_entry_or_a_step(
        marks in prop::collection::vec(
            (prop::sample::select(vec!["ProfilerStep#", "step ", "iter_", "Iteration: ", "step", "x#", ""]), 0u64..50),
            1..12,
        ),
    ) {
        let events: Vec<_> = (0u32..)
            .zip(&marks)
            .map(|(at, (word, number))| annotation(&format!("{word}{number}"), (at * 100, at * 100 + 90)))
            .collect();
        let trace = chrome(&events);
        prop_assert_eq!(trace.len() + trace.steps().len(), marks.len());
        let family = ["ProfilerStep#", "step ", "iter_", "Iteration: "];
        if let Some(chosen) = trace.steps().first() {
            let position = usize::try_from(chosen.start_ns / 100_000).unwrap();
            // All annotations of one family are steps, and none of the others.
            let (word, _) = &marks[position];
            prop_assert!(family.contains(word));
            let expected: Vec<u64> = marks.iter().filter(|mark| mark.0 == *word).map(|mark| mark.1).collect();
            prop_assert_eq!(numbers(&trace), expected);
            if marks.iter().any(|mark| mark.0 == "ProfilerStep#") {
                prop_assert_eq!(*word, "ProfilerStep#");
            }
        } else {
            prop_assert!(!marks.iter().any(|mark| family.contains(&mark.0)));
        }
    }

    #[test]
    fn a_range_is_read_back_as_it_is_shown(first: u64, more in 0u64..100) {
        let last = first.saturating_add(more);
        let range = StepRange::new(first, last);
        prop_assert_eq!(range.to_string().parse(), Ok(range));
        prop_assert_eq!(format!("{first}..={last}").parse(), Ok(range));
        prop_assert_eq!(format!("..{last}").parse(), Ok(StepRange::new(0, last)));
        prop_assert!(range.contains(first) && range.contains(last));
        prop_assert!(last == u64::MAX || !range.contains(last + 1));
        prop_assert!(first == 0 || !range.contains(first - 1));
    }

    #[test]
    fn no_text_breaks_the_parser_of_ranges(text in "[0-9.= x-]{0,8}") {
        if let Ok(range) = text.parse::<StepRange>() {
            prop_assert!(range.to_string().parse() == Ok(range), "{}", range);
        }
    }

    /// Every entry is in exactly one step or in none, so the parts add up.
    #[test]
    fn the_parts_of_all_steps_add_up(starts in prop::collection::vec(0u32..400, 1..20)) {
        let mut events: Vec<_> = (0..3).map(|n| annotation(&format!("step {n}"), (n * 100, n * 100 + 90))).collect();
        events.extend(starts.iter().map(|&start| event("cpu_op", "x", 2, (start, start + 5), "")));
        let trace = chrome(&events);
        let outside = step_of_entries(&trace).iter().filter(|step| step.is_none()).count();
        let parts: usize = (0..3)
            .map(|n| restrict_to_steps(&trace, StepRange::new(n, n)).unwrap().len())
            .sum();
        prop_assert_eq!(parts + outside, trace.len());
    }
}
