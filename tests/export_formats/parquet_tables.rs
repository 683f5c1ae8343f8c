use crate::random_trace::{exported, random_trace, two_ranks};
use bytes::Bytes;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use proptest::prelude::*;
use std::collections::HashMap;
use trace_runtime::analyze::by_shape;
use trace_runtime::export::Exporter;
use trace_runtime::export::parquet::{ParquetEntries, ParquetShapes};
use trace_runtime::model::{NewEntry, Pause, PauseKind, TraceStoreBuilder};
use trace_runtime::{RecordedExecutionTrace, TraceView};

pub(crate) fn rows(
    exporter: &dyn Exporter,
    trace: &dyn TraceView,
) -> (usize, Vec<HashMap<String, Field>>) {
    let file = SerializedFileReader::new(bytes(exporter, trace)).expect("a Parquet file");
    let named = |row: Row| {
        let named = |(name, field): (&String, &Field)| (name.clone(), field.clone());
        row.get_column_iter().map(named).collect()
    };
    let rows = file
        .get_row_iter(None)
        .unwrap()
        .map(|row| named(row.unwrap()));
    (file.num_row_groups(), rows.collect())
}

fn bytes(exporter: &dyn Exporter, trace: &dyn TraceView) -> impl ChunkReader + 'static {
    Bytes::from(exported(exporter, trace))
}

pub(crate) fn text(field: &Field) -> &str {
    match field {
        Field::Str(text) => text,
        other => panic!("text, not {other}"),
    }
}

#[test]
fn an_entry_is_a_row_with_its_shapes_as_text() {
    let (_, rows) = rows(&ParquetEntries, &two_ranks());
    let matmul = &rows[2];
    assert_eq!(text(&matmul["operation"]), "matmul");
    assert_eq!(text(&matmul["input_shapes"]), "[[64,32],[32,8]]");
    assert_eq!(text(&matmul["input_dtypes"]), "f32,bf16");
    assert_eq!(matmul["start_ns"], Field::Long(10_000));
    assert_eq!(matmul["duration_ns"], Field::Long(30_250));
    assert_eq!(matmul["parent"], Field::Long(0));
    assert_eq!(matmul["rank"], Field::Int(0));
    assert_eq!(rows[0]["parent"], Field::Null);
    assert_eq!(rows[0]["device_id"], Field::Null);
    assert_eq!(text(&rows[0]["input_shapes"]), "[]");
}

#[test]
fn labels_locations_and_pauses_are_columns() {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(None, None, None);
    let pauses = [Pause::new(PauseKind::Sync, 20, 80)];
    let mut entry = NewEntry::new("attn", thread, 0, 100);
    entry.label = Some("layers.1");
    entry.location = Some("src/layers.rs:12");
    entry.pauses = &pauses;
    builder.push(&entry).unwrap();
    let (_, rows) = rows(&ParquetEntries, &builder.finish());
    assert_eq!(text(&rows[0]["label"]), "layers.1");
    assert_eq!(text(&rows[0]["location"]), "src/layers.rs:12");
    assert_eq!(text(&rows[0]["pauses"]), "sync 20+80");
}

#[test]
fn the_table_of_shapes_has_the_figures_of_the_analysis() {
    let trace = two_ranks();
    let (_, rows) = rows(&ParquetShapes, &trace);
    let expected = by_shape(&trace);
    assert_eq!(rows.len(), expected.len());
    for (row, expected) in rows.iter().zip(&expected) {
        assert_eq!(text(&row["operation"]), expected.operation);
        assert_eq!(row["count"], Field::Long(expected.count as i64));
        assert_eq!(row["self_ns"], Field::Long(expected.self_ns as i64));
        assert_eq!(row["p95_ns"], Field::Long(expected.p95_ns as i64));
        assert_eq!(row["communication"], Field::Bool(expected.communication));
        let rate = expected.bytes_per_s.map_or(Field::Null, Field::Double);
        assert_eq!(row["bytes_per_s"], rate);
    }
}

#[test]
fn many_entries_are_several_groups_of_rows() {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(Some(1), None, None);
    for start in 0..200_000 {
        builder
            .push(&NewEntry::new("op", thread, start, 1))
            .unwrap();
    }
    let file = SerializedFileReader::new(bytes(&ParquetEntries, &builder.finish())).unwrap();
    assert_eq!(file.num_row_groups(), 2);
    assert_eq!(file.metadata().file_metadata().num_rows(), 200_000);
}

#[test]
fn an_empty_trace_is_an_empty_table() {
    let (groups, rows) = rows(&ParquetEntries, &RecordedExecutionTrace::new());
    assert_eq!((groups, rows.len()), (0, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_trace_is_read_back_as_it_was(trace in random_trace()) {
        let (_, rows) = rows(&ParquetEntries, &trace);
        prop_assert_eq!(rows.len(), trace.entries.len());
        for (row, entry) in rows.iter().zip(&trace.entries) {
            prop_assert_eq!(text(&row["operation"]), &entry.operation);
            let device = entry.device_id.clone().map_or(Field::Null, Field::Str);
            prop_assert_eq!(&row["device_id"], &device);
            prop_assert_eq!(&row["duration_ns"], &Field::Long((entry.duration_us * 1000.0) as i64));
            let shapes: Vec<Vec<usize>> = serde_json::from_str(text(&row["input_shapes"])).unwrap();
            prop_assert_eq!(&shapes, &entry.input_shapes);
            if let Field::Str(meta) = &row["meta"] {
                let meta: std::collections::BTreeMap<String, String> = serde_json::from_str(meta).unwrap();
                prop_assert_eq!(&meta, &entry.meta);
            } else {
                prop_assert!(entry.meta.is_empty());
            }
        }
    }
}
