//! Rules about memory: growth with every step, and memory that each call allocates and frees again.
//!
//! Their cost is in bytes. Their cost in time is not known, so they come after the findings that have one.

use super::facts::Facts;
use super::finding::{Finding, FindingKind};
use crate::units::{bytes, count, few_shapes, prose};

/// With fewer calls, keeping a buffer is not worth it.
const LEAST_CALLS: u64 = 8;
/// Smaller blocks are reused from lists of free blocks and cost little.
const LEAST_PER_CALL: u64 = 64 << 10;
/// Smaller shares of all allocated bytes are not listed.
const LEAST_SHARE: f64 = 0.05;
/// Rows that are listed, at most.
const MOST: usize = 3;

/// An op whose memory grew in every step.
pub(super) fn growth(facts: &Facts<'_>) -> Vec<Finding> {
    let grown = facts.tables.growth.iter().take(MOST);
    let finding = |grown: &crate::analyze::MemoryGrowth| {
        let kind = FindingKind::MemoryGrowth;
        let subject = grown.operation.as_deref().unwrap_or("(outside ops)");
        let mut finding = facts.finding(kind, subject, 0, "Memory that grows with every step");
        finding.sentence = format!(
            "memory of {} grows by {} in each of {} steps",
            name(facts, subject, &grown.input_shapes),
            prose(&bytes(grown.bytes_per_step)),
            count(grown.steps as u64)
        );
        finding
    };
    grown.map(finding).collect()
}

/// An op that allocates memory in each call and frees it before it returns.
pub(super) fn scratch(facts: &Facts<'_>) -> Vec<Finding> {
    let rows = facts.tables.heap;
    let all = rows
        .iter()
        .fold(0u64, |sum, row| sum.saturating_add(row.allocated_bytes));
    let mut found: Vec<(u64, Finding)> = Vec::new();
    for row in rows {
        let Some(operation) = &row.operation else {
            continue;
        };
        // Memory that ops inside allocated counts for those ops.
        let scratch = row.temporary_bytes.min(row.allocated_bytes);
        let per_call = scratch / row.calls.max(1);
        let is_repeated = row.calls >= LEAST_CALLS && row.allocations >= row.calls;
        if !is_repeated || per_call < LEAST_PER_CALL || (scratch as f64) < LEAST_SHARE * all as f64
        {
            continue;
        }
        let kind = FindingKind::RepeatedAllocation;
        let mut finding = facts.finding(kind, operation, 0, "Heap memory by op and input shapes");
        finding.sentence = format!(
            "{} allocates {} in each of {} calls and frees it before it returns: {} in all",
            name(facts, operation, &row.input_shapes),
            prose(&bytes(per_call)),
            count(row.calls),
            prose(&bytes(scratch))
        );
        found.push((scratch, finding));
    }
    found.sort_by_key(|(scratch, _)| std::cmp::Reverse(*scratch));
    found
        .into_iter()
        .take(MOST)
        .map(|(_, finding)| finding)
        .collect()
}

fn name(facts: &Facts<'_>, operation: &str, input_shapes: &[Vec<usize>]) -> String {
    let dims = few_shapes(input_shapes);
    let space = if dims.is_empty() { "" } else { " " };
    format!("{}{space}{dims}", facts.name(operation))
}
