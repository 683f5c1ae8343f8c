//! Merging finds planted offsets and drifts of clocks.

use trace_runtime::model::{NewEntry, TraceStoreBuilder};
use trace_runtime::{OpKind, TraceStore, TraceView as _};

/// A rank whose clock is `offset` behind and runs faster by `drift`, in a job with an all-reduce every millisecond.
/// Rank 1 arrives 100 µs after rank 0.
struct Clock {
    offset: i64,
    drift: f64,
}

impl Clock {
    fn at(&self, true_ns: i64) -> i64 {
        true_ns - self.offset + (true_ns as f64 * self.drift).round() as i64
    }
}

fn rank(rank: u32, clock: &Clock, facts: &[(&str, String)]) -> TraceStore {
    let mut builder = TraceStoreBuilder::new();
    let thread = builder.thread(Some(1), Some(rank), None);
    for call in 1..=50i64 {
        let arrival = call * 1_000_000 + i64::from(rank) * 100_000;
        let (start, end) = (clock.at(arrival), clock.at(call * 1_000_000 + 120_000));
        let mut entry = NewEntry::new("all_reduce", thread, start, end.abs_diff(start));
        entry.kind = Some(OpKind::Communication);
        builder.push(&entry).unwrap();
    }
    for (key, value) in facts {
        builder.metadata(*key, value.as_str());
    }
    builder.finish()
}

/// The largest difference between the ends of one all-reduce on both ranks.
fn worst(trace: &TraceStore) -> u64 {
    let ends = |rank: u32| {
        let views = trace.views().filter(move |view| view.rank() == Some(rank));
        views.map(|view| view.end_ns().unwrap())
    };
    ends(0)
        .zip(ends(1))
        .map(|(a, b)| a.abs_diff(b))
        .max()
        .unwrap()
}

const RIGHT: Clock = Clock {
    offset: 0,
    drift: 0.0,
};
const WRONG: Clock = Clock {
    offset: -50_000_000,
    drift: 2e-5,
};

#[test]
fn exchanged_readings_give_offset_and_drift() {
    let exchange = |at: i64| format!("{} {at} 140", WRONG.at(at));
    let readings = format!("{};{}", exchange(10_000), exchange(51_000_000));
    let start = |ns: i64| {
        (
            "start_unix_ns",
            (1_700_000_000_000_000_000 + ns).to_string(),
        )
    };
    let first = rank(0, &RIGHT, &[start(0)]);
    let second = rank(
        1,
        &WRONG,
        &[
            ("clock.exchanges", readings),
            ("clock.reference", "0".to_owned()),
            start(0),
        ],
    );
    let merged = TraceStore::merge(&[first, second]).unwrap();
    assert!(worst(&merged) <= 2, "{}", worst(&merged));
    let facts = merged.metadata();
    assert_eq!(
        facts["merge.clock"],
        "clocks exchanged with rank 0; remaining error at most 140 ns"
    );
    // Its trace begins 50 ms before the other one, but its wall clock shows the same start, so that clock is 50 ms
    // ahead.
    let offset: i64 = facts["rank.1.clock.offset_ns"].parse().unwrap();
    assert!(offset.abs_diff(50_000_000) < 1_000, "{offset}");
    let drift: i64 = facts["rank.1.clock.drift_ppb"].parse().unwrap();
    assert!(drift.abs_diff(20_000) < 100, "{drift}");
    assert_eq!(facts["rank.1.clock.error_ns"], "140");
}

#[test]
fn collectives_give_offset_and_drift_where_nothing_was_exchanged() {
    let drifting = Clock {
        drift: 2e-4,
        ..WRONG
    };
    let merged = TraceStore::merge(&[rank(0, &RIGHT, &[]), rank(1, &drifting, &[])]).unwrap();
    assert!(worst(&merged) <= 200, "{}", worst(&merged));
    let how = &merged.metadata()["merge.clock"];
    assert!(how.starts_with("collectives and messages"), "{how}");
    let drift: i64 = merged.metadata()["rank.1.clock.drift_ppb"].parse().unwrap();
    assert!(drift.abs_diff(200_000) < 1_000, "{drift}");
}

#[test]
fn the_wall_clock_is_used_unless_collectives_contradict_it() {
    let start = |ns: i64| {
        [(
            "start_unix_ns",
            (1_700_000_000_000_000_000 + ns).to_string(),
        )]
    };
    let shifted = |offset| Clock { offset, drift: 0.0 };
    // The trace of rank 1 begins 7 ms after the other, and its wall clock agrees to 10 µs.
    let pair = [
        rank(0, &RIGHT, &start(0)),
        rank(1, &shifted(7_000_000), &start(7_010_000)),
    ];
    let merged = TraceStore::merge(&pair).unwrap();
    assert_eq!(merged.metadata()["merge.clock"], "wall clock");
    assert_eq!(worst(&merged), 10_000);
    // Here it is wrong by 3 ms: rank 1 would arrive after rank 0 has left.
    let pair = [
        rank(0, &RIGHT, &start(0)),
        rank(1, &shifted(7_000_000), &start(10_000_000)),
    ];
    let merged = TraceStore::merge(&pair).unwrap();
    let how = &merged.metadata()["merge.clock"];
    assert!(how.contains("the wall clocks contradict them"), "{how}");
    assert_eq!(worst(&merged), 0);
    assert_eq!(merged.metadata()["rank.1.clock.offset_ns"], "3000000");
}

#[test]
fn messages_alone_bound_the_offset() {
    let part = |rank: u32, ops: &[(&str, i64, i64)]| {
        let mut builder = TraceStoreBuilder::new();
        let thread = builder.thread(Some(1), Some(rank), None);
        for &(name, start, end) in ops {
            let mut entry = NewEntry::new(name, thread, start, end.abs_diff(start));
            entry.kind = Some(OpKind::Communication);
            entry.meta = [("peer".to_owned(), (1 - rank).to_string())].into();
            builder.push(&entry).unwrap();
        }
        builder.finish()
    };
    // A message and its answer; the clock of rank 1 is 10,000 ns behind.
    let first = part(0, &[("send", 20_000, 20_100), ("recv", 20_100, 21_300)]);
    let second = part(1, &[("recv", 9_000, 10_600), ("send", 10_800, 10_900)]);
    let merged = TraceStore::merge(&[first, second]).unwrap();
    // Sent at 20,000 and received by 10,600: at least 9,400. Sent at 10,800 and received by 21,300: at most 10,500.
    let start = merged
        .views()
        .find(|view| view.rank() == Some(1))
        .unwrap()
        .start_ns();
    assert_eq!(start, Some(9_000 + 9_950));
    let how = &merged.metadata()["merge.clock"];
    assert!(how.contains("about 550 ns"), "{how}");
}
