//! A table as a Parquet file, a group of rows at a time.

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as PhysicalType};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// A column: its name, its type, and whether it may be null.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    name: &'static str,
    physical: PhysicalType,
    nullable: bool,
}

impl Column {
    pub(super) const fn number(name: &'static str) -> Column {
        Column::new(name, PhysicalType::INT64)
    }

    pub(super) const fn small_number(name: &'static str) -> Column {
        Column::new(name, PhysicalType::INT32)
    }

    pub(super) const fn float(name: &'static str) -> Column {
        Column::new(name, PhysicalType::DOUBLE)
    }

    pub(super) const fn flag(name: &'static str) -> Column {
        Column::new(name, PhysicalType::BOOLEAN)
    }

    pub(super) const fn text(name: &'static str) -> Column {
        Column::new(name, PhysicalType::BYTE_ARRAY)
    }

    pub(super) const fn nullable(mut self) -> Column {
        self.nullable = true;
        self
    }

    const fn new(name: &'static str, physical: PhysicalType) -> Column {
        Column {
            name,
            physical,
            nullable: false,
        }
    }

    fn schema(&self) -> Result<Type, ParquetError> {
        let text = self.physical == PhysicalType::BYTE_ARRAY;
        Type::primitive_type_builder(self.name, self.physical)
            .with_repetition(if self.nullable {
                Repetition::OPTIONAL
            } else {
                Repetition::REQUIRED
            })
            .with_logical_type(text.then_some(LogicalType::String))
            .with_converted_type(if text {
                ConvertedType::UTF8
            } else {
                ConvertedType::NONE
            })
            .build()
    }
}

/// A row of a table. A missing value is null.
pub(super) trait TableRow {
    fn value(&self, column: &str) -> Option<Value<'_>>;
}

/// The value of one row in one column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'a> {
    Number(i64),
    Float(f64),
    Flag(bool),
    /// UTF-8.
    Text(Cow<'a, [u8]>),
}

impl Value<'_> {
    /// A count, limited to the largest signed number, because not every reader supports unsigned ones.
    pub(super) fn count(count: impl TryInto<i64>) -> Value<'static> {
        Value::Number(count.try_into().unwrap_or(i64::MAX))
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(text.as_bytes().into())
    }
}

/// Rows are held until there are this many, and written column by column.
const ROWS_PER_GROUP: usize = 1 << 17;

/// Writes a table.
pub(super) fn write_table<R: TableRow, W: Write>(
    columns: &[Column],
    mut rows: impl Iterator<Item = R>,
    mut out: W,
) -> io::Result<()> {
    let sink = Sink::default();
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by("trace-runtime".to_owned())
        .build();
    let schema = schema(columns).map_err(io::Error::other)?;
    let mut file = SerializedFileWriter::new(sink.clone(), schema, Arc::new(properties))
        .map_err(io::Error::other)?;
    let mut group: Vec<R> = Vec::new();
    loop {
        group.clear();
        group.extend(rows.by_ref().take(ROWS_PER_GROUP));
        if group.is_empty() {
            break;
        }
        write_group(&mut file, columns, &group).map_err(io::Error::other)?;
        sink.drain_to(&mut out)?;
    }
    file.close().map_err(io::Error::other)?;
    sink.drain_to(&mut out)?;
    out.flush()
}

fn schema(columns: &[Column]) -> Result<Arc<Type>, ParquetError> {
    let fields = columns
        .iter()
        .map(|column| column.schema().map(Arc::new))
        .collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder("trace").with_fields(fields);
    schema.build().map(Arc::new)
}

fn write_group<R: TableRow>(
    file: &mut SerializedFileWriter<Sink>,
    columns: &[Column],
    rows: &[R],
) -> Result<(), ParquetError> {
    let mut group = file.next_row_group()?;
    for column in columns {
        let Some(mut writer) = group.next_column()? else {
            break;
        };
        let mut levels: Vec<i16> = Vec::new();
        let values: Vec<Value<'_>> = rows
            .iter()
            .filter_map(|row| {
                let value = row.value(column.name);
                levels.push(i16::from(value.is_some()));
                value
            })
            .collect();
        let levels = column.nullable.then_some(levels.as_slice());
        let numbers = values.iter().filter_map(|value| match value {
            Value::Number(number) => Some(*number),
            _ => None,
        });
        match writer.untyped() {
            ColumnWriter::Int64ColumnWriter(writer) => {
                let numbers: Vec<i64> = numbers.collect();
                writer.write_batch(&numbers, levels, None)?;
            }
            ColumnWriter::Int32ColumnWriter(writer) => {
                let clamp = |number: i64| i32::try_from(number).unwrap_or(i32::MAX);
                let numbers: Vec<i32> = numbers.map(clamp).collect();
                writer.write_batch(&numbers, levels, None)?;
            }
            ColumnWriter::DoubleColumnWriter(writer) => {
                let floats: Vec<f64> = values
                    .iter()
                    .filter_map(|value| match value {
                        Value::Float(float) => Some(*float),
                        _ => None,
                    })
                    .collect();
                writer.write_batch(&floats, levels, None)?;
            }
            ColumnWriter::BoolColumnWriter(writer) => {
                let flags: Vec<bool> = values
                    .iter()
                    .map(|value| *value == Value::Flag(true))
                    .collect();
                writer.write_batch(&flags, levels, None)?;
            }
            ColumnWriter::ByteArrayColumnWriter(writer) => {
                let texts: Vec<ByteArray> = values
                    .into_iter()
                    .filter_map(|value| match value {
                        Value::Text(text) => Some(ByteArray::from(text.into_owned())),
                        _ => None,
                    })
                    .collect();
                writer.write_batch(&texts, levels, None)?;
            }
            _ => {}
        }
        writer.close()?;
    }
    group.close()?;
    Ok(())
}

/// Buffers the output of the Parquet writer. That writer needs an output that is `Send`, which the output of an
/// exporter need not be.
#[derive(Debug, Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Sink {
    fn drain_to(&self, out: &mut impl Write) -> io::Result<()> {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        out.write_all(&bytes)?;
        bytes.clear();
        Ok(())
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
