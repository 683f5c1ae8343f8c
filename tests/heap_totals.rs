//! The figures of `TracedAlloc` equal those of a counting allocator, to the byte. This file has one test, because no
//! other test may allocate at the same time.
#![cfg(feature = "enabled")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::RefCell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, mpsc};
use trace_core::__engine::heap::totals;
use trace_runtime::{DType, Device, Session, TensorLike, TensorSink, TracedAlloc, traced_op};

/// The system's allocator with a separate count.
struct Counting;

static ALLOCATED: AtomicU64 = AtomicU64::new(0);
static FREED: AtomicU64 = AtomicU64::new(0);

// SAFETY: passes every call on to the system's allocator.
#[allow(unsafe_code, reason = "an allocator to compare with")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        FREED.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        ALLOCATED.fetch_add(new_size as u64, Ordering::Relaxed);
        FREED.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's contract.
        unsafe { System.realloc(block, layout, new_size) }
    }
}

#[global_allocator]
static ALLOC: TracedAlloc<Counting> = TracedAlloc::new(Counting);

fn counted() -> (u64, u64) {
    (
        ALLOCATED.load(Ordering::Relaxed),
        FREED.load(Ordering::Relaxed),
    )
}

#[traced_op]
fn keep(x: &[u8]) -> Vec<u8> {
    x.to_vec()
}

#[traced_op]
fn scratch(x: &[u8]) -> u8 {
    let copy = black_box(x.to_vec());
    copy[0]
}

#[traced_op]
fn layer(x: &[u8]) -> Vec<u8> {
    scratch(x);
    let doubled = keep(&x.repeat(2));
    drop(black_box(Vec::<u64>::with_capacity(x.len())));
    doubled
}

thread_local! {
    static LATE: RefCell<Option<Late>> = const { RefCell::new(None) };
}

/// Allocates in its `describe`.
struct Described(Vec<u8>);

impl TensorLike for Described {
    fn describe(&self, sink: &mut TensorSink) {
        let dims = black_box(vec![self.0.len()]);
        sink.tensor(&dims, DType::U8, Device::Cpu);
    }
}

#[traced_op]
fn described(x: &Described) -> usize {
    x.0.len()
}

/// Allocates while its thread ends.
struct Late(Vec<u8>);

impl Drop for Late {
    fn drop(&mut self) {
        self.0 = black_box(vec![1; self.0.len() * 2]);
    }
}

/// Bytes of a block that is freed in a session and was allocated before it.
const EARLIER: usize = 12_345;

#[test]
fn the_sums_are_those_of_the_allocator_to_the_byte() {
    // Outlives its session, and is not freed in any other.
    let mut later = Vec::new();
    for round in 0..4 {
        let earlier = black_box(vec![1u8; EARLIER]);
        let session = Session::start().unwrap();
        let (before, ours_before) = (counted(), totals());
        drop(earlier);
        let kept = keep(&[round as u8; 777]);
        let (send, receive) = mpsc::channel::<Vec<u8>>();
        let receive = Mutex::new(receive);
        std::thread::scope(|scope| {
            for thread in 0..8usize {
                let send = send.clone();
                let receive = &receive;
                scope.spawn(move || {
                    LATE.with(|late| *late.borrow_mut() = Some(Late(vec![0; 100 + thread])));
                    let mut grown = Vec::new();
                    for i in 0..300 + 50 * round {
                        let size = (i * 37 + thread * 11) % 3000 + 1;
                        let made = layer(&vec![1u8; size]);
                        described(&Described(vec![0; size]));
                        grown.extend_from_slice(&made[..made.len() / 2]);
                        if i % 3 == 0 {
                            send.send(made).unwrap();
                        }
                        if i % 5 == 0
                            && let Ok(other) = receive.lock().unwrap().try_recv()
                        {
                            drop(other);
                        }
                        if i % 50 == 0 {
                            grown = Vec::new();
                        }
                    }
                });
            }
        });
        drop((send, receive));
        // The threads are joined, but the destructors of their thread-locals may still run.
        let mut sums = (counted(), totals());
        for _ in 0..1000 {
            std::thread::yield_now();
            let again = (counted(), totals());
            if again == sums {
                break;
            }
            sums = again;
        }
        let (after, ours_after) = sums;
        drop(session.finish());
        later.push(kept);
        if round == 0 {
            // Tables that grow once and are kept: allocated before the recording, freed in it.
            continue;
        }
        assert_eq!(
            (after.0 - before.0, after.1 - before.1 - EARLIER as u64),
            (
                ours_after.allocated - ours_before.allocated,
                ours_after.freed - ours_before.freed
            )
        );
    }
}
