//! The system's allocator.
fn main() {
    trace_peers::heap_cost::run("System");
}
