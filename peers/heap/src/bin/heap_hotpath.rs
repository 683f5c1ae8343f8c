//! hotpath: bytes and blocks of the innermost measured function.
use hotpath::CountingAllocator;

#[global_allocator]
static ALLOC: CountingAllocator = CountingAllocator::new();

#[hotpath::measure]
fn work() {
    trace_peers_heap::run("hotpath");
}

fn main() {
    let guard = hotpath::HotpathGuardBuilder::new("main")
        .format(hotpath::Format::None)
        .build();
    work();
    drop(guard);
}
