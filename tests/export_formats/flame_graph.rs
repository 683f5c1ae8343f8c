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

#[test]
fn an_empty_trace_says_so() {
    let svg = exported_text(&FlameGraph::new(), &RecordedExecutionTrace::new());
    assert_is_svg(&svg);
    assert!(svg.contains("no ops were recorded"));
}

#[test]
fn a_difference_shows_what_grew() {
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
