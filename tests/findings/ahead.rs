//! Steps whose device work continues after they ended on the host.

use crate::{Profile, near, of_kind};
use trace_runtime::TraceStore;
use trace_runtime::analyze::{FindingKind, findings};

/// Four steps of 50 µs in which the host queues a product of 1000 µs each; the product of step `slow` takes 5000 µs.
/// The host waits for all of them at the end.
fn queued(slow: Option<u64>) -> TraceStore {
    let mut profile = Profile::default();
    let mut device = 20;
    for step in 0..4 {
        let start = step * 50;
        let length = if slow == Some(step) { 5000 } else { 1000 };
        profile.step(step as u32, start, 50);
        profile.op("aten::mm", start + 1, 40);
        profile.launch(start + 10, step + 1, "sgemm", (device, length));
        device += length;
    }
    profile.synchronise(200, device - 200);
    profile.read()
}

#[test]
fn shares_refer_to_the_steps_with_their_device_work() {
    let report = queued(None).report();
    assert_eq!(report.findings.whole_ns, 4_020_000);
    let first = &report.findings.list[0];
    assert_eq!(first.kind, FindingKind::DeviceCategory);
    assert!(near(first.share, 4000.0 / 4020.0), "{}", first.share);
    assert!(report.findings.list.iter().all(|one| one.share <= 1.0));
    let note = "the host runs ahead: devices work on the steps for 3.82 ms after their end";
    assert!(
        report.notes.iter().any(|one| one.contains(note)),
        "{:?}",
        report.notes
    );
    // The table of steps shows them as they were marked.
    assert!(
        report
            .steps
            .steps
            .iter()
            .all(|step| step.length_ns == 50_000)
    );
}

#[test]
fn a_step_is_slow_by_its_device_work_and_not_by_how_long_it_took_to_queue() {
    assert!(of_kind(&findings(&queued(None)), FindingKind::SlowStep).is_none());
    let found = findings(&queued(Some(2)));
    let slow = of_kind(&found, FindingKind::SlowStep).unwrap();
    // The median is the first step, whose work begins 20 µs after it.
    assert_eq!((slow.subject.as_str(), slow.cost_ns), ("2", 3_980_000));
}

#[test]
fn steps_that_wait_for_their_work_are_as_long_as_they_are_marked() {
    let mut profile = Profile::default();
    for step in 0..4 {
        let start = step * 1100;
        profile.step(step as u32, start, 1100);
        profile.op("aten::mm", start + 1, 40);
        profile.launch(start + 10, step + 1, "sgemm", (start + 20, 1000));
        profile.synchronise(start + 50, 1000);
    }
    let report = profile.read().report();
    assert_eq!(report.findings.whole_ns, 4_400_000);
    assert!(report.notes.iter().all(|note| !note.contains("runs ahead")));
}
