//! Assigns entries to tracks on which spans only nest, as viewers require.

use super::timeline::Span;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::hash::Hash;

/// The tracks of a trace. A track belongs to a key (a thread, a device). A key has more than one track only if
/// its entries overlap without nesting, as those of async tasks do.
#[derive(Debug)]
pub(super) struct Tracks<K> {
    lanes: HashMap<K, Lanes>,
    track_count: u32,
}

/// An entry to be placed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) step: usize,
    /// The entry is placed inside its parent if that is still open on a track of the same key.
    pub(super) parent: Option<usize>,
    pub(super) start_ns: Option<u64>,
    pub(super) duration_ns: u64,
}

impl Request {
    pub(super) fn of(span: &Span<'_>) -> Request {
        Request {
            step: span.view.step(),
            parent: span.view.parent(),
            start_ns: span.start_ns,
            duration_ns: span.duration_ns,
        }
    }
}

/// The track and times of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placement {
    /// Tracks are numbered from 0 in the order in which they are first used.
    pub(super) track: u32,
    /// The number of the track among those of its key.
    pub(super) lane: u32,
    pub(super) first_on_track: bool,
    /// True if it is inside its parent.
    pub(super) nested: bool,
    /// Start of the gap before this entry, during which only the parent ran.
    pub(super) parent_alone_from_ns: u64,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
}

/// An entry that can contain no later entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Closed {
    pub(super) track: u32,
    /// Start of the last part of the entry, during which none of its children ran.
    pub(super) alone_from_ns: u64,
    pub(super) end_ns: u64,
}

#[derive(Debug, Default)]
struct Lanes {
    rows: Vec<Lane>,
    /// Lanes with open entries, by the end of the last of them.
    busy: BinaryHeap<Reverse<(u64, u32)>>,
    free: BTreeSet<u32>,
    /// The lane of each open entry that is not on lane 0, which is searched first.
    lane_of: HashMap<usize, u32>,
}

#[derive(Debug)]
struct Lane {
    track: u32,
    /// Outermost first, each inside the one before it.
    open: Vec<Open>,
    /// End of its last outermost entry: an entry without a start begins here.
    cursor_ns: u64,
}

#[derive(Debug)]
struct Open {
    step: usize,
    end_ns: u64,
    /// End of its last child, or its start.
    cursor_ns: u64,
}

impl<K: Copy + Eq + Hash> Tracks<K> {
    pub(super) fn new() -> Self {
        Tracks {
            lanes: HashMap::new(),
            track_count: 0,
        }
    }

    /// Places an entry. Entries that can no longer contain others because of it are added to `closed`.
    ///
    /// Entries must be placed in order of their starts.
    pub(super) fn place(
        &mut self,
        key: K,
        request: Request,
        closed: &mut Vec<Closed>,
    ) -> Placement {
        let lanes = self.lanes.entry(key).or_default();
        if let Some(place) = lanes.inside_parent(request, closed) {
            return place;
        }
        let known = self.track_count;
        let lane = lanes.free_lane(request.start_ns, &mut self.track_count);
        let mut place = lanes.begin_on(lane, request, closed);
        place.first_on_track = self.track_count > known;
        place
    }

    /// Closes the entries that are still open, track by track.
    pub(super) fn finish(self, closed: &mut Vec<Closed>) {
        let mut lanes: Vec<Lane> = self
            .lanes
            .into_values()
            .flat_map(|lanes| lanes.rows)
            .collect();
        lanes.sort_by_key(|lane| lane.track);
        for lane in &mut lanes {
            lane.close_above(0, closed);
        }
    }
}

impl Lanes {
    fn inside_parent(&mut self, request: Request, closed: &mut Vec<Closed>) -> Option<Placement> {
        let parent = request.parent?;
        let in_lane = |lane: &Lane| lane.open.binary_search_by_key(&parent, |open| open.step);
        let (number, depth) = if let Ok(depth) = in_lane(self.rows.first()?) {
            (0, depth)
        } else {
            let number = *self.lane_of.get(&parent)?;
            (number, in_lane(&self.rows[number as usize]).ok()?)
        };
        let lane = &mut self.rows[number as usize];
        let above = &lane.open[depth];
        let start = request.start_ns.unwrap_or(above.cursor_ns);
        let end = start.saturating_add(request.duration_ns);
        if start < above.cursor_ns || end > above.end_ns {
            return None;
        }
        for gone in &lane.open[depth + 1..] {
            self.lane_of.remove(&gone.step);
        }
        lane.close_above(depth + 1, closed);
        let alone_from = std::mem::replace(&mut lane.open[depth].cursor_ns, end);
        if number > 0 {
            self.lane_of.insert(request.step, number);
        }
        let mut place = lane.open(request.step, number, start, end);
        place.nested = true;
        place.parent_alone_from_ns = alone_from;
        Some(place)
    }

    /// The first lane on which nothing is open at this time.
    fn free_lane(&mut self, start_ns: Option<u64>, track_count: &mut u32) -> u32 {
        let Some(start) = start_ns else {
            if self.rows.is_empty() {
                self.add_lane(track_count);
            }
            return 0;
        };
        while let Some(&Reverse((end, lane))) = self.busy.peek()
            && end <= start
        {
            self.busy.pop();
            self.free.insert(lane);
        }
        // A lane in `free` can be busy if it was used again, or by an entry without a start.
        let free = |lane: &&u32| self.rows[**lane as usize].cursor_ns <= start;
        match self.free.iter().find(free) {
            Some(&lane) => lane,
            None => self.add_lane(track_count),
        }
    }

    fn add_lane(&mut self, track_count: &mut u32) -> u32 {
        self.rows.push(Lane {
            track: *track_count,
            open: Vec::new(),
            cursor_ns: 0,
        });
        *track_count += 1;
        self.rows.len() as u32 - 1
    }

    fn begin_on(&mut self, number: u32, request: Request, closed: &mut Vec<Closed>) -> Placement {
        let lane = &mut self.rows[number as usize];
        for gone in &lane.open {
            self.lane_of.remove(&gone.step);
        }
        lane.close_above(0, closed);
        let start = request.start_ns.unwrap_or(lane.cursor_ns);
        let end = start.saturating_add(request.duration_ns);
        lane.cursor_ns = end;
        if number > 0 {
            self.lane_of.insert(request.step, number);
        }
        self.free.remove(&number);
        self.busy.push(Reverse((end, number)));
        lane.open(request.step, number, start, end)
    }
}

impl Lane {
    fn open(&mut self, step: usize, lane: u32, start_ns: u64, end_ns: u64) -> Placement {
        self.open.push(Open {
            step,
            end_ns,
            cursor_ns: start_ns,
        });
        Placement {
            track: self.track,
            lane,
            first_on_track: false,
            nested: false,
            parent_alone_from_ns: start_ns,
            start_ns,
            end_ns,
        }
    }

    /// Closes the entries from this depth on, innermost first.
    fn close_above(&mut self, depth: usize, closed: &mut Vec<Closed>) {
        let track = self.track;
        closed.extend(self.open.drain(depth..).rev().map(|open| Closed {
            track,
            alone_from_ns: open.cursor_ns,
            end_ns: open.end_ns,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(step: usize, parent: Option<usize>, start: u64, end: u64) -> Request {
        Request {
            step,
            parent,
            start_ns: Some(start),
            duration_ns: end - start,
        }
    }

    /// The track of each entry, and the ends of closed entries in order.
    fn laid_out(requests: &[Request]) -> (Vec<u32>, Vec<u64>) {
        let (mut tracks, mut closed) = (Tracks::new(), Vec::new());
        let places = requests
            .iter()
            .map(|&request| tracks.place((), request, &mut closed).track)
            .collect();
        tracks.finish(&mut closed);
        (places, closed.iter().map(|closed| closed.end_ns).collect())
    }

    #[test]
    fn children_are_inside_their_parent_and_siblings_follow_each_other() {
        let (tracks, closed) = laid_out(&[
            request(0, None, 0, 100),
            request(1, Some(0), 0, 40),
            request(2, Some(1), 10, 40),
            request(3, Some(0), 40, 100),
            request(4, None, 100, 110),
        ]);
        assert_eq!(tracks, [0; 5]);
        assert_eq!(closed, [40, 40, 100, 100, 110]);
    }

    #[test]
    fn entries_that_overlap_without_nesting_use_another_track_for_a_while() {
        let (tracks, _) = laid_out(&[
            request(0, None, 0, 50),
            request(1, None, 10, 60),
            request(2, Some(1), 20, 30),
            request(3, Some(0), 20, 55),
            request(4, None, 70, 80),
        ]);
        assert_eq!(tracks, [0, 1, 1, 2, 0]);
    }

    #[test]
    fn entries_without_a_start_follow_each_other_inside_their_parent() {
        let (mut tracks, mut closed) = (Tracks::new(), Vec::new());
        let mut place = |step, parent, duration_ns| {
            let request = Request {
                step,
                parent,
                start_ns: None,
                duration_ns,
            };
            let place = tracks.place((), request, &mut closed);
            (place.start_ns, place.end_ns, place.nested)
        };
        assert_eq!(place(0, None, 100), (0, 100, false));
        assert_eq!(place(1, Some(0), 30), (0, 30, true));
        assert_eq!(place(2, Some(0), 30), (30, 60, true));
        assert_eq!(place(3, None, 5), (100, 105, false));
    }

    #[test]
    fn an_empty_child_at_the_end_of_its_parent_is_inside_it() {
        let (tracks, closed) = laid_out(&[request(0, None, 0, 9), request(1, Some(0), 9, 9)]);
        assert_eq!((tracks, closed), (vec![0, 0], vec![9, 9]));
    }
}
