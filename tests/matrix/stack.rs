//! The stack that an annotated function takes while nothing records, without optimisation. A deep recursion must not
//! overflow because of the attribute.

use trace_runtime::traced_op;

#[inline(never)]
fn address() -> usize {
    let here = 0_u8;
    std::hint::black_box(&raw const here).addr()
}

fn plain(x: &[f32], level: usize) -> usize {
    if level == 0 {
        address()
    } else {
        plain(x, level - 1)
    }
}

#[traced_op]
fn traced(x: &[f32], level: usize) -> usize {
    if level == 0 {
        address()
    } else {
        traced(x, level - 1)
    }
}

fn plain_with_return(x: &[f32], level: usize) -> usize {
    if level == 0 {
        return address();
    }
    plain_with_return(x, level - 1)
}

#[traced_op]
fn traced_with_return(x: &[f32], level: usize) -> usize {
    if level == 0 {
        return address();
    }
    traced_with_return(x, level - 1)
}

fn bytes_per_level(recursion: fn(&[f32], usize) -> usize) -> usize {
    let (shallow, deep) = (recursion(&[1.0], 10), recursion(&[1.0], 110));
    shallow.abs_diff(deep) / 100
}

#[test]
fn an_idle_level_takes_little_stack() {
    // 64 and 128 bytes with Rust 1.95 on x86-64. With `return` the body is a separate function.
    let without = bytes_per_level(traced).saturating_sub(bytes_per_level(plain));
    assert!(without <= 96, "{without} bytes a level");
    let with =
        bytes_per_level(traced_with_return).saturating_sub(bytes_per_level(plain_with_return));
    assert!(with <= 160, "{with} bytes a level");
}
