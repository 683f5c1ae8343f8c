//! `TracedAlloc` while a session records, inside an op.
use std::alloc::System;
use trace_runtime::{Session, TracedAlloc, traced_op};

#[global_allocator]
static ALLOC: TracedAlloc = TracedAlloc::new(System);

#[traced_op]
fn work(_x: &[f32]) {
    trace_peers_heap::run("TracedAlloc, recording");
}

fn main() -> Result<(), trace_runtime::SessionError> {
    let session = Session::start()?;
    work(&[0.0; 16]);
    drop(session);
    Ok(())
}
