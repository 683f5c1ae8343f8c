//! Apache Parquet: tables that `DuckDB`, Polars, Spark and `DataFusion` query directly, many ranks and
//! runs at once.
//!
//! [`ParquetEntries`] has a row for each entry:
//!
//! | column | type | |
//! |---|---|---|
//! | `step` | `INT64` | the op's number in the order in which ops began |
//! | `parent` | `INT64`, nullable | the step of its parent |
//! | `in_step` | `INT64`, nullable | the number of the step of the program's loop that it belongs to |
//! | `rank` | `INT32`, nullable | |
//! | `thread` | `INT64`, nullable | |
//! | `operation` | `STRING` | |
//! | `label` | `STRING`, nullable | the instance of the op: `layers.3.attn` |
//! | `location` | `STRING`, nullable | file and line of its function: `src/layers.rs:12` |
//! | `device_id` | `STRING`, nullable | `cpu`, `cuda:0` |
//! | `kind` | `STRING`, nullable | `compute`, `communication`, `memory`, `io`, `other` |
//! | `outcome` | `STRING` | `ok`, `error`, `panicked`, `cancelled`, `unfinished` |
//! | `start_ns` | `INT64`, nullable | since the trace began |
//! | `duration_ns`, `suspended_ns` | `INT64` | |
//! | `pauses` | `STRING`, nullable | when it did not work: `sync 20000+980000`, nanoseconds since its start |
//! | `input_shapes`, `output_shapes` | `STRING` | lists of dims, `[[64,32],[32,8]]` |
//! | `input_dtypes`, `output_dtypes` | `STRING` | `f32,bf16` |
//! | `output_elements`, `memory_bytes` | `INT64` | |
//! | `flops`, `bytes_moved` | `INT64`, nullable | as given |
//! | `meta` | `STRING`, nullable | the values of `meta(…)` as a JSON object |
//!
//! [`ParquetShapes`] has a row for each op with the same input shapes, with the figures of
//! [`by_shape`] under the names that they have there; several locations have `; ` between them.
//!
//! Numbers above 2^63 − 1 are written as 2^63 − 1.
//!
//! A file for each rank is written by [`write_ranks`](super::write_ranks), or by
//! `optrace convert trace.json -o run/entries.parquet --by-rank`. Over all of them, in `DuckDB`:
//!
//! ```sql
//! SELECT operation, input_shapes, rank, count(*), sum(duration_ns) / 1e6 AS ms
//! FROM 'run/entries.rank-*.parquet' GROUP BY ALL ORDER BY ms DESC;
//! ```
//!
//! and in Polars:
//!
//! ```python
//! pl.scan_parquet("run/entries.rank-*.parquet").group_by("operation", "input_shapes", "rank").agg(
//!     pl.len(), ms=pl.col("duration_ns").sum() / 1e6
//! ).sort("ms", descending=True).collect()
//! ```

mod table;

use super::Exporter;
use super::json_text::{comma, shapes, string};
use crate::analyze::{OpRow, by_shape, step_of_entries};
use crate::model::pause::pauses_text;
use crate::model::{EntryView, Tensors, TraceView};
use std::io::{self, Write};
use table::{Column, TableRow, Value, write_table};

/// Writes a table with a row for each entry: see [the module](self) for its columns.
#[derive(Debug, Clone, Copy, Default)]
pub struct ParquetEntries;

impl Exporter for ParquetEntries {
    fn export(&self, trace: &dyn TraceView, out: &mut dyn Write) -> io::Result<()> {
        let step_of = step_of_entries(trace);
        let rows = trace.views().enumerate().map(|(index, view)| EntryRow {
            view,
            in_step: step_of
                .get(index)
                .copied()
                .flatten()
                .map(|step| trace.steps()[step].number),
        });
        write_table(ENTRY_COLUMNS, rows, out)
    }

    fn extension(&self) -> &'static str {
        "parquet"
    }
}

/// Writes a table with a row for each op with the same input shapes: see [the module](self).
#[derive(Debug, Clone, Copy, Default)]
pub struct ParquetShapes;

impl Exporter for ParquetShapes {
    fn export(&self, trace: &dyn TraceView, out: &mut dyn Write) -> io::Result<()> {
        write_table(SHAPE_COLUMNS, by_shape(trace).into_iter(), out)
    }

    fn extension(&self) -> &'static str {
        "parquet"
    }
}

const ENTRY_COLUMNS: &[Column] = &[
    Column::number("step"),
    Column::number("parent").nullable(),
    Column::number("in_step").nullable(),
    Column::small_number("rank").nullable(),
    Column::number("thread").nullable(),
    Column::text("operation"),
    Column::text("label").nullable(),
    Column::text("location").nullable(),
    Column::text("device_id").nullable(),
    Column::text("kind").nullable(),
    Column::text("outcome"),
    Column::number("start_ns").nullable(),
    Column::number("duration_ns"),
    Column::number("suspended_ns"),
    Column::text("pauses").nullable(),
    Column::text("input_shapes"),
    Column::text("input_dtypes"),
    Column::text("output_shapes"),
    Column::text("output_dtypes"),
    Column::number("output_elements"),
    Column::number("memory_bytes"),
    Column::number("flops").nullable(),
    Column::number("bytes_moved").nullable(),
    Column::text("meta").nullable(),
];

/// An entry, and the number of the step that it belongs to.
struct EntryRow<'a> {
    view: EntryView<'a>,
    in_step: Option<u64>,
}

impl TableRow for EntryRow<'_> {
    fn value(&self, column: &str) -> Option<Value<'_>> {
        match column {
            "in_step" => self.in_step.map(Value::count),
            _ => self.view.value(column),
        }
    }
}

impl TableRow for EntryView<'_> {
    fn value(&self, column: &str) -> Option<Value<'_>> {
        Some(match column {
            "step" => Value::count(self.step()),
            "parent" => Value::count(self.parent()?),
            "rank" => Value::Number(i64::from(self.rank()?)),
            "thread" => Value::count(self.thread()?),
            "operation" => self.operation().into(),
            "label" => self.label()?.into(),
            "location" => self.location()?.into(),
            "device_id" => self.device_id()?.into(),
            "kind" => self.kind()?.name().into(),
            "outcome" => self.outcome().name().into(),
            "start_ns" => Value::Number(self.start_ns()?),
            "duration_ns" => Value::count(self.duration_ns()),
            "suspended_ns" => Value::count(self.suspended_ns()),
            "pauses" => match self.pauses() {
                [] => return None,
                pauses => Value::Text(pauses_text(pauses).into_bytes().into()),
            },
            "input_shapes" => shapes_text(self.inputs().map(|tensor| tensor.dims)),
            "input_dtypes" => dtypes_text(self.inputs()),
            "output_shapes" => shapes_text(self.outputs().map(|tensor| tensor.dims)),
            "output_dtypes" => dtypes_text(self.outputs()),
            "output_elements" => Value::count(self.output_elements()),
            "memory_bytes" => Value::count(self.memory_bytes()),
            "flops" => Value::count(self.flops()?),
            "bytes_moved" => Value::count(self.bytes_moved()?),
            "meta" => {
                let mut text = vec![b'{'];
                for (index, (key, value)) in self.meta()?.iter().enumerate() {
                    // Writing to a vector cannot fail.
                    let _ = comma(&mut text, index)
                        .and_then(|()| string(&mut text, key))
                        .and_then(|()| text.write_all(b":"))
                        .and_then(|()| string(&mut text, value));
                }
                text.push(b'}');
                Value::Text(text.into())
            }
            _ => return None,
        })
    }
}

const SHAPE_COLUMNS: &[Column] = &[
    Column::text("operation"),
    Column::text("label").nullable(),
    Column::text("locations").nullable(),
    Column::text("input_shapes"),
    Column::flag("accelerator"),
    Column::flag("communication"),
    Column::number("count"),
    Column::number("total_ns"),
    Column::number("self_ns"),
    Column::number("sum_ns"),
    Column::number("min_ns"),
    Column::number("mean_ns"),
    Column::number("p50_ns"),
    Column::number("p95_ns"),
    Column::number("p99_ns"),
    Column::number("max_ns"),
    Column::number("memory_bytes"),
    Column::number("bytes_moved"),
    Column::number("flops"),
    Column::flag("flops_inferred"),
    Column::float("flops_per_s").nullable(),
    Column::float("bytes_per_s").nullable(),
    Column::float("arithmetic_intensity").nullable(),
];

impl TableRow for OpRow {
    fn value(&self, column: &str) -> Option<Value<'_>> {
        Some(match column {
            "operation" => self.operation.as_str().into(),
            "label" => self.label.as_deref()?.into(),
            "locations" => match self.locations.as_slice() {
                [] => return None,
                locations => Value::Text(locations.join("; ").into_bytes().into()),
            },
            "input_shapes" => shapes_text(self.input_shapes.iter().flatten().map(Vec::as_slice)),
            "communication" => Value::Flag(self.communication),
            "count" => Value::count(self.count),
            "total_ns" => Value::count(self.total_ns),
            "self_ns" => Value::count(self.self_ns),
            "accelerator" => Value::Flag(self.accelerator),
            "sum_ns" => Value::count(self.sum_ns),
            "min_ns" => Value::count(self.min_ns),
            "mean_ns" => Value::count(self.mean_ns),
            "p50_ns" => Value::count(self.p50_ns),
            "p95_ns" => Value::count(self.p95_ns),
            "p99_ns" => Value::count(self.p99_ns),
            "max_ns" => Value::count(self.max_ns),
            "memory_bytes" => Value::count(self.memory_bytes),
            "bytes_moved" => Value::count(self.bytes_moved),
            "flops" => Value::count(self.flops),
            "flops_inferred" => Value::Flag(self.flops_inferred),
            "flops_per_s" => Value::Float(self.flops_per_s?),
            "bytes_per_s" => Value::Float(self.bytes_per_s?),
            "arithmetic_intensity" => Value::Float(self.arithmetic_intensity?),
            _ => return None,
        })
    }
}

fn shapes_text<'a>(dims: impl Iterator<Item = &'a [usize]>) -> Value<'static> {
    let mut text = Vec::new();
    // Writing to a vector cannot fail.
    let _ = shapes(&mut text, dims);
    Value::Text(text.into())
}

fn dtypes_text(tensors: Tensors<'_>) -> Value<'static> {
    let names: Vec<&str> = tensors.map(|tensor| tensor.dtype.name()).collect();
    Value::Text(names.join(",").into_bytes().into())
}
