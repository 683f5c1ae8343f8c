//! Programs that record more than a recording can hold.

use crate::row::{Fault, Row, ended};
use trace_runtime::{Session, TraceRecorder, traced_op, with_recorder};

pub(crate) const FAULTS: &[Fault] = &[
    ("a million distinct shapes", shapes),
    ("a million distinct shapes in 1 MB", shapes_in_little),
    ("a hundred thousand names", names),
    ("a hundred thousand names in 1 MB", names_in_little),
    ("a million ops in 1 MB", rows_in_little),
    ("ops of a traced allocator", in_the_allocator),
];

#[traced_op]
fn leaf(x: &[u8]) -> usize {
    x.len()
}

fn record(limit: Option<usize>, ops: impl FnOnce()) -> Row {
    let mut builder = Session::builder();
    if let Some(limit) = limit {
        builder = builder.memory_limit(limit);
    }
    let session = builder.start().unwrap();
    ops();
    Row::of(&session.finish_store())
}

fn all_shapes() {
    let data = vec![0; 1_000_000];
    for len in 1..=data.len() {
        leaf(&data[..len]);
        ended();
    }
}

fn shapes() -> Row {
    let row = record(None, all_shapes);
    assert_eq!(row.counted, 0, "they fit into the default limit");
    row
}

fn shapes_in_little() -> Row {
    record(Some(1 << 20), all_shapes)
}

fn all_names() {
    for number in 0..100_000 {
        with_recorder(|recorder| recorder.begin_op(format!("op number {number}")));
        with_recorder(TraceRecorder::end_op);
        ended();
    }
}

fn names() -> Row {
    let row = record(None, all_names);
    assert_eq!(row.counted, 0, "they fit into the default limit");
    row
}

fn names_in_little() -> Row {
    record(Some(1 << 20), all_names)
}

fn rows_in_little() -> Row {
    record(Some(1 << 20), || {
        for _ in 0..1_000_000 {
            leaf(&[1]);
            ended();
        }
    })
}

/// An allocator whose allocations are ops while a switch is on.
#[allow(unsafe_code, reason = "an allocator is unsafe")]
mod allocator {
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::cell::Cell;

    pub(crate) struct Traced;

    #[global_allocator]
    static TRACED: Traced = Traced;

    thread_local! {
        pub(crate) static IS_TRACED: Cell<bool> = const { Cell::new(false) };
    }

    #[trace_runtime::traced_op]
    fn allocate(bytes: usize) {
        let _ = bytes;
    }

    // SAFETY: every call goes to the system's allocator unchanged; the op before it allocates nothing while the
    // switch is off, and switches it off while it runs.
    unsafe impl GlobalAlloc for Traced {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            if IS_TRACED.get() {
                IS_TRACED.set(false);
                allocate(layout.size());
                crate::row::ended();
                IS_TRACED.set(true);
            }
            // SAFETY: the caller's guarantees are passed on.
            unsafe { System.alloc(layout) }
        }

        unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
            // SAFETY: as above.
            unsafe { System.dealloc(block, layout) }
        }
    }
}

/// Snapshots allocate while they hold locks that the allocator's own op needs.
fn in_the_allocator() -> Row {
    let session = Session::start().unwrap();
    for len in 0..200 {
        leaf(&vec![0; len]);
        ended();
        allocator::IS_TRACED.set(true);
        let snapshot = session.snapshot();
        allocator::IS_TRACED.set(false);
        assert!(!snapshot.is_empty());
    }
    Row::of(&session.finish_store())
}
