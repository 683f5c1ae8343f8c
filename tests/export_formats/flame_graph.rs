use crate::random_trace::{exported_text, random_trace, two_ranks};
use proptest::prelude::*;
use std::time::Duration;
use trace_runtime::export::FlameGraph;
use trace_runtime::{RecordedExecutionTrace, RecordedTraceEntry};

pub(crate) fn assert_is_svg(text: &str) {
    let options = roxmltree::ParsingOptions {
        allow_dtd: true,
        ..roxmltree::ParsingOptions::default()
    };
    let document = roxmltree::Document::parse_with_options(text, options).expect("valid XML");
    assert_eq!(document.root_element().tag_name().name(), "svg");
    let scripts = document
        .descendants()
        .filter(|node| node.has_tag_name("script"));
    assert_eq!(scripts.count(), 1, "the viewer's own");
}

#[test]
fn ops_are_frames_with_their_time_and_share() {
    let svg = exported_text(&FlameGraph::new().with_title("two <ranks>"), &two_ranks());
    assert_is_svg(&svg);
    assert!(
        svg.contains("<title>matmul (30 µs, 9.38%)</title>"),
        "{svg}"
    );
    assert!(svg.contains("two &lt;ranks&gt;"));
}

/// A host op that launches a kernel with a long C++ name.
fn launching() -> RecordedExecutionTrace {
    let mut trace = RecordedExecutionTrace::new();
    let entry = |step, name: &str, us| {
        RecordedTraceEntry::new(step, name)
            .with_start(Duration::ZERO)
            .with_duration(Duration::from_micros(us))
    };
    trace.add_entry(
        entry(0, "aten::mm", 30)
            .with_thread(1)
            .with_device_id("cpu"),
    );
    let kernel = entry(1, "void at::native::gemm<float, Tiles>(int)", 70);
    trace.add_entry(
        kernel
            .with_thread(7)
            .with_parent(0)
            .with_device_id("cuda:0"),
    );
    trace
}

#[test]
fn a_picture_has_no_root_without_a_meaning() {
    let svg = exported_text(&FlameGraph::new(), &launching());
    for title in [
        "time in ops (100 µs, 100%)",
        "host (30 µs, 30.00%)",
        "aten::mm (30 µs, 30.00%)",
        "cuda:0 (70 µs, 70.00%)",
        "aten::mm (host) (70 µs, 70.00%)",
        "gemm&lt;Tiles&gt; (70 µs, 70.00%)",
    ] {
        assert!(
            svg.contains(&format!("<title>{title}</title>")),
            "{title}: {svg}"
        );
    }
    assert!(!svg.contains("<title>trace ") && !svg.contains("<title>all "));
    // Without accelerators the picture has only ops.
    let mut host_only = launching();
    host_only.entries.truncate(1);
    let svg = exported_text(&FlameGraph::new(), &host_only);
    assert_eq!(svg.matches("<title>").count(), 2, "{svg}");
}

#[test]
fn a_name_that_begins_like_a_comment_is_drawn() {
    let mut trace = RecordedExecutionTrace::new();
    let entry = RecordedTraceEntry::new(0, "#define").with_duration(Duration::from_micros(5));
    trace.add_entry(entry);
    let svg = exported_text(&FlameGraph::new(), &trace);
    assert!(svg.contains("#define (5 µs, 100.00%)"), "{svg}");
}

#[test]
fn an_empty_trace_is_a_picture_with_a_message() {
    let svg = exported_text(&FlameGraph::new(), &RecordedExecutionTrace::new());
    assert_is_svg(&svg);
    assert!(svg.contains("no ops were recorded"));
}

#[test]
fn a_difference_shows_the_ops_that_take_longer() {
    let run = |micros| {
        let mut trace = RecordedExecutionTrace::new();
        for (step, name) in ["matmul", "softmax"].into_iter().enumerate() {
            let micros = if name == "matmul" { micros } else { 50 };
            let duration = Duration::from_micros(micros);
            trace.add_entry(RecordedTraceEntry::new(step, name).with_duration(duration));
        }
        trace
    };
    let mut svg = Vec::new();
    FlameGraph::new()
        .export_difference(&run(50), &run(100), &mut svg)
        .unwrap();
    let svg = String::from_utf8(svg).unwrap();
    assert_is_svg(&svg);
    assert!(
        svg.contains("<title>matmul (100 µs, 66.67%; +33.33%)</title>"),
        "{svg}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_trace_is_a_valid_picture(trace in random_trace()) {
        assert_is_svg(&exported_text(&FlameGraph::new(), &trace));
    }
}

#[test]
fn durations_of_any_size_do_not_overflow() {
    let mut trace = RecordedExecutionTrace::new();
    for (step, name) in ["a", "b", "c"].into_iter().enumerate() {
        let mut entry = RecordedTraceEntry::new(step, name);
        entry.duration_us = 1.7e308;
        trace.add_entry(entry);
    }
    assert_is_svg(&exported_text(&FlameGraph::new(), &trace));
    let mut difference = Vec::new();
    FlameGraph::new()
        .export_difference(&trace, &trace, &mut difference)
        .unwrap();
    assert_is_svg(&String::from_utf8(difference).unwrap());
}
