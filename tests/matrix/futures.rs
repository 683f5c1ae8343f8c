//! Functions that return a future: the op is what the future does.

use crate::support::{Tensor, Yield, block_on, is_send, recorded, tensor};
use std::future::{Future, Ready, ready};
use std::pin::Pin;
use trace_runtime::traced_op;

#[traced_op]
fn impl_future(x: &Tensor) -> impl Future<Output = Tensor> {
    let x = x.clone();
    async move {
        Yield::default().await;
        x
    }
}

#[traced_op]
fn impl_future_borrowing<'a>(x: &'a Tensor) -> impl Future<Output = &'a Tensor> + Send + 'a {
    async move { x }
}

#[traced_op]
fn impl_future_with_return(x: Option<Tensor>) -> impl Future<Output = usize> {
    let Some(x) = x else {
        return ready(0);
    };
    ready(x.dims.len())
}

#[traced_op]
fn impl_future_fallible(ok: bool) -> impl Future<Output = Result<Tensor, String>> + Send {
    async move {
        if ok {
            Ok(tensor([1]))
        } else {
            Err("no".into())
        }
    }
}

#[traced_op]
fn boxed(x: Tensor) -> Pin<Box<dyn Future<Output = Tensor> + Send>> {
    Box::pin(async move {
        Yield::default().await;
        x
    })
}

#[traced_op]
fn boxed_borrowing<'a>(x: &'a Tensor) -> Pin<Box<dyn Future<Output = usize> + 'a>> {
    Box::pin(async move { x.dims.len() })
}

#[traced_op]
fn boxed_either(x: Option<Tensor>) -> Pin<Box<dyn std::future::Future<Output = usize>>> {
    match x {
        Some(x) => Box::pin(async move { x.dims.len() }),
        None => Box::pin(ready(0)),
    }
}

#[traced_op]
fn named_future(x: &Tensor) -> Ready<Tensor> {
    ready(x.clone())
}

#[traced_op]
fn impl_future_and_more(x: &Tensor) -> impl Future<Output = usize> + Unpin + use<> {
    ready(x.dims.len())
}

#[traced_op]
fn future_beside(x: &Tensor) -> (impl Future<Output = usize>, usize) {
    (ready(1), x.dims.len())
}

struct Service;

impl Service {
    #[traced_op]
    fn call(
        &mut self,
        x: Tensor,
    ) -> Pin<Box<dyn Future<Output = Result<Tensor, String>> + Send + '_>> {
        let count = x.dims.len();
        Box::pin(async move {
            if count == 0 {
                Err("empty")?;
            }
            Ok(x)
        })
    }
}

#[test]
fn the_op_ends_with_the_future() {
    let t = tensor([2]);
    recorded(&["impl_future(bf16[2]) -> bf16[2] @cuda:0"], || {
        block_on(impl_future(&t))
    });
    let lines = ["impl_future_borrowing(bf16[2]) -> bf16[2] @cuda:0"];
    recorded(&lines, || {
        block_on(is_send(impl_future_borrowing(&t))).clone()
    });
    let lines = [
        "impl_future_with_return(bf16[2]) @cuda:0",
        "impl_future_with_return()",
    ];
    recorded(&lines, || {
        (
            block_on(impl_future_with_return(Some(t.clone()))),
            block_on(impl_future_with_return(None)),
        )
    });
    let lines = [
        "impl_future_fallible() -> bf16[1] @cuda:0",
        "impl_future_fallible() !error",
    ];
    recorded(&lines, || {
        (
            block_on(impl_future_fallible(true)),
            block_on(impl_future_fallible(false)),
        )
    });
}

#[test]
fn boxed_futures_too() {
    let t = tensor([2]);
    recorded(&["boxed(bf16[2]) -> bf16[2] @cuda:0"], || {
        block_on(boxed(t.clone()))
    });
    recorded(&["boxed_borrowing(bf16[2]) @cuda:0"], || {
        block_on(boxed_borrowing(&t))
    });
    let lines = ["boxed_either(bf16[2]) @cuda:0", "boxed_either()"];
    recorded(&lines, || {
        (
            block_on(boxed_either(Some(t.clone()))),
            block_on(boxed_either(None)),
        )
    });
    let lines = [
        "Service::call(bf16[2]) -> bf16[2] @cuda:0",
        "Service::call(bf16[]) @cuda:0 !error",
    ];
    recorded(&lines, || {
        (
            block_on(Service.call(t.clone())),
            block_on(Service.call(tensor([]))),
        )
    });
}

#[test]
fn a_future_that_is_never_polled_is_not_recorded() {
    recorded(&[], || drop(impl_future(&tensor([2]))));
    recorded(&["boxed(bf16[2]) @cuda:0 !cancelled"], || {
        let mut future = boxed(tensor([2]));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(future.as_mut().poll(&mut context).is_pending());
    });
}

#[test]
fn a_future_with_a_name_or_more_bounds_is_left_alone() {
    let t = tensor([2]);
    recorded(&["named_future(bf16[2]) @cuda:0"], || {
        block_on(named_future(&t))
    });
    recorded(&["impl_future_and_more(bf16[2]) @cuda:0"], || {
        block_on(impl_future_and_more(&t))
    });
    recorded(&["future_beside(bf16[2]) @cuda:0"], || {
        block_on(future_beside(&t).0)
    });
}
