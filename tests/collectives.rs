//! Entries of different ranks are one call of a collective when group, collective and sequence agree.

use trace_runtime::analyze::{CausalModel, Collective, collectives};
use trace_runtime::read;
use trace_runtime::{TraceStore, TraceView as _};

/// One rank's trace from the events of its device.
fn rank(rank: u32, events: &[String]) -> TraceStore {
    let json = format!(
        r#"{{"distributedInfo": {{"rank": {rank}}}, "baseTimeNanoseconds": 1767189312000000000, "traceEvents": [{}]}}"#,
        events.join(",")
    );
    read::from_slice(json.as_bytes()).unwrap()
}

const GENERIC: &str = "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)";

fn kernel(start: u32, length: u32, facts: &str) -> String {
    format!(
        r#"{{"ph": "X", "cat": "kernel", "name": "{GENERIC}", "pid": 0, "tid": 4, "ts": {start}, "dur": {length},
            "args": {{"device": 0, "stream": 4, "In msg nelems": 1000000, "Out msg nelems": 1000000,
                      "dtype": "Float"{facts}}}}}"#
    )
}

fn group(name: &str, ranks: &str) -> String {
    format!(
        r#", "Collective name": "allreduce", "Process Group Name": "{name}", "Process Group Ranks": {ranks}"#
    )
}

fn merged(ranks: &[TraceStore]) -> Vec<Collective> {
    collectives(&TraceStore::merge(ranks).unwrap())
}

fn start_at_zero() -> String {
    r#"{"ph": "X", "cat": "cpu_op", "name": "x", "pid": 9, "tid": 1, "ts": 0, "dur": 1}"#.to_owned()
}

#[test]
fn calls_of_two_process_groups_do_not_mix() {
    let (tp, dp) = (group("tp", "\"[0, 1]\""), group("dp", "[1, 2]"));
    let found = merged(&[
        rank(0, &[start_at_zero(), kernel(100, 100, &tp)]),
        rank(
            1,
            &[
                start_at_zero(),
                kernel(100, 100, &tp),
                kernel(500, 100, &dp),
            ],
        ),
        rank(2, &[start_at_zero(), kernel(500, 100, &dp)]),
    ]);
    assert_eq!(found.len(), 2);
    for (one, ranks) in [("dp", [1, 2]), ("tp", [0, 1])] {
        let one = found
            .iter()
            .find(|row| row.process_group.as_deref() == Some(one))
            .unwrap();
        assert_eq!((one.calls, one.ranks), (1, 2));
        assert_eq!(one.wait_ns, ranks.map(|rank| (rank, 0)));
    }
}

#[test]
fn a_receive_waits_for_the_send_of_the_rank_that_the_kernel_names() {
    // Of three ranks, rank 2 sends to rank 0 at 300 µs. The kernels of both sides have one name.
    let send = r#", "Collective name": "send", "Dst Rank": 0"#;
    let receive = r#", "Collective name": "recv", "Src Rank": 2"#;
    let merged = TraceStore::merge(&[
        rank(0, &[start_at_zero(), kernel(100, 300, receive)]),
        rank(1, &[start_at_zero()]),
        rank(2, &[start_at_zero(), kernel(300, 100, send)]),
    ])
    .unwrap();
    let lanes = CausalModel::new(&merged).lanes();
    let stream = |rank| {
        let mut streams = lanes.iter().filter(|lane| lane.kind == "device");
        streams.find(|lane| lane.rank == Some(rank)).unwrap()
    };
    assert_eq!(stream(0).waiting_ns, 200_000);
    assert_eq!(stream(0).waits[0].waits_for, "rank 2");
    assert_eq!(stream(2).waiting_ns, 0);
    assert!(collectives(&merged).is_empty());
}

#[test]
fn a_generic_kernel_has_the_bus_bandwidth_of_its_collective() {
    let all = group("0", "\"[0, 1, 2, 3]\"");
    let ranks: Vec<_> = (0..4)
        .map(|index| rank(index, &[kernel(0, 1000, &all)]))
        .collect();
    let found = merged(&ranks);
    // 4 MB in 1 ms, × 2 · 3 / 4.
    assert_eq!(found[0].bus_bytes_per_s, Some(6e9));
    assert_eq!(found[0].collective.as_deref(), Some("allreduce"));
    // The group has four ranks, even if only two of them were traced.
    let two = merged(&ranks[..2]);
    assert_eq!((two[0].ranks, two[0].bus_bytes_per_s), (2, Some(6e9)));
}

#[test]
fn a_rank_whose_profiler_started_later_is_matched_by_sequence() {
    let numbered = |start, sequence| {
        let facts = format!("{}, \"Seq\": {sequence}", group("0", "[0, 1]"));
        kernel(start, 10, &facts)
    };
    let found = merged(&[
        rank(
            0,
            &[
                start_at_zero(),
                numbered(100, 1),
                numbered(200, 2),
                numbered(300, 3),
            ],
        ),
        rank(1, &[start_at_zero(), numbered(205, 2), numbered(300, 3)]),
    ]);
    assert_eq!((found.len(), found[0].calls), (1, 2));
    assert_eq!(found[0].wait_ns, [(0, 5_000), (1, 0)]);
}

#[test]
fn coalesced_calls_share_a_sequence_number() {
    let facts = format!("{}, \"Seq\": 7", group("0", "[0, 1]"));
    let both = [
        start_at_zero(),
        kernel(100, 10, &facts),
        kernel(110, 10, &facts),
    ];
    let found = merged(&[rank(0, &both), rank(1, &both)]);
    assert_eq!((found[0].calls, found[0].ranks), (2, 2));
}

#[test]
fn a_kernel_takes_the_group_of_the_op_that_launched_it() {
    let launched = |group_name: &str, ts: u32| {
        let facts = group(group_name, "[0, 1]");
        [
            format!(
                r#"{{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 9, "tid": 1, "ts": {ts}, "dur": 9,
                    "args": {{"x": 0{facts}}}}}"#
            ),
            format!(
                r#"{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 1, "ts": {ts}.5, "dur": 2,
                    "args": {{"correlation": {ts}}}}}"#
            ),
            kernel(ts + 20, 10, &format!(", \"correlation\": {ts}")),
        ]
    };
    // The two ranks call the two groups in a different order.
    let found = merged(&[
        rank(0, &[launched("a", 10), launched("b", 50)].concat()),
        rank(1, &[launched("b", 10), launched("a", 50)].concat()),
    ]);
    let groups: Vec<_> = found
        .iter()
        .map(|one| {
            (
                one.process_group.as_deref(),
                one.calls,
                one.wait_ns[0].1.max(one.wait_ns[1].1),
            )
        })
        .collect();
    assert_eq!(groups, [(Some("a"), 1, 40_000), (Some("b"), 1, 40_000)]);
}

#[test]
fn on_the_host_the_group_comes_from_an_op_inside() {
    let host = |group_name: &str, ts: u32| {
        let facts = group(group_name, "[0, 1]");
        [
            format!(
                r#"{{"ph": "X", "cat": "cpu_op", "name": "c10d::allreduce_", "pid": 9, "tid": 1, "ts": {ts}, "dur": 9}}"#
            ),
            format!(
                r#"{{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 9, "tid": 1, "ts": {ts}.5, "dur": 2,
                    "args": {{"x": 0{facts}}}}}"#
            ),
        ]
    };
    let found = merged(&[
        rank(0, &[host("a", 10), host("b", 50)].concat()),
        rank(1, &[host("b", 10), host("a", 50)].concat()),
    ]);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|one| one.operation == "c10d::allreduce_"));
    assert!(
        found
            .iter()
            .all(|one| one.process_group.is_some() && one.calls == 1)
    );
}

#[test]
fn the_facts_survive_every_format_that_is_read_back() {
    use trace_runtime::export::{ChromeTrace, Exporter as _};
    let facts = format!("{}, \"Seq\": 7", group("tp", "[0, 1]"));
    let one = rank(0, &[start_at_zero(), kernel(100, 10, &facts)]);
    let mut chrome = Vec::new();
    ChromeTrace::default().export(&one, &mut chrome).unwrap();
    let json = trace_runtime::RecordedExecutionTrace::from(&one)
        .to_json()
        .unwrap();
    for bytes in [chrome, json.into_bytes()] {
        let back = read::from_slice(&bytes).unwrap();
        let other = rank(1, &[start_at_zero(), kernel(100, 10, &facts)]);
        let found = merged(&[back, other]);
        assert_eq!(found[0].process_group.as_deref(), Some("tp"));
        assert_eq!(found[0].calls, 1);
    }
}

/// A rank without a wall clock. Its clock began `late` µs after that of the others.
fn unanchored(number: u32, late: u32, ends: &[(&str, &str, u32)]) -> TraceStore {
    let mut events = vec![start_at_zero()];
    for (name, ranks, end) in ends {
        // Ranks enter at different times and leave at the same time.
        let start = end - 20 - number;
        events.push(kernel(start - late, 20 + number, &group(name, ranks)));
    }
    let json = format!(
        r#"{{"distributedInfo": {{"rank": {number}}}, "traceEvents": [{}]}}"#,
        events.join(",")
    );
    read::from_slice(json.as_bytes()).unwrap()
}

#[test]
fn ranks_without_a_wall_clock_are_aligned_by_their_collectives() {
    // Ranks 0 and 1 share a group, 1 and 2 another one.
    let traces = [
        unanchored(0, 0, &[("tp", "[0, 1]", 200), ("tp", "[0, 1]", 400)]),
        unanchored(
            1,
            50,
            &[
                ("tp", "[0, 1]", 200),
                ("dp", "[1, 2]", 300),
                ("tp", "[0, 1]", 400),
            ],
        ),
        unanchored(2, 70, &[("dp", "[1, 2]", 300)]),
    ];
    let all = TraceStore::merge(&traces).unwrap();
    let how = &all.metadata()["merge.clock"];
    assert!(
        how.starts_with("collectives and messages; remaining error about"),
        "{how}"
    );
    let mut ends: Vec<(u32, i64)> = all
        .views()
        .filter(|view| view.device_id().is_some())
        .map(|view| (view.rank().unwrap(), view.end_ns().unwrap()))
        .collect();
    ends.sort_unstable();
    let us = |end: i64| end * 1000;
    assert_eq!(
        ends,
        [
            (0, us(200)),
            (0, us(400)),
            (1, us(200)),
            (1, us(300)),
            (1, us(400)),
            (2, us(300))
        ]
    );
    let tp = collectives(&all)
        .into_iter()
        .find(|one| one.process_group.as_deref() == Some("tp"))
        .unwrap();
    // Rank 1 enters 1 µs before rank 0, in both calls.
    assert_eq!(tp.wait_ns, [(0, 0), (1, 2_000)]);
    let notes = all.report().notes.join("; ");
    assert!(
        notes.contains("aligned by: collectives and messages"),
        "{notes}"
    );
}

#[test]
fn a_rank_without_a_common_collective_begins_at_its_own_start() {
    let traces = [
        unanchored(0, 0, &[("tp", "[0, 1]", 200)]),
        unanchored(1, 50, &[("tp", "[0, 1]", 200)]),
        unanchored(2, 70, &[]),
    ];
    let some = TraceStore::merge(&traces).unwrap();
    let how = &some.metadata()["merge.clock"];
    assert!(how.starts_with("collectives and messages"), "{how}");
    assert!(how.ends_with("; rank 2 from its own start"), "{how}");
    let none = TraceStore::merge(&traces[1..]).unwrap();
    assert_eq!(
        none.metadata()["merge.clock"],
        "each rank from its own start"
    );
}
