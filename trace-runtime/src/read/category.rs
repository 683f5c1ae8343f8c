//! Maps the category of a Chrome event to the lane that it belongs to and to the kind of op.

use super::scanner::Raw;
use super::xla;
use crate::model::OpKind;

/// The rows of one thread that nest in each other.
///
/// Profilers write ops, the Python frames around them and the runtime calls inside them to one thread. Here, each sort
/// has a separate lane. So the self time of an op is its time without its child ops, as in `key_averages`, even if
/// frames and launches were traced too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Lane {
    /// Ops and annotations on the host.
    Host,
    /// Interpreter frames.
    Python,
    /// Calls into a device's runtime or driver.
    Runtime,
    /// Work on a device: kernels, copies, fills.
    Device,
    /// Steps that a profiler shows on a row of a device.
    DeviceSteps,
}

impl Lane {
    pub(super) const COUNT: usize = 5;
}

/// The meaning of an event's category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Category {
    Row(Lane),
    /// Work on a device of a family that has its own category.
    Vendor(Vendor),
    /// Work on a device of XLA.
    Xla,
    /// Work on a device that copies or fills.
    DeviceMemory,
    /// A synchronisation, repeated on the row of the stream that it waits for.
    Sync,
    /// An annotation of the host that the profiler repeats on a device's row.
    Mirror,
    /// The profiler's own span over the whole trace.
    ProfilerSpan,
}

impl Category {
    #[inline]
    pub(super) fn of(category: Raw<'_>) -> Category {
        match category.0 {
            b"cpu_op" | b"user_annotation" | b"Operator" | b"" => Category::Row(Lane::Host),
            b"kernel" | b"Kernel" => Category::Row(Lane::Device),
            b"gpu_memcpy" | b"gpu_memset" | b"Memcpy" | b"Memset" => Category::DeviceMemory,
            b"python_function" => Category::Row(Lane::Python),
            b"cuda_sync" => Category::Sync,
            b"gpu_user_annotation" => Category::Mirror,
            b"Trace" => Category::ProfilerSpan,
            b"mtia_ccp_events" => Category::Vendor(Vendor::Mtia),
            b"hpu_op" => Category::Vendor(Vendor::Hpu),
            other => {
                let runtime = [&b"runtime"[..], b"driver"].into_iter().any(|end| {
                    let start = other.len().saturating_sub(end.len());
                    other[start..].eq_ignore_ascii_case(end)
                });
                Category::Row(if runtime { Lane::Runtime } else { Lane::Host })
            }
        }
    }
}

/// The family of a device, if the category of a row gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Vendor {
    /// The family of all devices of the trace that have only a number.
    Generic,
    /// Meta's training and inference accelerators.
    Mtia,
    /// Intel Gaudi.
    Hpu,
}

impl Category {
    /// The family of the device that a row is on.
    pub(super) fn vendor(self) -> Vendor {
        match self {
            Category::Vendor(vendor) => vendor,
            _ => Vendor::Generic,
        }
    }

    /// A number for each category whose rows are on devices, so that their ops are distinct.
    pub(super) fn code(self) -> u8 {
        match self {
            Category::DeviceMemory => 1,
            Category::Vendor(Vendor::Mtia) => 2,
            Category::Vendor(Vendor::Hpu) => 3,
            Category::Xla => 4,
            _ => 0,
        }
    }
}

/// The kind of work on a device: communication by its name, else memory by category or name, else
/// compute.
pub(super) fn device_kind(name: &str, category: Category) -> OpKind {
    let starts = |prefixes: &[&str]| {
        prefixes.iter().any(|prefix| {
            name.get(..prefix.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
        })
    };
    let kernels = ["ncclKernel", "ncclDevKernel", "rcclGenericKernel"];
    if starts(&["nccl", "rccl", "hccl"]) || kernels.iter().any(|kernel| name.contains(kernel)) {
        return OpKind::Communication;
    }
    if category == Category::Xla && xla::communicates(name) {
        return OpKind::Communication;
    }
    if category == Category::Xla && xla::copies(name) {
        return OpKind::Memory;
    }
    let copies = ["Memcpy", "Memset", "dma"];
    if category == Category::DeviceMemory || copies.iter().any(|copy| name.starts_with(copy)) {
        return OpKind::Memory;
    }
    OpKind::Compute
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_of_every_dialect_find_their_lane() {
        let lane = |name: &str| Category::of(Raw(name.as_bytes()));
        for host in [
            "cpu_op",
            "Operator",
            "user_annotation",
            "",
            "whatever",
            "run",
        ] {
            assert_eq!(lane(host), Category::Row(Lane::Host), "{host}");
        }
        for runtime in ["cuda_runtime", "Runtime", "cuda_driver", "xpu_runtime"] {
            assert_eq!(lane(runtime), Category::Row(Lane::Runtime), "{runtime}");
        }
        for copy in ["gpu_memcpy", "gpu_memset", "Memcpy", "Memset"] {
            assert_eq!(lane(copy), Category::DeviceMemory);
        }
        assert_eq!(lane("Kernel"), Category::Row(Lane::Device));
        assert_eq!(lane("Trace"), Category::ProfilerSpan);
        assert_eq!(lane("gpu_user_annotation"), Category::Mirror);
    }

    #[test]
    fn a_device_row_is_communication_before_memory_before_compute() {
        let kernel = Category::Row(Lane::Device);
        for (name, category, kind) in [
            ("NCCL_AllReduce", kernel, OpKind::Communication),
            ("void ncclDevKernel_x()", kernel, OpKind::Communication),
            (
                "void x::rcclGenericKernel<1>",
                kernel,
                OpKind::Communication,
            ),
            ("nccl copy", Category::DeviceMemory, OpKind::Communication),
            ("Memcpy HtoD", kernel, OpKind::Memory),
            ("dma_in", kernel, OpKind::Memory),
            ("fill", Category::DeviceMemory, OpKind::Memory),
            ("memcpy_like_gemm", kernel, OpKind::Compute),
            ("voidnccl", kernel, OpKind::Compute),
            ("日本", kernel, OpKind::Compute),
        ] {
            assert_eq!(device_kind(name, category), kind, "{name}");
        }
    }
}
