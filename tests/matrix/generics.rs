//! Type parameters with and without the tensor bound, const generics, lifetimes.

use crate::support::{Tensor, recorded, tensor};
use std::fmt::Debug;
use std::ops::{Add, Deref, Mul};
use trace_runtime::{Element, TensorLike, traced_op};

#[traced_op]
fn bounded<T: TensorLike>(x: T) -> T {
    x
}

#[traced_op]
fn bounded_by_where<T>(x: &T) -> usize
where
    T: TensorLike + ?Sized,
{
    size_of_val(x)
}

#[traced_op]
fn unbounded<T>(x: &T) -> usize {
    size_of_val(x)
}

#[traced_op]
fn generic_slice<T: Copy>(x: &[T]) -> Vec<T> {
    x.to_vec()
}

#[traced_op]
fn generic_element<T: Element + Copy>(x: &[T]) -> T {
    x[0]
}

#[traced_op]
fn generic_numbers<T: Copy + Add<Output = T> + Mul<Output = T> + Default>(a: &[T], b: &[T]) -> T {
    a.iter()
        .zip(b)
        .fold(T::default(), |sum, (a, b)| sum + *a * *b)
}

#[traced_op]
fn generic_matrix<T: Copy, const M: usize, const N: usize>(x: &[[T; N]; M]) -> [[T; M]; N] {
    std::array::from_fn(|n| std::array::from_fn(|m| x[m][n]))
}

#[traced_op]
fn const_dims<const N: usize>(x: [f32; N]) -> [f32; N] {
    x
}

#[traced_op]
fn const_default<const WIDE: bool>(x: &[f32]) -> usize {
    if WIDE { x.len() * 2 } else { x.len() }
}

#[traced_op]
fn generic_vector<T: Clone>(x: Vec<T>, y: Option<&[T]>) -> Option<Vec<T>> {
    y.map(|y| [x.as_slice(), y].concat())
}

#[traced_op]
fn generic_box<T>(x: Box<[T]>) -> Box<[T]> {
    x
}

#[traced_op]
fn generic_pointer<P: Deref<Target = Tensor>>(x: P) -> usize {
    x.dims.len()
}

#[traced_op]
fn generic_pointer_to_slice<T, P>(x: P) -> usize
where
    P: Deref<Target = [T]>,
{
    x.len()
}

#[traced_op]
fn elided(a: &Tensor, b: &Tensor) -> usize {
    a.dims.len() + b.dims.len()
}

#[traced_op]
fn named<'a, 'b: 'a>(a: &'a Tensor, b: &'b Tensor) -> &'a Tensor {
    if a.dims.is_empty() { a } else { b }
}

#[traced_op]
fn anonymous(a: std::slice::Iter<'_, Tensor>) -> Option<&Tensor> {
    a.as_slice().first()
}

#[traced_op]
fn static_lifetime(x: &'static [f32]) -> &'static [f32] {
    x
}

#[traced_op]
fn higher_ranked<F>(x: &Tensor, pick: F) -> usize
where
    F: for<'a> Fn(&'a Tensor) -> &'a [usize],
{
    pick(x).len()
}

struct Borrowing<'a>(&'a Tensor);

impl<'a> Borrowing<'a> {
    #[traced_op]
    fn inner(&self) -> &'a Tensor {
        self.0
    }

    #[traced_op]
    fn hidden(x: &'a Tensor) -> Borrowing<'a> {
        Borrowing(x)
    }
}

trait Backend {
    type Tensor: TensorLike + Clone;
    fn make() -> Self::Tensor;
}

struct Cuda;

impl Backend for Cuda {
    type Tensor = Tensor;
    fn make() -> Tensor {
        tensor([6])
    }
}

#[traced_op]
fn associated<B: Backend>(x: &B::Tensor) -> B::Tensor {
    let _ = x;
    B::make()
}

#[traced_op]
fn associated_in_a_list<B: Backend>(xs: &[B::Tensor]) -> Vec<B::Tensor> {
    xs.to_vec()
}

#[traced_op]
fn generic_error<T, E: From<T> + Debug>(x: &Tensor, error: Option<T>) -> Result<Tensor, E> {
    match error {
        Some(error) => Err(error.into()),
        None => Ok(x.clone()),
    }
}

#[traced_op]
fn impl_of_a_parameter<T>(x: &T) -> usize
where
    for<'a> &'a T: IntoIterator<Item = &'a f32>,
{
    x.into_iter().count()
}

#[traced_op]
fn defaulted<T: Default + TensorLike>() -> T {
    T::default()
}

#[test]
fn bounds_decide_what_is_found() {
    let t = tensor([2, 3]);
    recorded(&["bounded(bf16[2, 3]) -> bf16[2, 3] @cuda:0"], || {
        bounded(t.clone())
    });
    recorded(&["bounded_by_where(bf16[2, 3]) @cuda:0"], || {
        bounded_by_where(&t)
    });
    recorded(&["bounded_by_where(f32[2]) @cpu"], || {
        bounded_by_where(&[1.0_f32, 2.0][..])
    });
    recorded(&["unbounded()"], || unbounded(&t));
    recorded(&["generic_slice(f32[2]) -> f32[2] @cpu"], || {
        generic_slice(&[1.0_f32, 2.0])
    });
    recorded(&["generic_slice()"], || generic_slice(&[1_usize, 2]));
    recorded(&["generic_element(i64[2]) @cpu"], || {
        generic_element(&[1_i64, 2])
    });
    recorded(&["generic_numbers(f64[1], f64[1]) @cpu"], || {
        generic_numbers(&[1.0], &[2.0])
    });
    recorded(&["generic_matrix(f32[2, 3]) -> f32[3, 2] @cpu"], || {
        generic_matrix(&[[0_f32; 3]; 2])
    });
    recorded(&["const_dims(f32[4]) -> f32[4] @cpu"], || {
        const_dims([0.0; 4])
    });
    recorded(&["const_default(f32[1]) @cpu"], || {
        const_default::<true>(&[0.0])
    });
    let lines = [
        "generic_vector(f32[1], f32[2]) -> f32[3] @cpu",
        "generic_vector(f32[1]) @cpu",
    ];
    recorded(&lines, || {
        (
            generic_vector(vec![1_f32], Some(&[1.0, 2.0])),
            generic_vector(vec![1_f32], None),
        )
    });
    recorded(&["generic_box(u8[2]) -> u8[2] @cpu"], || {
        generic_box(Box::new([1_u8, 2]))
    });
    recorded(&["generic_pointer()"], || generic_pointer(&t));
    recorded(&["generic_pointer_to_slice()"], || {
        generic_pointer_to_slice(vec![1_f32, 2.0])
    });
}

#[test]
fn lifetimes_are_kept() {
    let (a, b) = (tensor([1]), tensor([2]));
    recorded(&["elided(bf16[1], bf16[2]) @cuda:0"], || elided(&a, &b));
    let found = recorded(&["named(bf16[1], bf16[2]) -> bf16[2] @cuda:0"], || {
        named(&a, &b)
    });
    assert_eq!(*found, b);
    let list = [a.clone()];
    recorded(&["anonymous() -> bf16[1] @cuda:0"], || {
        anonymous(list.iter()).cloned()
    });
    recorded(&["static_lifetime(f32[1]) -> f32[1] @cpu"], || {
        static_lifetime(&[1.0])
    });
    recorded(&["higher_ranked(bf16[1]) @cuda:0"], || {
        higher_ranked(&a, |x| &x.dims)
    });
    let inner = recorded(&["Borrowing::inner() -> bf16[1] @cuda:0"], || {
        Borrowing(&a).inner()
    });
    assert_eq!(*inner, a);
    recorded(&["hidden(bf16[1]) @cuda:0"], || {
        Borrowing::hidden(&a).0.clone()
    });
}

#[test]
fn associated_types_resolve_by_their_bounds() {
    let t = tensor([2]);
    recorded(&["associated(bf16[2]) -> bf16[6] @cuda:0"], || {
        associated::<Cuda>(&t)
    });
    let lines = ["associated_in_a_list(bf16[2]) -> bf16[2] @cuda:0"];
    recorded(&lines, || {
        associated_in_a_list::<Cuda>(std::slice::from_ref(&t))
    });
    let lines = [
        "generic_error(bf16[2]) -> bf16[2] @cuda:0",
        "generic_error(bf16[2]) @cuda:0 !error",
    ];
    recorded(&lines, || {
        let _: Result<_, String> = generic_error::<&str, _>(&t, None);
        let _: Result<_, String> = generic_error(&t, Some("no"));
    });
    recorded(&["impl_of_a_parameter()"], || {
        impl_of_a_parameter(&vec![1.0])
    });
    recorded(&["defaulted() -> bf16[] @cuda:0"], defaulted::<Tensor>);
}
