//! Guesses the text between two values of an event from the events before it.
//!
//! A trace repeats a handful of shapes many thousand times: the same keys behind the same commas,
//! spaces and quotes, and between them values that hardly ever change, such as the category, the
//! process and the answers to what nobody asked. Comparing with all of that in one piece, a phrase, is
//! many times cheaper than reading it. What is compared equal is what would have been read.

use super::event::Field;
use super::scanner::{Fault, Members, Scanner, tail};

/// Which phrases came behind which: a tree, each path of which is the beginning of some events.
#[derive(Debug)]
pub(super) struct Keys {
    known: Vec<Phrase>,
    /// Two phrases with a value between them that comes often: joined when the second one is known.
    joining: Option<Joining>,
}

/// The text from behind one value to the next, with its values if it has some.
#[derive(Debug, Default)]
struct Phrase {
    text: Box<[u8]>,
    /// What comes next.
    field: Field,
    /// Whether that is inside of `args`.
    inside: bool,
    /// The values in the text.
    values: Vec<Within>,
    /// Made of others.
    joined: bool,
    /// The phrases that came behind it, the likely ones first.
    next: Vec<Guess>,
    /// How many new values more to look at.
    patience: u8,
    /// The values that came behind it lately.
    seen: Box<[Seen; SEEN]>,
}

/// A phrase that may come, with enough of it to see at a glance when it does not.
#[derive(Debug, Clone, Copy)]
struct Guess {
    tail: u64,
    length: u32,
    id: PhraseId,
}

/// A value of a field, by where it stands in a phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Within {
    pub(super) field: Field,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A value as it stands in the text, with its spaces and quotes.
#[derive(Debug, Default)]
struct Seen {
    text: Vec<u8>,
    start: usize,
    end: usize,
    times: u8,
}

#[derive(Debug, Clone, Copy)]
struct Joining {
    before: PhraseId,
    first: PhraseId,
    seen: usize,
}

type PhraseId = u32;
/// What every event begins behind.
const FIRST: PhraseId = 0;
/// Behind this, nothing is guessed or learned.
const LOST: PhraseId = 1;

/// Past these everything is forgotten and learned again.
const MOST_KNOWN: usize = 4000;
/// How many of the phrases that came behind another are tried.
const GUESSES: usize = 8;
/// A value that came this often becomes a part of a phrase.
const OFTEN: u8 = 8;
/// After so many new values it is taken for granted that they are new each time.
const PATIENCE: u8 = 20;
const SEEN: usize = 4;
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
        Keys {
            known: vec![Phrase::default(), Phrase::default()],
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

    /// Takes the text up to the next value and says whose it is. The values in that text come first.
    #[inline]
    pub(super) fn next(
        &mut self,
        scanner: &mut Scanner<'_>,
        reading: &mut Reading,
    ) -> Result<Field, Fault> {
        let guesses = &self.known[reading.last as usize].next;
        for (order, &guess) in guesses.iter().enumerate() {
            if scanner.tail(guess.length as usize) != Some(guess.tail) {
                continue;
            }
            let guess = guess.id;
            let phrase = &self.known[guess as usize];
            if scanner.take_text(&phrase.text) {
                reading.inside = phrase.inside;
                reading.members.set_first(phrase.field == Field::Args);
                let field = phrase.field;
                if order > 0 {
                    self.prefer(reading.last, order);
                }
                self.arrive(guess, reading);
                return Ok(field);
            }
        }
        let (id, field) = self.read(scanner, reading)?;
        self.arrive(id, reading);
        Ok(field)
    }

    /// The values in the text that was taken last, counted from its start.
    #[inline]
    pub(super) fn values(&self, reading: &Reading) -> &[Within] {
        &self.known[reading.last as usize].values
    }

    #[inline]
    fn arrive(&mut self, id: PhraseId, reading: &mut Reading) {
        reading.before = reading.last;
        reading.last = id;
        if let Some(joining) = self.joining.take() {
            self.join(joining, id);
        }
    }

    /// Tries a phrase earlier, but not before one that it is the beginning of.
    fn prefer(&mut self, last: PhraseId, order: usize) {
        let next = &self.known[last as usize].next;
        let [earlier, guess] = [order - 1, order].map(|order| &self.known[next[order].id as usize]);
        if !earlier.text.starts_with(&guess.text) {
            self.known[last as usize].next.swap(order - 1, order);
        }
    }

    #[cold]
    fn read(
        &mut self,
        scanner: &mut Scanner<'_>,
        reading: &mut Reading,
    ) -> Result<(PhraseId, Field), Fault> {
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
                    // Not learned: it would be taken for the beginning of one that is an object.
                    Field::Args => return Ok((LOST, Field::Other)),
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
        if self.known.len() >= MOST_KNOWN {
            *self = Keys::new();
        }
        let phrase = Phrase::new(text.into(), field, reading.inside);
        Ok((self.add(reading.last, phrase), field))
    }

    /// Tries a phrase behind another from now on. One that was joined is the best guess and the first
    /// to go: without those that it was made of, the text would have to be read.
    fn add(&mut self, last: PhraseId, phrase: Phrase) -> PhraseId {
        let joined = phrase.joined;
        let id = self.known.len() as PhraseId;
        let is_joined = |guess: &Guess| self.known[guess.id as usize].joined;
        let next = match self.known.get(last as usize) {
            Some(phrase) if last != LOST => &phrase.next,
            // What was last may just have been forgotten.
            _ => return LOST,
        };
        let gone = match next.iter().rposition(is_joined) {
            _ if next.len() < GUESSES => None,
            Some(gone) => Some(gone),
            None if joined => return LOST,
            None => Some(GUESSES - 1),
        };
        let guess = Guess {
            tail: tail(&phrase.text),
            length: phrase.text.len() as u32,
            id,
        };
        self.known.push(phrase);
        let next = &mut self.known[last as usize].next;
        if let Some(gone) = gone {
            next.remove(gone);
        }
        next.insert(if joined { 0 } else { next.len() }, guess);
        id
    }

    /// Looks at the value behind the last phrase: the text from `start` to the cursor, and of that
    /// text what is the value.
    #[inline]
    pub(super) fn watch(
        &mut self,
        reading: &Reading,
        scanner: &Scanner<'_>,
        start: usize,
        value: &[u8],
    ) {
        if self.known[reading.last as usize].patience > 0 {
            self.look(reading, scanner.between(start, scanner.position()), value);
        }
    }

    #[inline(never)]
    fn look(&mut self, reading: &Reading, text: &[u8], value: &[u8]) {
        let phrase = &mut self.known[reading.last as usize];
        let same = |seen: &Seen| seen.times > 0 && seen.text == text;
        let Some(found) = phrase.watched().iter().position(same) else {
            phrase.patience -= 1;
            if text.len() <= LONGEST_VALUE {
                phrase.remember(text, value);
            }
            return;
        };
        let seen = &mut phrase.seen[found];
        seen.times += 1;
        if seen.times < OFTEN {
            return;
        }
        // If it is met here again, the phrase that it is joined to had to go.
        seen.times = 1;
        phrase.patience -= 1;
        self.joining = Some(Joining {
            before: reading.before,
            first: reading.last,
            seen: found,
        });
    }

    /// Puts two phrases and the value between them together.
    #[cold]
    fn join(&mut self, joining: Joining, second: PhraseId) {
        let Joining {
            before,
            first,
            seen,
        } = joining;
        if [before, first, second].contains(&LOST) || self.known.len() >= MOST_KNOWN {
            return;
        }
        let (a, b) = (&self.known[first as usize], &self.known[second as usize]);
        let seen = &a.seen[seen];
        let text = [&a.text, seen.text.as_slice(), &b.text].concat();
        if text.len() > LONGEST_PHRASE {
            return;
        }
        let mut values = a.values.clone();
        if !matches!(a.field, Field::Args | Field::ArgsEnd | Field::Other) {
            values.push(Within {
                field: a.field,
                start: a.text.len() + seen.start,
                end: a.text.len() + seen.end,
            });
        }
        let shift = text.len() - b.text.len();
        values.extend(b.values.iter().map(|within| Within {
            start: within.start + shift,
            end: within.end + shift,
            ..*within
        }));
        let mut phrase = Phrase::new(text.into(), b.field, b.inside);
        phrase.values = values;
        phrase.joined = true;
        self.add(before, phrase);
    }
}

impl Phrase {
    fn new(text: Box<[u8]>, field: Field, inside: bool) -> Phrase {
        Phrase {
            text,
            field,
            inside,
            patience: PATIENCE,
            ..Phrase::default()
        }
    }

    /// The values that may become part of a phrase: the few that take turns where an event says what it
    /// is and where it ran, elsewhere only one that does not change.
    fn watched(&mut self) -> &mut [Seen] {
        let few = match self.field {
            Field::Phase | Field::Category | Field::Pid | Field::Tid => SEEN,
            _ => 1,
        };
        &mut self.seen[..few]
    }

    /// Keeps a value in mind in place of the one that came least often.
    fn remember(&mut self, text: &[u8], value: &[u8]) {
        // A string ends before its quote, everything else with its text.
        let quoted = !self.field.is_whole() && text.ends_with(b"\"");
        let Some(seen) = self.watched().iter_mut().min_by_key(|seen| seen.times) else {
            return;
        };
        seen.text.clear();
        seen.text.extend_from_slice(text);
        seen.end = text.len() - usize::from(quoted);
        seen.start = seen.end - value.len();
        seen.times = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::Event;
    use super::*;

    /// Numbers that look random and are the same each time.
    struct Random(u64);

    impl Random {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (self.0 >> 33) as usize % end
        }

        fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
            all[self.below(all.len())]
        }
    }

    fn value(random: &mut Random) -> String {
        match random.below(12) {
            0..5 => random
                .of(&["0", "\"X\"", "7", "\"cpu_op\"", "\"\""])
                .to_owned(),
            5 => random.below(1_000_000).to_string(),
            6 => format!("\"a\\\"b{}\"", random.below(3)),
            7 => random.of(&["null", "true", " 12", "  \"12\""]).to_owned(),
            8 => random
                .of(&["[[2, 3], []]", "[\"x]\"]", "{}", "{\"ts\": 1}"])
                .to_owned(),
            _ => "1661203462665947".to_owned(),
        }
    }

    fn object(random: &mut Random, keys: &[&str], args: Option<&str>) -> String {
        let mut text = String::from("{");
        let kept = random.below(3);
        for (number, &key) in keys.iter().enumerate() {
            // Mostly the same keys in the same order.
            if kept == 0 && random.below(4) == 0 {
                continue;
            }
            if number > 0 && !text.ends_with('{') {
                text += if random.below(20) == 0 {
                    " , "
                } else {
                    ",\n  "
                };
            }
            let value = match args {
                Some(args) if key == "args" => args.to_owned(),
                _ => value(random),
            };
            text += &["\"", key, "\": ", &value].concat();
        }
        text + random.of(&["}", "}", "}", "\n}"])
    }

    #[test]
    fn what_is_guessed_is_what_would_be_read() {
        let mut random = Random(1);
        let outer = [
            "ph", "cat", "name", "other", "pid", "tid", "ts", "dur", "args", "id",
        ];
        let inner = [
            "Trace name",
            "name",
            "Input Dims",
            "device",
            "n",
            "correlation",
            "ts",
        ];
        let mut learned = Keys::new();
        let mut longest = 0;
        for round in 0..20_000 {
            let args = object(&mut random, &inner, None);
            let args = if random.below(50) == 0 {
                value(&mut random)
            } else {
                args
            };
            let mut text = object(&mut random, &outer, Some(&args));
            if round % 7 == 0 {
                // So many shapes that everything is forgotten now and then.
                text = text.replace("other", &format!("other {round}"));
            }
            let read = |keys: &mut Keys| {
                let mut scanner = Scanner::new(text.as_bytes());
                let mut event = Event::default();
                let read = event.read(&mut scanner, keys);
                (format!("{event:?}"), read, scanner.position())
            };
            assert_eq!(read(&mut learned), read(&mut Keys::new()), "{text}");
            longest = longest.max(learned.known.len());
        }
        assert!(longest > MOST_KNOWN - 100 && learned.known.len() < MOST_KNOWN);
    }

    #[test]
    fn values_that_stay_the_same_become_part_of_a_phrase() {
        let mut keys = Keys::new();
        for time in 0..200 {
            let text =
                format!(r#"{{"ph": "X", "pid": 3, "ts": {time}, "args": {{"a": "", "b": 1}}}}"#);
            let mut event = Event::default();
            event
                .read(&mut Scanner::new(text.as_bytes()), &mut keys)
                .unwrap();
            assert_eq!((event.phase, event.pid.0), (b'X', &b"3"[..]));
        }
        let joined = |text: &[u8]| keys.known.iter().any(|phrase| &*phrase.text == text);
        assert!(joined(br#""ph": "X", "pid": 3, "ts": "#));
        assert!(joined(br#", "args": {"a": "", "b": 1}}"#));
    }
}
