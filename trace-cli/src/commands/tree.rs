//! `optrace tree`: which op calls which.

use crate::args::{Format, Layout, Reading, share};
use crate::failure::Failure;
use crate::{input, output};
use std::path::PathBuf;
use trace_runtime::analyze::{CallNode, CallTree, ShortNames, call_tree};
use trace_runtime::report::{Column, Table, duration, percent, printable, prose};

/// Ops below this depth are not indented further, because their names would be outside the screen.
const DEEPEST_INDENT: usize = 24;

#[derive(Debug, clap::Args)]
pub(crate) struct TreeArgs {
    /// The trace, or `-` for standard input
    pub(crate) file: PathBuf,
    /// Hide ops that are nested deeper than this
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<usize>,
    /// Hide ops that take less than this share of the time
    #[arg(long, value_name = "PERCENT", default_value = "0.5%", value_parser = share)]
    pub(crate) min: f64,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) layout: Layout,
}

pub(super) fn run(args: &TreeArgs) -> Result<(), Failure> {
    let trace = input::load(&args.file, args.reading)?;
    let tree = call_tree(&trace);
    let whole: u64 = tree.nodes.iter().map(|node| node.self_ns).sum();
    let mut shown = shown(&tree, args, whole);
    let hidden = tree.nodes.len() - shown.len();
    let small = shown.len().saturating_sub(args.layout.rows);
    let is_for_reading = matches!(args.layout.format, Format::Text | Format::Md);
    if is_for_reading && small > 0 {
        shown = largest(&shown, args.layout.rows);
    }
    let plain = args.layout.format == Format::Csv;
    let names = ShortNames::of(tree.nodes.iter().map(|node| node.operation.as_str()));
    let rows = shown.iter().map(|node| {
        if plain {
            csv_row(node)
        } else {
            row(node, &names, whole)
        }
    });
    let table = Table::new(
        "calls",
        if plain {
            vec![
                Column::name("op"),
                Column::name("label"),
                Column::number("depth", 0),
                Column::number("count", 0),
                Column::number("total_ns", 0),
                Column::number("self_ns", 0),
            ]
        } else {
            vec![
                Column::name("op"),
                Column::number("total", 0),
                Column::number("total %", 1),
                Column::number("self", 0),
                Column::number("count", 2),
            ]
        },
        rows.collect(),
    )
    .with_footer(footer(small, hidden, args.min));
    let line = format!("{} in ops, by caller", prose(&duration(whole)));
    output::tables(&args.layout, &line, &[table], || {
        let nodes: Vec<CallNode> = shown.iter().map(|&node| node.clone()).collect();
        serde_json::to_string_pretty(&CallTree::from(nodes))
    })
}

fn footer(small: usize, hidden: usize, min: f64) -> Option<String> {
    let small = (small > 0).then(|| format!("{small} smaller calls (`--rows` shows more)"));
    let hidden = (hidden > 0).then(|| {
        format!(
            "{hidden} calls that take less than {} of the time or are nested deeper than `--depth`",
            percent(min)
        )
    });
    let parts: Vec<String> = small.into_iter().chain(hidden).collect();
    (!parts.is_empty()).then(|| format!("and {}", parts.join(", and ")))
}

/// The `rows` nodes with the largest total, in the order of the tree. The total of a node is limited to that of its
/// parent, so that the parent of a listed node is always listed too.
fn largest<'a>(nodes: &[&'a CallNode], rows: usize) -> Vec<&'a CallNode> {
    let mut sizes: Vec<(u64, usize)> = Vec::with_capacity(nodes.len());
    // The size of the last node at each depth.
    let mut above: Vec<u64> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        above.truncate(node.depth);
        let size = above
            .last()
            .map_or(node.total_ns, |&size| size.min(node.total_ns));
        above.push(size);
        sizes.push((size, index));
    }
    sizes.sort_by_key(|&(size, index)| (std::cmp::Reverse(size), index));
    let mut chosen: Vec<usize> = sizes
        .into_iter()
        .take(rows)
        .map(|(_, index)| index)
        .collect();
    chosen.sort_unstable();
    chosen.into_iter().map(|index| nodes[index]).collect()
}

/// The nodes that are large and shallow enough. The children of a hidden node are hidden too, even one
/// that ran on another thread and took longer than its parent.
fn shown<'a>(tree: &'a CallTree, args: &TreeArgs, whole: u64) -> Vec<&'a CallNode> {
    let least = whole as f64 * args.min;
    let mut hidden_from = usize::MAX;
    tree.nodes
        .iter()
        .filter(|node| {
            if node.depth > hidden_from {
                return false;
            }
            let deep = args.depth.is_some_and(|most| node.depth > most);
            let hidden = deep || (node.total_ns as f64) < least;
            hidden_from = if hidden { node.depth } else { usize::MAX };
            !hidden
        })
        .collect()
}

fn csv_row(node: &CallNode) -> Vec<String> {
    vec![
        node.operation.clone(),
        node.label.clone().unwrap_or_default(),
        node.depth.to_string(),
        node.count.to_string(),
        node.total_ns.to_string(),
        node.self_ns.to_string(),
    ]
}

fn row(node: &CallNode, names: &ShortNames, whole: u64) -> Vec<String> {
    let operation = names.get(&node.operation);
    let name = match &node.label {
        Some(label) => format!("{operation} {label}"),
        None => operation.to_owned(),
    };
    let indent = "  ".repeat(node.depth.min(DEEPEST_INDENT));
    vec![
        format!("{indent}{}", printable(&name)),
        duration(node.total_ns),
        percent(node.total_ns as f64 / whole.max(1) as f64),
        duration(node.self_ns),
        node.count.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_rows_are_there_with_their_parents() {
        let node = |operation: &str, depth: usize, total_ns: u64| {
            let mut node = CallNode::default();
            node.operation = operation.to_owned();
            node.depth = depth;
            node.total_ns = total_ns;
            node
        };
        let nodes = [
            node("a", 0, 50),
            node("a.1", 1, 10),
            node("b", 0, 100),
            node("b.1", 1, 60),
            // Work that was handed to another thread, and takes longer than its parent.
            node("b.1.x", 2, 500),
            node("b.2", 1, 30),
        ];
        let all: Vec<&CallNode> = nodes.iter().collect();
        let names = |rows| -> Vec<&str> {
            let chosen = largest(&all, rows);
            chosen
                .into_iter()
                .map(|node| node.operation.as_str())
                .collect()
        };
        assert_eq!(names(1), ["b"]);
        assert_eq!(names(2), ["b", "b.1"]);
        assert_eq!(names(4), ["a", "b", "b.1", "b.1.x"]);
        assert_eq!(names(9).len(), 6);
        assert!(names(0).is_empty());
    }
}
