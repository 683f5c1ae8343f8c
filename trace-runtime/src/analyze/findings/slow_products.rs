//! Rule: matrix products of some shapes reach far fewer FLOP/s than others.

use super::super::flops::OpClass;
use super::super::op_row::OpRow;
use super::facts::Facts;
use super::finding::{Finding, FindingKind, FindingPart};
use crate::analyze::intervals::SaturatingSum as _;
use crate::units::{percent, prose, rate};

/// Smaller shares are not listed.
const LEAST: f64 = 0.03;
/// A product is not slow if it reaches this share of the FLOP/s of the best product.
const SLOW: f64 = 0.25;
/// The rate of a product counts as possible on this machine if the product takes at least this share of the time.
const MEASURE: f64 = 0.01;

/// What to try where both sides are matrices.
const NOT_A_VECTOR: &str = "compare layout (transposed inputs), precision, threads and size of these products with those \
     of the fastest ones; batch small ones";

pub(super) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let on_devices = facts.has_accelerators();
    let time_ns = |row: &OpRow| {
        if on_devices {
            row.device_self_ns
        } else {
            row.self_ns
        }
    };
    let products: Vec<(&OpRow, u64, f64)> = facts
        .tables
        .shapes
        .iter()
        .filter(|row| {
            let class = OpClass::of(&row.operation);
            let product = matches!(class, Some(OpClass::Product | OpClass::AddedProduct));
            product && row.accelerator == (on_devices && row.device_self_ns == 0)
        })
        .filter_map(|row| {
            Some((
                row,
                time_ns(row).max(if row.accelerator { row.self_ns } else { 0 }),
                row.flops_per_s?,
            ))
        })
        .filter(|product| product.1 > 0)
        .collect();
    let measured = products
        .iter()
        .filter(|product| facts.share(product.1) >= MEASURE);
    let Some(best) = measured.map(|product| product.2).reduce(f64::max) else {
        return Vec::new();
    };
    // The time that would be saved at the rate of the best product.
    let lost = |product: &(&OpRow, u64, f64)| (product.1 as f64 * (1.0 - product.2 / best)) as u64;
    let mut slow: Vec<_> = products.iter().filter(|one| one.2 < SLOW * best).collect();
    slow.sort_by_key(|product| std::cmp::Reverse(lost(product)));
    let cost_ns = slow.iter().map(|product| lost(product)).saturating_sum();
    let Some((first, _, first_rate)) = slow.first() else {
        return Vec::new();
    };
    if facts.share(cost_ns) < LEAST {
        return Vec::new();
    }
    let kind = FindingKind::SlowProducts;
    let mut finding = facts.finding(kind, &first.operation, cost_ns, "By op and input shapes");
    finding.parts = slow
        .iter()
        .take(5)
        .map(|product| FindingPart {
            input_shapes: product.0.input_shapes.clone(),
            ..facts.part(&product.0.operation, lost(product))
        })
        .collect();
    if !is_vector(&finding.parts[0]) {
        NOT_A_VECTOR.clone_into(&mut finding.advice);
    }
    finding.sentence = format!(
        "{} of the time is lost in products that reach a fraction of the FLOP/s of others, such as {} with {} \
         instead of {}",
        percent(finding.share),
        facts.part_text(&finding.parts[0]),
        prose(&rate(*first_rate, "FLOP")),
        prose(&rate(best, "FLOP")),
    );
    vec![finding]
}

/// True for a product with one row or column: it reads a whole matrix to use each element once.
fn is_vector(part: &FindingPart) -> bool {
    let shapes = part.input_shapes.iter().flatten();
    let mut matrices = shapes.filter(|dims| !dims.is_empty()).map(Vec::as_slice);
    matrices.any(|dims| {
        let last = &dims[dims.len().saturating_sub(2)..];
        last.len() < 2 || last.contains(&1)
    })
}
