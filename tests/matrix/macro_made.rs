//! Functions made by `macro_rules!`: parts of them are in invisible delimiters.

use crate::support::{Tensor, recorded, tensor};
use trace_runtime::traced_op;

macro_rules! whole_function {
    ($name:ident, $ty:ty, $ret:ty, $body:block) => {
        #[traced_op]
        #[allow(unused_variables)]
        fn $name(x: $ty) -> $ret $body
    };
}

// Hygiene: the block cannot name the parameter, which the macro declares.
whole_function!(from_a_block, &Tensor, usize, { 3 });
whole_function!(from_a_block_with_return, &[f32], Vec<f32>, {
    return vec![1.0];
});
whole_function!(unit_type_from_outside, &Tensor, (), {});

macro_rules! binary {
    ($($name:ident($a:ident, $b:ident) => $body:expr;)*) => {$(
        #[traced_op(name = stringify!($name), kind = compute)]
        fn $name($a: &Tensor, $b: &Tensor) -> Tensor {
            $body
        }
    )*};
}

binary! {
    left(a, b) => if b.dims.is_empty() { a.clone() } else { tensor([1]) };
    right(a, b) => { let _ = a; b.clone() };
}

macro_rules! in_place {
    ($name:ident, $x:ident: $ty:ty, $by:expr) => {
        #[traced_op]
        fn $name($x: &mut $ty) {
            for x in $x {
                *x *= $by;
            }
        }
    };
}

in_place!(doubled, x: [f32], 2.0);

macro_rules! literal_name {
    ($name:literal, $fn:ident) => {
        #[traced_op(name = $name, device = $name)]
        fn $fn() {}
    };
}

literal_name!("npu:1", named_by_literal);

macro_rules! methods {
    ($type:ident { $($name:ident),* }) => {
        impl $type {
            $(
                #[traced_op]
                fn $name(&self, x: &Tensor) -> usize {
                    x.dims.len()
                }
            )*
        }
    };
}

struct Made;
methods!(Made { one, two });

macro_rules! annotated_impl {
    ($type:ty, $method:item) => {
        #[traced_op]
        impl $type {
            $method
        }
    };
}

struct Other;
annotated_impl!(
    Other,
    fn from_an_item(&self, x: &[f32]) -> usize {
        x.len()
    }
);

macro_rules! with_early_return {
    ($condition:expr, $value:expr) => {
        if $condition {
            return $value;
        }
    };
}

#[traced_op]
fn return_in_an_argument(x: &Tensor) -> Option<usize> {
    with_early_return!(x.dims.is_empty(), None);
    Some(x.dims.len())
}

#[test]
fn functions_made_by_macros_are_recorded_like_others() {
    let t = tensor([2]);
    assert_eq!(
        recorded(&["from_a_block(bf16[2]) @cuda:0"], || from_a_block(&t)),
        3
    );
    recorded(&["from_a_block_with_return(f32[0]) -> f32[1] @cpu"], || {
        from_a_block_with_return(&[])
    });
    recorded(&["unit_type_from_outside(bf16[2]) @cuda:0"], || {
        unit_type_from_outside(&t)
    });
    recorded(&["left(bf16[2], bf16[2]) -> bf16[1] @cuda:0"], || {
        left(&t, &t)
    });
    recorded(&["right(bf16[2], bf16[2]) -> bf16[2] @cuda:0"], || {
        right(&t, &t)
    });
    recorded(&["doubled(f32[2]) -> f32[2] @cpu"], || {
        doubled(&mut [1.0, 2.0])
    });
    recorded(&["npu:1() @npu:1"], named_by_literal);
    recorded(
        &["Made::one(bf16[2]) @cuda:0", "Made::two(bf16[2]) @cuda:0"],
        || (Made.one(&t), Made.two(&t)),
    );
    recorded(&["Other::from_an_item(f32[1]) @cpu"], || {
        Other.from_an_item(&[1.0])
    });
    let lines = [
        "return_in_an_argument(bf16[2]) @cuda:0",
        "return_in_an_argument(bf16[]) @cuda:0 !error",
    ];
    recorded(&lines, || {
        (
            return_in_an_argument(&t),
            return_in_an_argument(&tensor([])),
        )
    });
}
