//! Receivers, associated functions, traits.

use crate::support::{Tensor, recorded, tensor};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use trace_runtime::{TensorLike, TensorSink, traced_op};

struct Linear {
    weight: Tensor,
}

impl TensorLike for Linear {
    fn describe(&self, sink: &mut TensorSink) {
        self.weight.describe(sink);
    }
}

impl Linear {
    #[traced_op]
    fn forward(&self, x: &Tensor) -> Tensor {
        tensor([x.dims[0], self.weight.dims[1]])
    }

    #[traced_op]
    fn load(&mut self, weight: Tensor) {
        self.weight = weight;
    }

    #[traced_op]
    fn into_weight(self) -> Tensor {
        self.weight
    }

    #[traced_op]
    fn grown(mut self) -> Self {
        self.weight.dims.push(1);
        self
    }

    #[traced_op]
    fn boxed(self: Box<Self>) -> Tensor {
        self.weight
    }

    #[traced_op]
    fn counted(self: Arc<Self>) -> usize {
        Arc::strong_count(&self)
    }

    #[traced_op]
    fn shared(self: &Rc<Self>) -> usize {
        Rc::strong_count(self)
    }

    #[traced_op]
    fn pinned(self: Pin<&mut Self>) -> usize {
        self.weight.dims.len()
    }

    #[traced_op]
    fn pinned_reference(self: Pin<&Self>) -> usize {
        self.weight.dims.len()
    }

    #[traced_op]
    fn explicit_reference(self: &Self) -> usize {
        self.weight.dims.len()
    }

    #[traced_op]
    fn new(rows: usize, columns: usize) -> Self {
        Linear {
            weight: tensor([rows, columns]),
        }
    }

    #[traced_op]
    fn of(rows: usize) -> Linear {
        Linear {
            weight: tensor([rows]),
        }
    }

    #[traced_op]
    fn borrow(&self) -> &Tensor {
        &self.weight
    }

    #[traced_op]
    fn borrow_mut(&mut self) -> &mut Tensor {
        &mut self.weight
    }

    #[traced_op]
    fn named_lifetime<'a>(&'a self, other: &'a Tensor) -> &'a Tensor {
        if other.dims.is_empty() {
            &self.weight
        } else {
            other
        }
    }

    #[traced_op]
    pub(crate) unsafe fn raw(&self) -> *const Tensor {
        &raw const self.weight
    }

    #[traced_op]
    fn calls_others(&self, x: &Tensor) -> Tensor {
        let once = self.forward(x);
        Self::new(1, 2).forward(&once)
    }
}

trait Layer {
    fn apply(&self, x: &Tensor) -> Tensor;

    #[traced_op]
    fn twice(&self, x: &Tensor) -> Tensor {
        self.apply(&self.apply(x))
    }

    #[traced_op]
    fn label() -> String
    where
        Self: Sized,
    {
        "layer".into()
    }

    #[traced_op]
    fn consume(self: Box<Self>) -> usize {
        0
    }
}

impl Layer for Linear {
    #[traced_op]
    fn apply(&self, x: &Tensor) -> Tensor {
        x.clone()
    }
}

struct Unseen;

impl Layer for Unseen {
    #[traced_op]
    fn apply(&self, x: &Tensor) -> Tensor {
        x.clone()
    }
}

impl<L: Layer + ?Sized> Layer for &L {
    #[traced_op]
    fn apply(&self, x: &Tensor) -> Tensor {
        (**self).apply(x)
    }
}

struct Stack<const N: usize, T>([T; N]);

impl<const N: usize, T: Layer> Stack<N, T> {
    #[traced_op]
    fn run(&self, x: &Tensor) -> Tensor {
        self.0.iter().fold(x.clone(), |x, layer| layer.apply(&x))
    }
}

mod inner {
    use super::*;

    impl super::Unseen {
        #[traced_op]
        pub(in crate::methods) fn elsewhere(&self, x: &Tensor) -> usize {
            x.dims.len()
        }
    }
}

impl std::ops::Add for &Linear {
    type Output = Tensor;

    #[traced_op]
    fn add(self, other: &Linear) -> Self::Output {
        tensor([self.weight.dims[0], other.weight.dims[0]])
    }
}

impl Iterator for Linear {
    type Item = Tensor;

    #[traced_op]
    fn next(&mut self) -> Option<Self::Item> {
        self.weight.dims.pop().map(|dim| tensor([dim]))
    }
}

impl Drop for Unseen {
    #[traced_op(name = "drop")]
    fn drop(&mut self) {}
}

fn linear() -> Linear {
    Linear {
        weight: tensor([2, 3]),
    }
}

#[test]
fn every_receiver_is_an_input_if_it_is_a_tensor() {
    let l = linear();
    let x = tensor([5, 2]);
    recorded(
        &["Linear::forward(bf16[2, 3], bf16[5, 2]) -> bf16[5, 3] @cuda:0"],
        || l.forward(&x),
    );
    let mut m = linear();
    recorded(
        &["Linear::load(bf16[2, 3], bf16[7]) -> bf16[7] @cuda:0"],
        || m.load(tensor([7])),
    );
    recorded(
        &["Linear::into_weight(bf16[2, 3]) -> bf16[2, 3] @cuda:0"],
        || linear().into_weight(),
    );
    recorded(
        &["Linear::grown(bf16[2, 3]) -> bf16[2, 3, 1] @cuda:0"],
        || linear().grown(),
    );
    recorded(&["Linear::boxed(bf16[2, 3]) -> bf16[2, 3] @cuda:0"], || {
        Box::new(linear()).boxed()
    });
    recorded(&["Linear::counted(bf16[2, 3]) @cuda:0"], || {
        Arc::new(linear()).counted()
    });
    recorded(&["Linear::shared(bf16[2, 3]) @cuda:0"], || {
        Rc::new(linear()).shared()
    });
    recorded(&["Linear::pinned(bf16[2, 3]) @cuda:0"], || {
        Pin::new(&mut linear()).pinned()
    });
    recorded(&["Linear::pinned_reference(bf16[2, 3]) @cuda:0"], || {
        Pin::new(&linear()).pinned_reference()
    });
    recorded(&["Linear::explicit_reference(bf16[2, 3]) @cuda:0"], || {
        linear().explicit_reference()
    });
    recorded(&["Linear::new() -> bf16[1, 2] @cuda:0"], || {
        Linear::new(1, 2)
    });
    recorded(&["of() -> bf16[1] @cuda:0"], || Linear::of(1));
}

#[test]
fn borrows_of_self_can_be_returned() {
    let mut l = linear();
    recorded(
        &["Linear::borrow(bf16[2, 3]) -> bf16[2, 3] @cuda:0"],
        || l.borrow().clone(),
    );
    recorded(
        &["Linear::borrow_mut(bf16[2, 3]) -> bf16[2, 3] @cuda:0"],
        || l.borrow_mut().dims.push(4),
    );
    assert_eq!(l.weight, tensor([2, 3, 4]));
    let other = tensor([9]);
    let lines = ["Linear::named_lifetime(bf16[2, 3, 4], bf16[9]) -> bf16[9] @cuda:0"];
    recorded(&lines, || l.named_lifetime(&other).clone());
    recorded(&["Linear::raw(bf16[2, 3, 4]) @cuda:0"], || unsafe {
        l.raw()
    });
}

#[test]
fn calls_nest() {
    let l = linear();
    let lines = [
        "Linear::calls_others(bf16[2, 3], bf16[5, 2]) -> bf16[5, 2] @cuda:0",
        "  Linear::forward(bf16[2, 3], bf16[5, 2]) -> bf16[5, 3] @cuda:0",
        "  Linear::new() -> bf16[1, 2] @cuda:0",
        "  Linear::forward(bf16[1, 2], bf16[5, 3]) -> bf16[5, 2] @cuda:0",
    ];
    recorded(&lines, || l.calls_others(&tensor([5, 2])));
}

#[test]
fn traits_are_named_by_type_and_defaults_by_trait() {
    let l = linear();
    let x = tensor([4]);
    let lines = [
        "Layer::twice(bf16[4]) -> bf16[4] @cuda:0",
        "  Linear::apply(bf16[2, 3], bf16[4]) -> bf16[4] @cuda:0",
        "  Linear::apply(bf16[2, 3], bf16[4]) -> bf16[4] @cuda:0",
    ];
    recorded(&lines, || l.twice(&x));
    recorded(&["label()"], Linear::label);
    recorded(&["Layer::consume()"], || Box::new(linear()).consume());
    let object: &dyn Layer = &l;
    recorded(
        &["Linear::apply(bf16[2, 3], bf16[4]) -> bf16[4] @cuda:0"],
        || object.apply(&x),
    );
    recorded(
        &["Unseen::apply(bf16[4]) -> bf16[4] @cuda:0", "drop()"],
        || Unseen.apply(&x),
    );
    let lines = [
        "Stack::run(bf16[4]) -> bf16[4] @cuda:0",
        "  Linear::apply(bf16[2, 3], bf16[4]) -> bf16[4] @cuda:0",
        "  Linear::apply(bf16[2, 3], bf16[4]) -> bf16[4] @cuda:0",
    ];
    recorded(&lines, || Stack([linear(), linear()]).run(&x));
    recorded(&["Unseen::elsewhere(bf16[4]) @cuda:0", "drop()"], || {
        Unseen.elsewhere(&x)
    });
    recorded(
        &["Linear::add(bf16[2, 3], bf16[2, 3]) -> bf16[2, 2] @cuda:0"],
        || &l + &l,
    );
    let mut items = Linear {
        weight: tensor([3]),
    };
    let lines = [
        "Linear::next(bf16[3]) -> bf16[3] @cuda:0",
        "Linear::next(bf16[]) @cuda:0",
    ];
    recorded(&lines, || (items.next(), items.next()));
}

trait Go {
    fn go(&self) -> usize;
}

impl Go for (f32, Vec<f32>) {
    #[traced_op]
    fn go(&self) -> usize {
        self.1.len()
    }
}

impl Go for [Vec<f32>; 2] {
    #[traced_op]
    fn go(&self) -> usize {
        self.len()
    }
}

impl Go for fn(Vec<f32>) -> Vec<f32> {
    #[traced_op]
    fn go(&self) -> usize {
        1
    }
}

#[traced_op]
impl Go for (Vec<f32>, f32) {
    fn go(&self) -> usize {
        self.0.len()
    }
}

impl Go for &mut dyn Iterator<Item = Vec<f32>> {
    #[traced_op]
    fn go(&self) -> usize {
        1
    }
}

#[test]
fn a_type_without_a_name_is_not_named_by_its_parts() {
    recorded(&["go(f32[0]) @cpu"], || (1.0, vec![]).go());
    recorded(&["go(f32[0], f32[0]) @cpu"], || [vec![], vec![]].go());
    recorded(&["go()"], || ((|x| x) as fn(Vec<f32>) -> Vec<f32>).go());
    recorded(&["go(f32[0]) @cpu"], || (vec![], 1.0).go());
    recorded(&["Iterator::go()"], || {
        (&mut std::iter::empty() as &mut dyn Iterator<Item = Vec<f32>>).go()
    });
}
