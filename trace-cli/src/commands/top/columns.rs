//! The columns of the table: their titles, cells and order.

use super::sample::{OpSample, Sample};
use std::cmp::Ordering;
use std::str::FromStr;
use trace_runtime::read::OpenThread;
use trace_runtime::report::{Column, Table, count, duration, percent, printable, prose, shapes};

/// The column that a table is sorted by. Numbers are sorted from the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SortBy {
    Busy,
    CallsPerSecond,
    Calls,
    Total,
    Own,
    Waiting,
    Mean,
    Max,
    Open,
    Op,
}

impl SortBy {
    /// In the order of the columns, beginning with the second; the first column is last.
    const ALL: [SortBy; 10] = [
        SortBy::Busy,
        SortBy::CallsPerSecond,
        SortBy::Calls,
        SortBy::Total,
        SortBy::Own,
        SortBy::Waiting,
        SortBy::Mean,
        SortBy::Max,
        SortBy::Open,
        SortBy::Op,
    ];

    pub(super) const fn title(self) -> &'static str {
        match self {
            SortBy::Busy => "busy",
            SortBy::CallsPerSecond => "calls/s",
            SortBy::Calls => "calls",
            SortBy::Total => "total",
            SortBy::Own => "self",
            SortBy::Waiting => "waiting",
            SortBy::Mean => "mean",
            SortBy::Max => "max",
            SortBy::Open => "open",
            SortBy::Op => "op",
        }
    }

    pub(super) fn next(self) -> SortBy {
        self.after(1)
    }

    pub(super) fn previous(self) -> SortBy {
        self.after(SortBy::ALL.len() - 1)
    }

    fn after(self, steps: usize) -> SortBy {
        let at = SortBy::ALL.iter().position(|by| *by == self).unwrap_or(0);
        SortBy::ALL[(at + steps) % SortBy::ALL.len()]
    }

    pub(super) fn order(self, a: &OpSample, b: &OpSample) -> Ordering {
        match self {
            SortBy::Busy => b.busy.total_cmp(&a.busy),
            SortBy::CallsPerSecond => b.calls_per_s.total_cmp(&a.calls_per_s),
            SortBy::Calls => b.op.calls.cmp(&a.op.calls),
            SortBy::Total => b.op.total_ns.cmp(&a.op.total_ns),
            SortBy::Own => b.op.self_ns.cmp(&a.op.self_ns),
            SortBy::Waiting => b.op.waiting_ns.cmp(&a.op.waiting_ns),
            SortBy::Mean => mean_ns(b).cmp(&mean_ns(a)),
            SortBy::Max => b.op.max_ns.cmp(&a.op.max_ns),
            SortBy::Open => b.op.open.cmp(&a.op.open),
            SortBy::Op => a.op.operation.cmp(&b.op.operation),
        }
    }
}

impl FromStr for SortBy {
    type Err = String;

    fn from_str(text: &str) -> Result<SortBy, String> {
        let found = SortBy::ALL.into_iter().find(|by| by.title() == text);
        found.ok_or_else(|| {
            let titles = SortBy::ALL.map(SortBy::title);
            format!("expected one of: {}", titles.join(", "))
        })
    }
}

/// The mean time of an execution. Open executions are included.
fn mean_ns(row: &OpSample) -> u64 {
    row.op.total_ns / (row.op.calls + row.op.open).max(1)
}

/// The cells of an op, in the order of the columns.
pub(super) fn cells(row: &OpSample) -> [String; 10] {
    let OpSample {
        op,
        calls_per_s,
        busy,
    } = row;
    let or_none = |number: u64, text: fn(u64) -> String| match number {
        0 => "–".to_owned(),
        number => text(number),
    };
    [
        printable(&op.operation),
        percent(*busy),
        count(calls_per_s.round() as u64),
        count(op.calls),
        duration(op.total_ns),
        duration(op.self_ns),
        or_none(op.waiting_ns, duration),
        duration(mean_ns(row)),
        or_none(op.max_ns, duration),
        or_none(op.open, count),
    ]
}

/// The columns. Those with the largest rank are left out first in a narrow table.
pub(super) fn columns() -> Vec<Column> {
    let ranks = [0, 0, 2, 1, 0, 3, 5, 6, 4];
    let numbers = SortBy::ALL.into_iter().zip(ranks);
    let numbers = numbers.map(|(by, rank)| Column::number(by.title(), rank));
    [Column::name("op")].into_iter().chain(numbers).collect()
}

/// The ops as text.
pub(super) fn table(sample: &Sample, rows: usize) -> Table {
    let shown = sample.ops.len().min(rows);
    Table::new(
        "",
        columns(),
        sample.ops[..shown]
            .iter()
            .map(|row| cells(row).to_vec())
            .collect(),
    )
    .with_footer(crate::commands::more(sample.ops.len(), shown, "ops"))
}

/// The ops as numbers.
pub(super) fn figures(sample: &Sample) -> Table {
    let titles = [
        "calls",
        "calls_per_s",
        "busy",
        "total_ns",
        "self_ns",
        "waiting_ns",
        "max_ns",
        "open",
    ];
    let names = [Column::name("operation")].into_iter();
    Table::new(
        "",
        names
            .chain(titles.map(|title| Column::number(title, 0)))
            .collect(),
        sample
            .ops
            .iter()
            .map(
                |OpSample {
                     op,
                     calls_per_s,
                     busy,
                 }| {
                    vec![
                        op.operation.clone(),
                        op.calls.to_string(),
                        format!("{calls_per_s:.3}"),
                        format!("{busy:.6}"),
                        op.total_ns.to_string(),
                        op.self_ns.to_string(),
                        op.waiting_ns.to_string(),
                        op.max_ns.to_string(),
                        op.open.to_string(),
                    ]
                },
            )
            .collect(),
    )
}

/// The open ops of each thread.
pub(super) fn threads(sample: &Sample) -> Option<Table> {
    let rows: Vec<Vec<String>> = sample
        .threads
        .iter()
        .map(|thread| vec![thread_line(thread)])
        .collect();
    (!rows.is_empty()).then(|| Table::new("", vec![Column::name("now running")], rows))
}

/// A thread and its open ops in one line: `main: block › mlp › matmul [64×32]·[32×16], for 1.20 s`.
pub(super) fn thread_line(thread: &OpenThread) -> String {
    let name = match (&thread.name, thread.thread) {
        (Some(name), _) => printable(name),
        (None, Some(number)) => format!("thread {number}"),
        (None, None) => "a thread".to_owned(),
    };
    let Some(innermost) = thread.ops.last() else {
        return name;
    };
    let stack: Vec<String> = thread
        .ops
        .iter()
        .map(|op| printable(&op.operation))
        .collect();
    let shapes = match innermost.input_shapes.as_slice() {
        [] => String::new(),
        inputs => format!(" {}", shapes(inputs)),
    };
    let since = prose(&duration(innermost.duration_ns));
    format!("{name}: {}{shapes}, for {since}", stack.join(" › "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_can_be_sorted_by_and_is_reached_by_keys() {
        let mut by = SortBy::Busy;
        for _ in 0..SortBy::ALL.len() {
            assert_eq!(by.title().parse(), Ok(by));
            assert_eq!(by.next().previous(), by);
            by = by.next();
        }
        assert_eq!(by, SortBy::Busy);
        assert!("speed".parse::<SortBy>().is_err());
        assert_eq!(columns().len(), cells(&OpSample::default()).len());
    }
}
