//! Guesses the text between two values of an event from the events before it.
//!
//! A trace repeats a handful of shapes many thousand times: the same keys behind the same commas,
//! spaces and quotes, and between them values that hardly ever change, such as the category, the
//! process and the names of what nobody asked for. Comparing with all of that in one piece, a phrase,
//! is many times cheaper than reading it. What is compared equal is what would have been read.

use super::event::Field;
use super::scanner::{Fault, Members, Scanner};

/// Which phrase followed which.
#[derive(Debug)]
pub(super) struct Keys {
    known: Vec<Phrase>,
    /// Two phrases whose value in between keeps being the same: joined when the second one is known.
    joining: Option<(PhraseId, PhraseId)>,
}

/// The text from behind one value to the next, with its values if it has some.
#[derive(Debug)]
pub(super) struct Phrase {
    text: Box<[u8]>,
    /// What comes next.
    field: Field,
    /// Whether that is inside of `args`.
    inside: bool,
    /// The values in the text.
    values: Vec<Within>,
    /// The phrases that followed it, the likely ones first.
    next: [PhraseId; GUESSES],
    /// Made of others.
    joined: bool,
    /// The value that came last, with its spaces, how often in a row, and how many more to look at.
    value: Vec<u8>,
    value_start: usize,
    value_end: usize,
    repeats: u32,
    patience: u32,
}

/// A value of a field, by where it stands in a phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Within {
    pub(super) field: Field,
    pub(super) start: usize,
    pub(super) end: usize,
}

type PhraseId = u32;
const NOTHING: PhraseId = PhraseId::MAX;
/// What every event begins behind.
const FIRST: PhraseId = 0;
/// What a phrase is that there was no room for: nothing is known of what follows it.
const UNKNOWN: PhraseId = 1;

/// How many of the phrases that followed another are tried.
const GUESSES: usize = 6;
/// A file with ever new keys is read without guessing past these.
const MOST_KNOWN: usize = 1000;
/// A value that came this often in a row becomes a part of a phrase.
const REPEATS: u32 = 8;
/// After so many changes a value is taken to be one that changes.
const PATIENCE: u32 = 40;
const LONGEST_VALUE: usize = 32;
const LONGEST_PHRASE: usize = 400;

/// How far an event is read.
#[derive(Debug)]
pub(super) struct Reading {
    last: PhraseId,
    before: PhraseId,
    inside: bool,
    members: Members,
}

impl Keys {
    pub(super) fn new() -> Keys {
        let nothing = || Phrase::new(&[], Field::Other, false);
        Keys {
            known: vec![nothing(), nothing()],
            joining: None,
        }
    }

    /// Begins an event, behind its bracket.
    #[inline]
    pub(super) fn begin(&mut self, members: Members) -> Reading {
        self.joining = None;
        Reading {
            last: FIRST,
            before: FIRST,
            inside: false,
            members,
        }
    }

    /// Takes the text up to the next value and says whose it is. What [`Phrase::values`] says of it
    /// comes before that value.
    #[inline]
    pub(super) fn next(
        &mut self,
        scanner: &mut Scanner<'_>,
        reading: &mut Reading,
    ) -> Result<&Phrase, Fault> {
        let last = reading.last as usize;
        for order in 0..GUESSES {
            let guess = self.known[last].next[order];
            let Some(phrase) = self.known.get(guess as usize) else {
                break;
            };
            if scanner.take_text(&phrase.text) {
                reading.inside = phrase.inside;
                reading.members.set_first(phrase.field == Field::Args);
                if order > 0 {
                    self.known[last].next.swap(order - 1, order);
                }
                return Ok(self.arrive(guess, reading));
            }
        }
        let id = self.read(scanner, reading)?;
        Ok(self.arrive(id, reading))
    }

    #[inline]
    fn arrive(&mut self, id: PhraseId, reading: &mut Reading) -> &Phrase {
        reading.before = reading.last;
        reading.last = id;
        if self.joining.is_some() {
            self.join(id);
        }
        &self.known[id as usize]
    }

    #[cold]
    fn read(
        &mut self,
        scanner: &mut Scanner<'_>,
        reading: &mut Reading,
    ) -> Result<PhraseId, Fault> {
        let start = scanner.position();
        let field = match scanner.next_key(&mut reading.members)? {
            // The end of an object comes behind the same spaces each time, like a key.
            None if reading.inside => Field::ArgsEnd,
            None => Field::End,
            Some(key) => {
                // The spaces before the value are the same as well.
                let opens = scanner.peek() == Some(b'{');
                match Field::of(key, reading.inside) {
                    Field::Args if opens => {
                        reading.members = scanner.open_object()?;
                        Field::Args
                    }
                    Field::Args => Field::Other,
                    field => field,
                }
            }
        };
        match field {
            Field::Args => reading.inside = true,
            Field::ArgsEnd => {
                reading.inside = false;
                reading.members.set_first(false);
            }
            _ => {}
        }
        let text = scanner.between(start, scanner.position());
        let id = self.add(Phrase::new(text, field, reading.inside));
        if reading.last != UNKNOWN {
            self.expect(reading.last, id);
        }
        Ok(id)
    }

    /// Tries a phrase behind another from now on. One that was joined is the best guess and the first
    /// to go: without those that it was made of, the text would have to be read.
    fn expect(&mut self, last: PhraseId, id: PhraseId) {
        let joined = |id: PhraseId| self.known.get(id as usize).is_some_and(|one| one.joined);
        let next = &self.known[last as usize].next;
        if next.contains(&id) || id == UNKNOWN {
            return;
        }
        let free = next.iter().position(|&guess| guess == NOTHING);
        let Some(place) = free
            .or_else(|| next.iter().rposition(|&guess| joined(guess)))
            .or_else(|| (!joined(id)).then_some(GUESSES - 1))
        else {
            return;
        };
        let first = joined(id);
        let next = &mut self.known[last as usize].next;
        next[place] = id;
        if first {
            next[..=place].rotate_right(1);
        }
    }

    /// The number of a phrase, which may be known.
    fn add(&mut self, phrase: Phrase) -> PhraseId {
        let same = |known: &Phrase| {
            known.text == phrase.text
                && known.field == phrase.field
                && known.inside == phrase.inside
        };
        // The first two are no phrases.
        if let Some(known) = self.known.iter().skip(2).position(same) {
            return known as PhraseId + 2;
        }
        if self.known.len() >= MOST_KNOWN {
            return UNKNOWN;
        }
        self.known.push(phrase);
        self.known.len() as PhraseId - 1
    }

    /// Looks at the value behind the last phrase, which is the text from `start` to the cursor with
    /// the value itself at `value`.
    #[inline]
    pub(super) fn watch(
        &mut self,
        reading: &Reading,
        scanner: &Scanner<'_>,
        start: usize,
        value: &[u8],
    ) {
        if self.known[reading.last as usize].patience > 0 {
            self.compare(reading, scanner.between(start, scanner.position()), value);
        }
    }

    #[inline(never)]
    fn compare(&mut self, reading: &Reading, text: &[u8], value: &[u8]) {
        let phrase = &mut self.known[reading.last as usize];
        if phrase.value != text {
            phrase.patience -= 1;
            phrase.repeats = 0;
            phrase.value.clear();
            if text.len() <= LONGEST_VALUE {
                phrase.value.extend_from_slice(text);
                // A string ends before its quote, everything else with its text.
                let quoted = !phrase.field.is_whole() && text.ends_with(b"\"");
                phrase.value_end = text.len() - usize::from(quoted);
                phrase.value_start = phrase.value_end - value.len();
            }
            return;
        }
        phrase.repeats += 1;
        if phrase.repeats >= REPEATS {
            phrase.repeats = 0;
            phrase.patience -= 1;
            self.joining = Some((reading.before, reading.last));
        }
    }

    /// Puts two phrases and the value between them together, as one that follows `before`.
    #[cold]
    fn join(&mut self, second: PhraseId) {
        let Some((before, first)) = self.joining.take() else {
            return;
        };
        if [before, first, second].contains(&UNKNOWN) || first == FIRST {
            return;
        }
        let (a, b) = (&self.known[first as usize], &self.known[second as usize]);
        let text = [&a.text[..], &a.value, &b.text].concat();
        if text.len() > LONGEST_PHRASE {
            return;
        }
        let mut phrase = Phrase::new(&text, b.field, b.inside);
        phrase.joined = true;
        phrase.next = b.next;
        phrase.values.clone_from(&a.values);
        phrase.values.push(Within {
            field: a.field,
            start: a.text.len() + a.value_start,
            end: a.text.len() + a.value_end,
        });
        let nothing = [Field::Args, Field::ArgsEnd, Field::Other];
        phrase
            .values
            .retain(|within| !nothing.contains(&within.field));
        let shift = a.text.len() + a.value.len();
        phrase.values.extend(b.values.iter().map(|within| Within {
            field: within.field,
            start: within.start + shift,
            end: within.end + shift,
        }));
        let id = self.add(phrase);
        self.expect(before, id);
    }
}

impl Phrase {
    fn new(text: &[u8], field: Field, inside: bool) -> Phrase {
        Phrase {
            text: text.into(),
            field,
            inside,
            values: Vec::new(),
            next: [NOTHING; GUESSES],
            joined: false,
            value: Vec::new(),
            value_start: 0,
            value_end: 0,
            repeats: 0,
            patience: PATIENCE,
        }
    }

    /// Whose value comes behind it.
    #[inline]
    pub(super) fn field(&self) -> Field {
        self.field
    }

    /// The values in it, counted from its start.
    #[inline]
    pub(super) fn values(&self) -> &[Within] {
        &self.values
    }
}
