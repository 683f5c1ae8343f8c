//! Ops that pause: the option `sync`, and async ops that are suspended.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread::sleep;
use std::time::Duration;
use trace_runtime::analyze::{CausalModel, activity};
use trace_runtime::export::{ChromeTrace, Exporter, TraceJson};
use trace_runtime::model::{NewEntry, Pause, PauseKind, TraceStoreBuilder, TraceView};
use trace_runtime::{OpKind, TraceStore, read, traced_op};

/// A step of 1000 µs: an op launches for 20 µs and waits for its device for 980 µs.
fn synchronising(device: Option<&str>) -> TraceStore {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(Some(1), None, Some("main"));
    let pauses = [Pause::new(PauseKind::Sync, 20_000, 980_000)];
    let mut entry = NewEntry::new("matmul", thread, 0, 1_000_000);
    entry.device_id = device;
    entry.kind = Some(OpKind::Compute);
    entry.pauses = &pauses;
    builder.push(&entry).unwrap();
    builder.finish()
}

#[test]
fn an_op_with_sync_waits_for_its_device_and_the_device_is_on_the_path() {
    for device in [Some("cuda:0"), None] {
        let trace = synchronising(device);
        let model = CausalModel::new(&trace);
        let path = model.critical_path();
        assert_eq!((path.device_ns, path.host_ns), (980_000, 20_000));
        let lanes = model.lanes();
        assert_eq!(
            (lanes[0].working_ns, lanes[0].waiting_ns),
            (20_000, 980_000)
        );
        assert_eq!(lanes[0].waits[0].operation, "matmul");
        assert_eq!(lanes[0].waits[0].waits_for, device.unwrap_or("device"));
        assert!(model.missing().is_empty(), "{:?}", model.missing());
        let report = trace.report();
        assert_eq!(report.ops[0].waiting_ns, 980_000);
    }
}

#[test]
fn pauses_survive_every_conversion() {
    let trace = synchronising(Some("cuda:0"));
    let exporters: [&dyn Exporter; 2] = [&TraceJson, &ChromeTrace::new()];
    for exporter in exporters {
        let mut bytes = Vec::new();
        exporter.export(&trace, &mut bytes).unwrap();
        let copy = read::from_slice(&bytes).unwrap();
        assert_eq!(copy.view(0).pauses(), trace.view(0).pauses());
    }
    assert!("sync 5".parse::<Pause>().is_err());
}

#[traced_op(device = "cuda:0", sync = sleep(Duration::from_millis(20)))]
fn launch(x: &[f32]) -> f32 {
    x[0]
}

#[test]
fn the_recorder_marks_where_sync_begins() {
    let trace = trace_runtime::record(|| {
        launch(&[1.0]);
    })
    .1;
    let [pause] = trace.entries[0].pauses[..] else {
        panic!("one pause: {:?}", trace.entries[0])
    };
    assert_eq!(pause.kind, PauseKind::Sync);
    assert!(pause.length_ns >= 20_000_000);
    let whole = (trace.entries[0].duration_us * 1000.0) as u64;
    assert!(whole - (pause.start_ns + pause.length_ns) <= 1);
    let path = CausalModel::new(&trace).critical_path();
    assert_eq!(path.device_ns, pause.length_ns);
}

/// Ready at the second poll.
struct Twice(bool);

impl Future for Twice {
    type Output = ();

    fn poll(mut self: std::pin::Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

#[traced_op(device = "cpu")]
async fn sleeper(x: &[f32]) -> f32 {
    sleep(Duration::from_millis(5));
    Twice(false).await;
    sleep(Duration::from_millis(5));
    x[0]
}

#[traced_op(skip(x))]
fn block_on_sleeper(x: &[f32]) -> f32 {
    let mut future = pin!(sleeper(x));
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => sleep(Duration::from_millis(30)),
        }
    }
}

#[test]
fn a_suspended_op_keeps_its_device_idle_where_it_was_suspended() {
    let trace = trace_runtime::record(|| {
        block_on_sleeper(&[1.0]);
    })
    .1;
    let task = trace
        .entries
        .iter()
        .find(|entry| entry.operation == "sleeper")
        .unwrap();
    let [pause] = task.pauses[..] else {
        panic!("one suspension: {task:?}")
    };
    assert_eq!(pause.kind, PauseKind::Suspended);
    assert!(pause.start_ns >= 5_000_000 && pause.length_ns >= 30_000_000);
    // Both ends are rounded to nanoseconds, and so is the sum.
    assert!((pause.length_ns as f64 / 1000.0 - task.suspended_us).abs() < 0.002);
    let cpu = &activity(&trace).devices[0];
    let running = (task.duration_us * 1000.0) as u64 - pause.length_ns;
    assert!(cpu.busy_ns.abs_diff(running) <= 1, "{cpu:?}");
    assert!(cpu.idle_ns.abs_diff(pause.length_ns) <= 1, "{cpu:?}");
    // While it was suspended, the op that blocked on it waited.
    let host = &CausalModel::new(&trace).lanes()[0];
    assert!(host.waiting_ns >= 30_000_000, "{host:?}");
    assert_eq!(host.waits[0].operation, "block_on_sleeper");
}

#[traced_op]
async fn polled_often(times: &[f32]) {
    for _ in times {
        Twice(false).await;
    }
}

#[test]
fn of_many_suspensions_the_longest_are_listed_and_all_are_counted() {
    let times = [0.0; 200];
    let poll_often = || {
        let mut future = pin!(polled_often(&times));
        let mut context = Context::from_waker(Waker::noop());
        let mut polls = 0;
        while future.as_mut().poll(&mut context).is_pending() {
            polls += 1;
            if polls == 100 {
                sleep(Duration::from_millis(10));
            }
        }
    };
    let trace = trace_runtime::record(poll_often).1;
    let entry = &trace.entries[0];
    assert_eq!(entry.pauses.len(), 32);
    let listed: u64 = entry.pauses.iter().map(|pause| pause.length_ns).sum();
    assert!(entry.pauses.iter().any(|one| one.length_ns >= 10_000_000));
    assert!(entry.suspended_us * 1000.0 > listed as f64);
    let ends = |pause: &Pause| pause.start_ns + pause.length_ns;
    assert!(
        entry
            .pauses
            .windows(2)
            .all(|pair| ends(&pair[0]) <= pair[1].start_ns)
    );
}
