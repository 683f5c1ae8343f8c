//! Reads the packets with a separate decoder that shares no code with the writer.

use crate::protobuf::{Field, Message};
use crate::random_trace::{exported, random_trace, two_ranks};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};
use trace_runtime::analyze::CausalModel;
use trace_runtime::export::PerfettoTrace;
use trace_runtime::{RecordedExecutionTrace, TraceStore};

#[derive(Debug, Default)]
pub(crate) struct Decoded {
    pub(crate) tracks: BTreeMap<u64, (Option<u64>, String)>,
    /// Track, time, depth and annotations.
    pub(crate) slices: Vec<Slice>,
    counters: Vec<(u64, u64, u64)>,
}

#[derive(Debug)]
pub(crate) struct Slice {
    pub(crate) track: u64,
    start_ns: u64,
    end_ns: Option<u64>,
    pub(crate) name: String,
    above: Option<usize>,
    pub(crate) args: HashMap<String, String>,
    flows: Vec<u64>,
    arriving: Vec<u64>,
}

pub(crate) fn decode(bytes: &[u8]) -> Decoded {
    let mut decoded = Decoded::default();
    let mut strings: HashMap<(u64, u64), String> = HashMap::new();
    let mut open: HashMap<u64, Vec<usize>> = HashMap::new();
    for packet in Message::decode(bytes).all(1) {
        let packet = packet.message();
        for (pool, entry) in packet.get(12).map(Field::message).unwrap_or_default().0 {
            let entry = entry.message();
            let text = entry.get(2).unwrap().text();
            assert!(!text.contains(char::is_control), "{text:?}");
            strings.insert((pool, entry.get(1).unwrap().number()), text);
        }
        if let Some(track) = packet.get(60).map(Field::message) {
            let parent = track.get(5).map(Field::number);
            let name = track.get(2).unwrap().text();
            decoded
                .tracks
                .insert(track.get(1).unwrap().number(), (parent, name));
        }
        let Some(event) = packet.get(11).map(Field::message) else {
            continue;
        };
        let time = packet.get(8).unwrap().number();
        let track = event.get(11).unwrap().number();
        let stack = open.entry(track).or_default();
        match event.get(9).unwrap().number() {
            1 => {
                let args = event.all(4).map(|annotation| {
                    let annotation = annotation.message();
                    let value = match annotation.get(17) {
                        Some(iid) => strings[&(29, iid.number())].clone(),
                        None => annotation.get(3).unwrap().number().to_string(),
                    };
                    (
                        strings[&(3, annotation.get(1).unwrap().number())].clone(),
                        value,
                    )
                });
                decoded.slices.push(Slice {
                    track,
                    start_ns: time,
                    end_ns: None,
                    name: strings[&(2, event.get(10).unwrap().number())].clone(),
                    above: stack.last().copied(),
                    args: args.collect(),
                    flows: event.all(47).map(Field::number).collect(),
                    arriving: event.all(48).map(Field::number).collect(),
                });
                stack.push(decoded.slices.len() - 1);
            }
            2 => decoded.slices[stack.pop().expect("an open slice")].end_ns = Some(time),
            4 => decoded
                .counters
                .push((track, time, event.get(30).unwrap().number())),
            other => panic!("event of type {other}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "every slice ends");
    decoded
}

#[test]
fn slices_nest_with_their_shapes_on_the_tracks_of_their_ranks() {
    let decoded = decode(&exported(&PerfettoTrace::new(), &two_ranks()));
    let matmul = decoded
        .slices
        .iter()
        .find(|slice| slice.name == "matmul")
        .unwrap();
    assert_eq!((matmul.start_ns, matmul.end_ns), (10_000, Some(40_250)));
    assert_eq!(decoded.slices[matmul.above.unwrap()].name, "layer");
    assert_eq!(matmul.args["Input Dims"], "[[64,32],[32,8]]");
    assert_eq!(matmul.args["Input type"], "f32, bf16");
    assert_eq!(matmul.args["device id"], "cuda:0");
    let (rank, thread) = &decoded.tracks[&matmul.track];
    assert_eq!(thread, "main");
    assert_eq!(decoded.tracks[&rank.unwrap()], (None, "rank 0".to_owned()));
}

#[test]
fn a_hand_off_is_an_arrow_between_slices() {
    let decoded = decode(&exported(&PerfettoTrace::new(), &two_ranks()));
    let of = |name| {
        decoded
            .slices
            .iter()
            .find(|slice| slice.name == name)
            .unwrap()
    };
    assert_eq!(of("layer").flows, [4]);
    assert_eq!(of("all_reduce").arriving, [4]);
    assert_eq!(of("all_reduce").above, None);
}

#[test]
fn memory_is_a_counter_track_in_bytes() {
    let decoded = decode(&exported(&PerfettoTrace::new(), &two_ranks()));
    let first = decoded.counters[0].0;
    let points: Vec<_> = decoded
        .counters
        .iter()
        .filter(|counter| counter.0 == first)
        .map(|&(_, time, bytes)| (time, bytes))
        .collect();
    assert_eq!(points, [(40_250, 2048), (90_001, 4096)]);
}

#[test]
fn the_critical_path_is_a_separate_track_if_requested() {
    let trace = two_ranks();
    let decoded = decode(&exported(
        &PerfettoTrace::new().with_critical_path(),
        &trace,
    ));
    let tracks: Vec<u64> = decoded
        .tracks
        .iter()
        .filter(|(_, (_, name))| name == "critical path")
        .map(|(track, _)| *track)
        .collect();
    let path: u64 = decoded
        .slices
        .iter()
        .filter(|slice| tracks.contains(&slice.track))
        .map(|slice| slice.end_ns.unwrap() - slice.start_ns)
        .sum();
    assert!(path > 0);
    assert_eq!(path, CausalModel::new(&trace).critical_path().length_ns);
    let plain = decode(&exported(&PerfettoTrace::new(), &trace));
    assert!(
        plain
            .tracks
            .values()
            .all(|(_, name)| name != "critical path")
    );
}

#[test]
fn an_empty_trace_is_an_empty_file() {
    assert!(exported(&PerfettoTrace::new(), &RecordedExecutionTrace::new()).is_empty());
}

proptest! {
    #[test]
    fn every_entry_is_a_slice_inside_its_parent_with_its_own_times(trace in random_trace()) {
        let decoded = decode(&exported(&PerfettoTrace::new(), &trace));
        prop_assert_eq!(decoded.slices.len(), trace.entries.len());
        for slice in &decoded.slices {
            let entry = &trace.entries[slice.args["step"].parse::<usize>().unwrap()];
            let duration = slice.end_ns.unwrap() - slice.start_ns;
            prop_assert_eq!(duration, (entry.duration_us * 1000.0) as u64);
            if let Some(start) = entry.start_us() {
                prop_assert_eq!(slice.start_ns, (start * 1000.0) as u64);
            }
            if let Some(above) = slice.above {
                let above = &decoded.slices[above];
                prop_assert_eq!(entry.parent.map(|step| step.to_string()), above.args.get("step").cloned());
                prop_assert!(above.start_ns <= slice.start_ns && slice.end_ns <= above.end_ns);
            }
        }
    }

    #[test]
    fn both_storages_give_the_same_bytes(trace in random_trace()) {
        let store = TraceStore::try_from(&trace).unwrap();
        prop_assert_eq!(exported(&PerfettoTrace::new(), &trace), exported(&PerfettoTrace::new(), &store));
    }
}
