//! Writes a trace in every format, and the figures that other tools must find in these files.
//!
//! ```text
//! cargo run -p trace-runtime --features flamegraph,parquet --example export_all -- FOLDER [TRACE]
//! ```
//!
//! Without a TRACE it takes a small one of two ranks, always the same.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use trace_runtime::analyze::{activity, live_memory, step_of_entries};
use trace_runtime::export::{
    self, ChakraTrace, ChromeTrace, CollapsedStacks, PerfettoTrace, Speedscope, TorchMemory,
    TraceJson,
};
use trace_runtime::model::{EntryView, NewEntry, TraceStep, TraceStoreBuilder};
use trace_runtime::{DType, OpKind, TraceError, TraceStore, TraceView, read};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().ok_or("usage: export_all FOLDER [TRACE]")?;
    let folder = Path::new(&folder);
    let (trace, with_steps) = match args.next() {
        Some(path) => (read::open(path)?, None),
        None => (two_ranks(&[])?, Some(two_ranks(&[7, 8, 9])?)),
    };
    fs::create_dir_all(folder.join("ranks"))?;
    export::write(&TraceJson, &trace, folder.join("trace.json"))?;
    export::write_split(&ChromeTrace::new(), &trace, folder.join("chrome.json"))?;
    export::write_ranks(&ChromeTrace::new(), &trace, folder.join("ranks/trace.json"))?;
    fs::create_dir_all(folder.join("chakra"))?;
    export::write_ranks(&ChakraTrace, &trace, folder.join("chakra/job.et"))?;
    export::write(&PerfettoTrace::new(), &trace, folder.join("trace.pftrace"))?;
    export::write_split(&Speedscope, &trace, folder.join("trace.speedscope.json"))?;
    export::write(&CollapsedStacks, &trace, folder.join("trace.collapsed"))?;
    export::write(&TorchMemory, &trace, folder.join("trace.pickle"))?;
    #[cfg(feature = "flamegraph")]
    export::write(&export::FlameGraph::new(), &trace, folder.join("trace.svg"))?;
    #[cfg(feature = "parquet")]
    {
        use export::parquet::{ParquetEntries, ParquetShapes};
        export::write_ranks(&ParquetEntries, &trace, folder.join("entries.parquet"))?;
        export::write_ranks(&ParquetShapes, &trace, folder.join("shapes.parquet"))?;
    }
    let mut expected = expected(&trace);
    if let Some(trace) = with_steps {
        fs::create_dir_all(folder.join("steps"))?;
        export::write_ranks(&ChromeTrace::new(), &trace, folder.join("steps/trace.json"))?;
        expected["steps"] = device_time_by_step(&trace);
    }
    let expected = serde_json::to_string_pretty(&expected)?;
    fs::write(folder.join("expected.json"), expected + "\n")?;
    Ok(())
}

/// The figures that every tool must find in the files.
fn expected(trace: &TraceStore) -> Value {
    let mut ops: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    let mut nesting: BTreeMap<String, usize> = BTreeMap::new();
    let mut shapes: BTreeMap<String, usize> = BTreeMap::new();
    let mut handoffs = 0;
    for view in trace.views() {
        let op = ops.entry(view.operation()).or_default();
        op.0 += 1;
        op.1 += view.duration_ns();
        match parent(trace, &view) {
            Some(above) if above.thread() == view.thread() && above.rank() == view.rank() => {
                let pair = format!("{} > {}", above.operation(), view.operation());
                *nesting.entry(pair).or_default() += 1;
            }
            Some(_) => handoffs += 1,
            None => {}
        }
        if view.inputs().next().is_some() {
            let dims: Vec<&[usize]> = view.inputs().map(|input| input.dims).collect();
            let text = format!("{} {}", view.operation(), json!(dims));
            *shapes.entry(text).or_default() += 1;
        }
    }
    let mut threads: BTreeMap<String, BTreeMap<&str, [u64; 2]>> = BTreeMap::new();
    for (view, self_ns) in trace.views().zip(self_times(trace)) {
        let thread = format!("{:?} {:?}", view.rank(), view.thread());
        let frames = threads.entry(thread).or_default();
        let [total, own] = frames.entry(view.operation()).or_default();
        *total += view.duration_ns();
        *own += self_ns;
    }
    let ops: BTreeMap<_, _> = ops
        .into_iter()
        .map(|(name, (count, ns))| (name, json!({ "count": count, "total_ns": ns })))
        .collect();
    json!({
        "entries": trace.entry_count(),
        "ops": ops,
        "nesting": nesting,
        "shapes": shapes,
        "handoffs": handoffs,
        "ranks": activity(trace).ranks,
        "memory_peaks": live_memory(trace).iter().map(|device| device.peak_bytes).collect::<Vec<_>>(),
        "threads": threads.into_values().collect::<Vec<_>>(),
    })
}

/// For each rank and step the durations of the work on its device.
fn device_time_by_step(trace: &TraceStore) -> Value {
    let mut sums: BTreeMap<(Option<u32>, u64), u64> = BTreeMap::new();
    for (view, step) in trace.views().zip(step_of_entries(trace)) {
        if let (Some(step), Some(_)) = (step, view.device_id()) {
            let number = trace.steps()[step].number;
            *sums.entry((view.rank(), number)).or_default() += view.duration_ns();
        }
    }
    let row = |((rank, step), ns)| json!({ "rank": rank, "step": step, "device_ns": ns });
    sums.into_iter().map(row).collect()
}

/// The time of each entry without that of the entries inside it, computed in the simplest way.
fn self_times(trace: &TraceStore) -> Vec<u64> {
    let mut times: Vec<u64> = trace.views().map(|view| view.duration_ns()).collect();
    for view in trace.views() {
        if let Some(above) = parent(trace, &view)
            && (above.thread(), above.rank()) == (view.thread(), view.rank())
        {
            times[above.step()] -= view.duration_ns();
        }
    }
    times
}

fn parent<'a>(trace: &'a TraceStore, view: &EntryView<'a>) -> Option<EntryView<'a>> {
    let index = trace.index_of_step(view.parent()?)?;
    Some(trace.view(index))
}

/// Data-parallel training in small: layers that compute on a device, gradients that a second thread sums over the ranks
/// at the same time, and a rank 1 that is slower. With `numbers`, the steps of the loop are marked.
fn two_ranks(numbers: &[u64]) -> Result<TraceStore, TraceError> {
    let mut ops = Vec::new();
    for rank in 0..2 {
        for step in 0..3 {
            plan_step(&mut ops, rank, step);
        }
    }
    ops.sort_by_key(|op| op.start_ns);
    let mut builder = TraceStoreBuilder::new();
    builder.metadata("model", "two layers");
    let mut steps = BTreeMap::new();
    for op in ops {
        let name = if op.thread == 1 {
            "compute"
        } else {
            "communicate"
        };
        let thread = builder.thread(Some(op.thread), Some(op.rank), Some(name));
        let device = format!("cuda:{}", op.rank);
        let mut entry = NewEntry::new(op.name, thread, op.start_ns, op.duration_ns);
        entry.parent = op.parent.and_then(|parent| steps.get(&parent).copied());
        entry.kind = op.kind;
        let (a, b) = ([64, 32], [32, 16 << op.layer]);
        let output = [a[0], b[1]];
        if op.kind.is_some() {
            entry.device_id = Some(&device);
        }
        let inputs: [(&[usize], DType); 2] = [(&a, DType::F32), (&b, DType::BF16)];
        let outputs: [(&[usize], DType); 1] = [(&output, DType::F32)];
        if op.name == "matmul" {
            entry.inputs = &inputs;
            entry.outputs = &outputs;
            entry.flops = Some(2 * 64 * 32 * output[1] as u64);
        }
        steps.insert(op.id, builder.push(&entry)?);
        if let (1, "step", Some(&number)) = (op.thread, op.name, numbers.get(op.id.1 as usize)) {
            let end = op.start_ns + op.duration_ns as i64;
            let step = TraceStep::new(number, op.start_ns, end).with_rank(Some(op.rank));
            builder.step(step.with_thread(Some(op.thread)));
        }
    }
    Ok(builder.finish())
}

struct Op {
    id: (u32, i64, usize),
    name: &'static str,
    rank: u32,
    thread: u64,
    layer: usize,
    parent: Option<(u32, i64, usize)>,
    kind: Option<OpKind>,
    start_ns: i64,
    duration_ns: u64,
}

fn plan_step(ops: &mut Vec<Op>, rank: u32, step: i64) {
    let slow = 1 + i64::from(rank);
    let begin = step * 400_000 + i64::from(rank) * 1_250;
    let mut add = |name, thread, layer, parent, kind, start: i64, end: i64| {
        let id = (rank, step, ops.len());
        ops.push(Op {
            id,
            name,
            rank,
            thread,
            layer,
            parent,
            kind,
            start_ns: begin + start,
            duration_ns: (end - start) as u64,
        });
        id
    };
    let (compute, sum) = (Some(OpKind::Compute), Some(OpKind::Communication));
    let outer = add("step", 1, 0, None, None, 0, 300_001);
    for layer in 0..2 {
        let start = 1_000 + layer * 100_500;
        let end = start + 40_000 * slow + 10_007;
        let forward = add("layer", 1, layer as usize, Some(outer), None, start, end);
        let middle = start + 500 + 30_000 * slow;
        add(
            "matmul",
            1,
            layer as usize,
            Some(forward),
            compute,
            start + 500,
            middle,
        );
        add(
            "relu",
            1,
            layer as usize,
            Some(forward),
            compute,
            middle + 250,
            end - 333,
        );
        let (from, until) = (middle, middle + 61_234);
        add(
            "all_reduce",
            2,
            layer as usize,
            Some(outer),
            sum,
            from,
            until,
        );
    }
    let copy = Some(OpKind::Memory);
    add("copy_to_host", 1, 0, Some(outer), copy, 280_000, 290_000);
}
