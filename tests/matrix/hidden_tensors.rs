//! Tensors inside other types: they are found, and finding them has no side effect.

use crate::support::{Tensor, recorded, tensor};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;
use std::ops::{ControlFlow, Deref};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, RwLock};
use std::task::Poll;
use std::time::Instant;
use trace_runtime::traced_op;

/// Not a tensor, and not known to the tracer.
#[derive(Clone)]
struct Config(Ipv4Addr);

const CONFIG: Config = Config(Ipv4Addr::LOCALHOST);

#[traced_op]
fn pair(x: (Tensor, Config)) -> (Config, Tensor) {
    (x.1, x.0)
}

#[traced_op]
fn pair_by_reference(x: &(Tensor, Config), y: &mut (Config, usize, Tensor)) -> usize {
    x.0.dims.len() + y.1
}

#[traced_op]
fn nested(x: Option<(Config, (Tensor, Config))>) -> usize {
    usize::from(x.is_some())
}

#[traced_op]
fn timed(ok: bool) -> Result<(Tensor, Instant, Config), Config> {
    if ok {
        Ok((tensor([1]), Instant::now(), CONFIG))
    } else {
        Err(CONFIG)
    }
}

#[traced_op]
fn perhaps(some: bool) -> Option<(Config, Tensor)> {
    some.then(|| (CONFIG, tensor([1])))
}

#[traced_op]
async fn later(x: (Tensor, Config)) -> Result<(Config, Tensor), ()> {
    Ok((x.1, x.0))
}

#[traced_op]
fn generic_pair<A: Clone>(dims: (Vec<usize>, Vec<A>)) -> (Vec<usize>, Vec<A>) {
    dims
}

#[traced_op]
fn maps(x: &HashMap<String, Tensor>, y: &BTreeMap<u8, Tensor>) -> usize {
    x.len() + y.len()
}

#[traced_op]
fn numbers(x: &HashMap<String, f32>) -> usize {
    x.len()
}

#[traced_op]
fn cells(x: &RefCell<Tensor>, y: &OnceCell<Tensor>, z: &OnceLock<Tensor>) -> usize {
    let _ = (x, y, z);
    0
}

#[traced_op]
fn locks(x: &Mutex<Tensor>, y: Arc<RwLock<Vec<Tensor>>>) -> usize {
    let _ = (x, y);
    0
}

#[traced_op]
fn generic_lock<T>(x: &Mutex<Vec<T>>) -> usize {
    x.lock().map_or(0, |x| x.len())
}

type Nine = (u8, u8, u8, u8, u8, u8, u8, Tensor, Tensor);

#[traced_op]
fn long(x: Nine) -> Nine {
    x
}

#[traced_op]
fn flow(stop: bool) -> ControlFlow<Tensor, Vec<f32>> {
    if stop {
        ControlFlow::Break(tensor([1]))
    } else {
        ControlFlow::Continue(vec![1.0])
    }
}

#[traced_op]
fn poll(ready: bool) -> Poll<Tensor> {
    if ready {
        Poll::Ready(tensor([1]))
    } else {
        Poll::Pending
    }
}

#[traced_op]
fn pinned(x: Pin<Box<Tensor>>, y: Pin<&mut Rc<Tensor>>) -> usize {
    x.dims.len() + y.dims.len()
}

#[traced_op]
fn two_numbers(x: &mut Vec<f32>) -> (usize, f32) {
    x.push(1.0);
    (x.len(), 1.0)
}

#[traced_op]
fn fallible_numbers(x: &mut Vec<f32>) -> Result<(usize, f32), String> {
    x.push(1.0);
    Ok((x.len(), 1.0))
}

thread_local! {
    static DEREFS: Cell<u32> = const { Cell::new(0) };
}

/// A pointer that counts calls of its `Deref`.
struct Counting(Tensor);

impl Deref for Counting {
    type Target = Tensor;

    fn deref(&self) -> &Tensor {
        DEREFS.set(DEREFS.get() + 1);
        &self.0
    }
}

struct Panicking;

impl Deref for Panicking {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        panic!("dereferenced")
    }
}

static LAZY: LazyLock<Tensor> = LazyLock::new(|| panic!("initialised"));

#[traced_op]
fn user_pointers(
    x: &Counting,
    y: Pin<Counting>,
    z: Panicking,
    lazy: &LazyLock<Tensor>,
) -> &'static LazyLock<Tensor> {
    let _ = (x, y, z, lazy);
    &LAZY
}

#[traced_op]
fn initialise(lazy: &'static LazyLock<Vec<f32>>) -> Vec<f32> {
    LazyLock::force(lazy).clone()
}

#[test]
fn parts_of_a_tuple_are_found_next_to_other_types() {
    let t = || tensor([2, 3]);
    recorded(&["pair(bf16[2, 3]) -> bf16[2, 3] @cuda:0"], || {
        pair((t(), CONFIG)).0.0
    });
    recorded(
        &["pair_by_reference(bf16[2, 3], bf16[2, 3]) -> bf16[2, 3] @cuda:0"],
        || pair_by_reference(&(t(), CONFIG), &mut (CONFIG, 1, t())),
    );
    recorded(&["nested(bf16[2, 3]) @cuda:0", "nested()"], || {
        nested(Some((CONFIG, (t(), CONFIG)))) + nested(None)
    });
    recorded(&["timed() -> bf16[1] @cuda:0", "timed() !error"], || {
        (timed(true).is_ok(), timed(false).is_ok())
    });
    recorded(&["perhaps() -> bf16[1] @cuda:0", "perhaps()"], || {
        (perhaps(true).is_some(), perhaps(false).is_some())
    });
    recorded(&["later(bf16[2, 3]) -> bf16[2, 3] @cuda:0"], || {
        crate::support::block_on(later((t(), CONFIG))).is_ok()
    });
    recorded(&["generic_pair(f32[2]) -> f32[2] @cpu"], || {
        generic_pair((vec![3], vec![1.0_f32; 2]))
    });
    let nine = (0, 0, 0, 0, 0, 0, 0, tensor([1]), tensor([2]));
    recorded(
        &["long(bf16[1], bf16[2]) -> bf16[1], bf16[2] @cuda:0"],
        || long(nine).8,
    );
}

#[test]
fn containers_are_searched() {
    let map = HashMap::from([("b".into(), tensor([2])), ("a".into(), tensor([1]))]);
    let ordered = BTreeMap::from([(1, tensor([3]))]);
    recorded(&["maps(bf16[1], bf16[2], bf16[3]) @cuda:0"], || {
        maps(&map, &ordered)
    });
    recorded(&["numbers()"], || numbers(&HashMap::new()));
    let (cell, once, lock) = (RefCell::new(tensor([1])), OnceCell::new(), OnceLock::new());
    recorded(&["cells(bf16[1]) @cuda:0"], || cells(&cell, &once, &lock));
    let _ = (once.set(tensor([2])), lock.set(tensor([3])));
    recorded(&["cells(bf16[1], bf16[2], bf16[3]) @cuda:0"], || {
        cells(&cell, &once, &lock)
    });
    recorded(
        &["flow() -> bf16[1] @cuda:0", "flow() -> f32[1] @cpu"],
        || (flow(true).is_break(), flow(false).is_break()),
    );
    recorded(&["poll() -> bf16[1] @cuda:0", "poll()"], || {
        (poll(true).is_ready(), poll(false).is_ready())
    });
    recorded(&["pinned(bf16[1], bf16[2]) @cuda:0"], || {
        let mut pointer = Rc::new(tensor([2]));
        pinned(Box::pin(tensor([1])), Pin::new(&mut pointer))
    });
    recorded(&["generic_lock(f32[2]) @cpu"], || {
        generic_lock(&Mutex::new(vec![1_f32; 2]))
    });
}

#[test]
fn a_lock_that_is_taken_is_not_waited_for() {
    let (mutex, lock) = (
        Mutex::new(tensor([1])),
        Arc::new(RwLock::new(vec![tensor([2])])),
    );
    recorded(&["locks(bf16[1], bf16[2]) @cuda:0"], || {
        locks(&mutex, lock.clone())
    });
    let (_first, _second) = (mutex.lock().unwrap(), lock.write().unwrap());
    recorded(&["locks()"], || locks(&mutex, lock.clone()));
    let cell = RefCell::new(tensor([1]));
    let _borrowed = cell.borrow_mut();
    recorded(&["cells()"], || {
        cells(&cell, &OnceCell::new(), &OnceLock::new())
    });
}

#[test]
fn numbers_next_to_a_written_parameter() {
    recorded(&["two_numbers(f32[0]) -> f32[1] @cpu"], || {
        two_numbers(&mut vec![])
    });
    recorded(&["fallible_numbers(f32[0]) -> f32[1] @cpu"], || {
        fallible_numbers(&mut vec![])
    });
}

#[test]
fn a_users_deref_is_never_called() {
    static OTHER: LazyLock<Vec<f32>> = LazyLock::new(|| initialise(&OTHER2));
    static OTHER2: LazyLock<Vec<f32>> = LazyLock::new(|| vec![1.0]);
    recorded(&["user_pointers()"], || {
        user_pointers(
            &Counting(tensor([1])),
            Pin::new(Counting(tensor([1]))),
            Panicking,
            &LAZY,
        )
    });
    assert_eq!(DEREFS.get(), 0);
    recorded(&["initialise() -> f32[1] @cpu"], || OTHER.len());
}
