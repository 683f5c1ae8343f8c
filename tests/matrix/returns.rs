//! Return types.

use crate::support::{Tensor, recorded, tensor};
use std::borrow::Cow;
use std::collections::HashMap;
use std::error::Error;
use std::fmt::{self, Debug};
use std::rc::Rc;
use trace_runtime::{TensorLike, traced_op};

#[traced_op]
fn unit(x: &Tensor) -> () {
    let _ = x;
}

#[traced_op]
fn array(n: f32) -> [f32; 3] {
    [n; 3]
}

#[traced_op]
fn several(x: &Tensor) -> (Tensor, Vec<f32>, usize) {
    (x.clone(), vec![0.0; 2], 1)
}

#[traced_op]
fn list() -> Vec<Tensor> {
    vec![tensor([1]), tensor([2])]
}

#[traced_op]
fn fallible(ok: bool) -> Result<Tensor, String> {
    if ok {
        Ok(tensor([1]))
    } else {
        Err("no".into())
    }
}

#[traced_op]
fn optional(some: bool) -> Option<Tensor> {
    some.then(|| tensor([1]))
}

#[traced_op]
fn fallible_nothing(ok: bool) -> Result<(), Box<dyn Error>> {
    if ok { Ok(()) } else { Err("no".into()) }
}

#[traced_op]
fn aliased(ok: bool) -> fmt::Result {
    if ok { Ok(()) } else { Err(fmt::Error) }
}

type Maybe<T = Tensor> = Result<T, std::num::ParseIntError>;

#[traced_op]
fn own_alias(text: &str) -> Maybe {
    Ok(tensor([text.parse()?]))
}

#[traced_op]
fn fallible_pointer(ok: bool) -> Result<Rc<Tensor>, ()> {
    if ok {
        Ok(Rc::new(tensor([1])))
    } else {
        Err(())
    }
}

#[traced_op]
fn fallible_unseen(ok: bool) -> Result<std::net::Ipv4Addr, ()> {
    if ok {
        Ok(std::net::Ipv4Addr::LOCALHOST)
    } else {
        Err(())
    }
}

#[traced_op]
fn result_of_option(which: u8) -> Result<Option<Tensor>, ()> {
    match which {
        0 => Err(()),
        1 => Ok(None),
        _ => Ok(Some(tensor([1]))),
    }
}

#[traced_op]
fn reborrow(x: &mut Vec<f32>) -> &mut [f32] {
    &mut x[1..]
}

#[traced_op]
fn reborrow_after_return(x: &mut Vec<f32>) -> &mut [f32] {
    if x.len() < 2 {
        return &mut x[..];
    }
    &mut x[1..]
}

#[traced_op]
fn split(x: &mut [f32]) -> (&mut [f32], &mut [f32]) {
    x.split_at_mut(1)
}

#[traced_op]
fn cow(x: &[f32]) -> Cow<'_, [f32]> {
    Cow::Borrowed(x)
}

#[traced_op]
fn boxed_object(x: &Tensor) -> Box<dyn TensorLike> {
    Box::new(x.clone())
}

#[traced_op]
fn boxed_closure(by: f32) -> Box<dyn Fn(f32) -> f32> {
    Box::new(move |x| x * by)
}

#[traced_op]
fn borrowing_object<'a>(x: &'a Tensor) -> Box<dyn Debug + 'a> {
    Box::new(x)
}

#[traced_op]
fn impl_closure(by: f32) -> impl Fn(f32) -> f32 {
    move |x| x * by
}

#[traced_op]
fn impl_closure_of_a_reference() -> impl Fn(&Tensor) -> usize {
    |x| x.dims.len()
}

#[traced_op]
fn impl_closure_with_return(twice: bool) -> impl Fn(&Tensor) -> usize {
    return move |x| x.dims.len() * (1 + usize::from(twice));
}

#[traced_op]
fn optional_closure(some: bool) -> Option<impl Fn(&Tensor) -> usize> {
    some.then_some(|x: &Tensor| x.dims.len())
}

trait Kernel: Fn(&Tensor) -> usize {}
impl<F: Fn(&Tensor) -> usize> Kernel for F {}

#[traced_op]
fn impl_closure_by_another_trait(by: usize) -> impl Kernel {
    let by = by + 1;
    move |x| x.dims.len() * by
}

#[traced_op]
fn impl_iterator(x: &[f32]) -> impl Iterator<Item = f32> + '_ {
    x.iter().map(|x| x * 2.0)
}

#[traced_op]
fn impl_iterator_with_return(x: &[f32]) -> impl Iterator<Item = f32> + '_ {
    if x.is_empty() {
        return x.iter().copied();
    }
    x[1..].iter().copied()
}

#[traced_op]
fn impl_captures_precisely<'a, T>(
    x: &'a [f32],
    _other: &T,
) -> impl Iterator<Item = &'a f32> + use<'a, T> {
    x.iter()
}

#[traced_op]
fn impl_tensor(x: &Tensor) -> impl TensorLike + use<> {
    x.clone()
}

#[traced_op]
fn fallible_impl(x: &str) -> Result<impl Iterator<Item = usize>, std::num::ParseIntError> {
    let n: usize = x.parse()?;
    Ok(0..n)
}

#[traced_op]
fn fallible_impl_with_return(
    x: &str,
) -> Result<impl Iterator<Item = usize>, std::num::ParseIntError> {
    if x.is_empty() {
        return Ok(0..0);
    }
    let n: usize = x.parse()?;
    Ok(0..n)
}

#[traced_op]
fn pair_of_impls() -> (impl Fn() -> usize, Vec<impl Debug>) {
    (|| 3, vec![1.5])
}

#[traced_op]
fn function_pointer() -> fn(f32) -> f32 {
    f32::abs
}

#[traced_op]
fn inferred_number() -> u64 {
    7
}

#[traced_op]
fn inferred_collection(x: &[f32]) -> HashMap<usize, f32> {
    x.iter().copied().enumerate().collect()
}

#[traced_op]
fn inferred_sum(x: &[f32]) -> f32 {
    x.iter().sum()
}

#[traced_op]
fn inferred_into(x: u8) -> u64 {
    x.into()
}

#[traced_op]
fn inferred_default() -> Vec<f32> {
    Default::default()
}

#[traced_op]
fn never(code: Option<i32>) -> ! {
    match code {
        Some(code) => std::process::exit(code),
        None => panic!("never"),
    }
}

struct Shape<const N: usize>;

impl<const N: usize> Shape<N> {
    const LEN: usize = N;
}

#[traced_op]
fn const_expression() -> [f32; Shape::<2>::LEN] {
    [0.0; 2]
}

#[test]
fn results_are_described() {
    let t = tensor([2]);
    recorded(&["unit(bf16[2]) @cuda:0"], || unit(&t));
    recorded(&["array() -> f32[3] @cpu"], || array(1.0));
    recorded(&["several(bf16[2]) -> bf16[2], f32[2] @cuda:0"], || {
        several(&t)
    });
    recorded(&["list() -> bf16[1], bf16[2] @cuda:0"], list);
    recorded(&["const_expression() -> f32[2] @cpu"], const_expression);
    recorded(&["cow(f32[2]) -> f32[2] @cpu"], || cow(&[1.0, 2.0]).len());
    recorded(&["boxed_object(bf16[2]) -> bf16[2] @cuda:0"], || {
        drop(boxed_object(&t))
    });
    recorded(&["impl_tensor(bf16[2]) -> bf16[2] @cuda:0"], || {
        drop(impl_tensor(&t))
    });
}

#[test]
fn failures_are_errors_without_output() {
    recorded(
        &["fallible() -> bf16[1] @cuda:0", "fallible() !error"],
        || (fallible(true), fallible(false)),
    );
    recorded(&["optional() -> bf16[1] @cuda:0", "optional()"], || {
        (optional(true), optional(false))
    });
    recorded(&["fallible_nothing()", "fallible_nothing() !error"], || {
        assert!(fallible_nothing(true).is_ok());
        assert!(fallible_nothing(false).is_err());
    });
    recorded(&["aliased()", "aliased() !error"], || {
        (aliased(true), aliased(false))
    });
    recorded(
        &["own_alias() -> bf16[7] @cuda:0", "own_alias() !error"],
        || (own_alias("7"), own_alias("x")),
    );
    let lines = [
        "fallible_pointer() -> bf16[1] @cuda:0",
        "fallible_pointer() !error",
    ];
    recorded(&lines, || (fallible_pointer(true), fallible_pointer(false)));
    recorded(&["fallible_unseen()", "fallible_unseen() !error"], || {
        (fallible_unseen(true), fallible_unseen(false))
    });
    let lines = [
        "result_of_option() !error",
        "result_of_option()",
        "result_of_option() -> bf16[1] @cuda:0",
    ];
    recorded(&lines, || {
        (
            result_of_option(0),
            result_of_option(1),
            result_of_option(2),
        )
    });
}

#[test]
fn reborrows_can_be_returned() {
    let mut x = vec![1.0, 2.0, 3.0];
    recorded(&["reborrow(f32[3]) -> f32[2] @cpu"], || {
        reborrow(&mut x)[0] = 9.0
    });
    recorded(&["reborrow_after_return(f32[3]) -> f32[2] @cpu"], || {
        reborrow_after_return(&mut x)[1] = 8.0
    });
    assert_eq!(x, [1.0, 9.0, 8.0]);
    let (a, b) = recorded(&["split(f32[3]) -> f32[1], f32[2] @cpu"], || split(&mut x));
    std::mem::swap(&mut a[0], &mut b[0]);
    assert_eq!(x, [9.0, 1.0, 8.0]);
}

#[test]
fn type_inference_is_unchanged() {
    let t = tensor([2]);
    assert_eq!(
        recorded(&["boxed_closure()"], || boxed_closure(2.0))(2.0),
        4.0
    );
    recorded(&["borrowing_object(bf16[2]) @cuda:0"], || {
        format!("{:?}", borrowing_object(&t))
    });
    assert_eq!(
        recorded(&["impl_closure()"], || impl_closure(2.0))(2.0),
        4.0
    );
    let kernel = recorded(&["impl_closure_by_another_trait()"], || {
        impl_closure_by_another_trait(1)
    });
    assert_eq!(kernel(&t), 2);
    assert_eq!(
        recorded(
            &["impl_closure_of_a_reference()"],
            impl_closure_of_a_reference
        )(&t),
        1
    );
    assert_eq!(
        recorded(
            &["impl_closure_with_return()"],
            || impl_closure_with_return(true)
        )(&t),
        2
    );
    recorded(&["optional_closure()"], || optional_closure(true).is_some());
    recorded(&["impl_iterator(f32[1]) @cpu"], || {
        impl_iterator(&[1.0]).sum::<f32>()
    });
    recorded(&["impl_iterator_with_return(f32[1]) @cpu"], || {
        impl_iterator_with_return(&[1.0]).count()
    });
    recorded(&["impl_captures_precisely(f32[1]) @cpu"], || {
        impl_captures_precisely(&[1.0], &t).count()
    });
    let lines = ["fallible_impl()", "fallible_impl() !error"];
    recorded(&lines, || {
        (
            fallible_impl("3").unwrap().count(),
            fallible_impl("x").is_err(),
        )
    });
    let lines = [
        "fallible_impl_with_return()",
        "fallible_impl_with_return() !error",
    ];
    recorded(&lines, || {
        (
            fallible_impl_with_return("").is_ok(),
            fallible_impl_with_return("x").is_err(),
        )
    });
    recorded(&["pair_of_impls()"], || pair_of_impls().0());
    recorded(&["function_pointer()"], || function_pointer()(-1.0));
    recorded(&["inferred_number()"], inferred_number);
    recorded(&["inferred_collection(f32[1]) @cpu"], || {
        inferred_collection(&[1.0])
    });
    recorded(&["inferred_sum(f32[1]) @cpu"], || inferred_sum(&[1.0]));
    recorded(&["inferred_into()"], || inferred_into(1));
    recorded(&["inferred_default() -> f32[0] @cpu"], inferred_default);
    recorded(&["never() !panicked"], || {
        std::panic::catch_unwind(|| never(None)).is_err()
    });
}
