//! Rows of devices in the traces of XLA's profiler (JAX, TensorFlow): each device is a process in these traces.

/// The sort of a row, by the names of its process and thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum XlaRow {
    /// Not on a device of XLA.
    None,
    /// Work on a device.
    Work,
    /// Steps, as the profiler found them.
    Steps,
    /// Work that other rows of the device show too: modules, name scopes, source lines.
    Repeated,
}

/// The device that a process represents: `gpu:0` for `/device:GPU:0`.
pub(super) fn device_of(process: &str) -> Option<String> {
    let name = process.trim().strip_prefix("/device:")?;
    let name = name.split_whitespace().next()?;
    let (family, number) = name.split_once(':')?;
    let number: u32 = number.parse().ok()?;
    let plain = !family.is_empty() && family.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then(|| format!("{}:{number}", family.to_ascii_lowercase()))
}

impl XlaRow {
    /// The sort of a row of a device. `has_streams` is true if the device has rows of streams, as GPUs have.
    pub(super) fn of(thread: &str, has_streams: bool) -> XlaRow {
        const REPEATED: [&str; 9] = [
            "XLA Modules",
            "XLA TraceMe",
            "Framework",
            "TensorFlow",
            "Source",
            "Launch Stats",
            "Kernel Stats",
            "Derived",
            "Name Scope",
        ];
        let thread = thread.trim();
        if thread == "Steps" {
            XlaRow::Steps
        } else if is_stream(thread) {
            XlaRow::Work
        } else if has_streams || REPEATED.iter().any(|name| thread.starts_with(name)) {
            XlaRow::Repeated
        } else {
            XlaRow::Work
        }
    }
}

pub(super) fn is_stream(thread: &str) -> bool {
    thread.starts_with("Stream")
}

/// True if an HLO op is communication: `all-reduce.3`, `collective-permute-start`.
pub(super) fn communicates(op: &str) -> bool {
    const NAMES: [&str; 8] = [
        "all-reduce",
        "all-gather",
        "reduce-scatter",
        "all-to-all",
        "ragged-all-to-all",
        "collective-",
        "send",
        "recv",
    ];
    NAMES.iter().any(|name| op.starts_with(name))
}

/// True if an HLO op only copies: `copy.1`, `copy-start`.
pub(super) fn copies(op: &str) -> bool {
    op.starts_with("copy")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_found_by_the_name_of_their_process() {
        assert_eq!(device_of("/device:GPU:0").as_deref(), Some("gpu:0"));
        assert_eq!(device_of("/device:TPU:3 (pid 7)").as_deref(), Some("tpu:3"));
        for other in [
            "/host:CPU",
            "python",
            "/device:",
            "/device:GPU",
            "/device:GPU:x",
            "/device::1",
        ] {
            assert_eq!(device_of(other), None, "{other}");
        }
    }

    #[test]
    fn work_is_counted_once() {
        // A GPU has streams, and the ops of XLA are derived from them; a TPU has only the ops.
        assert_eq!(XlaRow::of("Stream #13(Compute)", true), XlaRow::Work);
        assert_eq!(XlaRow::of("XLA Ops", true), XlaRow::Repeated);
        assert_eq!(XlaRow::of("XLA Ops", false), XlaRow::Work);
        assert_eq!(XlaRow::of("XLA Modules", false), XlaRow::Repeated);
        assert_eq!(XlaRow::of("Steps", false), XlaRow::Steps);
    }
}
