//! The names of threads in a trace's metadata.
//!
//! The key is `thread.7.name` if thread 7 has the same name on every rank, else `rank.0.thread.7.name`.

use super::wire::metadata::{of_rank, thread_name as key};
use std::collections::{BTreeMap, HashMap};

fn key_of_rank(rank: Option<u32>, thread: u64) -> String {
    match rank {
        Some(rank) => of_rank(rank, &key(thread)),
        None => format!("rank.none.{}", key(thread)),
    }
}

/// The name of a thread; a name for its rank comes before one for all ranks.
pub(crate) fn name_in(
    metadata: &HashMap<String, String>,
    rank: Option<u32>,
    thread: u64,
) -> Option<&str> {
    metadata
        .get(&key_of_rank(rank, thread))
        .or_else(|| metadata.get(&key(thread)))
        .map(String::as_str)
}

/// The keys and values that hold the names of these threads: each by rank and number, with its name if it has one.
pub(crate) fn names_as_metadata<'a>(
    threads: impl IntoIterator<Item = (Option<u32>, u64, Option<&'a str>)>,
) -> BTreeMap<String, &'a str> {
    let mut by_number: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    for (rank, thread, name) in threads {
        by_number.entry(thread).or_default().push((rank, name));
    }
    let mut metadata = BTreeMap::new();
    for (thread, names) in by_number {
        let (_, first) = names[0];
        if names.iter().all(|(_, name)| *name == first) {
            metadata.extend(first.map(|name| (key(thread), name)));
            continue;
        }
        for (rank, name) in names {
            metadata.extend(name.map(|name| (key_of_rank(rank, thread), name)));
        }
    }
    metadata
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_all_ranks_share_has_one_key() {
        let threads = [
            (Some(0), 1, Some("main")),
            (Some(1), 1, Some("main")),
            (Some(0), 2, Some("loader")),
            (Some(1), 2, None),
            (None, 3, None),
        ];
        let metadata = names_as_metadata(threads);
        let expected = [
            ("rank.0.thread.2.name", "loader"),
            ("thread.1.name", "main"),
        ];
        assert!(
            metadata
                .iter()
                .map(|(key, name)| (key.as_str(), *name))
                .eq(expected)
        );
        let metadata = metadata
            .into_iter()
            .map(|(key, name)| (key, name.to_owned()))
            .collect();
        for (rank, thread, name) in threads {
            assert_eq!(name_in(&metadata, rank, thread), name);
        }
    }
}
