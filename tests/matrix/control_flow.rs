//! Bodies: what they contain, and how they end.

use crate::support::{Tensor, recorded, tensor};
use std::panic::catch_unwind;
use std::sync::Mutex;
use trace_runtime::traced_op;

#[traced_op]
fn early_return(x: &Tensor) -> Tensor {
    if x.dims.is_empty() {
        return tensor([0]);
    }
    x.clone()
}

#[traced_op]
fn only_return(x: &Tensor) -> usize {
    return x.dims.len();
}

#[traced_op]
fn early_return_of_nothing(x: &Tensor) {
    if x.dims.is_empty() {
        return;
    }
    assert_eq!(x.dims.len(), 1);
}

#[traced_op]
fn question_mark(x: &str) -> Result<Tensor, std::num::ParseIntError> {
    let n = x.parse()?;
    Ok(tensor([n]))
}

#[traced_op]
fn question_mark_on_option(x: &[f32]) -> Option<f32> {
    let first = x.first()?;
    Some(*first)
}

#[traced_op]
fn question_mark_and_return(x: &str) -> Result<usize, std::num::ParseIntError> {
    if x.is_empty() {
        return Ok(0);
    }
    Ok(x.parse::<usize>()? + 1)
}

#[traced_op]
fn return_in_a_closure(x: &[f32]) -> usize {
    let positive = |x: &&f32| {
        return **x > 0.0;
    };
    x.iter().filter(positive).count()
}

#[traced_op]
fn labelled_break(x: &[f32]) -> usize {
    let mut count = 0;
    'outer: for a in x {
        for b in x {
            if a > b {
                continue 'outer;
            }
            if count > 3 {
                break 'outer;
            }
            count += 1;
        }
    }
    let found = 'found: {
        if count > 1 {
            break 'found count;
        }
        0
    };
    found
}

#[traced_op]
fn loop_with_value(x: &[f32]) -> usize {
    let mut n = 0;
    loop {
        n += 1;
        if n >= x.len() {
            break n;
        }
    }
}

#[traced_op]
fn diverging() -> Tensor {
    panic!("on purpose")
}

#[traced_op]
fn diverging_after_work(x: &Tensor) -> Tensor {
    let n = x.dims.len();
    if n == 0 {
        return x.clone();
    }
    unreachable!("{n}")
}

#[traced_op]
fn to_do(_x: &Tensor) -> Vec<f32> {
    todo!()
}

#[traced_op]
fn panics_in_unit(x: &Tensor) {
    assert!(x.dims.is_empty(), "on purpose");
}

#[traced_op]
fn endless(stop: &std::cell::Cell<u32>) -> Tensor {
    loop {
        stop.set(stop.get() + 1);
        if stop.get() > 2 {
            return tensor([1]);
        }
    }
}

#[traced_op]
fn factorial(n: usize) -> usize {
    if n < 2 { 1 } else { n * factorial(n - 1) }
}

#[traced_op]
fn is_even(n: usize) -> bool {
    n == 0 || is_odd(n - 1)
}

#[traced_op]
fn is_odd(n: usize) -> bool {
    n != 0 && is_even(n - 1)
}

#[traced_op]
fn temporary_in_the_tail(x: &Mutex<Vec<f32>>) -> f32 {
    x.lock().unwrap()[0]
}

#[traced_op]
fn temporary_in_a_match(x: &Mutex<Vec<f32>>) -> usize {
    match x.lock().unwrap().first() {
        Some(first) => *first as usize,
        None => 0,
    }
}

#[traced_op]
fn items_inside(x: &Tensor) -> usize {
    const LIMIT: usize = 3;
    struct Count(usize);
    fn count(x: &Tensor) -> Count {
        Count(x.dims.len())
    }
    count(x).0.min(LIMIT)
}

#[traced_op]
fn nested_traced_item(x: &Tensor) -> usize {
    #[traced_op]
    fn inside(x: &Tensor) -> usize {
        x.dims.len()
    }
    inside(x)
}

#[traced_op]
fn inner_attributes(x: &Tensor) -> usize {
    #![allow(unused_variables, clippy::no_effect_underscore_binding)]
    let nobody_reads_this = 1;
    x.dims.len()
}

#[traced_op]
fn empty_body(_x: &Tensor) {}

#[traced_op]
fn moves_everything(x: Tensor, y: Vec<f32>) -> (Vec<f32>, Tensor) {
    let pair = (y, x);
    pair
}

#[traced_op]
fn moves_after_return(x: Tensor, y: Option<Tensor>) -> Tensor {
    let Some(y) = y else { return x };
    drop(x);
    y
}

#[traced_op]
fn threads(x: &[f32]) -> f32 {
    std::thread::scope(|scope| scope.spawn(|| x.iter().sum()).join().unwrap())
}

#[traced_op]
#[inline]
#[must_use]
#[doc(hidden)]
#[track_caller]
#[cold]
fn attributes(x: &Tensor) -> usize {
    x.dims.len()
}

#[traced_op]
#[track_caller]
fn called_from(early: bool) -> u32 {
    if early {
        return std::panic::Location::caller().line();
    }
    std::panic::Location::caller().line()
}

#[traced_op]
unsafe fn dangerous(x: *const f32) -> f32 {
    unsafe { *x }
}

#[traced_op]
extern "C" fn foreign(x: &Tensor) -> usize {
    x.dims.len()
}

#[traced_op]
pub unsafe extern "C" fn foreign_and_dangerous(x: *const f32, len: usize) -> f32 {
    if x.is_null() {
        return 0.0;
    }
    unsafe { std::slice::from_raw_parts(x, len) }.iter().sum()
}

#[cfg(target_arch = "x86_64")]
#[traced_op]
#[target_feature(enable = "avx2")]
fn vectorised(x: &[f32]) -> f32 {
    if x.is_empty() {
        return 0.0;
    }
    x.iter().sum()
}

#[traced_op]
fn hidden_return(x: &[f32]) -> Result<usize, String> {
    macro_rules! ensure {
        ($condition:expr) => {
            if !$condition {
                return Err("not so".to_owned());
            }
        };
    }
    ensure!(!x.is_empty());
    Ok(x.len())
}

#[test]
fn every_way_out_is_recorded() {
    let (t, empty) = (tensor([2]), tensor([]));
    let lines = [
        "early_return(bf16[2]) -> bf16[2] @cuda:0",
        "early_return(bf16[]) -> bf16[0] @cuda:0",
    ];
    recorded(&lines, || (early_return(&t), early_return(&empty)));
    recorded(&["only_return(bf16[2]) @cuda:0"], || only_return(&t));
    let lines = [
        "early_return_of_nothing(bf16[2]) @cuda:0",
        "early_return_of_nothing(bf16[]) @cuda:0",
    ];
    recorded(&lines, || {
        (early_return_of_nothing(&t), early_return_of_nothing(&empty))
    });
    let lines = [
        "question_mark() -> bf16[3] @cuda:0",
        "question_mark() !error",
    ];
    recorded(&lines, || (question_mark("3"), question_mark("x")));
    let lines = [
        "question_mark_on_option(f32[1]) @cpu",
        "question_mark_on_option(f32[0]) @cpu",
    ];
    recorded(&lines, || {
        (
            question_mark_on_option(&[1.0]),
            question_mark_on_option(&[]),
        )
    });
    let lines = [
        "question_mark_and_return()",
        "question_mark_and_return()",
        "question_mark_and_return() !error",
    ];
    recorded(&lines, || {
        (
            question_mark_and_return(""),
            question_mark_and_return("1"),
            question_mark_and_return("x"),
        )
    });
    recorded(&["return_in_a_closure(f32[2]) @cpu"], || {
        return_in_a_closure(&[1.0, -1.0])
    });
    recorded(&["labelled_break(f32[2]) @cpu"], || {
        labelled_break(&[1.0, 2.0])
    });
    recorded(&["loop_with_value(f32[2]) @cpu"], || {
        loop_with_value(&[1.0, 2.0])
    });
    recorded(&["endless() -> bf16[1] @cuda:0"], || {
        endless(&std::cell::Cell::new(0))
    });
    let lines = [
        "hidden_return(f32[1]) @cpu",
        "hidden_return(f32[0]) @cpu !error",
    ];
    recorded(&lines, || (hidden_return(&[1.0]), hidden_return(&[])));
}

#[test]
fn a_panic_is_recorded_and_continues() {
    let t = tensor([2]);
    recorded(&["diverging() !panicked"], || {
        assert!(catch_unwind(diverging).is_err())
    });
    let lines = ["diverging_after_work(bf16[2]) @cuda:0 !panicked"];
    recorded(&lines, || {
        assert!(catch_unwind(|| diverging_after_work(&t)).is_err())
    });
    recorded(&["to_do() !panicked"], || {
        assert!(catch_unwind(|| to_do(&t)).is_err())
    });
    let lines = ["panics_in_unit(bf16[2]) @cuda:0 !panicked"];
    recorded(&lines, || {
        assert!(catch_unwind(|| panics_in_unit(&t)).is_err())
    });
}

#[test]
fn recursion_nests() {
    assert_eq!(
        recorded(&["factorial()", "  factorial()", "    factorial()"], || {
            factorial(3)
        }),
        6
    );
    assert!(recorded(
        &["is_even()", "  is_odd()", "    is_even()"],
        || is_even(2)
    ));
}

#[test]
fn bodies_work_as_without_the_attribute() {
    let t = tensor([2]);
    let locked = Mutex::new(vec![1.0]);
    assert_eq!(
        recorded(&["temporary_in_the_tail(f32[1]) @cpu"], || {
            temporary_in_the_tail(&locked)
        }),
        1.0
    );
    assert_eq!(
        recorded(&["temporary_in_a_match(f32[1]) @cpu"], || {
            temporary_in_a_match(&locked)
        }),
        1
    );
    assert!(locked.try_lock().is_ok());
    recorded(&["items_inside(bf16[2]) @cuda:0"], || items_inside(&t));
    let lines = [
        "nested_traced_item(bf16[2]) @cuda:0",
        "  inside(bf16[2]) @cuda:0",
    ];
    recorded(&lines, || nested_traced_item(&t));
    recorded(&["inner_attributes(bf16[2]) @cuda:0"], || {
        inner_attributes(&t)
    });
    recorded(&["empty_body()"], || empty_body(&t));
    let lines = ["moves_everything(bf16[2], f32[1]) -> f32[1], bf16[2] @cpu"];
    recorded(&lines, || moves_everything(t.clone(), vec![1.0]));
    let lines = ["moves_after_return(bf16[2]) -> bf16[2] @cuda:0"];
    recorded(&lines, || moves_after_return(t.clone(), None));
    assert_eq!(
        recorded(&["threads(f32[2]) @cpu"], || threads(&[1.0, 2.0])),
        3.0
    );
    recorded(&["attributes(bf16[2]) @cuda:0"], || attributes(&t));
}

#[test]
fn qualifiers_are_kept() {
    let x = [1.0, 2.0];
    recorded(&["dangerous()"], || unsafe { dangerous(x.as_ptr()) });
    let pointer: extern "C" fn(&Tensor) -> usize = foreign;
    recorded(&["foreign(bf16[2]) @cuda:0"], || pointer(&tensor([2])));
    let sum = recorded(&["foreign_and_dangerous()"], || unsafe {
        foreign_and_dangerous(x.as_ptr(), 2)
    });
    assert_eq!(sum, 3.0);
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        let sum = recorded(&["vectorised(f32[2]) @cpu"], || unsafe { vectorised(&x) });
        assert_eq!(sum, 3.0);
    }
}

#[test]
fn a_function_knows_its_caller() {
    recorded(&["called_from()", "called_from()"], || {
        let here = line!();
        let callers = [called_from(true), called_from(false)];
        assert_eq!(callers, [here + 1; 2]);
    });
}
