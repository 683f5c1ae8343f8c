//! Guesses the next key of an object from the objects before it.
//!
//! A trace repeats a handful of shapes many thousand times, each key behind the same comma, spaces
//! and quotes. Comparing with that text is several times cheaper than reading it.

use super::event::Field;
use super::scanner::{Fault, Members, Scanner};

/// Which key followed which, as written.
#[derive(Debug)]
pub(super) struct Keys<'a> {
    known: Vec<Known<'a>>,
}

#[derive(Debug)]
struct Known<'a> {
    /// From behind the value before it to its colon.
    text: &'a [u8],
    field: Field,
    /// The keys that followed it, the last one first.
    next: [u32; GUESSES],
}

/// How many of the keys that followed another are tried.
const GUESSES: usize = 4;
/// A file with ever new keys is read without guessing past these.
const MOST_KNOWN: usize = 1000;
const NOTHING: u32 = u32::MAX;

/// The key that was read last; [`FIRST`] at the beginning of an event.
pub(super) type Last = u32;
pub(super) const FIRST: Last = 0;

impl<'a> Keys<'a> {
    pub(super) fn new() -> Keys<'a> {
        let first = Known {
            text: b"",
            field: Field::Other,
            next: [NOTHING; GUESSES],
        };
        Keys { known: vec![first] }
    }

    /// Which key of an object comes next; [`Field::End`] where none does.
    #[inline]
    pub(super) fn next(
        &mut self,
        scanner: &mut Scanner<'a>,
        members: &mut Members,
        last: &mut Last,
    ) -> Result<Field, Fault> {
        for order in 0..GUESSES {
            let guess = self.known[*last as usize].next[order];
            let Some(known) = self.known.get(guess as usize) else {
                break;
            };
            if scanner.take_text(known.text) {
                members.skip_first();
                let field = known.field;
                if order > 0 {
                    self.known[*last as usize].next.swap(order - 1, order);
                }
                *last = guess;
                return Ok(field);
            }
        }
        self.read(scanner, members, last)
    }

    #[cold]
    fn read(
        &mut self,
        scanner: &mut Scanner<'a>,
        members: &mut Members,
        last: &mut Last,
    ) -> Result<Field, Fault> {
        let start = scanner.position();
        let field = match scanner.next_key(members)? {
            // The end of an object comes behind the same spaces each time, like a key.
            None => Field::End,
            Some(key) => {
                // The spaces before the value are the same as well.
                scanner.peek();
                Field::of(key)
            }
        };
        let text = scanner.between(start, scanner.position());
        if self.known.len() < MOST_KNOWN {
            let found = self.known.iter().position(|known| known.text == text);
            let id = found.unwrap_or_else(|| {
                self.known.push(Known {
                    text,
                    field,
                    next: [NOTHING; GUESSES],
                });
                self.known.len() - 1
            }) as u32;
            let next = &mut self.known[*last as usize].next;
            let free = next.iter().position(|&guess| guess == NOTHING);
            next[free.unwrap_or(GUESSES - 1)] = id;
            *last = id;
        } else {
            *last = FIRST;
        }
        Ok(field)
    }
}
