//! A job of many ranks: measures the cost of merging and analysing it.
//!
//! ```text
//! many_ranks measure RANKS EVENTS          merges and analyses it in this process; fails if that takes too much
//! many_ranks write FOLDER RANKS EVENTS     writes a trace per rank
//! ```
//!
//! Each rank has about EVENTS events: layers with ops inside, an all-reduce over all ranks for each layer, and a
//! message to the next rank in each step. One rank computes 30 % longer. Clocks begin at different times.

use std::error::Error;
use std::path::Path;
use trace_runtime::analyze::{CausalModel, Usual};
use trace_runtime::export::write_file;
use trace_runtime::model::{NewEntry, ThreadIndex, TraceStep, TraceStoreBuilder};
use trace_runtime::{DType, OpKind, TraceError, TraceStore};

const USAGE: &str = "usage: many_ranks measure RANKS EVENTS | many_ranks write FOLDER RANKS EVENTS";
const LAYERS: usize = 4;
/// Events of each rank in each step.
const EVENTS_OF_STEP: usize = 44;
/// Bounds of each part, on any machine.
const MOST_SECONDS: f64 = 10.0;
const MOST_MB: u64 = 1000;
/// Extra time of the straggler, in percent.
const SLOWER: u64 = 30;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["write", folder, ranks, events] => {
            std::fs::create_dir_all(folder)?;
            for (rank, trace) in job(ranks.parse()?, events.parse()?)?.iter().enumerate() {
                write_file(trace, Path::new(folder).join(format!("{rank:03}.json")))?;
            }
            Ok(())
        }
        ["measure", ranks, events] => measure(ranks.parse()?, events.parse()?),
        _ => Err(USAGE.into()),
    }
}

fn measure(ranks: usize, events: usize) -> Result<(), Box<dyn Error>> {
    let traces = job(ranks, events)?;
    let straggler = format!("rank {}", straggler(ranks));
    let count: usize = traces.iter().map(TraceStore::len).sum();
    println!("{ranks} ranks, {count} events");
    let mut last = processor_seconds()?;
    let mut done = |what: &str| -> Result<(), Box<dyn Error>> {
        let now = processor_seconds()?;
        let (seconds, memory) = (now - last, peak_mb()?);
        println!("{seconds:6.2} s  {memory:5} MB  {what}");
        last = now;
        if seconds > MOST_SECONDS || memory > MOST_MB {
            return Err(format!("more than {MOST_SECONDS} s or {MOST_MB} MB for: {what}").into());
        }
        Ok(())
    };
    let merged = TraceStore::merge(&traces)?;
    drop(traces);
    let report = merged.report();
    done("merge and report")?;
    let model = CausalModel::new(&merged);
    let states = model.wait_states();
    done("wait states")?;
    let slowdown = model.what_if().slowdown(Usual::Median);
    done("what if")?;
    println!("{}\n{}", report.answer, slowdown.cause);
    let blamed = states
        .blames
        .first()
        .map(|blame| format!("rank {}", blame.rank));
    if !slowdown.cause.contains(&straggler) || blamed.as_ref() != Some(&straggler) {
        return Err(format!("{straggler} is the straggler, not {blamed:?}").into());
    }
    Ok(())
}

/// Processor time of this process, user and system.
fn processor_seconds() -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(") ").ok_or("no fields")?.1;
    let ticks = fields.split(' ').skip(11).take(2);
    let ticks: f64 = ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    // Linux counts in hundredths of a second.
    Ok(ticks / 100.0)
}

/// The most memory that this process had so far.
fn peak_mb() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kb = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Ok(kb.ok_or("no peak memory")? * 1024 / 1_000_000)
}

fn straggler(ranks: usize) -> usize {
    ranks / 3
}

/// The part of one rank while the job runs.
struct Rank {
    number: usize,
    thread: ThreadIndex,
    builder: TraceStoreBuilder,
    /// On the common clock.
    at: i64,
    /// The start of this rank's trace on the common clock.
    begins: i64,
    random: u64,
}

impl Rank {
    fn new(number: usize) -> Rank {
        let mut builder = TraceStoreBuilder::new();
        let thread = builder.thread(Some(1), Some(number as u32), Some("main"));
        let begins = (number as i64 * 7_919) % 5_000_000;
        let start = 1_700_000_000_000_000_000 + begins;
        builder.metadata("start_unix_ns", start.to_string());
        Rank {
            number,
            thread,
            builder,
            at: 5_000_000,
            begins,
            random: 0x9e37_79b9_7f4a_7c15 ^ number as u64,
        }
    }

    /// A time near `ns`: the same sequence in every run.
    fn about(&mut self, ns: u64) -> i64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (ns + self.random % (ns / 16 + 1)) as i64
    }

    fn entry<'e>(&self, name: &'e str, start: i64, end: i64) -> NewEntry<'e> {
        NewEntry::new(name, self.thread, start - self.begins, end.abs_diff(start))
    }

    /// Ops inside a layer, one after the other.
    fn layer(&mut self, name: &str, ops: &[(&str, u64)], slower: u64) -> Result<(), TraceError> {
        let times: Vec<i64> = ops
            .iter()
            .map(|op| self.about(op.1 * (100 + slower) / 100))
            .collect();
        let end = self.at + times.iter().sum::<i64>() + 40;
        let around = self.builder.push(&self.entry(name, self.at, end))?;
        let mut start = self.at + 20;
        let (a, b, c) = ([512, 256], [256, 1024], [512, 1024]);
        let inputs: [(&[usize], DType); 2] = [(&a, DType::F32), (&b, DType::F32)];
        let outputs: [(&[usize], DType); 1] = [(&c, DType::F32)];
        for ((name, _), ns) in ops.iter().zip(times) {
            let mut entry = self.entry(name, start, start + ns).with_parent(around);
            entry.inputs = &inputs;
            entry.outputs = &outputs;
            entry.kind = Some(OpKind::Compute);
            self.builder.push(&entry)?;
            start += ns;
        }
        self.at = end;
        Ok(())
    }

    fn communicate(
        &mut self,
        name: &str,
        end: i64,
        facts: &[(&str, &str)],
    ) -> Result<(), TraceError> {
        let mut entry = self.entry(name, self.at, end);
        let shape = [1 << 20];
        let inputs: [(&[usize], DType); 1] = [(&shape, DType::F32)];
        entry.inputs = &inputs;
        entry.kind = Some(OpKind::Communication);
        entry.meta = facts
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        self.builder.push(&entry)?;
        self.at = end;
        Ok(())
    }
}

fn job(ranks: usize, events: usize) -> Result<Vec<TraceStore>, TraceError> {
    let slow = straggler(ranks);
    let members = format!("{:?}", (0..ranks).collect::<Vec<_>>());
    let mut all: Vec<Rank> = (0..ranks).map(Rank::new).collect();
    let mut sequence = 0;
    for step in 0..events / EVENTS_OF_STEP {
        let begun: Vec<i64> = all.iter().map(|rank| rank.at).collect();
        for rank in &mut all {
            let end = rank.at + rank.about(3_000);
            let mut load = rank.entry("load_batch", rank.at, end);
            load.kind = Some(OpKind::Io);
            rank.builder.push(&load)?;
            rank.at = end;
            let slower = if rank.number == slow { SLOWER } else { 0 };
            for _ in 0..LAYERS {
                let ops = [
                    ("matmul", 20_000),
                    ("add", 2_000),
                    ("gelu", 4_000),
                    ("norm", 3_000),
                ];
                rank.layer("Layer::forward", &ops, slower)?;
            }
        }
        pass_on(&mut all, &step.to_string())?;
        for _ in 0..LAYERS {
            for rank in &mut all {
                let slower = if rank.number == slow { SLOWER } else { 0 };
                let ops = [
                    ("matmul_weights", 20_000),
                    ("matmul_input", 20_000),
                    ("gelu_back", 4_000),
                ];
                rank.layer("Layer::backward", &ops, slower)?;
            }
            sequence += 1;
            let last = all.iter().map(|rank| rank.at).max().unwrap_or(0);
            let number = sequence.to_string();
            for rank in &mut all {
                let end = last + rank.about(8_000);
                rank.communicate(
                    "mpi::all_reduce",
                    end,
                    &[
                        ("collective", "all_reduce"),
                        ("process_group", "world"),
                        ("process_group_ranks", &members),
                        ("sequence", &number),
                    ],
                )?;
            }
        }
        for (rank, begun) in all.iter_mut().zip(begun) {
            let end = rank.at + rank.about(5_000);
            let update = rank.entry("update", rank.at, end);
            rank.builder.push(&update)?;
            rank.at = end;
            rank.builder.step(
                TraceStep::new(step as u64, begun - rank.begins, end - rank.begins)
                    .with_rank(Some(rank.number as u32))
                    .with_thread(Some(1)),
            );
        }
    }
    Ok(all.into_iter().map(|rank| rank.builder.finish()).collect())
}

/// Each rank sends to the next one and receives from the one before.
fn pass_on(all: &mut [Rank], tag: &str) -> Result<(), TraceError> {
    let departures: Vec<i64> = all.iter().map(|rank| rank.at).collect();
    let count = all.len();
    for rank in all {
        let (to, from) = ((rank.number + 1) % count, (rank.number + count - 1) % count);
        let (to_text, from_text) = (to.to_string(), from.to_string());
        let end = rank.at + rank.about(1_000);
        let send = [
            ("peer", &*to_text),
            ("process_group", "world"),
            ("tag", tag),
            ("sequence", "1"),
        ];
        rank.communicate("mpi::send", end, &send)?;
        let end = end.max(departures[from]) + rank.about(2_000);
        let receive = [
            ("peer", &*from_text),
            ("process_group", "world"),
            ("tag", tag),
            ("sequence", "1"),
        ];
        rank.communicate("mpi::recv", end, &receive)?;
    }
    Ok(())
}
