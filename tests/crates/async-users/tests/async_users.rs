//! `#[async_trait]` methods are recorded until their futures end, and tower's boxed services go through annotated
//! functions.

#![deny(warnings, unsafe_code, clippy::all)]

use async_trait::async_trait;
use std::future::{ready, Future};
use std::pin::{pin, Pin};
use std::task::{Context, Poll, Waker};
use std::thread::sleep;
use std::time::Duration;
use tower::util::{service_fn, BoxService, ServiceExt};
use tower::Service;
use trace_runtime::{record, traced_op, RecordedExecutionTrace};

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

fn is_send<T: Send>(value: T) -> T {
    value
}

/// `op(inputs) -> output` for each entry; checks that each took the time that the bodies below sleep.
fn lines(trace: &RecordedExecutionTrace) -> Vec<String> {
    let line = |entry: &trace_runtime::RecordedTraceEntry| {
        assert!(entry.duration_us >= 1000.0, "{entry:?}");
        format!("{}{:?} -> {:?}", entry.operation, entry.input_shapes, entry.output_shape)
    };
    trace.entries.iter().map(line).collect()
}

#[track_caller]
fn assert_recorded<R>(expected: &[&str], run: impl FnOnce() -> R) {
    let (_, trace) = record(run);
    if cfg!(feature = "enabled") {
        assert_eq!(lines(&trace), expected);
    } else {
        assert!(trace.entries.is_empty());
    }
}

#[async_trait]
trait Model {
    async fn forward(&self, x: &[f32]) -> Vec<f32>;
    async fn update(&mut self, x: Vec<f32>) -> Result<Vec<f32>, String>;

    #[traced_op]
    async fn twice(&self, x: &[f32]) -> Vec<f32> {
        sleep(Duration::from_millis(1));
        let once = self.forward(x).await;
        self.forward(&once).await
    }
}

struct OnTheMethods;

#[async_trait]
impl Model for OnTheMethods {
    #[traced_op]
    async fn forward(&self, x: &[f32]) -> Vec<f32> {
        sleep(Duration::from_millis(1));
        ready(()).await;
        x.to_vec()
    }

    #[traced_op]
    async fn update(&mut self, x: Vec<f32>) -> Result<Vec<f32>, String> {
        sleep(Duration::from_millis(1));
        if x.is_empty() {
            return Err("empty".into());
        }
        Ok(x)
    }
}

struct Below;

#[async_trait]
#[traced_op]
impl Model for Below {
    async fn forward(&self, x: &[f32]) -> Vec<f32> {
        sleep(Duration::from_millis(1));
        x.to_vec()
    }

    async fn update(&mut self, x: Vec<f32>) -> Result<Vec<f32>, String> {
        sleep(Duration::from_millis(1));
        Ok(x)
    }
}

struct Above;

#[traced_op]
#[async_trait]
impl Model for Above {
    async fn forward(&self, x: &[f32]) -> Vec<f32> {
        sleep(Duration::from_millis(1));
        x.to_vec()
    }

    #[traced_op(skip)]
    async fn update(&mut self, x: Vec<f32>) -> Result<Vec<f32>, String> {
        Ok(x)
    }
}

#[async_trait(?Send)]
trait Local {
    #[traced_op]
    async fn generic<T: Clone>(&self, x: &[T]) -> Vec<T> {
        sleep(Duration::from_millis(1));
        x.to_vec()
    }
}

impl Local for Below {}

#[test]
fn an_async_trait_method_is_recorded_until_its_future_ends() {
    assert_recorded(&["OnTheMethods::forward[[2]] -> [2]"], || {
        block_on(is_send(OnTheMethods.forward(&[1.0; 2])))
    });
    assert_recorded(&["OnTheMethods::update[[2]] -> [2]", "OnTheMethods::update[[0]] -> []"], || {
        (block_on(OnTheMethods.update(vec![1.0; 2])), block_on(OnTheMethods.update(vec![])))
    });
    let nested = [
        "Model::twice[[3]] -> [3]",
        "OnTheMethods::forward[[3]] -> [3]",
        "OnTheMethods::forward[[3]] -> [3]",
    ];
    assert_recorded(&nested, || block_on(OnTheMethods.twice(&[1.0; 3])));
}

#[test]
fn the_attributes_of_an_impl_may_be_in_either_order() {
    assert_recorded(&["Below::forward[[2]] -> [2]", "Below::update[[2]] -> [2]"], || {
        let _ = block_on(Below.forward(&[1.0; 2]));
        block_on(Below.update(vec![1.0; 2]))
    });
    assert_recorded(&["Above::forward[[2]] -> [2]"], || {
        let _ = block_on(Above.forward(&[1.0; 2]));
        block_on(Above.update(vec![1.0; 2]))
    });
}

#[test]
fn generic_and_local_methods_are_recorded_too() {
    assert_recorded(&["Local::generic[[2]] -> [2]"], || {
        block_on(Below.generic(&[1.0_f32; 2]))
    });
}

type BoxFuture<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// A service like tower's `BoxService`, whose type parameters have no lifetime bounds.
struct Boxed<T, U, E> {
    inner: BoxService<T, U, E>,
}

impl<T, U, E> Service<T> for Boxed<T, U, E> {
    type Response = U;
    type Error = E;
    type Future = BoxFuture<U, E>;

    #[traced_op]
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), E>> {
        sleep(Duration::from_millis(1));
        self.inner.poll_ready(context)
    }

    #[traced_op]
    fn call(&mut self, request: T) -> BoxFuture<U, E> {
        self.inner.call(request)
    }
}

#[test]
fn a_boxed_service_passes_through() {
    let double = service_fn(|x: Vec<f32>| async move {
        sleep(Duration::from_millis(1));
        Ok::<_, String>([x.clone(), x].concat())
    });
    let mut service = Boxed {
        inner: double.boxed(),
    };
    let expected = ["Boxed::poll_ready[] -> []", "Boxed::call[] -> []"];
    assert_recorded(&expected, || {
        block_on(async {
            let service = service.ready().await.unwrap();
            assert_eq!(service.call(vec![1.0]).await.unwrap().len(), 2);
        });
    });
}
