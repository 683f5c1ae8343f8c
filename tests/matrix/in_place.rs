//! Ops that write to a tensor instead of returning one: the `&mut` parameters after the body are the output.

use crate::support::{Tensor, recorded, tensor};
use trace_runtime::{TensorLike, TensorSink, traced_op};

#[traced_op]
fn moved_into_a_loop(x: &mut [f32]) {
    for x in x {
        *x *= 2.0;
    }
}

#[traced_op]
fn grows(x: &mut Vec<f32>) {
    x.push(1.0);
}

#[traced_op]
fn with_return(x: &mut Vec<f32>, stop: bool) {
    if stop {
        return;
    }
    x.clear();
}

#[traced_op]
fn returns_a_number(x: &mut Vec<f32>) -> usize {
    x.pop();
    x.len()
}

#[traced_op]
fn fallible(x: &mut Vec<f32>, ok: bool) -> Result<(), String> {
    x.push(0.0);
    if !ok {
        Err("no")?;
    }
    Ok(())
}

#[traced_op]
fn optional_number(x: &mut Vec<f32>, ok: bool) -> Option<f32> {
    if !ok {
        return None;
    }
    x.pop()
}

#[traced_op]
fn returns_a_tensor(x: &mut Tensor) -> Tensor {
    x.dims.push(1);
    tensor([9])
}

#[traced_op]
fn two(a: &mut Tensor, b: &Tensor, c: &mut Tensor) {
    a.dims.extend(&b.dims);
    c.dims.clear();
}

#[traced_op]
fn declared_mut(mut x: &mut [f32]) {
    while !x.is_empty() {
        x[0] = 1.0;
        x = &mut x[1..];
    }
}

#[traced_op]
fn named_lifetime_may_be_kept<'a>(list: &mut Vec<&'a mut Tensor>, x: &'a mut Tensor) {
    list.push(x);
}

#[traced_op]
fn given_away_whole(x: &mut Tensor) -> usize {
    fn consume<T>(_: T) -> usize {
        1
    }
    consume(x)
}

#[traced_op]
fn reborrowed_in_a_closure(x: &mut Tensor) {
    let grow = || x.dims.push(1);
    grow_by(grow);
}

fn grow_by(mut grow: impl FnMut()) {
    grow();
}

#[traced_op]
fn generic<T: TensorLike + Default>(x: &mut T) {
    *x = T::default();
}

#[traced_op]
fn swaps(a: &mut Tensor, b: &mut Tensor) {
    std::mem::swap(a, b);
}

#[traced_op]
fn numbers(x: &mut f32, n: &mut usize) {
    *x += 1.0;
    *n += 1;
}

#[traced_op]
fn panics(x: &mut Vec<f32>) {
    x.clear();
    panic!("on purpose");
}

#[traced_op]
fn pattern((a, b): (&mut Tensor, &mut Tensor)) {
    std::mem::swap(a, b);
}

#[traced_op]
fn with_cfg(#[cfg(not(loom))] x: &mut Tensor, #[cfg(loom)] y: &mut Missing) {
    x.dims.push(1);
}

#[traced_op(skip(scratch))]
fn skips(x: &mut Tensor, scratch: &mut Tensor) {
    scratch.dims.push(1);
    x.dims.push(2);
}

struct Param(Tensor);

impl TensorLike for Param {
    fn describe(&self, sink: &mut TensorSink) {
        self.0.describe(sink);
    }
}

impl Param {
    #[traced_op]
    fn grow(&mut self) {
        self.0.dims.push(1);
    }

    #[traced_op]
    fn grow_by(&mut self, other: &mut Tensor) -> Result<usize, String> {
        self.0.dims.push(1);
        other.dims.pop().ok_or("empty".to_owned())
    }

    #[traced_op]
    fn gives_self_away(&mut self) {
        fn consume<T>(_: T) {}
        consume(self);
    }

    #[traced_op]
    fn iterates(&mut self) -> usize {
        self.into_iter().count()
    }

    #[traced_op]
    fn moves_into_a_thread(&mut self) {
        std::thread::scope(|scope| {
            scope.spawn(move || self.0.dims.push(5));
        });
    }

    #[traced_op]
    fn named_lifetime<'a>(&'a mut self, keep: &mut Option<&'a mut Tensor>) {
        *keep = Some(&mut self.0);
    }
}

impl<'a> IntoIterator for &'a mut Param {
    type Item = &'a mut usize;
    type IntoIter = std::slice::IterMut<'a, usize>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.dims.iter_mut()
    }
}

#[test]
fn parameters_that_were_written_are_the_output() {
    let mut x = vec![1.0, 2.0];
    recorded(&["moved_into_a_loop(f32[2]) -> f32[2] @cpu"], || {
        moved_into_a_loop(&mut x)
    });
    recorded(&["grows(f32[2]) -> f32[3] @cpu"], || grows(&mut x));
    recorded(&["with_return(f32[3]) -> f32[3] @cpu"], || {
        with_return(&mut x, true)
    });
    recorded(&["returns_a_number(f32[3]) -> f32[2] @cpu"], || {
        returns_a_number(&mut x)
    });
    assert_eq!(x, [2.0, 4.0]);
    recorded(&["with_return(f32[2]) -> f32[0] @cpu"], || {
        with_return(&mut x, false)
    });
    let (mut a, b, mut c) = (tensor([1]), tensor([2]), tensor([3]));
    recorded(
        &["two(bf16[1], bf16[2], bf16[3]) -> bf16[1, 2], bf16[] @cuda:0"],
        || two(&mut a, &b, &mut c),
    );
    recorded(&["declared_mut(f32[3]) -> f32[3] @cpu"], || {
        declared_mut(&mut [0.0; 3])
    });
    recorded(
        &["given_away_whole(bf16[1, 2]) -> bf16[1, 2] @cuda:0"],
        || given_away_whole(&mut a),
    );
    recorded(
        &["reborrowed_in_a_closure(bf16[]) -> bf16[1] @cuda:0"],
        || reborrowed_in_a_closure(&mut c),
    );
    recorded(&["generic(bf16[1, 2]) -> bf16[] @cuda:0"], || {
        generic(&mut a)
    });
    recorded(
        &["swaps(bf16[], bf16[1]) -> bf16[1], bf16[] @cuda:0"],
        || swaps(&mut a, &mut c),
    );
    recorded(&["with_cfg(bf16[1]) -> bf16[1, 1] @cuda:0"], || {
        with_cfg(&mut a)
    });
    recorded(&["skips(bf16[1, 1]) -> bf16[1, 1, 2] @cuda:0"], || {
        skips(&mut a, &mut c)
    });
    recorded(&["numbers()"], || numbers(&mut 0.0, &mut 0));
}

#[test]
fn a_failure_has_no_output() {
    let mut x = vec![1.0];
    let lines = [
        "fallible(f32[1]) -> f32[2] @cpu",
        "fallible(f32[2]) @cpu !error",
    ];
    recorded(&lines, || (fallible(&mut x, true), fallible(&mut x, false)));
    let lines = [
        "optional_number(f32[3]) -> f32[2] @cpu",
        "optional_number(f32[2]) -> f32[2] @cpu",
    ];
    recorded(&lines, || {
        (
            optional_number(&mut x, true),
            optional_number(&mut x, false),
        )
    });
    recorded(&["panics(f32[2]) @cpu !panicked"], || {
        let mut x = std::panic::AssertUnwindSafe(&mut x);
        assert!(std::panic::catch_unwind(move || panics(&mut x)).is_err());
    });
}

#[test]
fn a_parameter_that_may_be_borrowed_is_not_read_again() {
    let mut a = tensor([1]);
    recorded(&["returns_a_tensor(bf16[1]) -> bf16[9] @cuda:0"], || {
        returns_a_tensor(&mut a)
    });
    let (mut kept, mut b, mut c) = (Vec::new(), tensor([2]), tensor([3]));
    let lines = ["named_lifetime_may_be_kept(bf16[2]) -> bf16[2] @cuda:0"];
    recorded(&lines, || named_lifetime_may_be_kept(&mut kept, &mut b));
    assert_eq!(kept.len(), 1);
    recorded(&["pattern(bf16[1, 1], bf16[3]) @cuda:0"], || {
        pattern((&mut a, &mut c))
    });
}

#[test]
fn self_is_an_output_if_the_body_cannot_move_it() {
    let mut p = Param(tensor([1]));
    recorded(&["Param::grow(bf16[1]) -> bf16[1, 1] @cuda:0"], || p.grow());
    let mut other = tensor([7]);
    let lines = ["Param::grow_by(bf16[1, 1], bf16[7]) -> bf16[1, 1, 1], bf16[] @cuda:0"];
    recorded(&lines, || p.grow_by(&mut other));
    recorded(&["Param::gives_self_away(bf16[1, 1, 1]) @cuda:0"], || {
        p.gives_self_away()
    });
    recorded(&["Param::iterates(bf16[1, 1, 1]) @cuda:0"], || p.iterates());
    recorded(
        &["Param::moves_into_a_thread(bf16[1, 1, 1]) @cuda:0"],
        || p.moves_into_a_thread(),
    );
    let mut kept = None;
    recorded(
        &["Param::named_lifetime(bf16[1, 1, 1, 5]) -> bf16[1, 1, 1, 5] @cuda:0"],
        || p.named_lifetime(&mut kept),
    );
    assert!(kept.is_some());
}

/// Errors that borrow. Some functions below name them without a lifetime.
struct Borrowed<'a>(&'a mut f32);
struct Named<'a> {
    rest: &'a [f32],
}

#[allow(elided_lifetimes_in_paths, mismatched_lifetime_syntaxes)]
mod hidden_lifetimes {
    use super::{Borrowed, Named};
    use std::sync::{Mutex, MutexGuard, PoisonError};
    use trace_runtime::traced_op;

    #[traced_op]
    pub fn written(x: &mut Vec<f32>) -> Result<(), Borrowed<'_>> {
        x.first_mut().map_or(Ok(()), |first| Err(Borrowed(first)))
    }

    #[traced_op]
    pub fn hidden(x: &mut Vec<f32>) -> Result<(), Borrowed> {
        x.first_mut().map_or(Ok(()), |first| Err(Borrowed(first)))
    }

    #[traced_op]
    pub fn hidden_after_return(x: &mut Vec<f32>) -> Result<usize, Named> {
        if x.is_empty() {
            return Ok(0);
        }
        Err(Named { rest: &x[1..] })
    }

    #[traced_op]
    pub fn poisoned(x: &mut Mutex<Vec<f32>>) -> Result<(), PoisonError<MutexGuard<Vec<f32>>>> {
        x.lock()?.push(1.0);
        Ok(())
    }

    // Two references: an error without a lifetime borrows from none of them.
    #[traced_op]
    pub fn two(x: &mut Vec<f32>, y: &[f32]) -> Result<(), Plain> {
        x.extend(y);
        Ok(())
    }

    #[traced_op]
    pub fn generic<E>(x: &mut Vec<f32>, error: Option<E>) -> Result<(), E> {
        x.push(1.0);
        error.map_or(Ok(()), Err)
    }

    #[traced_op]
    pub fn known(x: &mut Vec<f32>) -> Result<(), std::io::Error> {
        x.push(1.0);
        Ok(())
    }

    pub struct Plain;
}

#[test]
fn an_error_may_have_a_lifetime_that_is_not_written() {
    use hidden_lifetimes::*;
    let mut x = vec![1.0, 2.0];
    recorded(&["written(f32[2]) @cpu !error"], || {
        written(&mut x).map_err(|error| *error.0 = 3.0).is_ok()
    });
    recorded(&["hidden(f32[2]) @cpu !error"], || {
        hidden(&mut x).map_err(|error| *error.0 = 3.0).is_ok()
    });
    recorded(&["hidden_after_return(f32[2]) @cpu !error"], || {
        hidden_after_return(&mut x)
            .map_err(|error| error.rest.len())
            .is_ok()
    });
    recorded(&["poisoned(f32[1]) @cpu"], || {
        poisoned(&mut std::sync::Mutex::new(vec![1.0])).is_ok()
    });
    recorded(&["two(f32[2], f32[1]) -> f32[3] @cpu"], || {
        two(&mut x, &[1.0]).is_ok()
    });
    recorded(&["generic(f32[3]) -> f32[4] @cpu"], || {
        generic::<()>(&mut x, None).is_ok()
    });
    recorded(&["known(f32[4]) -> f32[5] @cpu"], || known(&mut x).is_ok());
}
