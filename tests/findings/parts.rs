//! Findings that are part of others, and the order of the list.

use crate::{Profile, kinds, near, of_kind};
use trace_runtime::TraceStore;
use trace_runtime::analyze::{FindingKind, findings};

/// Ten rounds, each with a runtime call of 60 µs and then a product of 30 µs.
fn calls_before_products(call: &str) -> TraceStore {
    let mut profile = Profile::default();
    for round in 0..10 {
        let start = round * 100;
        profile.op("aten::empty", start, 62);
        profile.call(call, (start + 1, 60), 100 + round);
        profile.op("aten::mm", start + 62, 8);
        profile.launch(start + 64, round + 1, "sgemm", (start + 70, 30));
    }
    profile.read()
}

#[test]
fn memory_that_is_taken_from_the_driver_in_every_round_is_found() {
    for call in ["cudaMalloc", "hipFree", "cuMemCreate"] {
        let found = findings(&calls_before_products(call));
        let allocation = of_kind(&found, FindingKind::Allocation).unwrap();
        assert_eq!(allocation.subject, call);
        assert!(near(allocation.share, 0.6), "{}", allocation.share);
        let within = allocation.within.as_ref();
        assert_eq!(within.map(|other| other.0), Some(FindingKind::HostBound));
        let idle = of_kind(&found, FindingKind::HostBound).unwrap();
        assert_eq!(idle.advice, allocation.advice);
    }
    for call in ["cudaMallocAsync", "cudaMemGetInfo", "cudaEventRecord"] {
        let kinds = kinds(&calls_before_products(call));
        assert!(!kinds.contains(&FindingKind::Allocation), "{call}");
    }
}

#[test]
fn the_first_use_of_a_device_is_not_an_allocation() {
    let mut profile = Profile::default();
    profile.op("aten::empty", 0, 502);
    profile.call("cudaFree", (1, 500), 100);
    for round in 0..5 {
        let start = 510 + round * 100;
        profile.op("aten::mm", start, 8);
        profile.call("cudaFree", (start + 1, 1), 101 + round);
        profile.launch(start + 2, round + 1, "sgemm", (start + 6, 90));
    }
    let kinds = kinds(&profile.read());
    assert!(kinds.contains(&FindingKind::HostBound));
    assert!(!kinds.contains(&FindingKind::Allocation), "{kinds:?}");
}

#[test]
fn a_host_op_that_keeps_the_device_idle_is_part_of_its_idle_time() {
    let found = findings(&calls_before_products("cudaEventRecord"));
    let idle = of_kind(&found, FindingKind::HostBound).unwrap();
    let op = of_kind(&found, FindingKind::HostOp).unwrap();
    assert_eq!((op.subject.as_str(), &idle.within), ("aten::empty", &None));
    assert_eq!(op.within, Some((idle.kind, idle.subject.clone())));
    let mut headline = found.headline().into_iter();
    assert!(headline.all(|one| one.kind != FindingKind::HostOp));
    let text = calls_before_products("cudaEventRecord")
        .report()
        .to_string();
    assert!(text.contains("of this: aten::empty takes 62 %"), "{text}");
}

#[test]
fn a_kernel_is_part_of_its_category() {
    let mut profile = Profile::default();
    profile.op("aten::mm", 0, 1000);
    profile.launch(0, 1, "sgemm_128", (10, 600));
    profile.launch(5, 2, "sgemm_64", (610, 390));
    let found = findings(&profile.read());
    let kernel = of_kind(&found, FindingKind::DeviceOp).unwrap();
    let within = Some((FindingKind::DeviceCategory, "matmul".to_owned()));
    assert_eq!(kernel.within, within);
}

#[test]
fn a_slow_step_names_what_took_longer_in_it() {
    let mut profile = Profile::default();
    let mut at = 0;
    for step in 0..6 {
        let extra = if step == 3 { 900 } else { 0 };
        profile.step(step as u32, at, 200 + extra);
        profile.op("aten::mm", at + 1, 10);
        profile.launch(at + 2, 2 * step + 1, "sgemm", (at + 10, 150));
        if extra > 0 {
            profile.op("aten::copy_", at + 161, extra);
            profile.call("cudaMemcpyAsync", (at + 162, extra - 4), 2 * step + 2);
            let copy = (at + 165, extra - 10);
            profile.kernel("Memcpy DtoH (Device -> Pageable)", copy, 2 * step + 2);
        }
        at += 200 + extra;
    }
    let found = findings(&profile.read());
    let slow = of_kind(&found, FindingKind::SlowStep).unwrap();
    assert_eq!(slow.parts[0].name, "Memcpy DtoH (Device -> Pageable)");
    let text = "Memcpy DtoH (Device -> Pageable) takes 890 µs longer in it";
    assert!(slow.sentence.contains(text), "{}", slow.sentence);
    // The finding about copies has the same time.
    let copies = of_kind(&found, FindingKind::Copies).unwrap();
    assert_eq!(copies.within, Some((FindingKind::SlowStep, "3".to_owned())));
    assert_eq!(found.headline()[0].kind, FindingKind::SlowStep);
}

/// Work of 700 µs, and 250 µs of exposed communication by a kernel with a generic name.
fn generic_collectives(names: [&str; 2]) -> TraceStore {
    let mut profile = Profile::default();
    profile.op("aten::mm", 0, 20);
    profile.launch(1, 1, "sgemm", (10, 700));
    for (name, id) in names.into_iter().zip(2..) {
        profile.call("cudaLaunchKernel", (10 + id, 1), id);
        let args =
            format!(r#""correlation":{id},"stream":20,"device":0,"Collective name":"{name}""#);
        let at = (710 + (id - 2) * 125, 125);
        profile.event("kernel", "ncclDevKernel_Generic_1", (0, 20), at, &args);
    }
    profile.read()
}

#[test]
fn a_generic_kernel_is_named_by_its_collective_where_all_its_calls_have_the_same() {
    let sentence = |names| {
        let found = findings(&generic_collectives(names));
        let exposed = of_kind(&found, FindingKind::ExposedCommunication).unwrap();
        exposed.sentence.clone()
    };
    assert_eq!(
        sentence(["allreduce", "allreduce"]),
        "26 % of the time is exposed AllReduce (ncclDevKernel_Generic_1)"
    );
    assert_eq!(
        sentence(["allreduce", "broadcast"]),
        "26 % of the time is exposed ncclDevKernel_Generic_1"
    );
}

#[test]
fn waiting_for_a_fifth_of_the_time_comes_before_any_work() {
    let found = findings(&generic_collectives(["allreduce", "allreduce"]));
    let order: Vec<FindingKind> = found.list.iter().map(|one| one.kind).collect();
    let expected = [
        FindingKind::ExposedCommunication,
        FindingKind::DeviceCategory,
    ];
    assert_eq!(order, expected);
    assert!(found.list[1].share > 2.0 * found.list[0].share);
}

#[test]
fn communication_on_two_streams_at_once_costs_its_time_once() {
    let mut profile = Profile::default();
    profile.op("aten::mm", 0, 20);
    profile.launch(1, 1, "sgemm", (10, 500));
    for (stream, id) in [(20, 2), (24, 3)] {
        profile.call("cudaLaunchKernel", (10 + id, 1), id);
        let args = format!(r#""correlation":{id},"stream":{stream},"device":0"#);
        let name = format!("ncclDevKernel_AllGather_{stream}");
        profile.event("kernel", &name, (0, stream), (510, 500), &args);
    }
    let found = findings(&profile.read());
    let exposed = of_kind(&found, FindingKind::ExposedCommunication).unwrap();
    assert_eq!(exposed.cost_ns, 500_000);
    assert_eq!(exposed.parts.len(), 2);
}

#[test]
fn every_finding_is_in_the_text_once_whatever_it_is_part_of() {
    let mut profile = Profile::default();
    let mut at = 0;
    for step in 0..6 {
        let extra = if step == 3 { 900 } else { 0 };
        profile.step(step as u32, at, 200 + extra);
        profile.op("aten::mm", at, 80);
        profile.op("aten::copy_", at + 80, 40);
        profile.op("aten::cat", at + 120, 80 + extra);
        at += 200 + extra;
    }
    let report = profile.read().report();
    let found = &report.findings;
    // The op is part of the copies, which are part of the slow step.
    let kinds: Vec<FindingKind> = found.list.iter().map(|one| one.kind).collect();
    assert!(kinds.contains(&FindingKind::Copies) && kinds.contains(&FindingKind::SlowStep));
    let op = found
        .list
        .iter()
        .find(|one| one.kind == FindingKind::HostOp && one.subject == "aten::cat");
    let outer = &op.unwrap().within.as_ref().unwrap().0;
    assert_ne!(*outer, FindingKind::HostOp);
    let text = report.to_markdown(100);
    for finding in &found.list {
        let sentence = finding.sentence.replace('_', "\\_");
        assert_eq!(
            text.matches(&format!("{sentence}. *")).count(),
            1,
            "{sentence}\n{text}"
        );
    }
}
