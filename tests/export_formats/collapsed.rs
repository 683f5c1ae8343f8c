use crate::random_trace::{exported_text, random_trace, two_ranks};
use proptest::prelude::*;
use trace_runtime::export::CollapsedStacks;

#[test]
fn nested_ops_are_stacks_weighted_by_their_own_time() {
    assert_eq!(
        exported_text(&CollapsedStacks, &two_ranks()),
        "trace;cuda:0;layer;all_reduce 60\n\
         trace;cuda:0;layer;matmul 30\n\
         trace;cuda:1;layer;all_reduce 60\n\
         trace;cuda:1;layer;matmul 30\n\
         trace;unknown;layer 140\n"
    );
}

proptest! {
    #[test]
    fn every_line_is_a_stack_of_frames_a_space_and_a_weight(trace in random_trace()) {
        let text = exported_text(&CollapsedStacks, &trace);
        let mut total = 0;
        for line in text.lines() {
            let (stack, weight) = line.rsplit_once(' ').expect("a space before the weight");
            prop_assert!(!stack.contains(|c: char| c == ' ' || c.is_control()), "{stack:?}");
            prop_assert!(stack.starts_with("trace;"));
            total += weight.parse::<u64>().expect("a whole number");
        }
        prop_assert!(total >= trace.entries.len() as u64);
        prop_assert_eq!(text.is_empty(), trace.entries.is_empty());
    }
}
