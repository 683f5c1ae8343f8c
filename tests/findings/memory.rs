//! Rules about memory.

use crate::{kinds, of_kind};
use trace_runtime::analyze::{FindingKind, findings};
use trace_runtime::model::wire::metadata::MEMORY_CONTEXTS;
use trace_runtime::model::{MemoryEvent, NewEntry, TraceStep, TraceStoreBuilder};
use trace_runtime::{DType, TraceStore};

/// Steps of 100 ns with an op in each; the memory of a context changes by these bytes in each step.
fn steps(changes: &[i64], contexts: &str) -> TraceStore {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(None, None, None);
    let inputs: &[(&[usize], DType)] = &[(&[64, 64], DType::F32)];
    for (number, &change) in changes.iter().enumerate() {
        let start = number as i64 * 100;
        let entry = NewEntry::new("encode", thread, start + 10, 80).with_inputs(inputs);
        builder.push(&entry).unwrap();
        builder.push_memory(&MemoryEvent::new(start + 50, change, "cpu").with_context(3));
        builder.step(TraceStep::new(number as u64, start, start + 100));
    }
    let mut trace = builder.finish();
    trace.insert_metadata(MEMORY_CONTEXTS, contexts.to_owned());
    trace
}

/// Contexts as `TracedAlloc` writes them: three without an op, then `encode`.
fn contexts(calls: u64, allocated: u64, temporary: u64) -> String {
    let none =
        r#"{"operation":"(outside ops)"},{"operation":"(tracer)"},{"operation":"(other ops)"}"#;
    format!(
        r#"[{none},{{"operation":"encode","is_op":true,"input_shapes":[[64,64]],"calls":{calls},
        "allocated_bytes":{allocated},"allocations":{calls},"freed_bytes":{temporary},"frees":{calls},
        "inside_bytes":{allocated},"inside_allocations":{calls},"temporary_bytes":{temporary}}}]"#
    )
}

#[test]
fn memory_that_grows_with_every_step_is_a_finding() {
    let found = findings(&steps(&[8000; 6], &contexts(6, 48_000, 0)));
    let growth = of_kind(&found, FindingKind::MemoryGrowth).unwrap();
    assert_eq!(growth.subject, "encode");
    assert_eq!(growth.cost_ns, 0);
    assert_eq!(
        growth.sentence,
        "memory of encode [64×64] grows by 8.00 kB in each of 5 steps"
    );
    // It shrinks once.
    let steady = steps(
        &[8000, 8000, 8000, -24_000, 8000, 8000],
        &contexts(6, 48_000, 0),
    );
    assert!(!kinds(&steady).contains(&FindingKind::MemoryGrowth));
}

#[test]
fn memory_that_each_call_allocates_and_frees_is_a_finding() {
    let per_call = 1_000_000;
    let copies = steps(&[0; 10], &contexts(10, 10 * per_call, 10 * per_call));
    let found = findings(&copies);
    let repeated = of_kind(&found, FindingKind::RepeatedAllocation).unwrap();
    assert_eq!(repeated.subject, "encode");
    assert_eq!(
        repeated.sentence,
        "encode [64×64] allocates 1.00 MB in each of 10 calls and frees it before it returns: 10.0 MB in all"
    );
    assert_ne!(
        found.list[0].kind,
        FindingKind::RepeatedAllocation,
        "after those with a time"
    );
    let text = copies.report().to_string();
    assert!(text.contains("bytes  encode [64×64] allocates"), "{text}");
    for (why, calls, allocated, temporary) in [
        ("it keeps what it allocates", 10, 10 * per_call, 0),
        ("few calls", 4, 4 * per_call, 4 * per_call),
        ("small blocks", 10, 10_000, 10_000),
    ] {
        let other = steps(&[0; 10], &contexts(calls, allocated, temporary));
        assert!(
            !kinds(&other).contains(&FindingKind::RepeatedAllocation),
            "{why}"
        );
    }
}

#[test]
fn memory_that_another_op_frees_does_not_grow() {
    // As profilers of 2021 record it: without addresses. Each step allocates in one op and frees in the next.
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(None, None, None);
    for number in 0..6u32 {
        let start = i64::from(number) * 100;
        for (name, at, bytes) in [("forward", 10, 8000), ("backward", 50, -8000)] {
            let entry = NewEntry::new(name, thread, start + at, 30);
            builder.push(&entry).unwrap();
            builder.push_memory(&MemoryEvent::new(start + at + 10, bytes, "cuda:0"));
        }
        builder.step(TraceStep::new(u64::from(number), start, start + 100));
    }
    assert!(!kinds(&builder.finish()).contains(&FindingKind::MemoryGrowth));
}
