//! Parameters.

use crate::support::{Tensor, recorded, tensor};
use std::borrow::Cow;
use std::cell::{Ref, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard};
use trace_runtime::{TensorLike, traced_op};

#[traced_op]
fn nothing() {}

#[traced_op]
fn by_value(x: Tensor) -> Tensor {
    x
}

#[traced_op]
fn by_reference(x: &Tensor) -> Tensor {
    x.clone()
}

#[traced_op]
fn two(a: &Tensor, b: &Tensor) -> Tensor {
    tensor([a.dims[0], b.dims[1]])
}

#[traced_op]
fn scalars(alpha: f32, n: usize, flag: bool, name: &str) -> f32 {
    if flag {
        alpha * n as f32
    } else {
        name.len() as f32
    }
}

#[traced_op]
fn slice(x: &[f32]) -> Vec<f32> {
    x.to_vec()
}

#[traced_op]
fn dims_are_not_data(x: &[f32], shape: &[usize], strides: [isize; 2]) -> usize {
    x.len() + shape.len() + strides.len()
}

#[traced_op]
fn nested_array(x: [[f64; 3]; 2]) -> [[f64; 2]; 3] {
    [[x[0][0]; 2]; 3]
}

#[traced_op]
fn vector_of_tensors(xs: Vec<Tensor>) -> usize {
    xs.len()
}

#[traced_op]
fn slice_of_references(xs: &[&Tensor]) -> usize {
    xs.len()
}

#[traced_op]
fn optional(x: Option<&Tensor>) -> bool {
    x.is_some()
}

#[traced_op]
fn optional_slice(x: Option<&[u8]>) -> bool {
    x.is_some()
}

#[traced_op]
fn tuple_typed(pair: (Tensor, &[i32], usize)) -> usize {
    pair.2
}

#[traced_op]
fn tuple_pattern((a, b): (Tensor, Tensor)) -> Tensor {
    drop(b);
    a
}

struct Pair {
    left: Tensor,
    right: Tensor,
    count: usize,
}

#[traced_op]
fn struct_pattern(
    Pair {
        left,
        right: other,
        count,
    }: Pair,
) -> usize {
    left.dims.len() + other.dims.len() + count
}

#[traced_op]
fn struct_pattern_with_rest(Pair { right, .. }: &Pair) -> usize {
    right.dims.len()
}

struct Wrapper(Tensor);

#[traced_op]
fn tuple_struct_pattern(Wrapper(inner): Wrapper) -> Tensor {
    inner
}

#[traced_op]
fn array_pattern([first, second]: [Tensor; 2]) -> usize {
    first.dims.len() + second.dims.len()
}

#[traced_op]
fn reference_pattern(&(a, b): &(&Tensor, &Tensor)) -> usize {
    a.dims.len() + b.dims.len()
}

#[traced_op]
fn whole_of_a_pattern(whole @ Wrapper(_): Wrapper) -> Tensor {
    whole.0
}

#[traced_op]
fn ref_binding(ref x: Tensor) -> usize {
    x.dims.len()
}

#[traced_op]
fn mutable_binding(mut x: Tensor) -> Tensor {
    x.dims.push(1);
    x
}

#[traced_op]
fn ignored(_: &Tensor, x: &Tensor) -> usize {
    x.dims.len()
}

#[traced_op]
fn unused(_x: &Tensor) {}

#[traced_op]
fn boxed(x: Box<Tensor>) -> usize {
    x.dims.len()
}

#[traced_op]
fn counted(x: Rc<Tensor>, y: Arc<[f32]>) -> usize {
    x.dims.len() + y.len()
}

#[traced_op]
fn cow(x: Cow<'_, [f32]>) -> usize {
    x.len()
}

#[traced_op]
fn guard(x: MutexGuard<'_, Tensor>) -> usize {
    x.dims.len()
}

#[traced_op]
fn cell_guard(x: Ref<'_, Vec<f32>>) -> usize {
    x.len()
}

#[traced_op]
fn map(x: &BTreeMap<String, Tensor>) -> usize {
    x.len()
}

#[traced_op]
fn deque(x: &VecDeque<f32>) -> usize {
    x.len()
}

#[traced_op]
fn trait_object(x: &dyn TensorLike, y: Box<dyn TensorLike>) {
    let _ = (x, y);
}

#[traced_op]
fn impl_argument(x: impl TensorLike, y: &impl TensorLike) {
    let _ = (x, y);
}

#[traced_op]
fn function_argument(x: &Tensor, f: impl Fn(&Tensor) -> usize, g: fn(usize) -> usize) -> usize {
    g(f(x))
}

#[traced_op]
fn raw_pointers(x: *const f32, len: usize) -> bool {
    x.is_null() && len == 0
}

#[traced_op]
fn raw_identifiers(r#type: &Tensor, r#fn: &[f32]) -> usize {
    r#type.dims.len() + r#fn.len()
}

#[traced_op]
fn r#match(x: &Tensor) -> usize {
    x.dims.len()
}

#[traced_op]
fn named_like_the_macro(op: &Tensor, sink: &Tensor, result: &Tensor, probe: &[f32]) -> usize {
    let begin = probe.len();
    op.dims.len() + sink.dims.len() + result.dims.len() + begin
}

#[traced_op]
fn parameter_with_cfg(
    x: &Tensor,
    #[cfg(loom)] absent: &Missing,
    #[cfg(not(loom))] present: &Tensor,
    #[allow(unused_variables)] allowed: &Tensor,
) -> usize {
    x.dims.len() + present.dims.len()
}

#[expect(unused_variables)]
#[traced_op]
fn unused_as_expected(x: &Tensor, y: &Tensor) -> usize {
    x.dims.len()
}

#[traced_op]
fn many(
    a: &[u8],
    b: &[u16],
    c: &[u32],
    d: &[u64],
    e: &[i8],
    f: &[i16],
    g: &[i32],
    h: &[i64],
    i: &[bool],
) -> usize {
    a.len() + b.len() + c.len() + d.len() + e.len() + f.len() + g.len() + h.len() + i.len()
}

#[traced_op]
fn not_a_tensor(x: &std::net::Ipv4Addr, y: &[String], z: Vec<&str>) -> usize {
    x.octets().len() + y.len() + z.len()
}

#[traced_op]
fn reference_to_reference(x: &&&Tensor) -> usize {
    x.dims.len()
}

#[traced_op]
fn empty_and_huge(x: &[f32], y: &Tensor) -> bool {
    x.is_empty() && y.dims[0] == usize::MAX
}

#[test]
fn tensors_are_found_in_every_kind_of_parameter() {
    let t = || tensor([2, 3]);
    recorded(&["nothing()"], nothing);
    recorded(&["by_value(bf16[2, 3]) -> bf16[2, 3] @cuda:0"], || {
        by_value(t())
    });
    recorded(&["by_reference(bf16[2, 3]) -> bf16[2, 3] @cuda:0"], || {
        by_reference(&t())
    });
    let made = recorded(
        &["two(bf16[2, 3], bf16[3, 4]) -> bf16[2, 4] @cuda:0"],
        || two(&t(), &tensor([3, 4])),
    );
    assert_eq!(made, tensor([2, 4]));
    assert_eq!(recorded(&["scalars()"], || scalars(2.0, 3, true, "x")), 6.0);
    recorded(&["slice(f32[2]) -> f32[2] @cpu"], || slice(&[1.0, 2.0]));
    recorded(&["dims_are_not_data(f32[1]) @cpu"], || {
        dims_are_not_data(&[1.0], &[1], [1, 1])
    });
    recorded(&["nested_array(f64[2, 3]) -> f64[3, 2] @cpu"], || {
        nested_array([[0.0; 3]; 2])
    });
    recorded(&["vector_of_tensors(bf16[1], bf16[2]) @cuda:0"], || {
        vector_of_tensors(vec![tensor([1]), tensor([2])])
    });
    recorded(&["slice_of_references(bf16[2, 3]) @cuda:0"], || {
        slice_of_references(&[&t()])
    });
    recorded(&["optional(bf16[2, 3]) @cuda:0", "optional()"], || {
        (optional(Some(&t())), optional(None))
    });
    recorded(&["optional_slice(u8[2]) @cpu"], || {
        optional_slice(Some(&[1, 2]))
    });
    recorded(&["tuple_typed(bf16[2, 3], i32[1]) @cuda:0"], || {
        tuple_typed((t(), &[1], 1))
    });
}

#[test]
fn patterns_bind_what_they_name() {
    let t = || tensor([2, 3]);
    let pair = || Pair {
        left: t(),
        right: tensor([4]),
        count: 1,
    };
    recorded(
        &["tuple_pattern(bf16[2, 3], bf16[1]) -> bf16[2, 3] @cuda:0"],
        || tuple_pattern((t(), tensor([1]))),
    );
    recorded(&["struct_pattern(bf16[2, 3], bf16[4]) @cuda:0"], || {
        struct_pattern(pair())
    });
    recorded(&["struct_pattern_with_rest(bf16[4]) @cuda:0"], || {
        struct_pattern_with_rest(&pair())
    });
    recorded(
        &["tuple_struct_pattern(bf16[2, 3]) -> bf16[2, 3] @cuda:0"],
        || tuple_struct_pattern(Wrapper(t())),
    );
    recorded(&["array_pattern(bf16[2, 3], bf16[2, 3]) @cuda:0"], || {
        array_pattern([t(), t()])
    });
    recorded(
        &["reference_pattern(bf16[2, 3], bf16[2, 3]) @cuda:0"],
        || reference_pattern(&(&t(), &t())),
    );
    recorded(&["whole_of_a_pattern() -> bf16[2, 3] @cuda:0"], || {
        whole_of_a_pattern(Wrapper(t()))
    });
    recorded(&["ref_binding(bf16[2, 3]) @cuda:0"], || ref_binding(t()));
    recorded(
        &["mutable_binding(bf16[2, 3]) -> bf16[2, 3, 1] @cuda:0"],
        || mutable_binding(t()),
    );
    recorded(&["ignored(bf16[2, 3]) @cuda:0"], || ignored(&t(), &t()));
    recorded(&["unused()"], || unused(&t()));
}

#[test]
fn tensors_are_found_in_pointers_and_containers() {
    let t = || tensor([2, 3]);
    recorded(&["boxed(bf16[2, 3]) @cuda:0"], || boxed(Box::new(t())));
    recorded(&["counted(bf16[2, 3], f32[2]) @cuda:0"], || {
        counted(Rc::new(t()), Arc::new([1.0, 2.0]))
    });
    recorded(&["cow(f32[1]) @cpu"], || cow(Cow::Borrowed(&[1.0])));
    let mutex = Mutex::new(t());
    recorded(&["guard(bf16[2, 3]) @cuda:0"], || {
        guard(mutex.lock().unwrap())
    });
    let cell = RefCell::new(vec![1.0]);
    recorded(&["cell_guard(f32[1]) @cpu"], || cell_guard(cell.borrow()));
    let weights = BTreeMap::from([("b".to_owned(), tensor([2])), ("a".to_owned(), tensor([1]))]);
    recorded(&["map(bf16[1], bf16[2]) @cuda:0"], || map(&weights));
    recorded(&["deque(f32[1]) @cpu"], || deque(&VecDeque::from([1.0])));
    recorded(&["trait_object(bf16[2, 3], f32[1]) @cuda:0"], || {
        trait_object(&t(), Box::new([1.0_f32]))
    });
    recorded(&["impl_argument(f32[1], bf16[2, 3]) @cpu"], || {
        impl_argument([1.0_f32], &t())
    });
    recorded(&["reference_to_reference(bf16[2, 3]) @cuda:0"], || {
        reference_to_reference(&&&t())
    });
}

#[test]
fn odd_parameters_do_no_harm() {
    let t = || tensor([2, 3]);
    let found = recorded(&["function_argument(bf16[2, 3]) @cuda:0"], || {
        function_argument(&t(), |x| x.dims.len(), |n| n + 1)
    });
    assert_eq!(found, 3);
    recorded(&["raw_pointers()"], || raw_pointers(std::ptr::null(), 0));
    recorded(&["raw_identifiers(bf16[2, 3], f32[1]) @cuda:0"], || {
        raw_identifiers(&t(), &[1.0])
    });
    recorded(&["match(bf16[2, 3]) @cuda:0"], || r#match(&t()));
    let named = "named_like_the_macro(bf16[2, 3], bf16[2, 3], bf16[2, 3], f32[1]) @cuda:0";
    recorded(&[named], || named_like_the_macro(&t(), &t(), &t(), &[1.0]));
    let with_cfg = "parameter_with_cfg(bf16[2, 3], bf16[2, 3], bf16[2, 3]) @cuda:0";
    recorded(&[with_cfg], || parameter_with_cfg(&t(), &t(), &t()));
    let expected = "unused_as_expected(bf16[2, 3]) @cuda:0";
    recorded(&[expected], || unused_as_expected(&t(), &t()));
    let dtypes = "many(u8[0], u16[0], u32[0], u64[0], i8[0], i16[0], i32[0], i64[0], bool[0]) @cpu";
    recorded(&[dtypes], || {
        many(&[], &[], &[], &[], &[], &[], &[], &[], &[])
    });
    recorded(&["not_a_tensor()"], || {
        not_a_tensor(&std::net::Ipv4Addr::LOCALHOST, &[], vec![])
    });
    let huge = format!("empty_and_huge(f32[0], bf16[{}]) @cpu", usize::MAX);
    recorded(&[&huge], || empty_and_huge(&[], &tensor([usize::MAX])));
}
