//! The attribute on a whole `impl`.

use crate::support::{Tensor, block_on, recorded, tensor};
use trace_runtime::{RecordedTraceEntry, traced_op};

pub struct Net<T> {
    weight: T,
    calls: usize,
}

#[traced_op(kind = compute, meta(part = "net"))]
impl<T: Clone> Net<T> {
    const LAYERS: usize = 2;

    /// Documented.
    #[must_use]
    pub fn new(weight: T) -> Self {
        Net { weight, calls: 0 }
    }

    fn forward(&mut self, x: &Tensor) -> Tensor {
        self.calls += Self::LAYERS;
        x.clone()
    }

    #[traced_op(name = "renamed", kind = memory)]
    fn with_options(&self, x: &Tensor) -> usize {
        x.dims.len()
    }

    #[traced_op(skip)]
    fn quiet(&self) -> &T {
        &self.weight
    }

    const fn constant(&self) -> usize {
        self.calls
    }

    async fn later(&self, x: &Tensor) -> Tensor {
        x.clone()
    }

    unsafe fn dangerous(&self) -> usize {
        if self.calls > 0 {
            return self.calls;
        }
        0
    }
}

pub trait Layer {
    type Output;
    const NAME: &'static str;
    fn apply(&self, x: &Tensor) -> Self::Output;
    fn name(&self) -> &'static str {
        Self::NAME
    }
}

#[traced_op]
impl<T> Layer for Net<T>
where
    T: Clone,
{
    type Output = Tensor;
    const NAME: &'static str = { "net" };

    fn apply(&self, x: &Tensor) -> Self::Output {
        x.clone()
    }
}

#[traced_op(name = "Matrix")]
impl Layer for [[f32; 2]; 2] {
    type Output = [f32; 2];
    const NAME: &'static str = "matrix";

    fn apply(&self, x: &Tensor) -> [f32; 2] {
        self[x.dims.len() % 2]
    }

    #[traced_op(name = "named")]
    fn name(&self) -> &'static str {
        helper(self, &[0.0]);
        "x"
    }
}

#[traced_op(skip(scratch))]
fn helper(x: &[[f32; 2]; 2], scratch: &[f32]) -> usize {
    x.len() + scratch.len()
}

mod nn {
    pub(super) struct Deep;
}

#[traced_op]
impl nn::Deep {
    fn run(self) -> usize {
        1
    }
}

#[traced_op]
unsafe impl Send for nn::Deep {}

#[test]
fn every_method_is_recorded_and_named_by_its_type() {
    let t = tensor([2]);
    let mut net = recorded(&["Net::new()"], || Net::new(tensor([3])));
    recorded(&["Net::forward(bf16[2]) -> bf16[2] @cuda:0"], || {
        net.forward(&t)
    });
    recorded(&["renamed(bf16[2]) @cuda:0"], || net.with_options(&t));
    recorded(&[], || (net.quiet().clone(), net.constant()));
    recorded(&["Net::later(bf16[2]) -> bf16[2] @cuda:0"], || {
        block_on(net.later(&t))
    });
    recorded(&["Net::dangerous()"], || unsafe { net.dangerous() });
    recorded(&["Net::apply(bf16[2]) -> bf16[2] @cuda:0"], || {
        net.apply(&t)
    });
    assert_eq!(net.name(), "net");
    let matrix = [[1.0_f32; 2]; 2];
    recorded(
        &["Matrix::apply(f32[2, 2], bf16[2]) -> f32[2] @cpu"],
        || matrix.apply(&t),
    );
    recorded(
        &["named(f32[2, 2]) @cpu", "  helper(f32[2, 2]) @cpu"],
        || matrix.name(),
    );
    recorded(&["Deep::run()"], || nn::Deep.run());
}

#[cfg(feature = "enabled")]
#[test]
fn the_blocks_options_are_the_methods_defaults() {
    use trace_runtime::{OpKind, record};

    let t = tensor([2]);
    let mut net = Net::new(tensor([3]));
    let (_, trace) = record(|| (net.forward(&t), net.with_options(&t)));
    let kinds: Vec<_> = trace.entries.iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, [Some(OpKind::Compute), Some(OpKind::Memory)]);
    assert!(
        trace
            .entries
            .iter()
            .all(|entry| entry.meta["part"] == "net")
    );
}

mod renamed {
    use crate::support::Tensor;
    use trace_runtime::traced_op as trace;

    pub struct Pool;

    #[trace(kind = compute, meta(block = 1))]
    impl Pool {
        #[trace(skip)]
        pub fn left_out(&self, x: &Tensor) -> usize {
            x.dims.len()
        }

        #[trace]
        pub fn once(&self, x: &Tensor) -> usize {
            x.dims.len()
        }

        #[trace(kind = io, skip(y))]
        pub fn with_options(&self, x: &Tensor, y: &Tensor) -> usize {
            x.dims.len() + y.dims.len()
        }

        #[cfg_attr(all(), trace(skip))]
        pub fn left_out_on_a_condition(&self, x: &Tensor) -> usize {
            x.dims.len()
        }

        #[inline]
        #[cfg_attr(any(), trace(skip))]
        pub fn recorded_on_a_condition(&self, x: &Tensor) -> usize {
            x.dims.len()
        }

        #[cfg_attr(all(), inline, trace(name = "renamed"))]
        pub fn options_on_a_condition(&self, x: &Tensor) -> usize {
            x.dims.len()
        }

        #[cfg_attr(all(), allow(unused))]
        #[doc = "Attributes of the compiler are not in the way."]
        #[must_use]
        pub async fn later(&mut self, x: &Tensor) -> usize {
            x.dims.len()
        }
    }

    pub struct Generic<T>(pub T);

    #[trace(name = "Named", crate = ::trace_runtime)]
    impl<T: Default> Generic<T> {
        #[cfg_attr(any(), trace(skip))]
        pub fn make(x: &Tensor) -> Self {
            let _ = x;
            Generic(T::default())
        }
    }
}

#[test]
fn the_attribute_has_any_name_inside_a_block() {
    let t = tensor([2]);
    let mut pool = renamed::Pool;
    recorded(&[], || pool.left_out(&t) + pool.left_out_on_a_condition(&t));
    let (_, trace) = trace_runtime::record(|| {
        pool.once(&t);
        pool.with_options(&t, &t);
        pool.recorded_on_a_condition(&t);
        pool.options_on_a_condition(&t);
        block_on(pool.later(&t))
    });
    if cfg!(feature = "enabled") {
        let entry = |entry: &RecordedTraceEntry| {
            let kind = entry.kind.map(|kind| kind.to_string());
            (
                entry.operation.clone(),
                entry.input_shapes.len(),
                kind.unwrap_or_default(),
            )
        };
        let entries: Vec<_> = trace.entries.iter().map(entry).collect();
        let expected = [
            ("Pool::once", 1, "compute"),
            ("Pool::with_options", 1, "io"),
            ("Pool::recorded_on_a_condition", 1, "compute"),
            ("renamed", 1, "compute"),
            ("Pool::later", 1, "compute"),
        ];
        let expected =
            expected.map(|(name, inputs, kind)| (name.to_owned(), inputs, kind.to_owned()));
        assert_eq!(entries, expected);
        assert!(trace.entries.iter().all(|entry| entry.meta["block"] == "1"));
    }
    recorded(&["Named::make(bf16[2]) @cuda:0"], || {
        renamed::Generic::<u8>::make(&t).0
    });
}
