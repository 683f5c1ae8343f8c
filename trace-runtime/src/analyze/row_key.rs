//! Keys of the rows of op tables.

use super::device_time::is_accelerator;
use crate::model::EntryView;
use std::hash::{Hash, Hasher};

/// The key of a row: entries with equal keys are in one row.
pub(crate) trait RowKey: Copy + Eq + Hash {
    fn operation(&self) -> &str;
    fn accelerator(&self) -> bool;
    fn input_shapes(&self) -> Option<Vec<Vec<usize>>>;

    fn label(&self) -> Option<&str> {
        None
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ByOp<'a>(pub(crate) &'a str, pub(crate) bool);

impl RowKey for ByOp<'_> {
    fn operation(&self) -> &str {
        self.0
    }

    fn accelerator(&self) -> bool {
        self.1
    }

    fn input_shapes(&self) -> Option<Vec<Vec<usize>>> {
        None
    }
}

/// Op and shapes, borrowed from any entry of the row, so that shapes are compared without a copy.
#[derive(Clone, Copy)]
pub(crate) struct ByShape<'a>(pub(crate) EntryView<'a>);

impl RowKey for ByShape<'_> {
    fn operation(&self) -> &str {
        self.0.operation()
    }

    fn accelerator(&self) -> bool {
        is_accelerator(&self.0)
    }

    fn label(&self) -> Option<&str> {
        self.0.label()
    }

    fn input_shapes(&self) -> Option<Vec<Vec<usize>>> {
        Some(self.0.inputs().map(|input| input.dims.to_vec()).collect())
    }
}

impl PartialEq for ByShape<'_> {
    fn eq(&self, other: &Self) -> bool {
        let dims = |key: &Self| key.0.inputs().map(|input| input.dims);
        self.0.operation() == other.0.operation()
            && self.0.label() == other.0.label()
            && self.accelerator() == other.accelerator()
            && dims(self).eq(dims(other))
    }
}

impl Eq for ByShape<'_> {}

impl Hash for ByShape<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.operation().hash(state);
        self.0.label().hash(state);
        for input in self.0.inputs() {
            input.dims.hash(state);
        }
    }
}
