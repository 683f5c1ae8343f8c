use crate::random_trace::{exported_text, random_trace, two_ranks};
use proptest::prelude::*;
use trace_runtime::export::CsvTable;

#[test]
fn an_op_is_a_row_of_plain_numbers() {
    let text = exported_text(&CsvTable::ByOp, &two_ranks());
    let mut lines = text.lines();
    let titles: Vec<&str> = lines.next().unwrap().split(',').collect();
    let matmul: Vec<&str> = lines
        .find(|line| line.starts_with("matmul"))
        .unwrap()
        .split(',')
        .collect();
    let of = |title: &str| matmul[titles.iter().position(|one| *one == title).unwrap()];
    assert_eq!(
        (of("count"), of("total_ns"), of("max_ns")),
        ("2", "60500", "30250")
    );
}

#[test]
fn ops_with_different_shapes_are_different_rows() {
    let text = exported_text(&CsvTable::ByShape, &two_ranks());
    assert!(text.starts_with("operation,input_shapes,"), "{text}");
    assert_eq!(text.lines().count(), 4);
}

/// Fields of each record by RFC 4180.
pub(crate) fn records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let (mut quoted, mut chars) = (false, text.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            '\r' if !quoted => {}
            _ => field.push(c),
        }
    }
    records
}

proptest! {
    #[test]
    fn every_row_has_every_column_for_any_names(trace in random_trace()) {
        let records = records(&exported_text(&CsvTable::ByShape, &trace));
        prop_assert!(records.iter().all(|record| record.len() == records[0].len()));
    }
}
