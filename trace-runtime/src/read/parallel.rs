//! Reads the events of one large file on several threads, with the result that one thread would give.
//!
//! The thread that reads the file cuts the text into parts, and other threads read the events of each part. A cut is at
//! the end of an event, which is guessed: it is where the text equals the text between the first two events, up to the
//! first key. The first part begins right after an event. If a part can be read as whole events up to its end, the next
//! part also begins right after an event, so the guess was right. After a wrong guess, and at events that depend on the
//! ones before them, one thread reads the rest.

use super::TraceError;
use super::chrome::next_event;
use super::collector::Collector;
use super::event::Event;
use super::keys::Keys;
use super::scanner::{Members, Scanner};
use super::window::Window;
use std::collections::VecDeque;
use std::io::Read;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// The sizes of the parts of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Split {
    /// The number of events that are read in order before further threads are used. Reading them takes two tenths of a
    /// second. Further threads would take memory (1 MB of 22 for a file of 35 MB) and some more processor time.
    pub(super) in_order: usize,
    /// The text of a part, in bytes. A smaller one stays in the processor's cache; a larger one repeats fewer names.
    part: usize,
}

impl Split {
    /// The sizes for a caller who chose a number of threads: these are used almost from the start.
    pub(super) fn at_once() -> Split {
        Split {
            in_order: 1000,
            ..Split::default()
        }
    }
}

impl Default for Split {
    fn default() -> Self {
        Split {
            in_order: 250_000,
            part: 1 << 19,
        }
    }
}

/// With more, threads would wait for the one that reads the file, and each needs memory for a part.
const MOST_THREADS: usize = 8;

/// A part whose events were read.
struct ReadPart {
    text: Vec<u8>,
    events: Collector,
    /// Length of the text whose events are in `events`.
    read: usize,
}

/// Reads events on several threads as long as that is possible; the caller reads the rest. Before and after this call,
/// the window is at the boundary between two events.
pub(super) fn collect(
    window: &mut Window<impl Read>,
    collector: &mut Collector,
    threads: usize,
    split: Split,
) -> Result<(), TraceError> {
    let (size, modules) = (split.part, collector.modules);
    let Some(separator) = separator(window) else {
        return Ok(());
    };
    // No thread is started for a file that fits into one part.
    let Some(first) = window.take_part(size, &separator)? else {
        return Ok(());
    };
    let mut waiting = VecDeque::from([first]);
    thread::scope(|scope| {
        let helpers: Vec<Helper> = (0..threads.min(MOST_THREADS))
            .map_while(|_| Helper::start(scope, modules))
            .collect();
        if helpers.is_empty() {
            window.put_back(waiting.drain(..));
            return Ok(());
        }
        let mut next = helpers.iter().cycle();
        let mut running: VecDeque<&Helper> = VecDeque::new();
        loop {
            while running.len() <= helpers.len() {
                let part = match waiting.pop_front() {
                    Some(part) => part,
                    None => match window.take_part(size, &separator)? {
                        Some(part) => part,
                        None => break,
                    },
                };
                let Some(helper) = next.next().filter(|helper| helper.give(part)) else {
                    break;
                };
                running.push_back(helper);
            }
            let Some(part) = running.pop_front().and_then(Helper::take) else {
                return Ok(());
            };
            let fits = collector.can_append(&part.events);
            let read = if fits { part.read } else { 0 };
            window.pass(&part.text[..read]);
            if fits {
                collector.append(part.events);
            }
            if read < part.text.len() {
                let rest = part.text[read..].to_vec();
                let later = running.iter().filter_map(|helper| helper.take());
                window.put_back(std::iter::once(rest).chain(later.map(|part| part.text)));
                return Ok(());
            }
        }
    })
}

/// The text from the end of the last event to the first key of the next.
fn separator(window: &mut Window<impl Read>) -> Option<Vec<u8>> {
    let mut scanner = window.ahead();
    let start = scanner.position();
    let mut items = Members::later();
    let mut to_key = || {
        if !scanner.next_item(&mut items)? {
            return scanner.fault("an event");
        }
        scanner.open_object()?;
        scanner.string()
    };
    to_key().ok()?;
    Some(scanner.between(start, scanner.position()).to_vec())
}

/// A thread that reads parts in the order in which they are given to it.
struct Helper {
    parts: SyncSender<Vec<u8>>,
    results: Receiver<ReadPart>,
}

impl Helper {
    /// `None` if the system has no thread left.
    fn start<'scope>(scope: &'scope thread::Scope<'scope, '_>, modules: bool) -> Option<Helper> {
        // There is at most one more part in work than there are helpers, so a helper never has more than two.
        let (parts, given) = sync_channel::<Vec<u8>>(2);
        let (done, results) = sync_channel(2);
        let work = move || {
            let mut keys = Keys::new();
            for text in given {
                if done.send(read_part(text, &mut keys, modules)).is_err() {
                    return;
                }
            }
        };
        let builder = thread::Builder::new().name("optrace reader".to_owned());
        builder.spawn_scoped(scope, work).ok()?;
        Some(Helper { parts, results })
    }

    fn give(&self, part: Vec<u8>) -> bool {
        self.parts.send(part).is_ok()
    }

    /// `None` if the thread has panicked; the scope then passes the panic on.
    fn take(&self) -> Option<ReadPart> {
        self.results.recv().ok()
    }
}

/// Reads events until the end of the text, the end of the array, or text that is not an event.
fn read_part(text: Vec<u8>, keys: &mut Keys, modules: bool) -> ReadPart {
    let mut events = Collector::of_part(modules);
    let mut scanner = Scanner::new(&text);
    let mut items = Members::later();
    let mut read = 0;
    while let Ok(true) = next_event(&mut scanner, &mut items) {
        let mut event = Event::default();
        if event.read(&mut scanner, keys).is_err() || Collector::needs_all_before(&event) {
            break;
        }
        events.add(&event);
        read = scanner.position();
    }
    ReadPart { text, events, read }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RecordedExecutionTrace;
    use crate::read::Reader;

    /// A small pseudo-random generator with a fixed seed.
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

        fn event(&mut self, rare: bool) -> String {
            let (pid, tid, id) = (self.below(3), self.below(4), self.below(30));
            let at = self.below(4000);
            let name = self.of(&[
                "aten::mm",
                "aten::add",
                "ncclAllReduce",
                "a},\\n{\\\"ph\\\": b",
            ]);
            let place = format!("\"pid\": {pid}, \"tid\": {tid}, \"ts\": {at}");
            let sort = if rare { 13 } else { 10 };
            let (phase, rest) = match self.below(sort) {
                0..3 => (
                    "X",
                    format!(
                        "\"cat\": \"{}\", \"name\": \"{name}\", {place}, \"dur\": {id}, \"args\": {{\"Input Dims\": [[{tid}, 2]], \"Seq\": {id}, \"step\": {tid}}}",
                        self.of(&["cpu_op", "user_annotation", "", "python_function"])
                    ),
                ),
                3 => (
                    "X",
                    format!(
                        "\"cat\": \"{}\", \"name\": \"gemm\", {place}, \"dur\": 5, \"args\": {{\"device\": {pid}, \"stream\": 7, \"correlation\": {id}}}",
                        self.of(&["kernel", "gpu_memcpy", "cuda_sync"])
                    ),
                ),
                4 => (
                    "X",
                    format!(
                        "\"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", {place}, \"dur\": 2, \"args\": {{\"correlation\": {id}}}"
                    ),
                ),
                5 => ("B", format!("\"name\": \"{name}\", {place}")),
                6 => ("E", place),
                7 => (
                    self.of(&["s", "f"]),
                    format!(
                        "\"cat\": \"{}\", \"name\": \"x\", \"id\": {id}, {place}",
                        self.of(&["ac2g", "handoff"])
                    ),
                ),
                8 => (
                    "i",
                    format!(
                        "\"name\": \"[memory]\", {place}, \"args\": {{\"Bytes\": {id}, \"Device Type\": 1, \"Device Id\": {tid}}}"
                    ),
                ),
                9 => (
                    "M",
                    format!(
                        "\"name\": \"thread_name\", {place}, \"args\": {{\"name\": \"{}\"}}",
                        self.of(&["main", "", "worker"])
                    ),
                ),
                10 => (
                    "M",
                    format!(
                        "\"name\": \"process_name\", {place}, \"args\": {{\"name\": \"{}\"}}",
                        self.of(&["rank 1", "/device:GPU:0"])
                    ),
                ),
                11 => (
                    self.of(&["b", "e"]),
                    format!("\"name\": \"{name}\", \"cat\": \"c\", \"id\": {id}, {place}"),
                ),
                _ => (
                    "X",
                    format!("{place}, \"args\": {{\"list\": [{{}},\n{{\"ph\": 1}}]}}"),
                ),
            };
            format!("{{\"ph\": \"{phase}\", {rest}}}")
        }
    }

    /// The metadata of the result contains the runtime calls and memory events.
    fn read(text: &str, threads: usize, part: usize) -> Result<RecordedExecutionTrace, String> {
        let mut reader = Reader::new().with_threads(threads);
        reader.split = Split { in_order: 2, part };
        let trace = reader.from_slice(text.as_bytes());
        trace
            .map(|store| RecordedExecutionTrace::from(&store))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn any_number_of_threads_gives_the_same_trace() {
        let mut random = Random(7);
        let mut parts = 0;
        for round in 0..300 {
            let events: Vec<String> = (0..random.below(300))
                .map(|_| random.event(round % 2 == 1))
                .collect();
            let mut text = events.join(",\n");
            text = match round % 3 {
                0 => format!("[{text}]"),
                1 => format!("{{\"rank\": 1, \"traceEvents\": [\n{text}\n], \"after\": 2}}"),
                _ => format!("[{text},\n"),
            };
            if round % 10 == 9 {
                // Damaged text: cut off, or with a byte that is wrong.
                let at = random.below(text.len());
                if random.below(2) == 0 {
                    text.truncate(at);
                } else {
                    text.insert(at, '}');
                }
            }
            let expected = read(&text, 1, 1);
            for (threads, part) in [(2, 100), (3, 1000), (8, 10_000)] {
                assert_eq!(
                    read(&text, threads, part),
                    expected,
                    "{threads} {part} {text}"
                );
                parts += text.len() / part;
            }
        }
        assert!(parts > 1000);
    }

    /// Number of events after the first that are read on several threads.
    fn in_parallel(text: &str) -> usize {
        let mut window = Window::new(text.as_bytes()).unwrap();
        window.piece(|scanner| scanner.raw().map(drop)).unwrap();
        let mut collector = Collector::default();
        let split = Split {
            in_order: 0,
            part: 500,
        };
        collect(&mut window, &mut collector, 2, split).unwrap();
        collector.events
    }

    #[test]
    fn most_events_of_a_file_are_read_in_parts() {
        let event =
            r#"{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 5, "dur": 1}"#;
        let text = vec![event; 1000].join(",\n");
        assert!(in_parallel(&text) > 900);
    }
}
