//! The system's allocator.
fn main() {
    trace_peers_heap::run("System");
}
