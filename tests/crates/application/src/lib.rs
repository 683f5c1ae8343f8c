//! An application that records with trace-runtime, and calls a library that is annotated with trace-core.

#![forbid(unsafe_code, warnings)]
#![deny(clippy::all, clippy::pedantic, clippy::nursery)]
#![cfg_attr(not(feature = "enabled"), allow(clippy::missing_const_for_fn))]

use library::{Layer, Matrix};
use trace_runtime::{traced_op, TensorLike};

/// Derives `TensorLike` with trace-runtime; its field has a type that derives it with trace-core.
#[derive(Debug, TensorLike)]
pub struct Model {
    pub layers: Vec<Layer>,
}

#[traced_op]
#[must_use]
pub fn predict(model: &Model, x: Matrix) -> Matrix {
    model.layers.iter().fold(x, |x, layer| layer.forward(&x))
}

#[cfg(test)]
mod tests {
    use super::{predict, Model};
    use library::{Layer, Matrix};
    use trace_runtime::Session;

    fn matrix(rows: usize, columns: usize) -> Matrix {
        Matrix { rows, columns, data: vec![1.0; rows * columns] }
    }

    #[test]
    fn the_library_is_part_of_the_trace_with_parents_across_both_crates() {
        let layers = [(3, 4), (4, 2)].map(|(inputs, outputs)| Layer {
            weight: matrix(inputs, outputs),
            name: "dense".to_owned(),
        });
        let model = Model { layers: layers.into() };
        let session = Session::start().unwrap();
        let y = predict(&model, matrix(5, 3));
        let trace = session.finish();
        assert_eq!((y.rows, y.columns), (5, 2));
        if cfg!(not(feature = "enabled")) {
            assert_eq!(trace.entries.len(), 0);
            assert_eq!(trace.metadata["tracing"], "compiled out");
            return;
        }
        let tree: Vec<_> = trace
            .entries
            .iter()
            .map(|entry| (entry.operation.as_str(), entry.parent, entry.output_shape.clone()))
            .collect();
        assert_eq!(
            tree,
            [
                ("predict", None, vec![5, 2]),
                ("Layer::forward", Some(0), vec![5, 4]),
                ("matmul", Some(1), vec![5, 4]),
                ("inner", Some(2), vec![20]),
                ("Layer::forward", Some(0), vec![5, 2]),
                ("matmul", Some(4), vec![5, 2]),
                ("inner", Some(5), vec![10]),
            ]
        );
        assert_eq!(trace.entries[0].input_shapes, [[3, 4], [4, 2], [5, 3]]);
        assert_eq!(trace.entries[2].flops, Some(2 * 5 * 3 * 4));
    }
}
