//! The events of a Chrome trace as text, one per line.

use super::args::Args;
use super::rows::{Spot, Stream, ViewerRow};
use crate::analyze::PathStep;
use crate::export::json_text::{comma, is_printable, microseconds, nested, number, printable};
use crate::export::memory_curve::Sample;
use crate::export::timeline::Timeline;
use crate::model::json_struct::Wire;
use crate::model::runtime_call::CallLines;
use crate::model::wire::chrome::{self, member, text};
use crate::model::wire::metadata::{MEMORY_EVENTS, RUNTIME_CALLS, WORLD_SIZE};
use crate::model::{EntryView, MemoryEvent, TraceStep, TraceView};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

/// Writes the beginning of the file, events one by one, and the end.
#[derive(Debug)]
pub(super) struct Events<W> {
    out: W,
    args: Args,
    count: usize,
    /// The rank in the name of each process.
    processes: HashMap<u32, Option<u32>>,
}

/// The sort of work on a device row. HTA recognises it by the name of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeviceWork {
    Compute,
    Communication,
    Memory,
    Neither,
}

/// An interval in which an entry used its device.
#[derive(Debug)]
pub(super) struct Kernel<'v, 'a> {
    pub(super) view: &'v EntryView<'a>,
    pub(super) work: DeviceWork,
    pub(super) launched_from: ViewerRow,
    pub(super) stream: Stream,
    pub(super) correlation: usize,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
}

impl<W: Write> Events<W> {
    /// HTA reads the lines before the events and expects `"rank": ` with a space there.
    pub(super) fn begin(
        mut out: W,
        trace: &dyn TraceView,
        timeline: &Timeline<'_>,
    ) -> io::Result<Self> {
        out.write_all(b"{\n\"schemaVersion\": 1,\n\"displayTimeUnit\": \"ms\",\n")?;
        let ranks: Vec<u32> = timeline.ranks().iter().copied().flatten().collect();
        if let Some(first) = ranks.first() {
            let world = trace
                .metadata()
                .get(WORLD_SIZE)
                .and_then(|size| size.parse().ok())
                .unwrap_or(ranks.len());
            writeln!(
                out,
                "\"distributedInfo\": {{\"rank\": {first}, \"world_size\": {world}}},"
            )?;
        }
        let metadata: BTreeMap<_, _> = trace
            .metadata()
            .iter()
            .filter(|(key, _)| *key != MEMORY_EVENTS && *key != RUNTIME_CALLS)
            .collect();
        out.write_all(b"\"traceName\": \"trace-runtime\",\n")?;
        write_origin(&mut out, trace, timeline, &metadata)?;
        out.write_all(b"\"metadata\": {")?;
        for (index, (key, value)) in metadata.into_iter().enumerate() {
            comma(&mut out, index)?;
            printable(&mut out, key)?;
            out.write_all(b": ")?;
            printable(&mut out, value)?;
        }
        out.write_all(b"},\n\"traceEvents\": [")?;
        Ok(Events {
            out,
            args: Args::new(timeline.origin_ns()),
            count: 0,
            processes: HashMap::new(),
        })
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()
    }

    /// Names a row, and its process if this is the first of it.
    pub(super) fn name_row(
        &mut self,
        row: ViewerRow,
        rank: Option<u32>,
        label: &str,
    ) -> io::Result<()> {
        self.name_process(row, rank)?;
        self.begin_metadata(chrome::THREAD_NAME, row, label)?;
        self.out.write_all(b"}}")
    }

    /// Names the row of a thread; `name` is the thread's own, if it has one.
    pub(super) fn name_thread(
        &mut self,
        row: ViewerRow,
        view: &EntryView<'_>,
        label: &str,
        name: Option<&str>,
    ) -> io::Result<()> {
        self.name_process(row, view.rank())?;
        self.begin_metadata(chrome::THREAD_NAME, row, label)?;
        if let (Some(thread), Some(name)) = (view.thread(), name) {
            self.number_or_null(member!(chrome::THREAD), Some(thread))?;
            self.out.write_all(member!(chrome::EXACT))?;
            nested(&mut self.out, &name)?;
        }
        self.out.write_all(b"}}")
    }

    fn name_process(&mut self, row: ViewerRow, rank: Option<u32>) -> io::Result<()> {
        if let Entry::Vacant(process) = self.processes.entry(row.pid) {
            process.insert(rank);
            let name = rank.map_or("ops".to_owned(), |rank| {
                format!("{}{rank}", text(chrome::RANK_PREFIX))
            });
            self.begin_metadata(chrome::PROCESS_NAME, row, &name)?;
            self.out.write_all(b"}}")?;
        }
        Ok(())
    }

    /// An entry on the row of its thread.
    pub(super) fn op(&mut self, at: Spot, view: &EntryView<'_>) -> io::Result<()> {
        let length = at.place.end_ns - at.place.start_ns;
        let what = (text(chrome::OP), "", view.operation());
        self.complete(what, at.row, at.place.start_ns, length)?;
        self.args.write(&mut self.out, at, view)?;
        if view.thread() != Some(at.row.tid) {
            self.number_or_null(member!(chrome::THREAD), view.thread())?;
        }
        if self.processes.get(&at.row.pid) != Some(&view.rank()) {
            self.number_or_null(member!(chrome::RANK), view.rank().map(u64::from))?;
        }
        self.out.write_all(b"}}")
    }

    /// A step as `torch.profiler` annotates it, which HTA and Perfetto know.
    pub(super) fn step(
        &mut self,
        row: ViewerRow,
        step: &TraceStep,
        start_ns: u64,
    ) -> io::Result<()> {
        let name = format!("{}{}", text(chrome::STEP_PREFIX), step.number);
        let what = (text(chrome::ANNOTATION), "", name.as_str());
        self.complete(what, row, start_ns, step.length_ns())?;
        self.number_or_null(&member!(chrome::THREAD)[1..], step.thread)?;
        if self.processes.get(&row.pid) != Some(&step.rank) {
            self.number_or_null(member!(chrome::RANK), step.rank.map(u64::from))?;
        }
        self.out.write_all(b"}}")
    }

    /// A piece of the critical path.
    pub(super) fn critical(
        &mut self,
        row: ViewerRow,
        step: &PathStep,
        start_ns: u64,
    ) -> io::Result<()> {
        let what = ("critical_path", "", step.operation.as_str());
        self.complete(what, row, start_ns, step.ns)?;
        self.out.write_all(b"\"on\":")?;
        printable(&mut self.out, &step.lane)?;
        if step.gap_ns > 0 {
            write!(self.out, ",\"gap_ns\":{},\"gap\":", step.gap_ns)?;
            printable(&mut self.out, &step.gap)?;
        }
        self.out.write_all(b"}}")
    }

    /// Work on a device, and the runtime call that launched it.
    pub(super) fn kernel(&mut self, kernel: &Kernel<'_, '_>) -> io::Result<()> {
        let (start, length) = (kernel.start_ns, kernel.end_ns - kernel.start_ns);
        // At least one nanosecond, because speedscope loses the order of events that begin and end at the same time.
        let launch = ("cuda_runtime", "", "cudaLaunchKernel");
        self.complete(launch, kernel.launched_from, start, 1)?;
        self.correlation(kernel)?;
        self.out.write_all(b"}}")?;
        let (category, prefix) = match kernel.work {
            DeviceWork::Compute => ("kernel", ""),
            DeviceWork::Communication => ("kernel", "ncclDevKernel_"),
            DeviceWork::Memory => ("gpu_memcpy", "Memcpy "),
            DeviceWork::Neither => ("kernel", "Sync "),
        };
        let name = (category, prefix, kernel.view.operation());
        self.complete(name, kernel.stream.row, start, length)?;
        self.correlation(kernel)?;
        let ordinal = kernel
            .view
            .device_id()
            .and_then(|device| device.rsplit_once(':')?.1.parse::<u32>().ok());
        write!(
            self.out,
            ",\"{}\":{},\"{}\":{}}}}}",
            text(chrome::STREAM),
            kernel.stream.number,
            text(chrome::DEVICE),
            ordinal.unwrap_or(0)
        )
    }

    /// An arrow from the beginning of one entry to the beginning of another.
    pub(super) fn flow(&mut self, id: usize, from: Spot, to: Spot) -> io::Result<()> {
        for (phase, at) in [("\"s\"", from), ("\"f\",\"bp\":\"e\"", to)] {
            self.next()?;
            write!(
                self.out,
                "{{\"ph\":{phase},\"id\":{id},\"cat\":\"{handoff}\",\"name\":\"{handoff}\",\
                 \"pid\":{},\"tid\":{},\"ts\":",
                at.row.pid,
                at.row.tid,
                handoff = text(chrome::HANDOFF)
            )?;
            microseconds(&mut self.out, at.place.start_ns)?;
            self.out.write_all(b"}")?;
        }
        Ok(())
    }

    /// An allocation or free, as Kineto writes it.
    pub(super) fn memory(
        &mut self,
        row: ViewerRow,
        event: &MemoryEvent<'_>,
        time_ns: u64,
    ) -> io::Result<()> {
        self.next()?;
        write!(
            self.out,
            "{{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"{}\",\
             \"pid\":{},\"tid\":{},\"ts\":",
            text(chrome::MEMORY),
            row.pid,
            row.tid
        )?;
        microseconds(&mut self.out, time_ns)?;
        let bytes = text(chrome::BYTES);
        write!(self.out, ",\"args\":{{\"{bytes}\":{}", event.bytes)?;
        let optional = [
            (&member!(chrome::ADDRESS)[..], event.address),
            (member!(chrome::ALLOCATED), event.allocated),
            (member!(chrome::CONTEXT), event.context.map(u64::from)),
            (
                member!(chrome::DURING),
                event.during.map(|step| step as u64),
            ),
        ];
        for (key, value) in optional {
            if value.is_some() {
                self.number_or_null(key, value)?;
            }
        }
        if self.processes.get(&row.pid) != Some(&event.rank) {
            self.number_or_null(member!(chrome::RANK), event.rank.map(u64::from))?;
        }
        let (kind, number) = torch_device(event.device_id);
        write!(
            self.out,
            ",\"{}\":{kind},\"{}\":{number}",
            text(chrome::DEVICE_TYPE),
            text(chrome::DEVICE_NUMBER)
        )?;
        self.out.write_all(member!(chrome::DEVICE_ID))?;
        printable(&mut self.out, event.device_id)?;
        if !is_printable(event.device_id) {
            self.out.write_all(member!(chrome::EXACT))?;
            nested(&mut self.out, &event.device_id)?;
        }
        self.out.write_all(b"}}")
    }

    /// A point of the curve with this name.
    pub(super) fn counter(&mut self, name: &str, sample: Sample) -> io::Result<()> {
        self.next()?;
        self.out.write_all(b"{\"ph\":\"C\",\"name\":")?;
        printable(&mut self.out, name)?;
        write!(self.out, ",\"pid\":{},\"ts\":", sample.rank.unwrap_or(0))?;
        microseconds(&mut self.out, sample.time_ns)?;
        write!(self.out, ",\"args\":{{\"bytes\":{}}}}}", sample.bytes)
    }

    /// A complete event up to the members of its `args`; `what` is its category, and its name in two
    /// parts.
    fn complete(
        &mut self,
        what: (&str, &str, &str),
        row: ViewerRow,
        start_ns: u64,
        length_ns: u64,
    ) -> io::Result<()> {
        let (category, prefix, name) = what;
        self.next()?;
        self.out.write_all(b"{\"ph\":\"X\",\"cat\":\"")?;
        self.out.write_all(category.as_bytes())?;
        self.out.write_all(b"\",\"name\":")?;
        if prefix.is_empty() {
            printable(&mut self.out, name)?;
        } else {
            printable(&mut self.out, &format!("{prefix}{name}"))?;
        }
        self.out.write_all(b",\"pid\":")?;
        number(&mut self.out, u64::from(row.pid))?;
        self.out.write_all(b",\"tid\":")?;
        number(&mut self.out, row.tid)?;
        self.out.write_all(b",\"ts\":")?;
        microseconds(&mut self.out, start_ns)?;
        self.out.write_all(b",\"dur\":")?;
        microseconds(&mut self.out, length_ns)?;
        self.out.write_all(b",\"args\":{")
    }

    fn correlation(&mut self, kernel: &Kernel<'_, '_>) -> io::Result<()> {
        write!(
            self.out,
            "\"{}\":{},\"{}\":{}",
            text(chrome::STEP),
            kernel.view.step(),
            text(chrome::CORRELATION),
            kernel.correlation
        )
    }

    /// `key` is a comma, a quoted key and a colon.
    fn number_or_null(&mut self, key: &[u8], value: Option<u64>) -> io::Result<()> {
        self.out.write_all(key)?;
        match value {
            Some(value) => number(&mut self.out, value),
            None => self.out.write_all(b"null"),
        }
    }

    /// A metadata event up to the braces that close it.
    fn begin_metadata(&mut self, event: &[u8], row: ViewerRow, name: &str) -> io::Result<()> {
        self.next()?;
        self.out.write_all(b"{\"ph\":\"M\",\"name\":\"")?;
        self.out.write_all(event)?;
        write!(
            self.out,
            "\",\"pid\":{},\"tid\":{},\"ts\":0,\"args\":{{\"{}\":",
            row.pid,
            row.tid,
            text(chrome::NAME)
        )?;
        printable(&mut self.out, name)
    }

    fn next(&mut self) -> io::Result<()> {
        self.out
            .write_all(if self.count == 0 { b"\n" } else { b",\n" })?;
        self.count += 1;
        Ok(())
    }
}

/// The object by which [`read`](crate::read) recognises a trace that this crate wrote, with the facts that it needs in
/// addition to the events to restore it.
fn write_origin<W: Write>(
    out: &mut W,
    trace: &dyn TraceView,
    timeline: &Timeline<'_>,
    metadata: &BTreeMap<&String, &String>,
) -> io::Result<()> {
    let origin = timeline.origin_ns();
    write!(
        out,
        "\"{}\": {{\"{}\": {}, \"{}\": {origin}, \"{}\": ",
        text(chrome::OWN),
        text(chrome::OWN_VERSION),
        chrome::VERSION,
        text(chrome::ORIGIN_NS),
        text(chrome::TOTAL_DURATION_US)
    )?;
    serde_json::to_writer(&mut *out, &Wire(&trace.total_duration_us()))?;
    let printable = |(key, value): (&&String, &&String)| is_printable(key) && is_printable(value);
    if !metadata.iter().all(printable) {
        out.write_all(member!(chrome::METADATA))?;
        nested(out, metadata)?;
    }
    if trace.runtime_calls().next().is_some() {
        out.write_all(member!(chrome::RUNTIME_CALLS))?;
        nested(out, &CallLines(trace).to_string())?;
    }
    out.write_all(b"},\n")
}

/// The numbers of a device in torch: the number of its type, and its number among the devices of that type.
fn torch_device(device: &str) -> (u32, i64) {
    let (family, number) = device.split_once(':').unwrap_or((device, ""));
    let kind = match family {
        "cuda" => 1,
        "hip" => 6,
        "xpu" => 12,
        "mps" => 13,
        "hpu" => 15,
        "mtia" => 19,
        _ => return (0, -1),
    };
    (kind, number.parse().unwrap_or(0))
}
