//! `TracedAlloc` while a session records a sample of the blocks.
use std::alloc::System;
use trace_runtime::{Session, TracedAlloc, traced_op};

#[global_allocator]
static ALLOC: TracedAlloc = TracedAlloc::new(System);

#[traced_op]
fn work(_x: &[f32]) {
    trace_peers_heap::run("TracedAlloc, sampled");
}

fn main() -> Result<(), trace_runtime::SessionError> {
    let session = Session::builder().sample_allocations(512 << 10).start()?;
    work(&[0.0; 16]);
    drop(session);
    Ok(())
}
