//! `TracedAlloc` while a session records, where blocks are freed outside the op that allocated them.
use std::alloc::System;
use trace_peers_heap::{Block, allocate, free};
use trace_runtime::{Session, TracedAlloc, traced_op};

#[global_allocator]
static ALLOC: TracedAlloc = TracedAlloc::new(System);

#[traced_op]
fn fill(held: &mut Vec<Block>, batch: usize) {
    allocate(held, batch);
}

#[traced_op]
fn empty(held: &mut Vec<Block>, _batch: usize) {
    free(held);
}

fn main() -> Result<(), trace_runtime::SessionError> {
    let session = Session::start()?;
    trace_peers_heap::run_with("TracedAlloc, freed elsewhere", fill, |held| empty(held, 0));
    drop(session);
    Ok(())
}
