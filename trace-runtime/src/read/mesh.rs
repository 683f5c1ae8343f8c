//! The place of a process or thread in a mesh of ranks, from its name: `DP rank [0]`, `PP rank 3, TP rank 0, compute`.
//!
//! Jobs that are parallel in several ways name their rows after the coordinates of the rank. One process of such a file
//! may show several ranks.

use std::collections::{BTreeMap, BTreeSet};

/// The coordinate that is the stage of a pipeline.
const PIPELINE: &str = "PP";

/// Coordinates by axis: `DP` → 0.
pub(super) type Coordinates = BTreeMap<String, u32>;

/// The coordinates in the names of a process and a thread.
pub(super) fn coordinates(names: &[&str]) -> Coordinates {
    names
        .iter()
        .flat_map(|name| name.split(','))
        .filter_map(|part| {
            let (axis, number) = part.split_once(" rank ")?;
            let number = number.trim().trim_start_matches('[').trim_end_matches(']');
            let axis = axis.trim();
            let is_axis = (2..=3).contains(&axis.len()) && axis.ends_with('P');
            Some((axis.to_owned(), number.parse().ok().filter(|_| is_axis)?))
        })
        .collect()
}

/// The ranks of a mesh: every distinct set of coordinates is one, numbered in their order.
#[derive(Debug, Default)]
pub(super) struct Mesh {
    ranks: Vec<Coordinates>,
}

impl Mesh {
    /// The mesh of these rows. Empty if they have no coordinates or are all of one rank.
    pub(super) fn of(rows: impl Iterator<Item = Coordinates>) -> Mesh {
        let distinct: BTreeSet<Vec<(String, u32)>> = rows
            .filter(|row| !row.is_empty())
            .map(|row| row.into_iter().collect())
            .collect();
        if distinct.len() < 2 {
            return Mesh::default();
        }
        Mesh {
            ranks: distinct
                .into_iter()
                .map(|row| row.into_iter().collect())
                .collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    pub(super) fn rank(&self, row: &Coordinates) -> Option<u32> {
        let rank = self.ranks.iter().position(|rank| rank == row)?;
        u32::try_from(rank).ok()
    }

    /// For each rank its coordinates as text, and its pipeline stage if there is one.
    pub(super) fn facts(&self) -> impl Iterator<Item = (u32, String, Option<String>)> {
        (0..).zip(&self.ranks).map(|(rank, row)| {
            let text: Vec<String> = row
                .iter()
                .map(|(axis, number)| format!("{axis} {number}"))
                .collect();
            let stage = row.get(PIPELINE).map(u32::to_string);
            (rank, text.join(", "), stage)
        })
    }
}

/// True if the name of a thread or stream contains the word `comm`, as in `dp-comm`: it is for communication.
pub(super) fn is_for_communication(name: &str) -> bool {
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    words.any(|word| word.eq_ignore_ascii_case("comm"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_the_distinct_coordinates_of_rows() {
        let rows = || {
            [
                ["DP rank [1]", "PP rank 0, TP rank 0, compute"],
                ["DP rank [0]", "PP rank 1, TP rank 0, compute"],
                ["DP rank [0]", "PP rank 0, TP rank 0, dp-comm"],
                ["DP rank [0]", "PP rank 0, TP rank 0, compute"],
            ]
            .map(|names| coordinates(&names))
        };
        let mesh = Mesh::of(rows().into_iter());
        let ranks = rows().map(|row| mesh.rank(&row));
        assert_eq!(ranks, [Some(2), Some(1), Some(0), Some(0)]);
        let facts: Vec<_> = mesh.facts().collect();
        assert_eq!(facts[1], (1, "DP 0, PP 1, TP 0".into(), Some("1".into())));
    }

    #[test]
    fn other_names_have_no_coordinates() {
        for name in ["rank 3", "worker rank 2", "python 12", "the DP rank", ""] {
            assert!(coordinates(&[name]).is_empty(), "{name}");
        }
        let one = coordinates(&["DP rank 0"]);
        assert_eq!(Mesh::of([one.clone()].into_iter()).rank(&one), None);
    }

    #[test]
    fn a_row_for_communication_has_the_word_in_its_name() {
        assert!(is_for_communication("PP rank 0, dp-comm"));
        assert!(!is_for_communication("command queue"));
        assert!(!is_for_communication("main"));
    }
}
