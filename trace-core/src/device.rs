//! The device of a tensor or an op.

use std::fmt;
use std::sync::{OnceLock, PoisonError, RwLock};

/// The device that holds a tensor or runs an op.
///
/// Prints as the `device_id` of an entry: `cpu`, `cuda:0`, `npu:3`.
///
/// ```
/// use trace_runtime::Device;
/// assert_eq!(Device::Cuda(1).to_string(), "cuda:1");
/// assert_eq!(Device::named("npu:3").to_string(), "npu:3");
/// assert_eq!(Device::named("cuda:1"), Device::Cuda(1));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Device {
    /// The device is not known; the entry's `device_id` stays empty.
    #[default]
    Unknown,
    /// Host memory.
    Cpu,
    /// An NVIDIA device with its ordinal.
    Cuda(u16),
    /// An Apple device with its ordinal.
    Metal(u16),
    /// An AMD device with its ordinal.
    Rocm(u16),
    /// A Vulkan device with its ordinal.
    Vulkan(u16),
    /// A WebGPU adapter with its ordinal.
    Wgpu(u16),
    /// Any other device, by name: see [`Device::named`].
    Named(DeviceName),
}

/// The name of a [`Device`] outside the built-in list, kept once per process.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeviceName(u16);

/// The layout of a device code of 16 bits: the family in the upper bits, the ordinal or the index of the name in the
/// lower ones.
const ORDINALS: u16 = 1 << 12;
const FAMILIES: [&str; 5] = ["cuda", "metal", "rocm", "vulkan", "wgpu"];
const NAMED: u16 = 0x8000;
/// The name of all devices that do not fit into the table.
const OVERFULL: &str = "other";

impl Device {
    /// The device with this name; built-in families are recognised.
    ///
    /// A new name is kept for the life of the process. There is room for 4,096 of them, and every
    /// further one is called `other`: names are for devices, not for data.
    pub fn named(name: &str) -> Device {
        if name.is_empty() {
            return Device::Unknown;
        }
        if name == "cpu" {
            return Device::Cpu;
        }
        if let Some((family, ordinal)) = name.split_once(':')
            && let Some(index) = FAMILIES.iter().position(|known| *known == family)
            && let Ok(number) = ordinal.parse::<u16>()
            && number < ORDINALS
            && number.to_string() == ordinal
        {
            return Device::from_code((index as u16 + 1) * ORDINALS + number);
        }
        Device::Named(intern(name))
    }

    /// The sixteen bits of this device in a signature.
    #[cfg(feature = "engine")]
    #[inline]
    pub(crate) fn code(self) -> u16 {
        let (family, number) = match self {
            Device::Unknown => return 0,
            Device::Cpu => return 1,
            Device::Cuda(number) => (1, number),
            Device::Metal(number) => (2, number),
            Device::Rocm(number) => (3, number),
            Device::Vulkan(number) => (4, number),
            Device::Wgpu(number) => (5, number),
            Device::Named(name) => return NAMED | name.0,
        };
        if number < ORDINALS {
            family * ORDINALS + number
        } else {
            far_ordinal(family, number)
        }
    }

    pub(crate) fn from_code(code: u16) -> Device {
        if code & NAMED != 0 {
            return Device::Named(DeviceName(code & !NAMED));
        }
        let number = code % ORDINALS;
        match code / ORDINALS {
            0 if number == 1 => Device::Cpu,
            1 => Device::Cuda(number),
            2 => Device::Metal(number),
            3 => Device::Rocm(number),
            4 => Device::Vulkan(number),
            5 => Device::Wgpu(number),
            _ => Device::Unknown,
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (family, number) = match *self {
            Device::Unknown => return f.pad("unknown"),
            Device::Cpu => return f.pad("cpu"),
            Device::Named(name) => return f.pad(name.as_str()),
            Device::Cuda(number) => (FAMILIES[0], number),
            Device::Metal(number) => (FAMILIES[1], number),
            Device::Rocm(number) => (FAMILIES[2], number),
            Device::Vulkan(number) => (FAMILIES[3], number),
            Device::Wgpu(number) => (FAMILIES[4], number),
        };
        write!(f, "{family}:{number}")
    }
}

impl From<&str> for Device {
    fn from(name: &str) -> Device {
        Device::named(name)
    }
}

impl From<String> for Device {
    fn from(name: String) -> Device {
        Device::named(&name)
    }
}

impl From<&String> for Device {
    fn from(name: &String) -> Device {
        Device::named(name)
    }
}

impl DeviceName {
    /// The name itself.
    pub fn as_str(self) -> &'static str {
        names()
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(usize::from(self.0))
            .copied()
            .unwrap_or(OVERFULL)
    }
}

impl fmt::Debug for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

fn names() -> &'static RwLock<Vec<&'static str>> {
    static NAMES: OnceLock<RwLock<Vec<&'static str>>> = OnceLock::new();
    NAMES.get_or_init(|| RwLock::new(vec![OVERFULL]))
}

/// The code of a device whose ordinal is too large for a code: it is stored by name.
#[cfg(feature = "engine")]
#[cold]
fn far_ordinal(family: u16, number: u16) -> u16 {
    let name = format!("{}:{number}", FAMILIES[usize::from(family) - 1]);
    NAMED | intern(&name).0
}

fn intern(name: &str) -> DeviceName {
    let find = |known: &[&str]| known.iter().position(|one| *one == name);
    let known = names().read().unwrap_or_else(PoisonError::into_inner);
    if let Some(index) = find(&known) {
        return DeviceName(index as u16);
    }
    drop(known);
    let mut known = names().write().unwrap_or_else(PoisonError::into_inner);
    let index = find(&known).unwrap_or_else(|| {
        if known.len() >= usize::from(ORDINALS) {
            return 0;
        }
        known.push(Box::leak(name.into()));
        known.len() - 1
    });
    DeviceName(index as u16)
}

#[cfg(all(test, feature = "engine"))]
mod tests {
    use super::*;

    #[test]
    fn codes_lead_back_to_their_device() {
        for device in [
            Device::Unknown,
            Device::Cpu,
            Device::Cuda(0),
            Device::Cuda(4095),
            Device::Wgpu(7),
            Device::named("npu:3"),
        ] {
            assert_eq!(Device::from_code(device.code()), device);
        }
    }

    #[test]
    fn an_ordinal_past_the_code_keeps_its_name() {
        let far = Device::Cuda(60_000);
        assert_eq!(Device::from_code(far.code()).to_string(), far.to_string());
    }

    #[test]
    fn names_that_only_look_like_a_family_stay_as_they_are() {
        for name in ["cuda", "cuda:", "cuda:01", "cuda:x", "CPU"] {
            assert_eq!(Device::named(name).to_string(), name);
        }
    }
}
