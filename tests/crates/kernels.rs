//! One function of each form that the macro treats differently.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use trace_runtime::{op, traced_op, TensorLike};

/// A layer.
#[derive(Debug, Clone, TensorLike)]
pub struct Linear {
    weight: Vec<f32>,
    bias: Option<Vec<f32>>,
    name: String,
}

/// A search result.
#[derive(Debug, Clone, PartialEq, Eq, TensorLike)]
pub enum Found<T> {
    /// The value.
    Here(T),
    /// No value.
    Nowhere,
}

/// One line.
#[traced_op]
#[must_use]
pub fn seven() -> usize { 7 }

/// One line in place.
#[traced_op]
pub fn clear(x: &mut Vec<f32>) { x.clear() }

/// One line in place, with a number.
#[traced_op]
pub fn one(x: &mut [f32]) -> usize { x[0] = 1.0; 1 }

/// A path in one line.
#[traced_op]
pub fn absolute() -> impl Fn(f32) -> f32 { f32::abs }

/// A parameter in one line.
#[traced_op]
#[must_use]
pub fn same(x: Vec<f32>) -> Vec<f32> { x }

/// Numbers only.
#[traced_op(kind = compute, flops = 2 * a.len(), bytes = 8 * a.len(), meta(len = a.len()))]
#[must_use]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// In place.
#[traced_op]
pub fn scale(x: &mut [f32], by: f32) {
    for x in x {
        *x *= by;
    }
}

/// In place and reassigned.
#[traced_op]
pub fn fill(mut x: &mut [f32]) {
    while !x.is_empty() {
        x[0] = 1.0;
        x = &mut x[1..];
    }
}

/// Leaves early.
#[traced_op]
#[must_use]
pub fn norm(x: &[f32]) -> f32 {
    if x.is_empty() {
        return 0.0;
    }
    x.iter().map(|x| x * x).sum::<f32>().sqrt()
}

/// Leaves early with nothing.
#[traced_op]
pub fn decay(x: &mut [f32], by: f32) {
    if by > 1.0 {
        return;
    }
    for x in x {
        *x *= by;
    }
}

/// Fails.
///
/// # Errors
/// If the text is not a number.
#[traced_op]
pub fn parse(text: &str) -> Result<Vec<f32>, std::num::ParseFloatError> {
    let x = text.parse()?;
    Ok(vec![x])
}

/// Fails in place.
///
/// # Errors
/// If the text is not a number.
#[traced_op]
pub fn push(x: &mut Vec<f32>, text: &str) -> Result<(), std::num::ParseFloatError> {
    x.push(text.parse()?);
    Ok(())
}

/// Borrows.
#[traced_op]
pub fn first_half(x: &mut [f32]) -> &mut [f32] {
    let half = x.len() / 2;
    &mut x[..half]
}

/// Borrows, and leaves early.
#[traced_op]
pub fn rest(x: &mut [f32]) -> &mut [f32] {
    if x.is_empty() {
        return x;
    }
    &mut x[1..]
}

/// Panics always.
///
/// # Panics
/// Always.
#[traced_op]
#[must_use]
pub fn panics(x: &[f32]) -> Vec<f32> {
    panic!("{}", x.len())
}

/// Does not return.
#[traced_op]
pub fn exit(code: i32) -> ! {
    std::process::exit(code)
}

/// Ignores.
#[traced_op]
#[must_use]
pub fn ignores(_: &[f32], _unused: &[f32]) -> usize {
    1
}

/// Has patterns for parameters.
#[traced_op]
#[must_use]
pub fn sums((a, b): (Vec<f32>, Vec<f32>), [c, d]: [f32; 2]) -> f32 {
    a.iter().sum::<f32>() + b.iter().sum::<f32>() + c + d
}

/// Generic.
#[traced_op]
pub fn describe<T: TensorLike + Debug>(x: &T) -> String {
    format!("{x:?}")
}

/// Generic in its element and its length.
#[traced_op]
#[must_use]
pub fn transpose<T: Copy, const M: usize, const N: usize>(x: &[[T; N]; M]) -> Vec<T> {
    (0..N).flat_map(|n| (0..M).map(move |m| x[m][n])).collect()
}

/// Returns a type that cannot be named.
#[traced_op]
pub fn doubled(x: &[f32]) -> impl Iterator<Item = f32> + '_ {
    x.iter().map(|x| x * 2.0)
}

/// Waits.
#[traced_op]
pub async fn later(x: &[f32]) -> Vec<f32> {
    std::future::ready(()).await;
    x.to_vec()
}

/// Waits for nothing, in place.
#[traced_op]
pub async fn clear_later(x: &mut Vec<f32>) {
    std::future::ready(()).await;
    x.clear();
}

/// Waits, and fails.
///
/// # Errors
/// If the text is not a number.
#[traced_op]
pub async fn parse_later(text: &str) -> Result<Vec<f32>, std::num::ParseFloatError> {
    std::future::ready(()).await;
    if text.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![text.parse()?])
}

/// Assigns to its parameter.
#[traced_op]
pub async fn at_least(mut x: Vec<f32>, len: usize) -> Vec<f32> {
    std::future::ready(()).await;
    x.resize(len, 0.0);
    x
}

/// Returns a future.
#[traced_op]
pub fn future(x: Vec<f32>) -> impl Future<Output = Vec<f32>> {
    std::future::ready(x)
}

/// Returns a boxed one.
#[traced_op]
#[must_use = "it does nothing unless polled"]
pub fn boxed(x: Vec<f32>) -> Pin<Box<dyn Future<Output = Vec<f32>> + Send>> {
    Box::pin(async move { x })
}

/// Every option.
#[traced_op(
    name = "all",
    kind = memory,
    device = "cuda:1",
    inputs(x, y),
    output(result),
    flops = 1,
    bytes = 2_u64,
    meta(waits = waits.get()),
    sync = waits.set(waits.get() + 1)
)]
pub fn everything(x: &[f32], y: &[f32], waits: &Cell<usize>) -> Vec<f32> {
    waits.set(0);
    x.iter().chain(y).copied().collect()
}

/// A block.
#[must_use]
pub fn softmax(x: &[f32]) -> Vec<f32> {
    op!("softmax", inputs = [x], flops = 3 * x.len(), {
        let sum: f32 = x.iter().map(|x| x.exp()).sum();
        x.iter().map(|x| x.exp() / sum).collect()
    })
}

impl Linear {
    /// Makes one.
    #[traced_op]
    #[must_use]
    pub fn new(weight: Vec<f32>) -> Self {
        Self { weight, bias: None, name: String::from("linear") }
    }

    /// Its name.
    #[traced_op]
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes to itself.
    #[traced_op]
    pub fn zero(&mut self) {
        self.weight.clear();
        self.bias = None;
    }
}

/// A layer that can be applied.
pub trait Layer {
    /// Applies it.
    fn apply(&self, x: &[f32]) -> Vec<f32>;

    /// Applies it twice.
    #[traced_op]
    fn twice(&self, x: &[f32]) -> Vec<f32> {
        self.apply(&self.apply(x))
    }
}

#[traced_op(kind = compute)]
impl Layer for Linear {
    fn apply(&self, x: &[f32]) -> Vec<f32> {
        if self.weight.is_empty() {
            return x.to_vec();
        }
        x.iter().zip(&self.weight).map(|(x, w)| x * w).collect()
    }
}

#[traced_op]
impl<T: Clone> Found<T> {
    /// True if it is here.
    pub const fn is_here(&self) -> bool {
        matches!(self, Self::Here(_))
    }

    /// What was found.
    pub fn get(&self) -> Option<&T> {
        match self {
            Self::Here(found) => Some(found),
            Self::Nowhere => None,
        }
    }

    #[traced_op(skip)]
    /// All of it.
    pub fn into_map(self) -> BTreeMap<usize, T> {
        match self {
            Self::Here(found) => std::iter::once((0, found)).collect(),
            Self::Nowhere => BTreeMap::new(),
        }
    }
}
