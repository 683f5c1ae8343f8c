//! Functions that return a future: the op begins at the first poll of the future and ends with it.

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
fn impl_future_and_more(x: &Tensor) -> impl Future<Output = Tensor> + Unpin + Send + Sync + use<> {
    ready(x.clone())
}

#[traced_op]
fn cloneable(x: &Tensor) -> impl Future<Output = usize> + Clone + use<> {
    ready(x.dims.len())
}

#[traced_op]
fn future_in_a_tuple(x: &Tensor) -> (impl Future<Output = usize>, usize) {
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

#[traced_op]
fn boxed_with_paths(
    x: Tensor,
) -> ::core::pin::Pin<
    Box<dyn ::core::future::Future<Output = Tensor> + ::core::marker::Send + 'static>,
> {
    Box::pin(async move {
        inner(&x).await;
        x
    })
}

#[traced_op]
fn boxed_sync(x: Tensor) -> Pin<Box<dyn Future<Output = Tensor> + Send + Sync>> {
    Box::pin(ready(x))
}

#[traced_op]
async fn inner(x: &Tensor) -> usize {
    x.dims.len()
}

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

#[traced_op]
fn boxed_by_alias(x: &Tensor) -> Boxed<'_, usize> {
    Box::pin(async move { inner(x).await })
}

#[traced_op]
fn boxed_by_alias_with_return(x: Option<&Tensor>) -> Boxed<'_, Result<Tensor, ()>> {
    let Some(x) = x else {
        return Box::pin(ready(Err(())));
    };
    Box::pin(async move {
        Yield::default().await;
        Ok(x.clone())
    })
}

mod not_futures {
    use super::*;

    pub type BoxFuture<T> = Box<T>;
    pub struct Future(pub Tensor);

    #[traced_op]
    pub fn a_box(x: &Tensor) -> BoxFuture<Tensor> {
        Box::new(x.clone())
    }

    #[traced_op]
    pub fn nested_box(x: &Tensor) -> BoxFuture<Tensor> {
        a_box(x)
    }

    #[traced_op]
    pub fn a_struct(x: &Tensor) -> Future {
        Future(x.clone())
    }

    #[traced_op]
    pub fn a_result(ok: bool) -> Result<BoxFuture<Tensor>, ()> {
        if ok {
            Ok(Box::new(tensor([1])))
        } else {
            Err(())
        }
    }
}

// The type parameter has no lifetime bound: the type around the future cannot promise `'static`, and need not.
#[traced_op]
fn passed_through<U>(
    f: fn() -> Pin<Box<dyn Future<Output = U>>>,
) -> Pin<Box<dyn Future<Output = U>>> {
    f()
}

struct BoxService<U, E> {
    inner: Box<dyn FnMut() -> Boxed<'static, Result<U, E>>>,
}

trait Call {
    type Response;
    type Future: Future<Output = Self::Response>;

    fn call(&mut self) -> Self::Future;
}

impl<U, E> Call for BoxService<U, E> {
    type Response = Result<U, E>;
    type Future = Boxed<'static, Result<U, E>>;

    #[traced_op]
    fn call(&mut self) -> Self::Future {
        (self.inner)()
    }
}

#[traced_op(sync = (), output(result))]
fn boxed_with_options<'a>(x: &'a Tensor) -> Pin<Box<dyn Future<Output = Tensor> + 'a>> {
    Box::pin(async move { x.clone() })
}

#[test]
fn a_boxed_future_is_recognised_under_any_name() {
    let t = tensor([2]);
    let lines = [
        "boxed_with_paths(bf16[2]) -> bf16[2] @cuda:0",
        "  inner(bf16[2]) @cuda:0",
    ];
    recorded(&lines, || block_on(is_send(boxed_with_paths(t.clone()))));
    recorded(&["boxed_sync(bf16[2]) -> bf16[2] @cuda:0"], || {
        block_on(boxed_sync(t.clone()))
    });
    let lines = [
        "boxed_by_alias(bf16[2]) @cuda:0",
        "  inner(bf16[2]) @cuda:0",
    ];
    recorded(&lines, || block_on(is_send(boxed_by_alias(&t))));
    let lines = [
        "boxed_by_alias_with_return(bf16[2]) -> bf16[2] @cuda:0",
        "boxed_by_alias_with_return() !error",
    ];
    recorded(&lines, || {
        (
            block_on(boxed_by_alias_with_return(Some(&t))).is_ok(),
            block_on(boxed_by_alias_with_return(None)).is_ok(),
        )
    });
    recorded(&["passed_through()"], || {
        block_on(passed_through(|| Box::pin(ready(tensor([2])))))
    });
    let mut service = BoxService {
        inner: Box::new(|| Box::pin(ready(Ok::<Tensor, ()>(tensor([3]))))),
    };
    recorded(&["BoxService::call()"], || block_on(service.call()));
    recorded(&["boxed_with_options(bf16[2]) -> bf16[2] @cuda:0"], || {
        block_on(boxed_with_options(&t))
    });
}

#[test]
fn a_type_with_the_name_of_a_future_is_an_ordinary_result() {
    let t = tensor([2]);
    let lines = [
        "nested_box(bf16[2]) -> bf16[2] @cuda:0",
        "  a_box(bf16[2]) -> bf16[2] @cuda:0",
    ];
    recorded(&lines, || not_futures::nested_box(&t));
    recorded(&["a_struct(bf16[2]) @cuda:0"], || {
        not_futures::a_struct(&t).0
    });
    recorded(
        &["a_result() -> bf16[1] @cuda:0", "a_result() !error"],
        || {
            (
                not_futures::a_result(true).is_ok(),
                not_futures::a_result(false).is_ok(),
            )
        },
    );
}

#[test]
fn the_op_ends_with_the_future() {
    let t = tensor([2]);
    recorded(&["impl_future(bf16[2]) -> bf16[2] @cuda:0"], || {
        block_on(impl_future(&t))
    });
    recorded(
        &["impl_future_and_more(bf16[2]) -> bf16[2] @cuda:0"],
        || {
            let future = &mut impl_future_and_more(&t);
            block_on(Pin::new(future))
        },
    );
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
fn the_op_ends_with_the_boxed_future() {
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
fn a_named_future_or_one_with_more_bounds_is_an_ordinary_result() {
    let t = tensor([2]);
    recorded(&["named_future(bf16[2]) @cuda:0"], || {
        block_on(named_future(&t))
    });
    recorded(&["cloneable(bf16[2]) @cuda:0"], || {
        block_on(cloneable(&t).clone())
    });
    recorded(&["future_in_a_tuple(bf16[2]) @cuda:0"], || {
        block_on(future_in_a_tuple(&t).0)
    });
}
