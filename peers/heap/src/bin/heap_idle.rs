//! `TracedAlloc` while nothing records.
use std::alloc::System;
use trace_runtime::TracedAlloc;

#[global_allocator]
static ALLOC: TracedAlloc = TracedAlloc::new(System);

fn main() {
    trace_peers_heap::run("TracedAlloc, not recording");
}
