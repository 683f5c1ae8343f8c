//! dhat: a backtrace for each allocation.
#[global_allocator]
static ALLOC: dhat::Alloc = dhat::Alloc;

fn main() {
    let _profiler = dhat::Profiler::builder().testing().build();
    trace_peers_heap::run("dhat");
}
