//! Traces of a host that launches work on a device: built by hand, or simulated from random calls.

use proptest::prelude::*;
use trace_runtime::model::{Launch, NewEntry, RuntimeCall, ThreadIndex, TraceStoreBuilder};
use trace_runtime::{OpKind, TraceStore};

/// Ops, calls and device work in any order; they are sorted when the trace is built.
#[derive(Default)]
pub(crate) struct Run {
    items: Vec<Item>,
    calls: Vec<Made>,
    thread: u64,
    rank: Option<u32>,
}

struct Item {
    name: String,
    kind: Option<OpKind>,
    device: Option<&'static str>,
    thread: u64,
    rank: Option<u32>,
    start: i64,
    end: i64,
    suspended: u64,
    call: Option<usize>,
}

struct Made {
    name: String,
    start: i64,
    end: i64,
    thread: u64,
    rank: Option<u32>,
    target: Target,
}

/// The stream and the event that a call acts on.
#[derive(Default, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) stream: Option<u64>,
    /// As [`Run::call`] returned it.
    pub(crate) event: Option<usize>,
    pub(crate) event_stream: Option<u64>,
}

impl Run {
    pub(crate) fn new() -> Run {
        Run {
            thread: 1,
            ..Run::default()
        }
    }

    /// Later ops and calls are on this host thread.
    pub(crate) fn on_thread(&mut self, thread: u64) {
        self.thread = thread;
    }

    /// Later ops and calls are on this rank.
    pub(crate) fn rank(&mut self, rank: u32) {
        self.rank = Some(rank);
    }

    fn item(&mut self, name: &str, start: i64, end: i64) -> &mut Item {
        self.items.push(Item {
            name: name.to_owned(),
            kind: None,
            device: None,
            thread: self.thread,
            rank: self.rank,
            start,
            end,
            suspended: 0,
            call: None,
        });
        self.items.last_mut().unwrap()
    }

    pub(crate) fn op(&mut self, name: &str, start: i64, end: i64) {
        self.item(name, start, end);
    }

    pub(crate) fn op_on(&mut self, name: &str, device: &'static str, start: i64, end: i64) {
        self.item(name, start, end).device = Some(device);
    }

    pub(crate) fn task(&mut self, name: &str, start: i64, end: i64, suspended: u64) {
        let item = self.item(name, start, end);
        item.suspended = suspended;
        item.device = Some("cpu");
    }

    pub(crate) fn call(&mut self, name: &str, start: i64, end: i64) -> Option<usize> {
        self.call_with(name, start, end, |_| {})
    }

    #[allow(
        clippy::unnecessary_wraps,
        reason = "the form in which `kernel` takes its launch"
    )]
    pub(crate) fn call_with(
        &mut self,
        name: &str,
        start: i64,
        end: i64,
        target: impl FnOnce(&mut Target),
    ) -> Option<usize> {
        let mut made = Target::default();
        target(&mut made);
        self.calls.push(Made {
            name: name.to_owned(),
            start,
            end,
            thread: self.thread,
            rank: self.rank,
            target: made,
        });
        Some(self.calls.len() - 1)
    }

    pub(crate) fn kernel(
        &mut self,
        name: &str,
        stream: u64,
        start: i64,
        end: i64,
        call: Option<usize>,
    ) {
        self.work(name, OpKind::Compute, stream, start, end, call);
    }

    pub(crate) fn copy(
        &mut self,
        name: &str,
        stream: u64,
        start: i64,
        end: i64,
        call: Option<usize>,
    ) {
        self.work(name, OpKind::Memory, stream, start, end, call);
    }

    pub(crate) fn work(
        &mut self,
        name: &str,
        kind: OpKind,
        stream: u64,
        start: i64,
        end: i64,
        call: Option<usize>,
    ) {
        let item = self.item(name, start, end);
        item.kind = Some(kind);
        item.device = Some("cuda:0");
        item.thread = stream;
        item.call = call;
    }

    pub(crate) fn finish(mut self) -> TraceStore {
        self.items
            .sort_by_key(|item| (item.start, std::cmp::Reverse(item.end)));
        let mut order: Vec<usize> = (0..self.calls.len()).collect();
        order.sort_by_key(|&call| self.calls[call].start);
        let mut number = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            number[old] = new;
        }
        let mut builder = TraceStoreBuilder::new();
        let thread = |builder: &mut TraceStoreBuilder, item: &Item| -> ThreadIndex {
            let stream = item.kind.is_some();
            let name = stream.then(|| format!("cuda:0 stream {}", item.thread));
            builder.thread(Some(item.thread), item.rank, name.as_deref())
        };
        let contains = |outer: &Item, rank: Option<u32>, thread: u64, start: i64, end: i64| {
            outer.kind.is_none()
                && (outer.rank, outer.thread) == (rank, thread)
                && outer.suspended == 0
                && outer.start <= start
                && end <= outer.end
        };
        for (index, item) in self.items.iter().enumerate() {
            let thread = thread(&mut builder, item);
            let mut entry = NewEntry::new(
                &item.name,
                thread,
                item.start,
                (item.end - item.start) as u64,
            );
            entry.kind = item.kind;
            entry.device_id = item.device;
            entry.suspended_ns = item.suspended;
            entry.parent = match item.call.map(|call| &self.calls[call]) {
                Some(made) => (0..index).rev().find(|&outer| {
                    contains(
                        &self.items[outer],
                        made.rank,
                        made.thread,
                        made.start,
                        made.end,
                    )
                }),
                None if item.kind.is_none() && item.suspended == 0 => {
                    (0..index).rev().find(|&outer| {
                        contains(
                            &self.items[outer],
                            item.rank,
                            item.thread,
                            item.start,
                            item.end,
                        )
                    })
                }
                None => None,
            };
            builder.push(&entry).unwrap();
        }
        for &old in &order {
            let made = &self.calls[old];
            let during = (0..self.items.len()).rev().find(|&outer| {
                contains(
                    &self.items[outer],
                    made.rank,
                    made.thread,
                    made.start,
                    made.end,
                )
            });
            let thread = builder.thread(Some(made.thread), made.rank, None);
            builder.push_call(
                thread,
                &RuntimeCall::new(&made.name, made.start, (made.end - made.start) as u64)
                    .with_during(during)
                    .with_stream(made.target.stream)
                    .with_event(made.target.event.map(|event| number[event]))
                    .with_event_stream(made.target.event_stream),
            );
        }
        for (step, item) in self.items.iter().enumerate() {
            if let Some(call) = item.call {
                builder.push_launch(Launch::new(step, number[call]));
            }
        }
        builder.finish()
    }
}

/// The next action of a simulated host.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Call {
    /// An op without a launch.
    Compute { ns: i64 },
    /// Nothing that is traced.
    Pause { ns: i64 },
    /// An op that launches work on a stream, which begins `delay` after the call and after the work before it.
    Launch {
        stream: u64,
        ns: i64,
        delay: i64,
        work: i64,
    },
    /// The host waits for a stream.
    SyncStream { stream: u64 },
    /// The host waits for all streams.
    SyncDevice,
}

pub(crate) fn any_call() -> impl Strategy<Value = Call> {
    prop_oneof![
        2 => (1..20i64).prop_map(|ns| Call::Compute { ns }),
        1 => (1..20i64).prop_map(|ns| Call::Pause { ns }),
        6 => (7..9u64, 1..10i64, 0..10i64, 1..40i64)
            .prop_map(|(stream, ns, delay, work)| Call::Launch { stream, ns, delay, work }),
        1 => (7..9u64).prop_map(|stream| Call::SyncStream { stream }),
        1 => Just(Call::SyncDevice),
    ]
}

/// Simulates one host thread and two streams that execute `calls`.
pub(crate) fn simulate(calls: &[Call]) -> TraceStore {
    let mut run = Run::new();
    let mut now = 0;
    let mut free = [0; 2];
    for &call in calls {
        match call {
            Call::Compute { ns } => {
                run.op("compute", now, now + ns);
                now += ns;
            }
            Call::Pause { ns } => now += ns,
            Call::Launch {
                stream,
                ns,
                delay,
                work,
            } => {
                run.op("launch", now, now + ns + 2);
                let call = run.call("cudaLaunchKernel", now + 1, now + 1 + ns);
                let free = &mut free[stream as usize - 7];
                let start = (now + 1 + ns + delay).max(*free);
                run.kernel("kernel", stream, start, start + work, call);
                *free = start + work;
                now += ns + 2;
            }
            Call::SyncStream { stream } => {
                let end = free[stream as usize - 7].max(now) + 1;
                run.call_with("cudaStreamSynchronize", now, end, |call| {
                    call.stream = Some(stream);
                });
                now = end;
            }
            Call::SyncDevice => {
                let end = free[0].max(free[1]).max(now) + 1;
                run.call("cudaDeviceSynchronize", now, end);
                now = end;
            }
        }
    }
    // A trace needs something that ran on the host.
    run.op("end", now, now + 1);
    run.finish()
}
