//! The futures that expanded code awaits or returns.
//!
//! Each holds the user's future once and adds a few words, so the size of nested async ops grows by a constant per
//! level. An `async` block around a future holds it twice, and sizes would double with each level.

#![allow(
    unsafe_code,
    reason = "pin projections, and a lifetime that safe code cannot express; each with its proof"
)]

use crate::TensorSink;
use crate::engine::AsyncOp;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The body of an `async fn` whose op has begun.
///
/// Its output contains the op: the op's outputs may be in parameters that can be read only after the body is dropped.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Running<F> {
    op: AsyncOp,
    body: F,
}

/// Runs a body whose op has begun.
#[inline]
pub fn running<F: Future>(op: AsyncOp, body: F) -> Running<F> {
    Running { op, body }
}

impl<F: Future> Future for Running<F> {
    type Output = (AsyncOp, F::Output);

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<(AsyncOp, F::Output)> {
        // SAFETY: `body` is pinned whenever `self` is. It is never moved out, there is no destructor that could move
        // it, and `Running` is `Unpin` only if `body` is. `op` is not pinned.
        let (op, body) = unsafe {
            let this = self.get_unchecked_mut();
            (&mut this.op, Pin::new_unchecked(&mut this.body))
        };
        let result = ready!(op.poll(|| body.poll(context)));
        Poll::Ready((op.take(), result))
    }
}

/// An `async fn` that begins its op at the first poll.
///
/// The closure owns the parameters: it describes them and moves them into the body. If the `async fn` described them
/// itself, the compiler would keep room for them next to the body.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub enum Starting<B, F> {
    /// `None` only while `B` runs.
    Unpolled(Option<B>),
    Running(Running<F>),
}

/// Runs the body that `begin` returns, and the op that it began.
#[inline]
pub fn starting<B, F>(begin: B) -> Starting<B, F>
where
    B: FnOnce() -> (AsyncOp, F),
    F: Future,
{
    Starting::Unpolled(Some(begin))
}

impl<B, F> Future for Starting<B, F>
where
    B: FnOnce() -> (AsyncOp, F),
    F: Future,
{
    type Output = (AsyncOp, F::Output);

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<(AsyncOp, F::Output)> {
        // SAFETY: the `Running` is pinned whenever `self` is. It is never moved or replaced, there is no destructor
        // that could move it, and `Starting` is `Unpin` only if it is. `Unpolled` is not pinned: it is replaced before
        // anything in it was pinned.
        let running = unsafe {
            let this = self.get_unchecked_mut();
            if let Starting::Unpolled(begin) = this {
                let Some(begin) = begin.take() else {
                    panic!("`async fn` resumed after panicking");
                };
                let (op, body) = begin();
                *this = Starting::Running(Running { op, body });
            }
            match this {
                Starting::Running(running) => Pin::new_unchecked(running),
                Starting::Unpolled(_) => unreachable!("it was replaced"),
            }
        };
        running.poll(context)
    }
}

/// A future that an op's function returned. The op begins at the first poll and ends when the future does.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Following<F, S, O> {
    op: AsyncOp,
    /// The `sync` option and the description of the output, which run at the end.
    end: Option<(S, O)>,
    future: F,
}

/// Records `future`.
#[inline]
pub fn follow<F, S, O>(op: AsyncOp, future: F, sync: S, outputs: O) -> Following<F, S, O>
where
    F: Future,
    S: FnOnce(&mut AsyncOp),
    O: FnOnce(&F::Output, &mut TensorSink),
{
    Following {
        op,
        end: Some((sync, outputs)),
        future,
    }
}

impl<F, S, O> Future for Following<F, S, O>
where
    F: Future,
    S: FnOnce(&mut AsyncOp),
    O: FnOnce(&F::Output, &mut TensorSink),
{
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` is pinned whenever `self` is. It is never moved out, there is no destructor that could move
        // it, and `Following` is `Unpin` only if `future` is. The other fields are not pinned.
        let (op, end, future) = unsafe {
            let this = self.get_unchecked_mut();
            (
                &mut this.op,
                &mut this.end,
                Pin::new_unchecked(&mut this.future),
            )
        };
        op.start();
        let result = ready!(op.poll(|| future.poll(context)));
        let mut op = op.take();
        if let Some((sync, outputs)) = end.take()
            && op.is_recording()
        {
            sync(&mut op);
            op.end(|sink: &mut TensorSink| outputs(&result, sink));
        }
        Poll::Ready(result)
    }
}

/// A future in a box, as functions return it.
type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;
type BoxedSend<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
type BoxedSync<'a, T> = Pin<Box<dyn Future<Output = T> + Send + Sync + 'a>>;

/// Describes the output of a boxed future. A function pointer, because it borrows nothing.
pub(crate) type DescribeOutput<T> = fn(&T, &mut TensorSink);

/// A boxed future that can be recorded: the result has the same type as the future.
pub trait FollowBoxed: Future + Sized {
    #[must_use]
    fn follow_boxed(self, op: AsyncOp, outputs: DescribeOutput<Self::Output>) -> Self;
}

macro_rules! follow_boxed {
    ($($boxed:ident $wrap:ident)*) => {$(
        impl<T> FollowBoxed for $boxed<'_, T> {
            #[inline]
            fn follow_boxed(self, op: AsyncOp, outputs: DescribeOutput<T>) -> Self {
                if op.is_recording() {
                    $wrap(op, self, outputs)
                } else {
                    self
                }
            }
        }

        fn $wrap<'a, T>(
            op: AsyncOp,
            future: $boxed<'a, T>,
            outputs: DescribeOutput<T>,
        ) -> $boxed<'a, T> {
            let following: $boxed<'_, T> = Box::pin(follow(op, future, |_| {}, outputs));
            // SAFETY: only the lifetime in the type changes. It promises that the value in the box can be used for
            // `'a`. The value is an op, which borrows nothing, two functions without captured variables, and
            // `future`, whose type makes the same promise. It contains no `T`. Safe code cannot express this:
            // `Following<$boxed<'a, T>, …>: 'a` would need `T: 'a`, a bound that the user's function may not have.
            unsafe { std::mem::transmute::<$boxed<'_, T>, $boxed<'a, T>>(following) }
        }
    )*};
}

follow_boxed!(Boxed wrap BoxedSend wrap_send BoxedSync wrap_sync);

/// `scripts/miri.sh` runs these: they use every `unsafe` block here.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::begin_async;
    use std::cell::Cell;
    use std::task::Waker;

    /// A future that is pending once, then ready.
    #[derive(Default)]
    struct Yield(bool);

    impl Future for Yield {
        type Output = ();

        fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            if std::mem::replace(&mut self.0, true) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        }
    }

    /// Counts drops.
    struct Dropped<'a>(&'a Cell<u32>);

    impl Drop for Dropped<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }

    /// Holds a reference to its own local across an await: it must not be moved after the first poll.
    async fn self_referential(dropped: Dropped<'_>) -> u32 {
        let numbers = [1, 2, 3];
        let last = &numbers[2];
        Yield::default().await;
        let _ = &dropped;
        *last
    }

    fn idle() -> AsyncOp {
        begin_async("idle", None, ())
    }

    fn poll<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_body_runs_in_place() {
        let drops = Cell::new(0);
        let make = || {
            let dropped = Dropped(&drops);
            starting(move || (idle(), self_referential(dropped)))
        };
        let mut future = Box::pin(make());
        assert!(poll(future.as_mut()).is_pending());
        assert!(matches!(poll(future.as_mut()), Poll::Ready((_, 3))));
        assert_eq!(drops.get(), 1);
        let mut half = Box::pin(make());
        assert!(poll(half.as_mut()).is_pending());
        drop(half);
        drop(make());
        assert_eq!(drops.get(), 3);
    }

    #[test]
    fn a_followed_future_stays_in_place() {
        let drops = Cell::new(0);
        let make = || follow(idle(), self_referential(Dropped(&drops)), |_| {}, |_, _| {});
        let mut future = Box::pin(make());
        assert!(poll(future.as_mut()).is_pending());
        assert_eq!(poll(future.as_mut()), Poll::Ready(3));
        let mut half = Box::pin(make());
        assert!(poll(half.as_mut()).is_pending());
        drop(half);
        drop((future, make()));
        assert_eq!(drops.get(), 3);
    }

    #[test]
    fn a_boxed_future_keeps_its_lifetime() {
        fn through<T>(future: Boxed<'static, T>) -> Boxed<'static, T> {
            wrap(idle(), future, |_, _| {})
        }
        let text = String::from("text");
        let text: &str = &text;
        let mut future = through::<&str>(Box::pin(std::future::pending()));
        assert!(poll(future.as_mut()).is_pending());
        drop(future);
        let drops = Cell::new(0);
        let mut future = wrap_send(idle(), Box::pin(std::future::ready(text)), |_, _| {});
        assert_eq!(poll(future.as_mut()), Poll::Ready("text"));
        let local = wrap(
            idle(),
            Box::pin(self_referential(Dropped(&drops))),
            |_, _| {},
        );
        drop(local);
        assert_eq!(drops.get(), 1);
        let mut shared = wrap_sync(idle(), Box::pin(std::future::ready(1)), |_, _| {});
        assert_eq!(poll(shared.as_mut()), Poll::Ready(1));
    }

    #[test]
    fn a_running_body_returns_its_op() {
        let drops = Cell::new(0);
        let mut future = Box::pin(running(idle(), self_referential(Dropped(&drops))));
        assert!(poll(future.as_mut()).is_pending());
        assert!(matches!(poll(future.as_mut()), Poll::Ready((_, 3))));
    }
}
