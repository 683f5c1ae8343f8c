//! The values of `meta(…)`: a view of the values of one entry, and a table for the values of a store.

use super::hash::FastMap;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Index;
use std::sync::Arc;

/// The values of `meta(…)` of one entry, in the order of their keys. Cheap to copy.
///
/// ```
/// use trace_runtime::{RecordedExecutionTrace, RecordedTraceEntry, TraceView};
///
/// let mut trace = RecordedExecutionTrace::new();
/// let mut entry = RecordedTraceEntry::new(0, "all_reduce");
/// entry.meta = [("process_group".to_owned(), "world".to_owned())].into();
/// trace.add_entry(entry);
/// let meta = trace.view(0).meta().unwrap();
/// assert_eq!(meta.get("process_group"), Some("world"));
/// assert_eq!(meta.iter().count(), 1);
/// ```
#[derive(Clone, Copy)]
pub struct Meta<'a>(Values<'a>);

#[derive(Clone, Copy)]
enum Values<'a> {
    Map(&'a BTreeMap<String, String>),
    Table(&'a [Arc<str>], &'a [(u32, u32)]),
}

impl<'a> Meta<'a> {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        match self.0 {
            Values::Map(map) => map.get(key).map(String::as_str),
            // An entry has only a few keys.
            Values::Table(..) => self.iter().find(|pair| pair.0 == key).map(|pair| pair.1),
        }
    }

    /// All keys and values, in the order of the keys.
    pub fn iter(&self) -> MetaIter<'a> {
        MetaIter {
            meta: *self,
            at: 0,
            map: match self.0 {
                Values::Map(map) => Some(map.iter()),
                Values::Table(..) => None,
            },
        }
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        match self.0 {
            Values::Map(map) => map.len(),
            Values::Table(_, pairs) => pairs.len(),
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An owned copy.
    pub fn to_map(&self) -> BTreeMap<String, String> {
        self.iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }
}

impl<'a> From<&'a BTreeMap<String, String>> for Meta<'a> {
    fn from(map: &'a BTreeMap<String, String>) -> Self {
        Meta(Values::Map(map))
    }
}

impl fmt::Debug for Meta<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Index<&str> for Meta<'_> {
    type Output = str;

    /// # Panics
    /// If there is no such key.
    fn index(&self, key: &str) -> &str {
        self.get(key).expect("a key of the entry's meta")
    }
}

impl<'a> IntoIterator for Meta<'a> {
    type Item = (&'a str, &'a str);
    type IntoIter = MetaIter<'a>;

    fn into_iter(self) -> MetaIter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &Meta<'a> {
    type Item = (&'a str, &'a str);
    type IntoIter = MetaIter<'a>;

    fn into_iter(self) -> MetaIter<'a> {
        self.iter()
    }
}

/// The keys and values of a [`Meta`].
#[derive(Debug, Clone)]
pub struct MetaIter<'a> {
    meta: Meta<'a>,
    at: usize,
    map: Option<std::collections::btree_map::Iter<'a, String, String>>,
}

impl<'a> Iterator for MetaIter<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<(&'a str, &'a str)> {
        if let Some(map) = &mut self.map {
            return map
                .next()
                .map(|(key, value)| (key.as_str(), value.as_str()));
        }
        let Values::Table(texts, pairs) = self.meta.0 else {
            return None;
        };
        let &(key, value) = pairs.get(self.at)?;
        self.at += 1;
        Some((&texts[key as usize], &texts[value as usize]))
    }
}

/// The values of `meta(…)` of the entries of a store. Each text is kept once, because the communication of a job has
/// the same keys, groups and numbers on every rank.
#[derive(Debug, Clone, Default)]
pub(crate) struct MetaTable {
    texts: Vec<Arc<str>>,
    /// Empty once the store is finished, because nothing is added to it.
    numbers: FastMap<Arc<str>, u32>,
    /// Distinct lists of keys and values: the ranks of a collective call share one list.
    lists: Vec<Arc<[(u32, u32)]>>,
    /// Empty once the store is finished.
    list_numbers: FastMap<Arc<[(u32, u32)]>, u32>,
    /// The number of each entry's list.
    of_entry: FastMap<u32, u32>,
}

/// The numbers that texts of one table have in another one, for the texts copied so far.
#[derive(Debug, Default)]
pub(crate) struct CopiedTexts {
    numbers: Vec<Option<u32>>,
    /// The list that was copied last.
    list: Vec<(u32, u32)>,
}

impl MetaTable {
    pub(crate) fn get(&self, entry: u32) -> Option<Meta<'_>> {
        let pairs = &self.lists[*self.of_entry.get(&entry)? as usize];
        Some(Meta(Values::Table(&self.texts, pairs)))
    }

    /// Sets the values of an entry; nothing if there are none. Keys must be in order.
    pub(crate) fn insert<'t>(
        &mut self,
        entry: u32,
        meta: impl IntoIterator<Item = (&'t str, &'t str)>,
    ) {
        let pairs: Vec<(u32, u32)> = meta
            .into_iter()
            .map(|(key, value)| (self.number(key), self.number(value)))
            .collect();
        if !pairs.is_empty() {
            let list = self.list_number(&pairs);
            self.of_entry.insert(entry, list);
        }
    }

    /// Copies the values of an entry of another table.
    pub(crate) fn copy(&mut self, entry: u32, from: &MetaTable, of: u32, copied: &mut CopiedTexts) {
        let Some(&list) = from.of_entry.get(&of) else {
            return;
        };
        copied.numbers.resize(from.texts.len(), None);
        let mut number = |text: u32| {
            let known = &mut copied.numbers[text as usize];
            *known.get_or_insert_with(|| self.number(&from.texts[text as usize]))
        };
        let pairs = from.lists[list as usize].iter();
        copied.list.clear();
        let pairs = pairs.map(|pair| (number(pair.0), number(pair.1)));
        copied.list.extend(pairs);
        let list = self.list_number(&copied.list);
        self.of_entry.insert(entry, list);
    }

    fn list_number(&mut self, pairs: &[(u32, u32)]) -> u32 {
        if let Some(&known) = self.list_numbers.get(pairs) {
            return known;
        }
        let number = self.lists.len() as u32;
        let list: Arc<[(u32, u32)]> = pairs.into();
        self.lists.push(list.clone());
        self.list_numbers.insert(list, number);
        number
    }

    fn number(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.numbers.get(text) {
            return known;
        }
        let number = self.texts.len() as u32;
        let text: Arc<str> = text.into();
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        number
    }

    /// The table for entries in another order, or for some of them: their numbers in this one.
    pub(crate) fn of_entries(&self, entries: impl Iterator<Item = u32>) -> MetaTable {
        let mut table = MetaTable {
            texts: self.texts.clone(),
            numbers: self.numbers.clone(),
            lists: self.lists.clone(),
            list_numbers: self.list_numbers.clone(),
            of_entry: FastMap::default(),
        };
        if !self.of_entry.is_empty() {
            for (new, old) in (0..).zip(entries) {
                if let Some(&list) = self.of_entry.get(&old) {
                    table.of_entry.insert(new, list);
                }
            }
        }
        table
    }

    /// The table of a finished store.
    pub(crate) fn finished(mut self) -> MetaTable {
        self.numbers = FastMap::default();
        self.list_numbers = FastMap::default();
        self.texts.shrink_to_fit();
        self.lists.shrink_to_fit();
        self
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let texts: usize = self.texts.iter().map(|text| text.len() + 32).sum();
        let lists = self.lists.iter();
        let lists: usize = lists.map(|list| size_of_val(&**list) + 32).sum();
        texts + lists + self.of_entry.capacity() * size_of::<(u32, u32)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_once_and_survives_copies() {
        let mut table = MetaTable::default();
        table.insert(3, [("a", "x"), ("b", "a")]);
        table.insert(5, []);
        assert_eq!(table.texts.len(), 3);
        table.insert(7, [("a", "x"), ("b", "a")]);
        assert_eq!(table.lists.len(), 1);
        assert_eq!(
            table.get(7).unwrap().to_map(),
            table.get(3).unwrap().to_map()
        );
        assert!(table.get(5).is_none());
        let mut other = MetaTable::default();
        other.insert(0, [("b", "y")]);
        let mut copied = CopiedTexts::default();
        other.copy(1, &table, 3, &mut copied);
        other.copy(2, &table, 4, &mut copied);
        let other = other.finished();
        assert_eq!(
            other.get(1).unwrap().to_map(),
            table.get(3).unwrap().to_map()
        );
        assert_eq!(&other.get(0).unwrap()["b"], "y");
        assert!(other.get(2).is_none());
        let swapped = other.of_entries([1, 0].into_iter());
        assert_eq!(swapped.get(0).unwrap().get("b"), Some("a"));
        assert_eq!(swapped.get(1).unwrap().get("a"), None);
    }
}
