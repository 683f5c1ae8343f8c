//! Slow, simple versions of the model's analyses, moment by moment.

use trace_runtime::{TraceStore, TraceView};

/// Device work: stream, start, end, and the start and end of its launch.
struct Launched {
    stream: u64,
    start: i64,
    end: i64,
    called: (i64, i64),
}

fn launched(trace: &TraceStore) -> Vec<Launched> {
    let calls: Vec<_> = trace.runtime_calls().collect();
    trace
        .launches()
        .map(|launch| {
            let view = trace.view(trace.index_of_step(launch.step).unwrap());
            let call = &calls[launch.call];
            Launched {
                stream: view.thread().unwrap(),
                start: view.start_ns().unwrap(),
                end: view.end_ns().unwrap(),
                called: (call.start_ns, call.end_ns()),
            }
        })
        .collect()
}

/// For each stream, when its work ended.
type DoneByStream = Vec<(u64, i64)>;

/// The synchronisations that waited: start, end, and the streams that they waited for.
fn waited(trace: &TraceStore) -> Vec<(i64, i64, DoneByStream)> {
    let work = launched(trace);
    let syncs = trace
        .runtime_calls()
        .filter(|call| call.name.contains("Synchronize"));
    syncs
        .filter_map(|call| {
            let streams: Vec<(u64, i64)> = [7, 8]
                .into_iter()
                .filter(|stream| call.stream.is_none_or(|named| named == *stream))
                .filter_map(|stream| {
                    let before = work
                        .iter()
                        .filter(|work| work.stream == stream && work.called.0 <= call.start_ns);
                    let done = before.map(|work| work.end).max()?;
                    (done > call.start_ns).then_some((stream, done))
                })
                .collect();
            (!streams.is_empty()).then(|| (call.start_ns, call.end_ns(), streams))
        })
        .collect()
}

/// The moments that the host thread waits.
pub(crate) fn host_waiting(trace: &TraceStore) -> u64 {
    let waits = waited(trace).into_iter();
    waits.map(|(start, end, _)| end.abs_diff(start)).sum()
}

/// The longest chain, computed moment by moment. The chain of a lane grows by one while the lane works. At launches and
/// at the ends of synchronisations, it replaces the chain of another lane if that is shorter.
pub(crate) fn longest_chain(trace: &TraceStore) -> u64 {
    let (work, waits) = (launched(trace), waited(trace));
    let calls: Vec<_> = trace
        .runtime_calls()
        .filter(|call| call.during.is_none())
        .collect();
    let last = trace
        .views()
        .filter_map(|view| view.end_ns())
        .max()
        .unwrap_or(0);
    // Host, stream 7, stream 8.
    let lane = |stream: u64| stream as usize - 6;
    let mut chains = [0u64; 3];
    let mut offered: Vec<(i64, usize, u64)> = Vec::new();
    for at in 0..=last {
        for &(to_at, to, chain) in &offered {
            if to_at == at {
                chains[to] = chains[to].max(chain);
            }
        }
        // Work that begins when its launch ends, or before.
        for work in &work {
            if work.start == at && work.called.1 >= at {
                chains[lane(work.stream)] = chains[lane(work.stream)].max(chains[0]);
            }
        }
        for work in &work {
            if work.called.1 == at && work.start > at {
                offered.push((work.start, lane(work.stream), chains[0]));
            }
        }
        for (_, end, streams) in &waits {
            for &(stream, done) in streams {
                if done.min(*end) == at {
                    offered.push((*end, 0, chains[lane(stream)]));
                }
            }
        }
        let waiting = waits.iter().any(|&(start, end, _)| start <= at && at < end);
        let host = trace.views().any(|view| {
            view.kind().is_none()
                && view.start_ns().is_some_and(|start| start <= at)
                && view.end_ns().is_some_and(|end| at < end)
        });
        let calls = calls
            .iter()
            .any(|call| call.start_ns <= at && at < call.end_ns());
        chains[0] += u64::from((host || calls) && !waiting);
        for work in &work {
            if work.start <= at && at < work.end {
                chains[lane(work.stream)] += 1;
            }
        }
    }
    chains.into_iter().max().unwrap_or(0)
}
