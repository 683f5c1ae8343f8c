//! The file format of speedscope: a profile per thread, with open and close events.

use super::Exporter;
use super::json_text::{comma, number, printable};
use super::timeline::Timeline;
use super::tracks::{Closed, Request, Tracks};
use crate::model::wire::chrome::{STEP_PREFIX, text};
use crate::model::{EntryView, TraceStep, TraceView};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufWriter, Write};

/// Writes speedscope's own format: a profile per thread, in nanoseconds, a frame per op and label.
///
/// Ops that overlap without nesting go to additional profiles of their thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct Speedscope;

/// The number of events in one file that viewers open, approximately.
const MAX_EVENTS: usize = 1_000_000;

impl Exporter for Speedscope {
    fn export(&self, trace: &dyn TraceView, out: &mut dyn Write) -> io::Result<()> {
        let timeline = Timeline::of(trace);
        let mut file = File {
            out: BufWriter::with_capacity(1 << 16, out),
            frames: Frames::default(),
            profiles: 0,
        };
        file.out.write_all(
            b"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\
              \"exporter\":\"trace-runtime\",\"activeProfileIndex\":0,\"profiles\":[",
        )?;
        for positions in timeline.by_thread() {
            file.thread(&timeline, &positions)?;
        }
        file.steps(trace.steps(), &timeline)?;
        if file.profiles == 0 {
            file.begin_profile("ops")?;
            file.end_profile(0)?;
        }
        file.finish()
    }

    fn extension(&self) -> &'static str {
        "speedscope.json"
    }

    fn event_limit(&self) -> Option<usize> {
        Some(MAX_EVENTS)
    }

    /// One event opens an entry and one closes it.
    fn events_of(&self, _trace: &dyn TraceView, _entry: &EntryView<'_>) -> usize {
        2
    }
}

struct File<'a, W> {
    out: W,
    frames: Frames<'a>,
    profiles: usize,
}

impl<'a, W: Write> File<'a, W> {
    fn thread(&mut self, timeline: &Timeline<'a>, positions: &[u32]) -> io::Result<()> {
        let mut lanes: Vec<Lane> = Vec::new();
        let (mut tracks, mut closed) = (Tracks::new(), Vec::new());
        for &position in positions {
            let span = timeline.span(position as usize);
            let place = tracks.place((), Request::of(&span), &mut closed);
            for gone in closed.drain(..) {
                lanes[gone.track as usize].close(&mut self.out, gone)?;
            }
            if place.first_on_track {
                let name = profile_name(timeline, &span.view, place.lane);
                if place.track == 0 {
                    self.begin_profile(&name)?;
                }
                lanes.push(Lane {
                    name,
                    first: place.track == 0,
                    open: Vec::new(),
                    events: 0,
                    held: Vec::new(),
                    end_ns: 0,
                });
            }
            let frame = self.frames.number(frame_name(&span.view));
            lanes[place.track as usize].open(&mut self.out, frame, place.start_ns)?;
        }
        tracks.finish(&mut closed);
        for gone in closed {
            lanes[gone.track as usize].close(&mut self.out, gone)?;
        }
        for (track, lane) in lanes.iter().enumerate() {
            if track > 0 {
                self.begin_profile(&lane.name)?;
                for (index, event) in lane.held.iter().enumerate() {
                    event.write(&mut self.out, index)?;
                }
            }
            self.end_profile(lane.end_ns)?;
        }
        Ok(())
    }

    /// A profile for the steps of each rank, after those of the threads.
    fn steps(&mut self, steps: &[TraceStep], timeline: &Timeline<'a>) -> io::Result<()> {
        let mut by_rank: BTreeMap<Option<u32>, Vec<&TraceStep>> = BTreeMap::new();
        for step in steps {
            by_rank.entry(step.rank).or_default().push(step);
        }
        for (rank, steps) in by_rank {
            match rank {
                Some(rank) => self.begin_profile(&format!("rank {rank}: steps"))?,
                None => self.begin_profile("steps")?,
            }
            let (mut events, mut end) = (0, 0);
            for step in steps {
                let start = timeline.since_origin(step.start_ns);
                // If a step overlaps the one before it, that part is cut off, because the events of a profile must be
                // in order.
                let span = [start.max(end), (start + step.length_ns()).max(end)];
                let name = format!("{}{}", text(STEP_PREFIX), step.number);
                let frame = self.frames.number(Cow::Owned(name));
                for (letter, at_ns) in ['O', 'C'].into_iter().zip(span) {
                    let event = Event {
                        letter,
                        frame,
                        at_ns,
                    };
                    event.write(&mut self.out, events)?;
                    events += 1;
                }
                end = span[1];
            }
            self.end_profile(end)?;
        }
        Ok(())
    }

    fn begin_profile(&mut self, name: &str) -> io::Result<()> {
        comma(&mut self.out, self.profiles)?;
        self.profiles += 1;
        self.out.write_all(b"\n{\"type\":\"evented\",\"name\":")?;
        printable(&mut self.out, name)?;
        self.out
            .write_all(b",\"unit\":\"nanoseconds\",\"startValue\":0,\"events\":[")
    }

    fn end_profile(&mut self, end_ns: u64) -> io::Result<()> {
        write!(self.out, "],\"endValue\":{end_ns}}}")
    }

    fn finish(mut self) -> io::Result<()> {
        self.out.write_all(b"],\"shared\":{\"frames\":[")?;
        for (index, name) in self.frames.names.iter().enumerate() {
            comma(&mut self.out, index)?;
            self.out.write_all(b"\n{\"name\":")?;
            printable(&mut self.out, name)?;
            self.out.write_all(b"}")?;
        }
        self.out.write_all(b"]}}\n")?;
        self.out.flush()
    }
}

/// One lane of a thread. The first one is written at once; the others are stored until the thread is complete.
#[derive(Debug)]
struct Lane {
    name: String,
    first: bool,
    open: Vec<usize>,
    events: usize,
    held: Vec<Event>,
    end_ns: u64,
}

impl Lane {
    fn open<W: Write>(&mut self, out: &mut W, frame: usize, at_ns: u64) -> io::Result<()> {
        self.open.push(frame);
        let letter = 'O';
        self.show(
            out,
            Event {
                letter,
                frame,
                at_ns,
            },
        )
    }

    fn close<W: Write>(&mut self, out: &mut W, closed: Closed) -> io::Result<()> {
        let Some(frame) = self.open.pop() else {
            return Ok(());
        };
        let (letter, at_ns) = ('C', closed.end_ns);
        self.show(
            out,
            Event {
                letter,
                frame,
                at_ns,
            },
        )
    }

    fn show<W: Write>(&mut self, out: &mut W, event: Event) -> io::Result<()> {
        self.end_ns = event.at_ns;
        if self.first {
            event.write(out, self.events)?;
            self.events += 1;
        } else {
            self.held.push(event);
        }
        Ok(())
    }
}

/// The opening or closing of an op.
#[derive(Debug, Clone, Copy)]
struct Event {
    letter: char,
    frame: usize,
    at_ns: u64,
}

impl Event {
    fn write<W: Write>(self, out: &mut W, index: usize) -> io::Result<()> {
        comma(out, index)?;
        out.write_all(match self.letter {
            'O' => b"{\"type\":\"O\",\"frame\":",
            _ => b"{\"type\":\"C\",\"frame\":",
        })?;
        number(out, self.frame as u64)?;
        out.write_all(b",\"at\":")?;
        number(out, self.at_ns)?;
        out.write_all(b"}")
    }
}

/// The distinct names of ops, numbered in order of first use.
#[derive(Debug, Default)]
struct Frames<'a> {
    names: Vec<Cow<'a, str>>,
    numbers: HashMap<Cow<'a, str>, usize>,
}

impl<'a> Frames<'a> {
    fn number(&mut self, name: Cow<'a, str>) -> usize {
        if let Some(&number) = self.numbers.get(&name) {
            return number;
        }
        self.names.push(name.clone());
        self.numbers.insert(name, self.names.len() - 1);
        self.names.len() - 1
    }
}

/// The op, with its label if it has one: executions with different labels are different frames.
fn frame_name<'a>(view: &EntryView<'a>) -> Cow<'a, str> {
    match view.label() {
        Some(label) => Cow::Owned(format!("{} {label}", view.operation())),
        None => Cow::Borrowed(view.operation()),
    }
}

fn profile_name(timeline: &Timeline<'_>, view: &EntryView<'_>, lane: u32) -> String {
    let row = timeline.row_name(view, lane);
    match view.rank() {
        Some(rank) => format!("rank {rank}: {row}"),
        None => row,
    }
}
