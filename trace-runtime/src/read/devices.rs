//! One name for each device, in all parts of a trace.

use super::category::Vendor;
use super::scanner::Raw;
use std::collections::{BTreeSet, HashMap};

/// The names of the devices of a trace.
///
/// Profilers number devices and leave the family to the reader. For `ROCm` they even number one GPU in two ways:
/// kernels have the number of the agent, which also counts processors, and memory events have the number of the GPU.
#[derive(Debug)]
pub(super) struct Devices {
    /// The family of devices that have only a number.
    family: &'static str,
    /// Maps the number of a device in kernels to its number in memory events, where they differ.
    renumbered: HashMap<u32, u32>,
}

/// Facts of a trace from which the names of its devices are chosen.
#[derive(Debug, Default)]
pub(super) struct DeviceClues {
    /// There are calls into HIP: `hipLaunchKernel`.
    pub(super) hip_calls: bool,
    /// There are calls of an XPU runtime.
    pub(super) xpu_calls: bool,
    /// The numbers of devices in rows of work.
    pub(super) in_rows: BTreeSet<u32>,
    /// The devices of memory events.
    pub(super) in_memory: Vec<String>,
}

impl Devices {
    pub(super) fn new(clues: &DeviceClues) -> Devices {
        let in_memory = |family: &str| -> BTreeSet<u32> {
            let numbers = clues.in_memory.iter().filter_map(|device| {
                let (own, number) = device.split_once(':')?;
                (own == family).then(|| number.parse().ok())?
            });
            numbers.collect()
        };
        let (hip, xpu) = (in_memory("hip"), in_memory("xpu"));
        if clues.hip_calls || !hip.is_empty() {
            return Devices {
                family: "hip",
                renumbered: paired(&clues.in_rows, &hip),
            };
        }
        let family = if clues.xpu_calls || !xpu.is_empty() {
            "xpu"
        } else {
            "cuda"
        };
        Devices {
            family,
            renumbered: HashMap::new(),
        }
    }

    /// The name of a device of rows of work: `cuda:3` for the number 3; other text is the name itself.
    pub(super) fn id(&self, vendor: Vendor, device: Raw<'_>) -> String {
        let family = match vendor {
            Vendor::Generic => self.family,
            Vendor::Mtia => "mtia",
            Vendor::Hpu => "hpu",
        };
        match device.number::<u32>() {
            Some(number) if vendor == Vendor::Generic => {
                let number = self.renumbered.get(&number).copied().unwrap_or(number);
                format!("{family}:{number}")
            }
            Some(number) if number < HIGHEST_NUMBER => format!("{family}:{number}"),
            None if !device.is_empty() => device.text().into_owned(),
            // Not a device but the number of a process.
            _ => family.to_owned(),
        }
    }

    /// The name of a device in the header of a trace. The header numbers devices as memory events do.
    pub(super) fn listed(&self, device: &str) -> String {
        match device.parse::<u32>() {
            Ok(number) => format!("{}:{number}", self.family),
            Err(_) => device.to_owned(),
        }
    }
}

/// A larger number is not that of a device.
const HIGHEST_NUMBER: u32 = 1024;

/// Maps one numbering of the devices to another. Empty if all numbers of the first are in the second. If both have as
/// many numbers, they are paired in order. Otherwise the difference of their lowest numbers is added, provided that one
/// numbering then contains the other.
fn paired(in_rows: &BTreeSet<u32>, in_memory: &BTreeSet<u32>) -> HashMap<u32, u32> {
    let (Some(&first), Some(&target)) = (in_rows.first(), in_memory.first()) else {
        return HashMap::new();
    };
    if in_rows.is_subset(in_memory) {
        return HashMap::new();
    }
    if in_rows.len() == in_memory.len() {
        return in_rows
            .iter()
            .copied()
            .zip(in_memory.iter().copied())
            .collect();
    }
    let moved: HashMap<u32, u32> = in_rows
        .iter()
        .filter_map(|&number| Some((number, number.checked_sub(first)?.checked_add(target)?)))
        .collect();
    let targets: BTreeSet<u32> = moved.values().copied().collect();
    if targets.is_subset(in_memory) || in_memory.is_subset(&targets) {
        return moved;
    }
    HashMap::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices(rows: &[u32], memory: &[&str]) -> Devices {
        Devices::new(&DeviceClues {
            in_rows: rows.iter().copied().collect(),
            in_memory: memory.iter().map(|&device| device.to_owned()).collect(),
            ..DeviceClues::default()
        })
    }

    fn generic(devices: &Devices, number: &str) -> String {
        devices.id(Vendor::Generic, Raw(number.as_bytes()))
    }

    #[test]
    fn a_gpu_of_rocm_has_one_name() {
        assert_eq!(generic(&devices(&[2], &["cpu", "hip:0"]), "2"), "hip:0");
        let four = devices(&[4, 5], &["hip:0", "hip:1", "hip:2"]);
        assert_eq!(
            (generic(&four, "4"), generic(&four, "5")),
            ("hip:0".into(), "hip:1".into())
        );
        // Already the same numbers.
        assert_eq!(generic(&devices(&[1], &["hip:0", "hip:1"]), "1"), "hip:1");
        // No pairing is certain.
        let unclear = devices(&[1, 9], &["hip:0", "hip:3", "hip:4"]);
        assert_eq!(generic(&unclear, "9"), "hip:9");
    }

    #[test]
    fn families_come_from_memory_events_and_categories() {
        assert_eq!(generic(&devices(&[0], &["cuda:0"]), "0"), "cuda:0");
        assert_eq!(generic(&devices(&[0], &["xpu:0"]), "0"), "xpu:0");
        assert_eq!(generic(&devices(&[0], &[]), ""), "cuda");
        let cuda = devices(&[0], &[]);
        assert_eq!(cuda.id(Vendor::Mtia, Raw(b"3")), "mtia:3");
        assert_eq!(cuda.id(Vendor::Hpu, Raw(b"48151")), "hpu");
        assert_eq!(cuda.id(Vendor::Generic, Raw(b"gpu:1")), "gpu:1");
    }
}
