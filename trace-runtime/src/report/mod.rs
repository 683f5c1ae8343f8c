//! A trace as a report: a headline, the findings, then tables.
//!
//! The same [`Report`] is written as text for a terminal, as Markdown, as JSON and as CSV. Nothing here prints,
//! measures a terminal or reads environment variables: the caller does that.

mod answer;
mod device_sections;
mod findings;
mod markdown;
mod memory_sections;
mod names;
mod op_filter;
mod op_sections;
mod op_sort;
mod panicked;
mod sections;
mod step_sections;
mod table;
mod text;
mod unfinished;
mod unrecorded;

pub use crate::units::{bytes, count, duration, percent, prose, rate, shapes};
pub use answer::{FREES_MISSING, estimates};
pub use memory_sections::memory_tables;
pub use names::{display_width, printable};
pub use op_filter::OpFilter;
pub use op_sort::OpSort;
pub use table::{Align, Cell, Column, Table};
pub use text::{Colour, TextStyle, wrapped};

use crate::analyze::findings::{Facts, HostTimes, Tables, find};
use crate::analyze::{
    Activity, CategoryTime, CausalModel, Collective, CriticalPath, DeviceIdle, Findings, HeapRow,
    Heatmap, LiveMemory, MachinePeaks, MemoryGrowth, OpOutcomes, OpRow, OpTables, RooflinePoint,
    StepTable, Structure, UntrustedOp, activity_of, add_waiting, collectives, device_sets,
    heap_by_shape, live_memory, memory_growth, memory_sampled_every, outcomes, overhead_ns,
    roofline, step_table_in, too_short_to_trust,
};
use crate::csv_text::op_csv;
use crate::model::hash::FastSet;
use crate::model::json_struct::json_struct;
use crate::model::wire::metadata as keys;
use crate::model::{RecordedExecutionTrace, TraceStore, TraceView};
use std::collections::{BTreeSet, HashMap};
use std::fmt;

/// All analyses of a trace, ready to print.
///
/// ```
/// use std::time::Duration;
/// use trace_runtime::{RecordedExecutionTrace, RecordedTraceEntry};
///
/// let mut trace = RecordedExecutionTrace::new();
/// trace.add_entry(
///     RecordedTraceEntry::new(0, "matmul")
///         .with_input_shapes(vec![vec![64, 32], vec![32, 8]])
///         .with_duration(Duration::from_micros(90)),
/// );
/// trace.add_entry(RecordedTraceEntry::new(1, "relu").with_duration(Duration::from_micros(10)));
///
/// let report = trace.report();
/// assert_eq!(report.answer, "matmul takes 90 % of the time. relu takes 10 % of the time");
/// assert!(report.to_string().starts_with(&report.answer));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Report {
    /// The headline: the sentences of the first findings.
    pub answer: String,
    /// The causes of lost time, those with the largest possible saving first. `answer` consists of the first ones.
    pub findings: Findings,
    /// Limits of the figures: dropped entries, compiled-out tracing.
    pub notes: Vec<String>,
    /// Number of entries.
    pub entries: usize,
    /// Number of threads with entries.
    pub threads: usize,
    /// Number of ranks; 0 if ranks are unknown.
    pub ranks: usize,
    /// Time spent in ops, in nanoseconds: the self times of all ops added up.
    pub total_ns: u64,
    /// Nanoseconds from the first start to the last end.
    pub span_ns: u64,
    /// Entries that were dropped because memory ran out.
    pub dropped: u64,
    /// Entries that sampling left out.
    pub sampled_out: u64,
    /// Cost of recording one op in nanoseconds, if measured.
    pub overhead_ns: Option<u64>,
    /// A row for each op.
    pub ops: Vec<OpRow>,
    /// A row for each op and input shapes.
    pub shapes: Vec<OpRow>,
    /// Time by category of work: of the accelerators if there are any, else of the host.
    pub categories: Vec<CategoryTime>,
    /// Device time in nanoseconds that belongs to no host op, because its launch is unknown.
    pub unattributed_device_ns: u64,
    /// The filter of the tables, if there is one.
    pub filter: Option<OpFilter>,
    /// The steps of the program's loop; empty if it marked none.
    pub steps: StepTable,
    /// The work of each rank in each step; empty without several ranks and steps.
    pub rank_steps: Heatmap,
    /// The busy and idle time of each device.
    pub activity: Activity,
    /// The causes of the idle time of each accelerator; they add up to its idle time.
    pub idle: Vec<DeviceIdle>,
    /// Collectives across ranks.
    pub collectives: Vec<Collective>,
    /// The longest chain of work, which decided how long the run took.
    pub critical_path: CriticalPath,
    /// Live memory of each device whose frees are recorded; curves are reduced to a few hundred points.
    pub memory: Vec<LiveMemory>,
    /// Heap memory by op and input shapes, if the program used `TracedAlloc`.
    pub heap: Vec<HeapRow>,
    /// The average distance in bytes between two blocks of the heap that were recorded, if it was sampled: the figures
    /// of the heap are then estimates.
    pub memory_sampled_every: Option<u64>,
    /// Memory that grew with every step.
    pub memory_growth: Vec<MemoryGrowth>,
    /// Ops with executions that did not succeed.
    pub outcomes: Vec<OpOutcomes>,
    /// Ops that are so short that recording them changes their time by 10 % or more.
    pub untrusted: Vec<UntrustedOp>,
    /// Peak FLOP/s and memory bandwidth of the machine, if they are known.
    pub peaks: Option<MachinePeaks>,
    /// The FLOP/s of each op, compared with those peaks; empty without peaks.
    pub roofline: Vec<RooflinePoint>,
}

json_struct!(Report {
    required: [
        answer,
        findings,
        notes,
        entries,
        threads,
        ranks,
        total_ns,
        span_ns,
        dropped,
        sampled_out,
        overhead_ns,
        ops,
        shapes,
        activity,
        collectives,
        critical_path,
        memory,
        outcomes,
        untrusted,
    ],
    optional: [
        filter,
        steps,
        rank_steps,
        categories,
        unattributed_device_ns,
        idle,
        heap,
        memory_growth,
        memory_sampled_every,
        peaks,
        roofline
    ],
});

/// True if tracing was compiled out of the program.
fn is_compiled_out<T: TraceView + ?Sized>(trace: &T) -> bool {
    let tracing = trace.metadata().get(keys::TRACING);
    tracing.is_some_and(|value| value == keys::COMPILED_OUT)
}

/// Points of a memory curve, at most: terminals are not wider.
const CURVE_POINTS: usize = 256;

impl Report {
    /// Analyses a trace; the peaks of the machine are read from its metadata, if it has them.
    pub fn of<T: TraceView + ?Sized>(trace: &T) -> Report {
        Report::with_model(trace, |_| ()).0
    }

    /// Analyses a trace, and passes its causal model to `ask`, so that it is built once.
    pub(crate) fn with_model<'a, T: TraceView + ?Sized, R>(
        trace: &'a T,
        ask: impl FnOnce(&CausalModel<'a, T>) -> R,
    ) -> (Report, R) {
        let structure = Structure::of(trace);
        let tables = OpTables::of(trace, &structure.nesting);
        let (mut ops, mut shapes) = (tables.by_op(), tables.by_shape());
        let categorised = tables.categorised();
        let unattributed_device_ns = tables.device_times().unattributed_ns();
        // Each analysis takes up to as much memory as the trace, so one ends before the next begins.
        drop(tables);
        let devices = device_sets(trace, &structure);
        drop(structure);
        let collectives = collectives(trace);
        let overhead = overhead_ns(trace);
        let number = |key: &str| {
            trace
                .metadata()
                .get(key)
                .and_then(|value| value.trim().parse().ok())
        };
        let threads = threads_of(trace);
        let ranks: BTreeSet<_> = threads.iter().filter_map(|(rank, _)| *rank).collect();
        let causal = CausalModel::new(trace);
        let critical_path = causal.critical_path();
        let untrusted = overhead.map_or_else(Vec::new, |ns| too_short_to_trust(&ops, ns));
        let (idle, idle_times): (Vec<_>, Vec<_>) = causal.idle().into_iter().unzip();
        let waiting = causal.waiting_ns();
        add_waiting(trace, &waiting, [&mut ops, &mut shapes]);
        let host_times = HostTimes::of(trace, &causal, &devices, &idle_times);
        let launches = causal.launches();
        let missing = causal.missing().to_vec();
        let rank_steps = rank_steps(&causal, ranks.len(), trace.steps().len());
        let asked = ask(&causal);
        drop(causal);
        let steps = step_table_in(trace, &idle_times, &waiting);
        let (heap, growth) = (heap_by_shape(trace), memory_growth(trace));
        let facts = Facts::of(
            trace,
            host_times,
            Tables {
                ops: &ops,
                shapes: &shapes,
                categorised: &categorised,
                devices: &devices,
                collectives: &collectives,
                launches: &launches,
                untrusted: &untrusted,
                overhead_ns: overhead,
                steps: &steps,
                heap: &heap,
                growth: &growth,
            },
        );
        let (findings, overrun_ns) = (find(&facts), facts.overrun_ns);
        let memory = thinned_out(live_memory(trace));
        let frees_missing = memory.is_empty() && trace.entry_count() > 0;
        let mut report = Report {
            entries: trace.entry_count(),
            threads: threads.len(),
            ranks: ranks.len(),
            total_ns: ops
                .iter()
                .fold(0, |sum, row| sum.saturating_add(row.self_ns)),
            span_ns: critical_path.span_ns,
            dropped: number(keys::DROPPED).unwrap_or(0),
            sampled_out: number(keys::SAMPLED_OUT).unwrap_or(0),
            overhead_ns: overhead,
            findings,
            untrusted,
            ops,
            shapes,
            categories: categorised.times,
            unattributed_device_ns,
            steps,
            rank_steps,
            activity: activity_of(&devices),
            idle,
            collectives,
            critical_path,
            memory,
            heap,
            memory_growth: growth,
            memory_sampled_every: memory_sampled_every(trace),
            outcomes: outcomes(trace),
            ..Report::default()
        };
        let compiled_out = is_compiled_out(trace);
        report.notes = answer::notes(&report, compiled_out);
        report
            .notes
            .extend(number(keys::STILL_RUNNING).and_then(answer::still_running));
        let ahead = answer::host_runs_ahead(overrun_ns).into_iter();
        let no_frees = frees_missing.then(|| answer::FREES_MISSING.to_owned());
        report.notes.extend(ahead.chain(missing).chain(no_frees));
        report.notes.extend(notes_of_metadata(trace.metadata()));
        report.answer = answer::line(&report, compiled_out);
        if let Some(lead) = unfinished::lead(trace) {
            report.answer = format!("{lead}. {}", report.answer);
        }
        let report = match MachinePeaks::of(trace) {
            Some(peaks) => report.with_peaks(peaks),
            None => report,
        };
        (report, asked)
    }

    /// Adds the roofline: the ops against the peaks of the machine.
    #[must_use]
    pub fn with_peaks(mut self, peaks: MachinePeaks) -> Report {
        self.roofline = roofline(&self.shapes, &peaks);
        self.peaks = Some(peaks);
        self
    }

    /// Sorts the rows of the op tables, [`ops`](Self::ops) and [`shapes`](Self::shapes). Findings and other sections do
    /// not change.
    #[must_use]
    pub fn sorted_by(mut self, sort: OpSort) -> Report {
        self.ops.sort_by(|a, b| sort.compare(a, b));
        self.shapes.sort_by(|a, b| sort.compare(a, b));
        self
    }

    /// The report for a terminal.
    pub fn to_text(&self, style: &TextStyle) -> String {
        text::write(self, style)
    }

    /// The report as Markdown, with up to `rows` rows a table.
    pub fn to_markdown(&self, rows: usize) -> String {
        markdown::write(self, rows)
    }

    /// The whole report as JSON, indented. Times are in nanoseconds, sizes in bytes.
    ///
    /// # Errors
    /// JSON cannot be made. This does not happen for a report.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// Every op as CSV, in plain numbers: nanoseconds, bytes, FLOPs.
    pub fn ops_csv(&self) -> String {
        op_csv(&self.ops)
    }

    /// Every op and its input shapes as CSV, in plain numbers.
    pub fn shapes_csv(&self) -> String {
        op_csv(&self.shapes)
    }

    /// The tables of the report, with up to `rows` rows each; empty ones are left out.
    pub fn tables(&self, rows: usize) -> Vec<Table> {
        sections::all(self, rows)
    }
}

/// The report for a terminal of 80 columns without colours; see [`Report::to_text`] for other styles.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text(&TextStyle::default()))
    }
}

impl RecordedExecutionTrace {
    /// Analyses the trace: where time and memory went, and what waited for what.
    pub fn report(&self) -> Report {
        Report::of(self)
    }
}

impl TraceStore {
    /// Analyses the trace: where time and memory went, and what waited for what.
    pub fn report(&self) -> Report {
        Report::of(self)
    }
}

/// The work of each rank in each step, if there are several of both.
fn rank_steps<T: TraceView + ?Sized>(
    model: &CausalModel<'_, T>,
    ranks: usize,
    steps: usize,
) -> Heatmap {
    if ranks > 1 && steps > 1 {
        model.heatmap()
    } else {
        Heatmap::default()
    }
}

/// The threads of a trace, each with its rank.
fn threads_of<T: TraceView + ?Sized>(trace: &T) -> BTreeSet<(Option<u32>, Option<u64>)> {
    let mut seen: FastSet<(Option<u32>, Option<u64>)> = FastSet::default();
    let mut last = None;
    for view in trace.views() {
        // Consecutive entries are mostly of one thread.
        let thread = (view.rank(), view.thread());
        if last != Some(thread) {
            seen.insert(thread);
            last = Some(thread);
        }
    }
    seen.into_iter().collect()
}

/// Reduces the number of points in the curves.
fn thinned_out(mut memory: Vec<LiveMemory>) -> Vec<LiveMemory> {
    for device in &mut memory {
        thin_out(&mut device.curve);
    }
    memory
}

/// Keeps the highest point of each of a few hundred intervals, and the last point.
fn thin_out(curve: &mut Vec<(i64, u64)>) {
    if curve.len() <= CURVE_POINTS {
        return;
    }
    let per_point = curve.len().div_ceil(CURVE_POINTS - 1);
    let last = curve.last().copied();
    let mut thin: Vec<(i64, u64)> = curve
        .chunks(per_point)
        .filter_map(|chunk| {
            chunk
                .iter()
                .copied()
                .reduce(|best, next| if next.1 > best.1 { next } else { best })
        })
        .collect();
    if thin.last() != last.as_ref() {
        thin.extend(last);
    }
    *curve = thin;
}

/// Notes from the metadata of a trace: parts that were not recorded, and how the recording ended.
fn notes_of_metadata(metadata: &HashMap<String, String>) -> impl Iterator<Item = String> {
    let recorded = unrecorded::notes(metadata)
        .into_iter()
        .chain(panicked::notes(metadata));
    recorded
        .chain(answer::scope(metadata))
        .chain(unfinished::notes(metadata))
}
