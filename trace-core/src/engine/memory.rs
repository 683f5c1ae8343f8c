//! Memory that a library reports: allocations and frees on devices.

use super::state;
use crate::Device;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Reports that a block of device memory was allocated.
///
/// For a tensor library, or a program that allocates on a device itself. The report then shows the live memory of the
/// device over time, its peak, and the ops that held it. `address` distinguishes the live blocks of a device; any
/// number works if no two live blocks share it. Does nothing while no session records.
///
/// ```
/// use trace_core::{Device, memory};
///
/// # let (address, bytes) = (0x7f00, 4096);
/// memory::allocated(address, bytes, Device::Cuda(0));
/// // …
/// memory::freed(address, Device::Cuda(0));
/// ```
pub fn allocated(address: usize, bytes: usize, device: impl Into<Device>) {
    if state::is_anyone_recording() {
        report(address, Some(bytes), device.into());
    }
}

/// Reports that a block of device memory is about to be freed. One whose allocation was not recorded is ignored.
pub fn freed(address: usize, device: impl Into<Device>) {
    if state::is_anyone_recording() {
        report(address, None, device.into());
    }
}

#[cold]
fn report(address: usize, bytes: Option<usize>, device: Device) {
    state::with_active(|recorder| {
        let at = recorder.now();
        if let Some(shared) = recorder.session() {
            let room = |bytes| shared.room.take(bytes);
            shared.memory.add(address, bytes, device, at, room);
        }
    });
}

/// An allocation or a free that was reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reported {
    /// Ticks.
    pub at: u64,
    /// Below zero for a free.
    pub bytes: i64,
    pub device: Device,
    pub address: usize,
    /// The thread that reported it.
    pub thread: u64,
}

/// The allocations and frees that were reported in a session.
#[derive(Debug, Default)]
pub struct ReportedMemory(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    events: Vec<Reported>,
    live: HashMap<(Device, usize), usize>,
}

/// Bytes of an event in a list that is up to half empty, and of its entry among the live blocks.
const EVENT_BYTES: usize = 2 * size_of::<Reported>() + 96;

impl ReportedMemory {
    fn add(
        &self,
        address: usize,
        bytes: Option<usize>,
        device: Device,
        at: u64,
        room: impl Fn(usize) -> bool,
    ) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = match bytes {
            // A free needs no room: removing its block from the live blocks makes enough.
            Some(bytes) if room(EVENT_BYTES) => {
                table.live.insert((device, address), bytes);
                i64::try_from(bytes).unwrap_or(i64::MAX)
            }
            Some(_) => return,
            None => match table.live.remove(&(device, address)) {
                Some(bytes) => -i64::try_from(bytes).unwrap_or(i64::MAX),
                None => return,
            },
        };
        table.events.push(Reported {
            at,
            bytes,
            device,
            address,
            thread: state::thread_number(),
        });
    }

    /// Everything so far, in the order in which it was reported.
    pub fn events(&self) -> Vec<Reported> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.events.clone()
    }
}
