//! Makes the items of a long vector on several threads, in place.

use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Makes `len` items, each from its index by the function that `maker` returns to a thread. Threads take parts
/// of this many items until none are left; if a thread cannot be started, the others do its work.
#[allow(
    unsafe_code,
    reason = "to make items in place, without copying the vector"
)]
pub(super) fn in_parallel<T: Send, F: FnMut(usize) -> T>(
    len: usize,
    part: usize,
    maker: impl Fn() -> F + Sync,
) -> Vec<T> {
    let mut items = Vec::with_capacity(len);
    let parts = items.spare_capacity_mut()[..len].chunks_mut(part);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let helpers = threads.min(parts.len()).saturating_sub(1);
    let parts = Mutex::new(parts.zip((0..).step_by(part)));
    let next = || {
        let mut parts = parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.next()
    };
    let work = || {
        let mut make = maker();
        while let Some((part, from)) = next() {
            fill(part, from, &mut make);
        }
    };
    thread::scope(|scope| {
        for _ in 0..helpers {
            _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    // SAFETY: the first `len` items are initialised. The parts cover all of them, and none is left when `work` returns
    // here. `fill` returns after it has written every item of its part. `scope` has waited for the parts of other
    // threads, and panics if one of them panicked.
    unsafe { items.set_len(len) };
    items
}

fn fill<T>(part: &mut [MaybeUninit<T>], from: usize, mut make: impl FnMut(usize) -> T) {
    for (item, index) in part.iter_mut().zip(from..) {
        item.write(make(index));
    }
}

#[cfg(test)]
mod tests {
    use super::in_parallel;

    #[test]
    fn every_item_is_made_once_and_is_in_its_place() {
        for len in [0, 1, 2, 3, 7, 64, 1000] {
            for part in [1, 2, 63, 5000] {
                let items = in_parallel(len, part, || Box::new);
                assert!(items.iter().map(|item| **item).eq(0..len));
            }
        }
    }

    #[test]
    fn a_panic_in_one_part_is_a_panic_of_the_whole() {
        let made = std::panic::catch_unwind(|| {
            in_parallel(1000, 1, || {
                |index| {
                    assert_ne!(index, 999, "the last one");
                    Box::new(index)
                }
            })
        });
        assert!(made.is_err());
    }
}
