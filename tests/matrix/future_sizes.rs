//! The future of an async op is only a few words larger than the plain future, at every depth, idle and while
//! recording.

use crate::support::{Yield, block_on, is_send};
use std::future::Future;
use std::mem::size_of_val;
use trace_runtime::{record, traced_op};

/// Bytes that one level may add.
const PER_LEVEL: usize = 64;

/// A parameter that is large enough to show a second copy.
type Block = [f32; 64];

fn first(block: &Block) -> f32 {
    block[0]
}

mod plain {
    use super::*;

    pub async fn async_0(x: Block, y: &[f32]) -> f32 {
        Yield::default().await;
        first(&x) + y[0]
    }

    pub fn opaque_0(x: Block) -> impl Future<Output = f32> + Send {
        async move {
            Yield::default().await;
            first(&x)
        }
    }
}

mod traced {
    use super::*;

    #[traced_op]
    pub async fn async_0(x: Block, y: &[f32]) -> f32 {
        Yield::default().await;
        first(&x) + y[0]
    }

    #[traced_op]
    pub fn opaque_0(x: Block) -> impl Future<Output = f32> + Send {
        async move {
            Yield::default().await;
            first(&x)
        }
    }
}

/// Functions that await the one before.
macro_rules! levels {
    ($($async_fn:ident $opaque:ident awaits $inner_async:ident $inner_opaque:ident;)*) => {
        mod plain_levels {
            use super::*;
            use super::plain::*;
            $(
                pub async fn $async_fn(x: Block, y: &[f32]) -> f32 {
                    first(&x) + $inner_async(x, y).await
                }

                pub fn $opaque(x: Block) -> impl Future<Output = f32> + Send {
                    async move { first(&x) + $inner_opaque(x).await }
                }
            )*
        }

        mod traced_levels {
            use super::*;
            use super::traced::*;
            $(
                #[traced_op]
                pub async fn $async_fn(x: Block, y: &[f32]) -> f32 {
                    first(&x) + $inner_async(x, y).await
                }

                #[traced_op]
                pub fn $opaque(x: Block) -> impl Future<Output = f32> + Send {
                    async move { first(&x) + $inner_opaque(x).await }
                }
            )*
        }
    };
}

levels! {
    async_1 opaque_1 awaits async_0 opaque_0;
    async_2 opaque_2 awaits async_1 opaque_1;
    async_3 opaque_3 awaits async_2 opaque_2;
    async_4 opaque_4 awaits async_3 opaque_3;
    async_5 opaque_5 awaits async_4 opaque_4;
    async_6 opaque_6 awaits async_5 opaque_5;
    async_7 opaque_7 awaits async_6 opaque_6;
    async_8 opaque_8 awaits async_7 opaque_7;
    async_9 opaque_9 awaits async_8 opaque_8;
    async_10 opaque_10 awaits async_9 opaque_9;
    async_11 opaque_11 awaits async_10 opaque_10;
    async_12 opaque_12 awaits async_11 opaque_11;
    async_13 opaque_13 awaits async_12 opaque_12;
}

const X: Block = [1.0; 64];
const Y: &[f32] = &[0.0];

/// Sizes of the plain and the traced future, at depth 1, 4, 8 and 14.
fn async_sizes() -> [(usize, usize); 4] {
    [
        (
            size_of_val(&plain::async_0(X, Y)),
            size_of_val(&traced::async_0(X, Y)),
        ),
        (
            size_of_val(&plain_levels::async_3(X, Y)),
            size_of_val(&traced_levels::async_3(X, Y)),
        ),
        (
            size_of_val(&plain_levels::async_7(X, Y)),
            size_of_val(&traced_levels::async_7(X, Y)),
        ),
        (
            size_of_val(&plain_levels::async_13(X, Y)),
            size_of_val(&traced_levels::async_13(X, Y)),
        ),
    ]
}

fn opaque_sizes() -> [(usize, usize); 4] {
    [
        (
            size_of_val(&plain::opaque_0(X)),
            size_of_val(&traced::opaque_0(X)),
        ),
        (
            size_of_val(&plain_levels::opaque_3(X)),
            size_of_val(&traced_levels::opaque_3(X)),
        ),
        (
            size_of_val(&plain_levels::opaque_7(X)),
            size_of_val(&traced_levels::opaque_7(X)),
        ),
        (
            size_of_val(&plain_levels::opaque_13(X)),
            size_of_val(&traced_levels::opaque_13(X)),
        ),
    ]
}

#[test]
fn each_level_adds_a_constant_size() {
    let assert_sizes = |sizes: [(usize, usize); 4]| {
        for ((plain, traced), depth) in sizes.into_iter().zip([1, 4, 8, 14]) {
            let most = plain + PER_LEVEL * depth;
            assert!(
                traced <= most,
                "depth {depth}: {traced} bytes, plain {plain}"
            );
        }
    };
    assert_sizes(async_sizes());
    assert_sizes(opaque_sizes());
    assert_sizes(record(async_sizes).0);
    assert_sizes(record(opaque_sizes).0);
}

#[test]
fn fourteen_levels_run_on_the_stack_of_a_test() {
    assert_eq!(block_on(is_send(traced_levels::async_13(X, Y))), 14.0);
    assert_eq!(block_on(is_send(traced_levels::opaque_13(X))), 14.0);
    let run = || block_on(traced_levels::async_13(X, Y)) + block_on(traced_levels::opaque_13(X));
    let (sum, trace) = record(run);
    assert_eq!(sum, 28.0);
    if cfg!(feature = "enabled") {
        assert_eq!(trace.entries.len(), 28);
        let innermost = trace
            .entries
            .iter()
            .find(|entry| entry.operation == "async_0");
        let parent = innermost.and_then(|entry| entry.parent);
        assert_eq!(trace.entries[parent.unwrap()].operation, "async_1");
    }
}
