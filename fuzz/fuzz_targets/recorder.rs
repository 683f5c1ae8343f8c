//! The recorder, driven by random sequences of ops: every op that ended is in the trace, or counted.
//!
//! The first byte chooses the session, each following one the next action: ops with and without tensors, nested ones,
//! panics in ops and in the code that describes them, async ops that end or are dropped, other threads, labels, steps,
//! pauses and snapshots.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::cell::Cell;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use trace_runtime::{
    DType, Device, Session, TensorLike, TensorSink, TraceRecorder, TraceView, current_op, in_op,
    label_scope, traced_op, with_recorder,
};

/// Ops that have ended while the session recorded.
static ENDED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static IS_EXPECTED: Cell<bool> = const { Cell::new(false) };
}

fn ended() {
    ENDED.fetch_add(1, Ordering::Relaxed);
}

struct Strange(u8);

impl TensorLike for Strange {
    fn describe(&self, sink: &mut TensorSink) {
        let dims = vec![usize::from(self.0); usize::from(self.0 % 70)];
        sink.tensor(&dims, DType::F32, Device::Cpu);
        if self.0 > 200 {
            panic!("no shape");
        }
    }
}

#[traced_op]
fn plain(x: &[f32]) -> usize {
    x.len()
}

#[traced_op(meta(batch = x.0, text = "x".repeat(usize::from(x.0) * 20)))]
fn strange(x: &Strange) -> Strange {
    Strange(x.0 / 2)
}

#[traced_op(flops = u64::from(100 / x))]
fn divided(x: u8) {
    let _ = x;
}

#[traced_op]
fn panics(x: &[f32]) {
    let _ = x[x.len()];
}

#[traced_op]
async fn later(turns: u8) {
    for _ in 0..turns {
        let mut is_second = false;
        poll_fn(|_| {
            if std::mem::replace(&mut is_second, true) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
}

#[traced_op(label = label)]
fn nested<'a>(label: &str, bytes: &'a [u8], depth: usize) -> &'a [u8] {
    let _ = label;
    run(bytes, depth + 1, None)
}

/// Runs the actions that the bytes choose, up to one that ends the op around them. Returns the bytes after it.
fn run<'a>(mut bytes: &'a [u8], depth: usize, mut session: Option<&mut Session>) -> &'a [u8] {
    while let Some((&what, rest)) = bytes.split_first() {
        bytes = rest;
        let value = rest.first().copied().unwrap_or(0);
        match what % 13 {
            0 if depth > 0 => return bytes,
            0 | 1 => {
                plain(&[0.0; 255][..usize::from(value)]);
                ended();
            }
            2 => {
                strange(&Strange(value));
                ended();
            }
            3 => {
                divided(value);
                ended();
            }
            4 => {
                IS_EXPECTED.set(true);
                let result = catch_unwind(|| panics(&[1.0]));
                IS_EXPECTED.set(false);
                assert!(result.is_err());
                ended();
            }
            5 if depth < 200 => {
                let label = format!("layer {value}");
                bytes = nested(&label, bytes, depth);
                ended();
            }
            6 => {
                let mut context = Context::from_waker(Waker::noop());
                let mut task = pin!(later(value % 4));
                for _ in 0..=value % 3 {
                    if task.as_mut().poll(&mut context).is_ready() {
                        break;
                    }
                }
                // The future has ended, or is dropped here.
                ended();
            }
            7 => {
                let here = current_op();
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        in_op(&here, || plain(&[1.0]));
                        ended();
                    });
                });
            }
            8 => {
                label_scope(&format!("scope {}", value % 5), || plain(&[1.0]));
                ended();
            }
            9 => {
                with_recorder(|recorder| recorder.begin_op(format!("op {value}")));
                with_recorder(TraceRecorder::end_op);
                ended();
            }
            10 => {
                if let Some(session) = &mut session {
                    session.step();
                }
            }
            11 => {
                if let Some(session) = &mut session {
                    let before = ENDED.load(Ordering::Relaxed);
                    let snapshot = session.snapshot();
                    assert!(snapshot.len() as u64 <= before);
                }
            }
            _ => {
                if let Some(session) = &mut session {
                    session.pause();
                    plain(&[1.0]);
                    session.resume();
                }
            }
        }
    }
    bytes
}

fuzz_target!(|input: &[u8]| {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        // The fuzzer's hook ends the process, even for a panic that is part of the sequence.
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !IS_EXPECTED.get() {
                before(info);
            }
        }));
    });
    let Some((settings, bytes)) = input.split_first() else {
        return;
    };
    let path = std::env::temp_dir().join(format!("fuzz-recorder-{}.optrace", std::process::id()));
    let mut builder = Session::builder();
    if settings & 1 != 0 {
        builder = builder.memory_limit(1 << (8 + settings / 16));
    }
    if settings & 2 != 0 {
        builder = builder.stream_to(&path).stream_buffer(1);
    }
    ENDED.store(0, Ordering::Relaxed);
    let mut session = builder.start().expect("a session");
    let mut rest = bytes;
    while !rest.is_empty() {
        rest = run(rest, 0, Some(&mut session));
    }
    let trace = session.finish_store();
    let number = |key: &str| -> u64 {
        let value = trace.metadata().get(key);
        value.map_or(0, |value| value.parse().expect("a number"))
    };
    let counted = number("dropped") + number("still_running");
    assert_eq!(
        trace.len() as u64 + counted,
        ENDED.load(Ordering::Relaxed),
        "{} recorded, {counted} counted",
        trace.len()
    );
    for (index, view) in trace.views().enumerate() {
        assert!(view.parent().is_none_or(|parent| parent < index));
    }
    let _ = AssertUnwindSafe(trace.report().to_text(&Default::default()));
});
