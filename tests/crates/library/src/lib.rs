//! A tensor library: it depends on trace-core alone.

#![forbid(unsafe_code, warnings)]
#![deny(clippy::all, clippy::pedantic, clippy::nursery)]
#![cfg_attr(not(feature = "enabled"), allow(clippy::missing_const_for_fn))]

use trace_core::{
    current_op, in_op, op, traced_op, DType, Device, Element, OpKind, TensorLike, TensorSink,
};

#[derive(Debug)]
pub struct Matrix {
    pub rows: usize,
    pub columns: usize,
    pub data: Vec<f32>,
}

impl TensorLike for Matrix {
    fn describe(&self, sink: &mut TensorSink) {
        sink.tensor(&[self.rows, self.columns], DType::F32, Device::Cpu);
    }
}

#[derive(Debug, TensorLike)]
pub struct Layer {
    pub weight: Matrix,
    pub name: String,
}

#[derive(Debug, Clone, Copy)]
pub struct Fixed(pub i16);

impl Element for Fixed {
    const DTYPE: DType = DType::I16;
}

#[traced_op]
impl Layer {
    #[must_use]
    pub fn forward(&self, x: &Matrix) -> Matrix {
        let here = current_op();
        in_op(&here, || matmul(x, &self.weight))
    }
}

#[traced_op(kind = compute, flops = 2 * a.rows * a.columns * b.columns)]
#[must_use]
pub fn matmul(a: &Matrix, b: &Matrix) -> Matrix {
    if a.columns != b.rows {
        return Matrix { rows: 0, columns: 0, data: Vec::new() };
    }
    let data = op!("inner", kind = compute, inputs = [a, b], {
        (0..a.rows * b.columns)
            .map(|at| {
                let (row, column) = (at / b.columns, at % b.columns);
                (0..a.columns)
                    .map(|k| a.data[row * a.columns + k] * b.data[k * b.columns + column])
                    .sum()
            })
            .collect::<Vec<f32>>()
    });
    Matrix { rows: a.rows, columns: b.columns, data }
}

#[traced_op]
pub async fn load(x: &mut Vec<f32>) {
    std::future::ready(()).await;
    x.push(1.0);
}

#[must_use]
pub fn is_compute(kind: OpKind) -> bool {
    kind == OpKind::Compute
}

/// These two functions do not compile in a crate that depends on `serde_json`: its `PartialEq` impls for numbers make
/// the types on the right ambiguous.
#[allow(clippy::missing_panics_doc)]
pub fn check_scalar(shape: &[usize]) {
    assert_eq!(shape, &[]);
}

#[must_use]
#[allow(clippy::float_cmp, clippy::missing_panics_doc)]
pub fn is_one(x: f64) -> bool {
    x == "1.0".parse().unwrap()
}
