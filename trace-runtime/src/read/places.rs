//! The processes and threads of a file, and the lanes of each.

use super::category::{Lane, Vendor};
use super::devices::Devices;
use super::mesh::{Coordinates, Mesh, coordinates, is_for_communication};
use super::scanner::Raw;
use super::texts::Texts;
use super::xla::{self, XlaRow};
use crate::model::hash::FastHash;
use crate::model::wire::chrome;
use crate::model::{ThreadIndex, TraceStoreBuilder};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Every place (process and thread) of a trace, and its lanes.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// By process and thread.
    texts: Texts,
    known: Vec<Place>,
    lanes: Vec<LaneOf>,
    /// The device of each lane as the trace names it.
    devices: Vec<(Vendor, Box<[u8]>)>,
    process_names: HashMap<Box<[u8]>, Box<[u8]>, FastHash>,
    /// The ranks of a mesh, if rows are named after their coordinates.
    mesh: Mesh,
    /// By place; empty if there is no mesh.
    mesh_ranks: Vec<Option<u32>>,
    last: u32,
}

#[derive(Debug)]
struct Place {
    pid: Box<[u8]>,
    tid: Box<[u8]>,
    name: Box<[u8]>,
    /// True if the file gives it a name, which may be empty.
    is_named: bool,
    lanes: [Option<u32>; Lane::COUNT],
    /// Found when the first row is read: the names of processes and threads come before it.
    xla: Option<(XlaRow, Arc<str>)>,
}

/// One lane of a place.
#[derive(Debug, Clone, Copy)]
pub(super) struct LaneOf {
    pub(super) place: u32,
    pub(super) lane: Lane,
}

impl Places {
    /// The number of a process and thread.
    #[inline]
    pub(super) fn place(&mut self, pid: Raw<'_>, tid: Raw<'_>) -> u32 {
        // Consecutive events are mostly of one thread.
        if let Some(last) = self.known.get(self.last as usize)
            && *last.tid == *tid.0
            && *last.pid == *pid.0
        {
            return self.last;
        }
        self.last = self.texts.id(&[pid, tid], &[], 0);
        if self.last as usize == self.known.len() {
            self.known.push(Place {
                pid: pid.0.into(),
                tid: tid.0.into(),
                name: Box::default(),
                is_named: false,
                lanes: [None; Lane::COUNT],
                xla: None,
            });
        }
        self.last
    }

    /// The number of a lane.
    #[inline]
    pub(super) fn lane(&mut self, place: u32, lane: Lane, vendor: Vendor, device: Raw<'_>) -> u32 {
        let slot = &mut self.known[place as usize].lanes[lane as usize];
        *slot.get_or_insert_with(|| {
            self.lanes.push(LaneOf { place, lane });
            self.devices.push((vendor, device.0.into()));
            self.lanes.len() as u32 - 1
        })
    }

    /// The number of the device lane of a place, as the number of a thread of the trace.
    pub(super) fn stream(
        &self,
        place: u32,
        threads: &[ThreadIndex],
        builder: &TraceStoreBuilder,
    ) -> Option<u64> {
        let lane = self.lane_of(place, Lane::Device)?;
        builder.thread_id(threads[lane as usize])
    }

    /// The sort of row that a place is in a trace of XLA, and its device.
    #[inline]
    pub(super) fn xla(&mut self, place: u32) -> (XlaRow, Arc<str>) {
        if let Some(known) = &self.known[place as usize].xla {
            return known.clone();
        }
        let found = self.find_xla(place);
        self.known[place as usize].xla = Some(found.clone());
        found
    }

    fn find_xla(&self, place: u32) -> (XlaRow, Arc<str>) {
        let Place { pid, name, .. } = &self.known[place as usize];
        let process = self.process_names.get(pid).map(|name| Raw(name).text());
        let Some(device) = process.and_then(|process| xla::device_of(&process)) else {
            return (XlaRow::None, "".into());
        };
        let is_stream = |other: &Place| xla::is_stream(&Raw(&other.name).text());
        let mut of_device = self.known.iter().filter(|other| other.pid == *pid);
        let row = XlaRow::of(&Raw(name).text(), of_device.any(is_stream));
        (row, device.into())
    }

    pub(super) fn lanes(&self) -> &[LaneOf] {
        &self.lanes
    }

    /// A lane of a place, if it has that one.
    pub(super) fn lane_of(&self, place: u32, lane: Lane) -> Option<u32> {
        self.known[place as usize].lanes[lane as usize]
    }

    pub(super) fn name_thread(&mut self, pid: Raw<'_>, tid: Raw<'_>, name: Raw<'_>) {
        let place = self.place(pid, tid);
        let place = &mut self.known[place as usize];
        place.name = name.0.into();
        place.is_named = true;
    }

    /// True if a process is a device of XLA.
    pub(super) fn has_xla_devices(&self) -> bool {
        let mut names = self.process_names.values();
        names.any(|name| xla::device_of(&Raw(name).text()).is_some())
    }

    /// True if [`xla`](Self::xla) was called.
    pub(super) fn looked_for_xla(&self) -> bool {
        self.known.iter().any(|place| place.xla.is_some())
    }

    /// Adds the places and lanes of a part, and returns the number of each here.
    pub(super) fn append(&mut self, part: &Places) -> (Vec<u32>, Vec<u32>) {
        let places: Vec<u32> = part
            .known
            .iter()
            .map(|place| {
                let number = self.place(Raw(&place.pid), Raw(&place.tid));
                let known = &mut self.known[number as usize];
                if place.is_named {
                    known.name.clone_from(&place.name);
                    known.is_named = true;
                }
                if known.xla.is_none() {
                    known.xla.clone_from(&place.xla);
                }
                number
            })
            .collect();
        let lanes = part
            .lanes
            .iter()
            .zip(&part.devices)
            .map(|(lane, (vendor, device))| {
                let place = places[lane.place as usize];
                self.lane(place, lane.lane, *vendor, Raw(device))
            })
            .collect();
        let names = part.process_names.iter();
        self.process_names
            .extend(names.map(|(pid, name)| (pid.clone(), name.clone())));
        (places, lanes)
    }

    pub(super) fn name_process(&mut self, pid: Raw<'_>, name: Raw<'_>) {
        self.process_names.insert(pid.0.into(), name.0.into());
    }

    /// Adds a thread to the trace for every lane. Ops keep the thread number of the file; if it is used already or
    /// missing, the lowest free number is used.
    pub(super) fn threads(
        &self,
        builder: &mut TraceStoreBuilder,
        rank: Option<u32>,
        devices: &Devices,
    ) -> Vec<ThreadIndex> {
        let mut numbers = vec![None; self.lanes.len()];
        let mut taken = HashSet::new();
        for wanted in [Lane::Host, Lane::Device] {
            for (lane, number) in self.lanes.iter().zip(&mut numbers) {
                let tid = Raw(&self.known[lane.place as usize].tid).number::<u64>();
                if lane.lane == wanted {
                    let rank = self.rank(lane.place);
                    *number = tid.filter(|&tid| taken.insert((rank, tid)));
                }
            }
        }
        let mut free = 1;
        self.lanes
            .iter()
            .zip(&self.devices)
            .zip(numbers)
            .map(|((lane, (vendor, device)), number)| {
                let own_rank = self.rank(lane.place);
                let number = number.unwrap_or_else(|| {
                    while !taken.insert((own_rank, free)) {
                        free += 1;
                    }
                    free
                });
                let rank = own_rank.or(rank);
                let device = || devices.id(*vendor, Raw(device));
                let name = self.name_of(*lane, device);
                builder.thread(Some(number), rank, name.as_deref())
            })
            .collect()
    }

    /// Finds ranks in the names of rows; call it when all names are known.
    pub(super) fn find_mesh(&mut self) {
        let places = 0..self.known.len() as u32;
        let rows =
            places.filter(|&place| self.known[place as usize].lanes.iter().any(Option::is_some));
        self.mesh = Mesh::of(rows.map(|place| self.coordinates(place)));
        if !self.mesh.is_empty() {
            let places = 0..self.known.len() as u32;
            let rank = |place| self.mesh.rank(&self.coordinates(place));
            self.mesh_ranks = places.map(rank).collect();
        }
    }

    pub(super) fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    fn coordinates(&self, place: u32) -> Coordinates {
        let Place { pid, name, .. } = &self.known[place as usize];
        let process = self.process_names.get(pid).map_or(&[][..], |name| name);
        coordinates(&[&Raw(process).text(), &Raw(name).text()])
    }

    /// True if a place is a thread or stream for communication, by its name.
    pub(super) fn is_for_communication(&self, place: u32) -> bool {
        is_for_communication(&Raw(&self.known[place as usize].name).text())
    }

    /// The rank in the name of a place. In a trace of several ranks, each rank is a process or a row of a mesh.
    pub(super) fn rank(&self, place: u32) -> Option<u32> {
        if let Some(rank) = self.mesh_ranks.get(place as usize) {
            return *rank;
        }
        let pid = &self.known[place as usize].pid;
        let name = self
            .process_names
            .get(pid)?
            .strip_prefix(chrome::RANK_PREFIX)?;
        Raw(name).number()
    }

    fn name_of(&self, lane: LaneOf, device: impl Fn() -> String) -> Option<String> {
        let place = &self.known[lane.place as usize];
        let given = || {
            let name = if place.name.is_empty() {
                self.process_names.get(&place.pid)?
            } else {
                &place.name
            };
            Some(Raw(name).text().trim().to_owned()).filter(|name| !name.is_empty())
        };
        let own_tid = Raw(&place.tid);
        let tid = || match own_tid.number::<i64>() {
            Some(number) => format!("thread {number}"),
            None => own_tid.text().into_owned(),
        };
        let stream = || {
            let device = device();
            match own_tid.number::<i64>() {
                Some(_) if xla::is_stream(&Raw(&place.name).text()) => {
                    format!("{device} {}", Raw(&place.name).text().trim())
                }
                Some(number) => format!("{device} stream {number}"),
                None => format!("{device} {}", own_tid.text()),
            }
        };
        match lane.lane {
            Lane::Host => given(),
            Lane::Python => Some(format!("{}, python", given().unwrap_or_else(tid))),
            Lane::Runtime => Some(format!("{}, runtime", given().unwrap_or_else(tid))),
            Lane::Device => Some(stream()),
            Lane::DeviceSteps => None,
        }
    }
}
