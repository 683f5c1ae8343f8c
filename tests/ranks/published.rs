//! A real job with a published result. Skipped if its files are not next to the repository.

use flate2::read::GzDecoder;
use std::io::Read as _;
use std::path::Path;
use trace_runtime::analyze::{CausalModel, Usual};
use trace_runtime::{TraceView as _, read};

#[test]
fn the_slowdown_of_a_published_job_is_the_published_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/stragglers");
    let Ok(file) = std::fs::File::open(folder.join("timeline-ST.json.gz")) else {
        eprintln!("skipped: the published job is not beside the repository");
        return;
    };
    let mut json = Vec::new();
    GzDecoder::new(file).read_to_end(&mut json).unwrap();
    let result = std::fs::read_to_string(folder.join("result-ST.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&result).unwrap();

    let trace = read::from_slice(&json).unwrap();
    // The file names its rows after the coordinates of the rank, and its events carry the number of the step.
    assert_eq!(trace.metadata()["rank.7.mesh"], "DP 1, PP 3, TP 0");
    assert_eq!(trace.steps().len(), 8 * 32);
    let model = CausalModel::new(&trace);
    let found = model.what_if().slowdown(Usual::Mean);
    let published = result["blocking_slowdown"].as_f64().unwrap();
    let error = found.slowdown / published - 1.0;
    assert!(error.abs() < 0.02, "{} {published}", found.slowdown);
    assert!(
        found.cause.contains("the cause is stage 3"),
        "{}",
        found.cause
    );
    for part in &found.stages {
        let stage = part.name.strip_prefix("stage ").unwrap();
        let published = result["blocking_decompose_by_stage"][stage]
            .as_f64()
            .unwrap();
        let error = part.slowdown / published - 1.0;
        assert!(error.abs() < 0.02, "{part:?} {published}");
    }
    for part in &found.ops {
        let published = result["blocking_decompose_by_optype"][&part.name].as_f64();
        // The published result counts sends and receives as one.
        let Some(published) = published else { continue };
        let error = part.slowdown / published - 1.0;
        assert!(error.abs() < 0.02, "{part:?} {published}");
    }
}

#[test]
fn rows_named_after_a_mesh_are_ranks_and_events_may_carry_their_step() {
    let json = br#"[
      {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "DP rank [0]"}},
      {"ph": "M", "name": "thread_name", "pid": 0, "tid": 1, "args": {"name": "PP rank 0, compute"}},
      {"ph": "M", "name": "thread_name", "pid": 0, "tid": 2, "args": {"name": "PP rank 0, pp-comm"}},
      {"ph": "M", "name": "thread_name", "pid": 0, "tid": 3, "args": {"name": "PP rank 1, compute"}},
      {"ph": "X", "name": "forward", "pid": 0, "tid": 1, "ts": 0, "dur": 5, "args": {"step": 7}},
      {"ph": "X", "name": "exchange", "pid": 0, "tid": 2, "ts": 5, "dur": 2, "args": {"step": 7}},
      {"ph": "X", "name": "forward", "pid": 0, "tid": 3, "ts": 7, "dur": 5, "args": {"step": 8}}
    ]"#;
    let trace = read::from_slice(json).unwrap();
    let rows: Vec<_> = trace
        .views()
        .map(|view| (view.rank(), view.operation(), view.kind().is_some()))
        .collect();
    assert_eq!(
        rows,
        [
            (Some(0), "forward", false),
            // The name of its row shows that it is for communication.
            (Some(0), "exchange", true),
            (Some(1), "forward", false)
        ]
    );
    assert_eq!(trace.metadata()["rank.1.stage"], "1");
    let steps: Vec<_> = trace
        .steps()
        .iter()
        .map(|step| (step.rank, step.number, step.start_ns, step.end_ns))
        .collect();
    assert_eq!(steps, [(Some(0), 7, 0, 7000), (Some(1), 8, 7000, 12_000)]);
}
