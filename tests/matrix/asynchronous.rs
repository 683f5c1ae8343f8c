//! `async fn`: recorded from the first poll to the end, on any thread.

use crate::support::{Tensor, Yield, block_on, is_send, recorded, tensor};
use std::cell::Cell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Waker};
use trace_runtime::{TensorLike, TensorSink, traced_op};

#[traced_op]
async fn plain(x: &Tensor) -> Tensor {
    x.clone()
}

#[traced_op]
async fn awaits(x: Tensor) -> Tensor {
    Yield::default().await;
    plain(&x).await
}

#[traced_op]
async fn nothing() {
    Yield::default().await;
}

#[traced_op]
async fn early_return(x: &Tensor) -> usize {
    if x.dims.is_empty() {
        return 0;
    }
    Yield::default().await;
    x.dims.len()
}

#[traced_op]
async fn question_mark(x: &str) -> Result<Tensor, std::num::ParseIntError> {
    Yield::default().await;
    Ok(tensor([x.parse()?]))
}

#[traced_op]
async fn optional(x: &[f32]) -> Option<f32> {
    x.first().copied()
}

#[traced_op]
async fn returns_a_borrow<'a>(x: &'a mut Tensor) -> &'a mut Tensor {
    x.dims.push(1);
    x
}

#[traced_op]
async fn in_place(x: &mut Tensor, by: String) {
    Yield::default().await;
    x.dims.push(by.len());
}

#[traced_op]
async fn in_place_loop(x: &mut [f32]) -> Result<(), String> {
    for x in x {
        *x += 1.0;
    }
    Ok(())
}

#[traced_op]
async fn generic<T: TensorLike>(x: T) -> T {
    x
}

#[traced_op]
async fn impl_argument(x: impl TensorLike) -> usize {
    let _ = x;
    1
}

#[traced_op]
async fn impl_return(x: &Tensor) -> impl TensorLike + use<> {
    x.clone()
}

#[traced_op]
async fn not_sync(x: Cell<f32>, y: &Tensor) -> f32 {
    Yield::default().await;
    x.get() + y.dims.len() as f32
}

#[traced_op]
async fn diverging() -> Tensor {
    Yield::default().await;
    panic!("on purpose")
}

#[traced_op]
async fn endless() -> Tensor {
    loop {
        Yield::default().await;
    }
}

#[traced_op]
async fn factorial(n: usize) -> usize {
    if n < 2 {
        1
    } else {
        n * Box::pin(factorial(n - 1)).await
    }
}

#[traced_op]
async fn pattern((a, b): (Tensor, Tensor), mut c: Vec<f32>) -> usize {
    c.push(1.0);
    a.dims.len() + b.dims.len() + c.len()
}

#[traced_op]
async unsafe fn dangerous(x: &Tensor) -> usize {
    x.dims.len()
}

struct Model(Tensor);

impl TensorLike for Model {
    fn describe(&self, sink: &mut TensorSink) {
        self.0.describe(sink);
    }
}

impl Model {
    #[traced_op]
    async fn forward(&self, x: &Tensor) -> Tensor {
        Yield::default().await;
        x.clone()
    }

    #[traced_op]
    async fn update(&mut self, x: &Tensor) {
        Yield::default().await;
        self.0 = x.clone();
    }

    #[traced_op]
    async fn take(self) -> Tensor {
        self.0
    }

    #[traced_op]
    async fn borrow(&mut self) -> &mut Tensor {
        &mut self.0
    }
}

trait Serve {
    async fn serve(&self, x: &Tensor) -> Tensor;

    #[traced_op]
    async fn twice(&self, x: &Tensor) -> Tensor {
        let once = self.serve(x).await;
        self.serve(&once).await
    }
}

impl Serve for Model {
    #[traced_op]
    async fn serve(&self, x: &Tensor) -> Tensor {
        x.clone()
    }
}

#[test]
fn an_awaited_op_is_a_child() {
    let t = tensor([2]);
    recorded(&["plain(bf16[2]) -> bf16[2] @cuda:0"], || {
        block_on(plain(&t))
    });
    let lines = [
        "awaits(bf16[2]) -> bf16[2] @cuda:0",
        "  plain(bf16[2]) -> bf16[2] @cuda:0",
    ];
    recorded(&lines, || block_on(awaits(t.clone())));
    recorded(&["nothing()"], || block_on(nothing()));
    let lines = ["factorial()", "  factorial()", "    factorial()"];
    assert_eq!(recorded(&lines, || block_on(factorial(3))), 6);
}

#[test]
fn two_tasks_in_turn_do_not_nest() {
    let t = tensor([2]);
    let lines = [
        "awaits(bf16[2]) -> bf16[2] @cuda:0",
        "awaits(bf16[3]) -> bf16[3] @cuda:0",
        "  plain(bf16[2]) -> bf16[2] @cuda:0",
        "  plain(bf16[3]) -> bf16[3] @cuda:0",
    ];
    recorded(&lines, || {
        let mut first = pin!(awaits(t.clone()));
        let mut second = pin!(awaits(tensor([3])));
        let mut context = Context::from_waker(Waker::noop());
        assert!(first.as_mut().poll(&mut context).is_pending());
        assert!(second.as_mut().poll(&mut context).is_pending());
        assert!(first.as_mut().poll(&mut context).is_ready());
        assert!(second.as_mut().poll(&mut context).is_ready());
    });
}

#[test]
fn every_end_of_a_future_is_recorded() {
    let (t, empty) = (tensor([2]), tensor([]));
    let lines = [
        "early_return(bf16[2]) @cuda:0",
        "early_return(bf16[]) @cuda:0",
    ];
    recorded(&lines, || {
        (block_on(early_return(&t)), block_on(early_return(&empty)))
    });
    let lines = [
        "question_mark() -> bf16[3] @cuda:0",
        "question_mark() !error",
    ];
    recorded(&lines, || {
        (block_on(question_mark("3")), block_on(question_mark("x")))
    });
    let lines = ["optional(f32[1]) @cpu", "optional(f32[0]) @cpu"];
    recorded(&lines, || {
        (block_on(optional(&[1.0])), block_on(optional(&[])))
    });
    recorded(&["diverging() !panicked"], || {
        assert!(std::panic::catch_unwind(|| block_on(diverging())).is_err());
    });
    recorded(&["endless() !cancelled"], || {
        let mut future = Box::pin(endless());
        let poll = future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        assert!(poll.is_pending());
    });
    recorded(&[], || drop(endless()));
}

#[test]
fn async_signatures_stay_as_they_are() {
    let mut t = tensor([2]);
    let lines = ["returns_a_borrow(bf16[2]) -> bf16[2, 1] @cuda:0"];
    recorded(&lines, || block_on(returns_a_borrow(&mut t)).dims.push(7));
    assert_eq!(t, tensor([2, 1, 7]));
    recorded(
        &["in_place(bf16[2, 1, 7]) -> bf16[2, 1, 7, 3] @cuda:0"],
        || block_on(in_place(&mut t, "abc".into())),
    );
    recorded(&["in_place_loop(f32[2]) -> f32[2] @cpu"], || {
        block_on(in_place_loop(&mut [1.0, 2.0]))
    });
    recorded(&["generic(f32[1]) -> f32[1] @cpu"], || {
        block_on(generic([1.0_f32]))
    });
    recorded(&["impl_argument(f32[1]) @cpu"], || {
        block_on(impl_argument([1.0_f32]))
    });
    recorded(&["impl_return(bf16[2]) -> bf16[2] @cuda:0"], || {
        drop(block_on(impl_return(&tensor([2]))))
    });
    recorded(&["not_sync(bf16[2]) @cuda:0"], || {
        block_on(is_send(not_sync(Cell::new(1.0), &tensor([2]))))
    });
    let lines = ["pattern(bf16[1], bf16[2], f32[0]) @cuda:0"];
    recorded(&lines, || {
        block_on(pattern((tensor([1]), tensor([2])), vec![]))
    });
    let model = tensor([2]);
    recorded(&["dangerous(bf16[2]) @cuda:0"], || {
        block_on(unsafe { dangerous(&model) })
    });
}

#[test]
fn async_methods() {
    let mut model = Model(tensor([4]));
    let x = tensor([2]);
    recorded(
        &["Model::forward(bf16[4], bf16[2]) -> bf16[2] @cuda:0"],
        || block_on(is_send(model.forward(&x))),
    );
    recorded(
        &["Model::update(bf16[4], bf16[2]) -> bf16[2] @cuda:0"],
        || block_on(is_send(model.update(&x))),
    );
    recorded(&["Model::borrow(bf16[2]) -> bf16[2] @cuda:0"], || {
        block_on(model.borrow()).clone()
    });
    let lines = [
        "Serve::twice(bf16[2]) -> bf16[2] @cuda:0",
        "  Model::serve(bf16[2], bf16[2]) -> bf16[2] @cuda:0",
        "  Model::serve(bf16[2], bf16[2]) -> bf16[2] @cuda:0",
    ];
    recorded(&lines, || block_on(model.twice(&x)));
    recorded(&["Model::take(bf16[2]) -> bf16[2] @cuda:0"], || {
        block_on(model.take())
    });
}

/// Its fields are `Send` but not `Sync`.
struct Worker {
    model: Box<dyn Fn(usize) -> usize + Send>,
    queue: std::sync::mpsc::Receiver<usize>,
    calls: Cell<u32>,
    cache: Vec<f32>,
}

impl TensorLike for Worker {
    fn describe(&self, sink: &mut TensorSink) {
        self.cache.describe(sink);
    }
}

impl Worker {
    #[traced_op]
    async fn step(&mut self, x: &Tensor) -> usize {
        Yield::default().await;
        self.calls.set(self.calls.get() + 1);
        self.cache.push(1.0);
        (self.model)(x.dims.len()) + self.queue.try_recv().unwrap_or(0)
    }

    #[traced_op]
    async fn fallible_step(&mut self) -> Result<(), String> {
        let x = self.calls.get();
        Yield::default().await;
        self.cache.push(x as f32);
        Ok(())
    }

    #[traced_op]
    async fn owning_step(&mut self, x: Tensor) -> usize {
        Yield::default().await;
        self.calls.set(1);
        x.dims.len()
    }

    #[traced_op(sync = self.calls.set(7))]
    async fn synchronised_step(&mut self) {
        Yield::default().await;
        self.calls.set(2);
    }
}

#[test]
fn a_future_of_mut_self_is_send_if_self_is() {
    let mut worker = Worker {
        model: Box::new(|n| n + 1),
        queue: std::sync::mpsc::channel().1,
        calls: Cell::new(0),
        cache: vec![],
    };
    let x = tensor([2]);
    recorded(&["Worker::step(f32[0], bf16[2]) -> f32[1] @cpu"], || {
        block_on(is_send(worker.step(&x)))
    });
    recorded(&["Worker::fallible_step(f32[1]) -> f32[2] @cpu"], || {
        block_on(is_send(worker.fallible_step()))
    });
    recorded(&["Worker::owning_step(f32[2], bf16[2]) @cpu"], || {
        block_on(is_send(worker.owning_step(tensor([2]))))
    });
    recorded(
        &["Worker::synchronised_step(f32[2]) -> f32[2] @cpu"],
        || block_on(is_send(worker.synchronised_step())),
    );
}

/// Sets the cell when it is dropped.
struct Permit<'a>(&'a Cell<&'static str>);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.set("dropped");
    }
}

#[traced_op]
async fn uses_a_part(x: (Tensor, Permit<'_>), state: &Cell<&'static str>) -> &'static str {
    Yield::default().await;
    let _ = x.0.dims.len();
    state.get()
}

#[allow(unused_variables, reason = "only an option uses it")]
#[traced_op(meta(held = permit.0.get()))]
async fn uses_it_in_an_option(permit: Permit<'_>, state: &Cell<&'static str>) -> &'static str {
    Yield::default().await;
    state.get()
}

#[test]
fn a_parameter_lives_as_long_as_the_body() {
    let state = Cell::new("held");
    let part = recorded(&["uses_a_part(bf16[1]) @cuda:0"], || {
        block_on(uses_a_part((tensor([1]), Permit(&state)), &state))
    });
    assert_eq!((part, state.replace("held")), ("held", "dropped"));
    let seen = recorded(&["uses_it_in_an_option()"], || {
        block_on(uses_it_in_an_option(Permit(&state), &state))
    });
    assert_eq!((seen, state.get()), ("held", "dropped"));
}

trait Kernel: Fn(&Tensor) -> usize {}
impl<F: Fn(&Tensor) -> usize> Kernel for F {}

#[traced_op]
async fn returns_a_closure(by: usize) -> impl Fn(&Tensor) -> usize {
    Yield::default().await;
    move |x| x.dims.len() * by
}

#[traced_op]
async fn returns_a_kernel(by: usize) -> impl Kernel {
    move |x: &Tensor| x.dims.len() * by
}

#[test]
fn futures_can_return_closures() {
    recorded(&["returns_a_closure()", "returns_a_kernel()"], || {
        block_on(returns_a_closure(2))(&tensor([1])) + block_on(returns_a_kernel(2))(&tensor([1]))
    });
}

#[test]
fn a_future_moves_between_threads() {
    let future: Pin<Box<dyn Future<Output = Tensor> + Send>> = Box::pin(awaits(tensor([2])));
    std::thread::spawn(move || assert_eq!(block_on(future), tensor([2])))
        .join()
        .unwrap();
}
