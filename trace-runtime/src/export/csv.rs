//! The op tables as CSV, for spreadsheets and scripts.

use super::Exporter;
use crate::analyze::{by_op, by_shape};
use crate::csv_text::op_csv;
use crate::model::TraceView;
use std::io::{self, Write};

/// Writes an op table as CSV in plain numbers: nanoseconds, bytes, FLOPs. The columns are the fields of
/// [`OpRow`](crate::analyze::OpRow).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CsvTable {
    /// A row for each op.
    ByOp,
    /// A row for each op with the same input shapes.
    ByShape,
}

impl Exporter for CsvTable {
    fn export(&self, trace: &dyn TraceView, out: &mut dyn Write) -> io::Result<()> {
        let rows = match self {
            CsvTable::ByOp => by_op(trace),
            CsvTable::ByShape => by_shape(trace),
        };
        out.write_all(op_csv(&rows).as_bytes())?;
        out.flush()
    }

    fn extension(&self) -> &'static str {
        "csv"
    }
}
