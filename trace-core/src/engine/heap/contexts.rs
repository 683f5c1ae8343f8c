//! The contexts of a session: an op with its inputs, inside another context.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Memory that is allocated while no op is open.
pub const OUTSIDE: u16 = 0;
/// Memory that the recorder allocates.
pub const TRACER: u16 = 1;
/// Memory of contexts that have no number, because there are already 2^16.
pub const OTHER: u16 = 2;
const FIRST: usize = 3;
/// A context's number has 16 bits.
pub(super) const MAX_CONTEXTS: usize = 1 << 16;

/// An op with its inputs, inside another context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Context {
    /// The context of the op around it, or [`OUTSIDE`].
    pub parent: u16,
    /// The signature of the op and its inputs.
    pub signature: u32,
}

/// Every context of a session, numbered in the order of their first use.
#[derive(Debug, Default)]
pub(super) struct Contexts(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    all: Vec<Context>,
    numbers: HashMap<Context, u16>,
}

impl Contexts {
    pub(super) fn number(&self, context: Context) -> u16 {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&number) = table.numbers.get(&context) {
            return number;
        }
        let number = table.all.len() + FIRST;
        if number >= MAX_CONTEXTS {
            return OTHER;
        }
        table.all.push(context);
        table.numbers.insert(context, number as u16);
        number as u16
    }

    /// Moves the contexts out. The first has the number 3.
    pub(super) fn take(&self) -> Vec<Context> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_contexts_share_a_number_and_there_are_at_most_so_many() {
        let contexts = Contexts::default();
        let number = |signature| {
            contexts.number(Context {
                parent: OUTSIDE,
                signature,
            })
        };
        assert_eq!((number(7), number(8), number(7)), (3, 4, 3));
        for signature in 100..100 + MAX_CONTEXTS as u32 {
            number(signature);
        }
        assert_eq!(number(7), 3);
        assert_eq!(number(u32::MAX), OTHER);
        assert_eq!(contexts.take().len(), MAX_CONTEXTS - FIRST);
    }
}
