//! The options, one by one; each is evaluated only while recording.

use crate::support::{Tensor, block_on, recorded, tensor};
use std::cell::Cell;
use trace_runtime::{Device, traced_op};

const CONSTANT_NAME: &str = "from_a_constant";

#[traced_op(name = "conv2d")]
fn named(x: &Tensor) -> Tensor {
    x.clone()
}

#[traced_op(name = CONSTANT_NAME)]
fn named_by_constant() {}

#[traced_op(name = concat!("a", "b"))]
fn named_by_macro() {}

/// A constant that depends on the type.
trait Layer {
    const NAME: &'static str;

    #[traced_op(name = Self::NAME)]
    fn named_by_type(&self) {}
}

impl Layer for u8 {
    const NAME: &'static str = "layer of u8";
}

impl<T> Layer for Vec<T> {
    const NAME: &'static str = "layer of a vector";
}

#[traced_op(name = name)]
fn named_by_argument(name: &'static str) {
    let _ = name;
}

#[traced_op(kind = communication)]
fn kind(x: &Tensor) {
    let _ = x;
}

#[traced_op(device = "cuda:3")]
fn device(x: &[f32]) -> Vec<f32> {
    x.to_vec()
}

#[traced_op(device = "npu:2")]
fn device_by_name() {}

#[traced_op(device = device)]
fn device_of_an_argument(x: &[f32], device: Device) -> usize {
    let _ = device;
    x.len()
}

#[traced_op(device = format!("cuda:{}", rank))]
fn device_computed(rank: usize) -> usize {
    rank
}

#[traced_op(skip(bias, mask))]
fn skips(x: &Tensor, bias: &Tensor, (mask, y): (&Tensor, &Tensor)) -> usize {
    x.dims.len() + bias.dims.len() + mask.dims.len() + y.dims.len()
}

impl Tensor {
    #[traced_op(skip(self))]
    fn skips_self(&self, x: &Tensor) -> usize {
        self.dims.len() + x.dims.len()
    }
}

struct Hidden(Tensor);

#[traced_op(inputs(x.0, &x.0.dims[..], vec![0.5_f32; 3]))]
fn inputs(x: &Hidden) -> usize {
    x.0.dims.len()
}

#[traced_op(inputs())]
fn no_inputs(x: &Tensor) -> usize {
    x.dims.len()
}

#[traced_op(output(result.0))]
fn output(x: &Tensor) -> Hidden {
    Hidden(x.clone())
}

#[traced_op(output(result.0, x))]
fn output_of_a_result(x: &Tensor, ok: bool) -> Result<Hidden, String> {
    if ok {
        Ok(Hidden(x.clone()))
    } else {
        Err("no".into())
    }
}

#[traced_op(output())]
fn no_output(x: &Tensor) -> Tensor {
    x.clone()
}

#[traced_op(output(*target))]
fn output_is_a_parameter(target: &mut [f32], stop: bool) -> usize {
    if stop {
        return 0;
    }
    target.len()
}

#[traced_op(output(result))]
async fn output_later(x: &Tensor) -> Option<Tensor> {
    Some(x.clone())
}

#[traced_op(flops = 2 * a.len() * b.len(), bytes = 4.0 * (a.len() + b.len()) as f32)]
fn work(a: &[f32], b: &[f32]) -> usize {
    a.len() + b.len()
}

#[traced_op(flops = -1)]
fn negative_work() {}

#[traced_op(meta(layer = index, "weight.dtype" = "f16", r#type = Some(1).unwrap_or(2) + 1))]
fn meta(index: usize) -> usize {
    index
}

#[traced_op(sync = waits.set(waits.get() + 1))]
fn sync(x: &Tensor, waits: &Cell<u32>) -> Tensor {
    let _ = waits;
    x.clone()
}

#[traced_op(sync = waits.set(waits.get() + 1))]
fn sync_after_return(x: &Tensor, waits: &Cell<u32>) -> Tensor {
    let _ = waits;
    if x.dims.is_empty() {
        return x.clone();
    }
    x.clone()
}

#[traced_op(sync = wait(waits))]
async fn sync_later(waits: &Cell<u32>) -> usize {
    let _ = waits;
    1
}

#[must_use]
fn wait(waits: &Cell<u32>) -> Result<(), String> {
    waits.set(waits.get() + 1);
    Ok(())
}

#[traced_op(sync = waits.set(waits.get() + 1), output(x))]
fn sync_with_an_opaque_result(x: &Tensor, waits: &Cell<u32>) -> impl Fn(f32) -> f32 + use<> {
    let _ = waits;
    let n = x.dims.len() as f32;
    move |x: f32| x * n
}

#[traced_op(meta(count = { counter.set(counter.get() + 1); counter.get() }))]
fn evaluated(counter: &Cell<u32>) -> u32 {
    counter.get()
}

#[traced_op(name = "all", kind = compute, device = "cpu", skip(b), flops = 1, bytes = 2, meta(k = 3),)]
fn everything(a: &Tensor, b: &Tensor) -> Tensor {
    let _ = a;
    b.clone()
}

#[test]
fn names_and_devices() {
    let t = tensor([2]);
    recorded(&["conv2d(bf16[2]) -> bf16[2] @cuda:0"], || named(&t));
    recorded(&["from_a_constant()", "ab()"], || {
        (named_by_constant(), named_by_macro())
    });
    recorded(&["layer of u8()", "layer of a vector()"], || {
        (0_u8.named_by_type(), vec![0_i8].named_by_type())
    });
    recorded(&["x()", "y()", "x()"], || {
        ["x", "y", "x"].map(named_by_argument)
    });
    recorded(&["device(f32[1]) -> f32[1] @cuda:3"], || device(&[1.0]));
    recorded(&["device_by_name() @npu:2"], device_by_name);
    recorded(&["device_of_an_argument(f32[1]) @metal:1"], || {
        device_of_an_argument(&[1.0], Device::Metal(1))
    });
    recorded(&["device_computed() @cuda:7"], || device_computed(7));
}

#[test]
fn options_choose_what_is_described() {
    let t = tensor([2]);
    recorded(&["skips(bf16[2], bf16[2]) @cuda:0"], || {
        skips(&t, &t, (&t, &t))
    });
    recorded(&["inputs(bf16[2], f32[3]) @cuda:0"], || {
        inputs(&Hidden(t.clone()))
    });
    recorded(&["Tensor::skips_self(bf16[2]) @cuda:0"], || {
        t.skips_self(&t)
    });
    recorded(&["no_inputs()"], || no_inputs(&t));
    recorded(&["output(bf16[2]) -> bf16[2] @cuda:0"], || drop(output(&t)));
    let lines = [
        "output_of_a_result(bf16[2]) -> bf16[2], bf16[2] @cuda:0",
        "output_of_a_result(bf16[2]) @cuda:0 !error",
    ];
    recorded(&lines, || {
        (
            output_of_a_result(&t, true).is_ok(),
            output_of_a_result(&t, false).is_ok(),
        )
    });
    recorded(&["no_output(bf16[2]) @cuda:0"], || no_output(&t));
    recorded(&["output_is_a_parameter(f32[2]) -> f32[2] @cpu"], || {
        output_is_a_parameter(&mut [1.0, 2.0], true)
    });
    recorded(&["output_later(bf16[2]) -> bf16[2] @cuda:0"], || {
        block_on(output_later(&t))
    });
}

#[test]
fn nothing_is_evaluated_while_nothing_records() {
    let counter = Cell::new(0);
    assert_eq!(evaluated(&counter), 0);
    sync(&tensor([2]), &counter);
    assert_eq!(counter.get(), 0);
}

#[cfg(feature = "enabled")]
#[test]
fn facts_are_recorded() {
    use trace_runtime::{OpKind, record};

    let t = tensor([2]);
    let (_, trace) = record(|| {
        kind(&t);
        work(&[0.0; 3], &[0.0; 5]);
        negative_work();
        meta(7);
        everything(&t, &t);
    });
    let [kind, work, negative, meta, everything] = trace.entries.as_slice() else {
        panic!("five ops, found {}", trace.entries.len());
    };
    assert_eq!(kind.kind, Some(OpKind::Communication));
    assert_eq!((work.flops, work.bytes_moved), (Some(30), Some(32)));
    assert_eq!(negative.flops, Some(0));
    let pairs: Vec<_> = meta
        .meta
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    assert_eq!(pairs, ["layer=7", "type=2", "weight.dtype=f16"]);
    assert_eq!(everything.operation, "all");
    assert_eq!(everything.kind, Some(OpKind::Compute));
    assert_eq!(everything.device_id.as_deref(), Some("cpu"));
    assert_eq!(everything.input_shapes, [[2]]);
    assert_eq!(
        (everything.flops, everything.bytes_moved),
        (Some(1), Some(2))
    );
    assert_eq!(everything.meta["k"], "3");
}

#[cfg(feature = "enabled")]
#[test]
fn sync_runs_once_per_op_and_before_its_end() {
    let (t, waits) = (tensor([2]), Cell::new(0));
    recorded(&["sync(bf16[2]) -> bf16[2] @cuda:0"], || sync(&t, &waits));
    assert_eq!(waits.get(), 1);
    recorded(&["sync_after_return(bf16[2]) -> bf16[2] @cuda:0"], || {
        sync_after_return(&t, &waits)
    });
    assert_eq!(waits.get(), 2);
    recorded(&["sync_later()"], || block_on(sync_later(&waits)));
    assert_eq!(waits.get(), 3);
    let lines = ["sync_with_an_opaque_result(bf16[2]) -> bf16[2] @cuda:0"];
    recorded(&lines, || sync_with_an_opaque_result(&t, &waits)(1.0));
    assert_eq!(waits.get(), 4);
}
