//! Random runs against slow versions.

use crate::{run, slow};
use proptest::prelude::*;
use trace_runtime::analyze::{CausalModel, IdleCause, activity};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_random_run_agrees_with_the_slow_versions(calls in prop::collection::vec(run::any_call(), 1..25)) {
        let trace = run::simulate(&calls);
        let model = CausalModel::new(&trace);
        let path = model.critical_path();
        prop_assert!(path.length_ns <= path.span_ns);
        prop_assert_eq!(path.length_ns, slow::longest_chain(&trace));
        prop_assert_eq!(path.ops.iter().map(|op| op.path_ns).sum::<u64>(), path.length_ns);
        prop_assert_eq!(path.host_ns + path.device_ns, path.length_ns);

        // The steps of the path follow each other, and the times between them add up.
        let steps: Vec<_> = model.critical_steps().collect();
        let mut at = None;
        for step in &steps {
            if let Some(at) = at {
                prop_assert_eq!(step.start_ns - at, step.gap_ns as i64);
            }
            at = Some(step.start_ns + step.ns as i64);
        }
        let crossed: u64 = path.crossed.iter().map(|one| one.ns).sum();
        prop_assert_eq!(crossed, steps.iter().map(|step| step.gap_ns).sum::<u64>());

        let devices = activity(&trace).devices;
        let idle = model.idle_causes();
        prop_assert_eq!(idle.len(), devices.iter().filter(|device| device.device != "cpu").count());
        for (device, known) in idle.iter().zip(devices.iter().filter(|device| device.device != "cpu")) {
            prop_assert_eq!(device.idle_ns, known.idle_ns);
            prop_assert_eq!(device.busy_ns, known.busy_ns);
            prop_assert_eq!(device.causes.iter().map(|cause| cause.ns).sum::<u64>(), device.idle_ns);
            let of_host = |cause: &&IdleCause| !cause.cause.starts_with("launch ");
            for cause in device.causes.iter().filter(of_host) {
                prop_assert_eq!(cause.ops.iter().map(|op| op.1).sum::<u64>(), cause.ns);
            }
            for stream in &device.streams {
                prop_assert_eq!(stream.causes.iter().map(|cause| cause.ns).sum::<u64>(), stream.idle_ns);
            }
        }

        for lane in model.lanes() {
            prop_assert_eq!(lane.working_ns + lane.waiting_ns + lane.outside_ns, lane.span_ns);
            prop_assert_eq!(lane.waits.iter().map(|wait| wait.ns).sum::<u64>(), lane.waiting_ns);
        }
        let host = &model.lanes()[0];
        prop_assert_eq!(host.waiting_ns, slow::host_waiting(&trace));
    }
}
