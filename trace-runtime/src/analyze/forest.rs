//! Entries as trees, walked from each root to its leaves.

/// "No entry", among indices.
pub(crate) const NONE: u32 = u32::MAX;

/// The children of every entry, in the order they began.
///
/// A parent's index is smaller than its children's, so there are no cycles, even in a damaged file.
#[derive(Debug)]
pub(crate) struct Forest {
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

impl Forest {
    /// `parent[i]` is the index of the parent of `i`, or [`NONE`].
    pub(crate) fn of(parent: &[u32]) -> Forest {
        let mut first_child = vec![NONE; parent.len()];
        let mut next_sibling = vec![NONE; parent.len()];
        let mut first_root = NONE;
        // Backwards, so that each list is in order.
        for (index, &above) in parent.iter().enumerate().rev() {
            let head = match first_child.get_mut(above as usize) {
                Some(head) => head,
                None => &mut first_root,
            };
            next_sibling[index] = *head;
            *head = index as u32;
        }
        Forest {
            first_child,
            next_sibling,
            first_root,
        }
    }

    /// Visits every entry twice: before its children and after them. There is no recursion, so any depth is possible.
    /// `parent` is the list that the forest was made from.
    pub(crate) fn walk(&self, parent: &[u32], mut visit: impl FnMut(Visit)) {
        let mut at = self.first_root;
        while at != NONE {
            visit(Visit::Enter(at as usize));
            let mut next = self.first_child[at as usize];
            while next == NONE && at != NONE {
                visit(Visit::Leave(at as usize));
                next = self.next_sibling[at as usize];
                if next == NONE {
                    at = parent[at as usize];
                }
            }
            at = next;
        }
    }

    /// For each entry, true if it is below another entry of its group.
    ///
    /// `group` numbers the groups from 0, with [`NONE`] for entries of no group.
    pub(crate) fn inside_own_group(&self, parent: &[u32], group: &[u32]) -> Vec<bool> {
        let mut inside = vec![false; parent.len()];
        let groups = group.iter().filter(|&&group| group != NONE).max();
        let mut open = vec![0u32; groups.map_or(0, |&largest| largest as usize + 1)];
        self.walk(parent, |visit| match visit {
            Visit::Enter(index) => {
                if let Some(open) = open.get_mut(group[index] as usize) {
                    inside[index] = *open > 0;
                    *open += 1;
                }
            }
            Visit::Leave(index) => {
                if let Some(open) = open.get_mut(group[index] as usize) {
                    *open -= 1;
                }
            }
        });
        inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_visits_children_before_siblings() {
        let parent = [NONE, 0, 1, 0, NONE, 4];
        let mut seen = String::new();
        Forest::of(&parent).walk(&parent, |visit| match visit {
            Visit::Enter(index) => seen.extend(["(".to_owned(), index.to_string()]),
            Visit::Leave(_) => seen.push(')'),
        });
        assert_eq!(seen, "(0(1(2))(3))(4(5))");
    }

    #[test]
    fn a_walk_through_nothing_ends() {
        Forest::of(&[]).walk(&[], |visit| unreachable!("{visit:?}"));
    }
}
