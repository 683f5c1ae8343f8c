//! What ranks wait for: at a collective for the last one or for the root, at a receive for the send, at a send for the
//! receive. The definitions are those of Scalasca.

use super::edge::Found;
use super::lane::Lanes;
use super::meeting::{Meeting, MeetingClass};
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
    /// The entry that waits.
    pub(super) entry: u32,
    /// The entry of the other rank, which began later.
    pub(super) late: u32,
}

/// The part of one rank in a meeting.
#[derive(Debug, Clone, Copy)]
struct Part {
    entry: u32,
    rank: u32,
    lane: u32,
    start: i64,
    end: i64,
}

/// Waits and edges of all meetings.
pub(super) fn meetings<T: TraceView + ?Sized>(
    trace: &T,
    lanes: &Lanes<'_>,
    meetings: &[Meeting],
    found: &mut Found,
) -> Vec<RankWait> {
    let mut rules = Rules {
        found,
        waits: Vec::new(),
    };
    let mut parts = Vec::new();
    for meeting in meetings {
        parts.clear();
        parts.extend(meeting.entries.iter().filter_map(|&entry| {
            let view = trace.view(entry as usize);
            Some(Part {
                entry,
                rank: view.rank()?,
                lane: lanes.of_entry(entry as usize)?,
                start: view.start_ns()?,
                end: view.end_ns()?,
            })
        }));
        if parts.len() == meeting.entries.len() {
            rules.meet(meeting, &parts);
        }
    }
    rules.waits
}

struct Rules<'f> {
    found: &'f mut Found,
    waits: Vec<RankWait>,
}

impl Rules<'_> {
    fn meet(&mut self, meeting: &Meeting, parts: &[Part]) {
        let root = parts.iter().find(|part| Some(part.entry) == meeting.root);
        match (meeting.class, root, parts) {
            (MeetingClass::FromRoot, Some(root), _) => {
                for part in parts.iter().filter(|part| part.entry != root.entry) {
                    self.wait(WaitClass::LateBroadcast, part, root);
                    if root.start <= part.end {
                        let at = part.start.max(root.start);
                        self.found.edge(root.lane, root.start, part.lane, at);
                    }
                }
            }
            (MeetingClass::ToRoot, Some(root), _) => self.wait_at_root(root, parts),
            (MeetingClass::Message, _, &[send, receive]) => self.message(&send, &receive),
            (MeetingClass::Barrier, ..) => self.all(WaitClass::WaitAtBarrier, parts),
            _ => self.all(WaitClass::WaitAtNxN, parts),
        }
    }

    /// Everyone waits for the last one.
    fn all(&mut self, class: WaitClass, parts: &[Part]) {
        let Some(last) = parts.iter().max_by_key(|part| part.start) else {
            return;
        };
        let meeting = self.found.meeting_point();
        for part in parts {
            self.found.edge(part.lane, part.start, meeting, last.start);
            // Clocks that differ may show a rank that left before the last one came.
            if last.start <= part.end {
                self.found.edge(meeting, last.start, part.lane, last.start);
            }
            self.wait(class, part, last);
        }
    }

    /// The root waits for the last one.
    fn wait_at_root(&mut self, root: &Part, parts: &[Part]) {
        let others = parts.iter().filter(|part| part.entry != root.entry);
        let Some(last) = others.clone().max_by_key(|part| part.start) else {
            return;
        };
        self.wait(WaitClass::EarlyReduce, root, last);
        let at = root.start.max(last.start);
        if at <= root.end {
            for part in others {
                self.found.edge(part.lane, part.start, root.lane, at);
            }
        }
    }

    /// A receive waits until its send has begun; a send that is still under way when its receive begins waited for
    /// that.
    fn message(&mut self, send: &Part, receive: &Part) {
        if receive.start < send.start && send.start <= receive.end {
            self.wait(WaitClass::LateSender, receive, send);
        }
        if send.start < receive.start && receive.start < send.end {
            self.wait(WaitClass::LateReceiver, send, receive);
            self.found
                .edge(receive.lane, receive.start, send.lane, receive.start);
        }
        if send.start <= receive.end {
            let at = send.start.max(receive.start);
            self.found.edge(send.lane, send.start, receive.lane, at);
        }
    }

    /// From the start of `part` to that of `late`, but not past the end of `part`.
    fn wait(&mut self, class: WaitClass, part: &Part, late: &Part) {
        let end = late.start.min(part.end);
        if part.start >= end {
            return;
        }
        self.waits.push(RankWait {
            class,
            wait: self.found.waits.len() as u32,
            entry: part.entry,
            late: late.entry,
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
