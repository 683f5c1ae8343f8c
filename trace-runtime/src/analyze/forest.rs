//! Entries as trees, walked from each root to its leaves.

/// "No entry", among indices.
pub(crate) const NONE: u32 = u32::MAX;

/// The children of every entry, in the order they began.
///
/// A parent's index is smaller than its children's, so there are no cycles, whatever a file contains.
#[derive(Debug)]
pub(crate) struct Forest<'a> {
    parent: &'a [u32],
    first_child: Vec<u32>,
    next_sibling: Vec<u32>,
    first_root: u32,
}

/// A step of a walk through a [`Forest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visit {
    Enter(usize),
    Leave(usize),
}

impl<'a> Forest<'a> {
    /// `parent[i]` is the index of the parent of `i`, or [`NONE`].
    pub(crate) fn of(parent: &'a [u32]) -> Forest<'a> {
        let mut first_child = vec![NONE; parent.len()];
        let mut next_sibling = vec![NONE; parent.len()];
        let mut first_root = NONE;
        // Backwards, so that each list comes out in order.
        for (index, &above) in parent.iter().enumerate().rev() {
            let head = match first_child.get_mut(above as usize) {
                Some(head) => head,
                None => &mut first_root,
            };
            next_sibling[index] = *head;
            *head = index as u32;
        }
        Forest {
            parent,
            first_child,
            next_sibling,
            first_root,
        }
    }

    /// Every entry once on the way down and once on the way up, without recursion: depth costs nothing.
    pub(crate) fn walk(&self, mut visit: impl FnMut(Visit)) {
        let mut at = self.first_root;
        while at != NONE {
            visit(Visit::Enter(at as usize));
            let mut next = self.first_child[at as usize];
            while next == NONE && at != NONE {
                visit(Visit::Leave(at as usize));
                next = self.next_sibling[at as usize];
                if next == NONE {
                    at = self.parent[at as usize];
                }
            }
            at = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_goes_down_before_it_goes_on() {
        let parent = [NONE, 0, 1, 0, NONE, 4];
        let mut seen = String::new();
        Forest::of(&parent).walk(|visit| match visit {
            Visit::Enter(index) => seen.extend(["(".to_owned(), index.to_string()]),
            Visit::Leave(_) => seen.push(')'),
        });
        assert_eq!(seen, "(0(1(2))(3))(4(5))");
    }

    #[test]
    fn a_walk_through_nothing_ends() {
        Forest::of(&[]).walk(|visit| unreachable!("{visit:?}"));
    }
}
