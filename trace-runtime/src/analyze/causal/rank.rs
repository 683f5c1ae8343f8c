//! Waits between ranks: at a collective for the last rank or for the root, at a receive for the send, at a send for the
//! receive. The definitions are those of Scalasca.
//!
//! A call that does not block arrives when it starts, and its rank waits in the op that completes it. So a receive that
//! was posted early does not make a rank wait, and an op that completes it after the message has arrived does not wait
//! either.

use super::edge::Found;
use super::lane::Lanes;
use super::meeting::{Meeting, MeetingClass, Meetings};
use super::wait::{Wait, WaitFor};
use crate::analyze::forest::NONE;
use crate::model::TraceView;

/// The sort of a wait between ranks, as Scalasca names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum WaitClass {
    /// A receive that began before its send: it waits until the send begins.
    LateSender,
    /// A send that began before its receive and did not end before it: it waits until the receive begins.
    LateReceiver,
    /// A barrier: until the last rank arrives.
    WaitAtBarrier,
    /// A collective in which every rank needs data of every other: until the last rank arrives.
    WaitAtNxN,
    /// A broadcast or scatter that began before the root's part of it: until the root arrives.
    LateBroadcast,
    /// The root of a reduce or gather that began before the others: until the last of them arrives.
    EarlyReduce,
}

impl WaitClass {
    /// All classes, in the order in which reports list them.
    pub const ALL: [WaitClass; 6] = [
        WaitClass::LateSender,
        WaitClass::LateReceiver,
        WaitClass::WaitAtBarrier,
        WaitClass::WaitAtNxN,
        WaitClass::LateBroadcast,
        WaitClass::EarlyReduce,
    ];

    /// `late sender`, `wait at NxN` and so on.
    pub fn name(self) -> &'static str {
        match self {
            WaitClass::LateSender => "late sender",
            WaitClass::LateReceiver => "late receiver",
            WaitClass::WaitAtBarrier => "wait at barrier",
            WaitClass::WaitAtNxN => "wait at NxN",
            WaitClass::LateBroadcast => "late broadcast",
            WaitClass::EarlyReduce => "early reduce",
        }
    }
}

/// A wait of one rank for another, with the entries of both.
#[derive(Debug, Clone, Copy)]
pub(super) struct RankWait {
    pub(super) class: WaitClass,
    /// Index of the wait in the model.
    pub(super) wait: u32,
    /// Index of the meeting.
    pub(super) meeting: u32,
    /// The entry that waits: the call, or the op that waits for it if the call does not block.
    pub(super) entry: u32,
    /// The call of the other rank, which began later.
    pub(super) late: u32,
}

/// The part of one rank in a meeting. A call that does not block arrives when it begins; its rank waits in another op.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// The call.
    pub(super) call: u32,
    pub(super) rank: u32,
    /// The lane of the call, and when it began there.
    pub(super) from_lane: u32,
    pub(super) arrived: i64,
    /// The entry that waits, its lane, start and end.
    pub(super) entry: u32,
    pub(super) lane: u32,
    pub(super) start: i64,
    pub(super) end: i64,
}

impl Part {
    pub(super) fn of<T: TraceView + ?Sized>(
        trace: &T,
        lanes: &Lanes<'_>,
        meetings: &Meetings,
        call: u32,
    ) -> Option<Part> {
        let view = trace.view(call as usize);
        let (rank, from_lane) = (view.rank()?, lanes.of_entry(call as usize)?);
        let arrived = view.start_ns()?;
        let entry = meetings.completions.wait_of(call);
        let waits = trace.view(entry as usize);
        Some(Part {
            call,
            rank,
            from_lane,
            arrived,
            entry,
            lane: lanes.of_entry(entry as usize)?,
            start: waits.start_ns()?,
            end: waits.end_ns()?,
        })
    }
}

/// Waits and edges of all meetings.
pub(super) fn meetings<T: TraceView + ?Sized>(
    trace: &T,
    lanes: &Lanes<'_>,
    meetings: &Meetings,
    found: &mut Found,
) -> Vec<RankWait> {
    let mut rules = Rules {
        found,
        waits: Vec::new(),
        meeting: 0,
    };
    let first = rules.found.waits.len();
    let mut parts = Vec::new();
    for (number, meeting) in (0..).zip(&meetings.all) {
        parts.clear();
        let calls = meeting.entries.iter();
        parts.extend(calls.filter_map(|&call| Part::of(trace, lanes, meetings, call)));
        if parts.len() == meeting.entries.len() {
            rules.meeting = number;
            rules.meet(meeting, &parts);
        }
    }
    let mut waits = rules.waits;
    divide(&mut waits, &mut found.waits, first);
    waits
}

/// One op may wait for several requests: first for the one that arrives first, then for the next, and so on.
fn divide(waits: &mut Vec<RankWait>, times: &mut Vec<Wait>, first: usize) {
    let mut order: Vec<u32> = (0..waits.len() as u32).collect();
    order.sort_unstable_by_key(|&wait| {
        let wait = &waits[wait as usize];
        (wait.entry, times[wait.wait as usize].end, wait.wait)
    });
    let mut several = false;
    for pair in order.windows(2) {
        let (before, wait) = (&waits[pair[0] as usize], &waits[pair[1] as usize]);
        if before.entry == wait.entry {
            let until = times[before.wait as usize].end;
            let time = &mut times[wait.wait as usize];
            time.start = time.start.max(until);
            several = true;
        }
    }
    if !several {
        return;
    }
    waits.retain(|wait| {
        let time = &times[wait.wait as usize];
        time.start < time.end
    });
    let kept: Vec<Wait> = waits.iter().map(|wait| times[wait.wait as usize]).collect();
    times.truncate(first);
    times.extend(kept);
    for (number, wait) in (first as u32..).zip(waits) {
        wait.wait = number;
    }
}

struct Rules<'f> {
    found: &'f mut Found,
    waits: Vec<RankWait>,
    meeting: u32,
}

impl Rules<'_> {
    fn meet(&mut self, meeting: &Meeting, parts: &[Part]) {
        let root = parts.iter().find(|part| Some(part.call) == meeting.root);
        match (meeting.class, root, parts) {
            (MeetingClass::FromRoot, Some(root), _) => {
                for part in parts.iter().filter(|part| part.call != root.call) {
                    self.wait(WaitClass::LateBroadcast, part, root);
                    self.depends(part, root);
                }
            }
            (MeetingClass::ToRoot, Some(root), _) => self.wait_at_root(root, parts),
            (MeetingClass::Message, _, &[send, receive]) => self.message(&send, &receive),
            (MeetingClass::Barrier, ..) => self.all(WaitClass::WaitAtBarrier, parts),
            _ => self.all(WaitClass::WaitAtNxN, parts),
        }
    }

    /// All ranks wait for the last one.
    fn all(&mut self, class: WaitClass, parts: &[Part]) {
        let Some(last) = parts.iter().max_by_key(|part| part.arrived) else {
            return;
        };
        let meeting = self.found.meeting_point();
        for part in parts {
            self.found
                .edge(part.from_lane, part.arrived, meeting, last.arrived);
            // If clocks differ, a rank may seem to leave before the last one arrived.
            if last.arrived <= part.end {
                let at = last.arrived.max(part.start);
                self.found.edge(meeting, last.arrived, part.lane, at);
            }
            self.wait(class, part, last);
        }
    }

    /// The root waits for the last one.
    fn wait_at_root(&mut self, root: &Part, parts: &[Part]) {
        let others = parts.iter().filter(|part| part.call != root.call);
        let Some(last) = others.clone().max_by_key(|part| part.arrived) else {
            return;
        };
        self.wait(WaitClass::EarlyReduce, root, last);
        let at = root.start.max(last.arrived);
        if at <= root.end {
            for part in others {
                self.found.edge(part.from_lane, part.arrived, root.lane, at);
            }
        }
    }

    /// A receive waits until its send has begun. If a send is still running when its receive begins, it waited for the
    /// receive.
    fn message(&mut self, send: &Part, receive: &Part) {
        if receive.start < send.arrived && send.arrived <= receive.end {
            self.wait(WaitClass::LateSender, receive, send);
        }
        if send.start < receive.arrived && receive.arrived < send.end {
            self.wait(WaitClass::LateReceiver, send, receive);
            self.depends(send, receive);
        }
        self.depends(receive, send);
    }

    /// A part cannot end before another one has begun.
    fn depends(&mut self, part: &Part, on: &Part) {
        if on.arrived <= part.end {
            let at = part.start.max(on.arrived);
            self.found.edge(on.from_lane, on.arrived, part.lane, at);
        }
    }

    /// From the start of `part` to the arrival of `late`, but not past the end of `part`.
    fn wait(&mut self, class: WaitClass, part: &Part, late: &Part) {
        let end = late.arrived.min(part.end);
        if part.start >= end {
            return;
        }
        self.waits.push(RankWait {
            class,
            wait: self.found.waits.len() as u32,
            meeting: self.meeting,
            entry: part.entry,
            late: late.call,
        });
        self.found.waits.push(Wait {
            lane: part.lane,
            start: part.start,
            end,
            target: WaitFor::Rank(late.rank),
            only: NONE,
            node: NONE,
        });
    }
}
