//! `op!`: a block is recorded like a function; with the feature off, only the block remains.

use trace_runtime::op;

fn softmax(x: &[f32]) -> Vec<f32> {
    op!("softmax", inputs = [x], {
        let sum: f32 = x.iter().map(|x| x.exp()).sum();
        x.iter().map(|x| x.exp() / sum).collect()
    })
}

fn first_positive(x: &[f32]) -> Option<f32> {
    op!("first_positive", inputs = [&x], {
        let found = x.iter().find(|x| **x > 0.0)?;
        Some(*found)
    })
}

fn scale(x: &mut [f32], by: f32) {
    op!("scale_", inputs = [&x], output = [&x], {
        for x in &mut *x {
            *x *= by;
        }
    });
}

fn everything(x: &[f32], waited: &std::cell::Cell<u32>) -> Result<Vec<f32>, String> {
    op!(
        "everything",
        kind = communication,
        inputs = [x, &x[1..]],
        device = "npu:3",
        flops = 2 * x.len(),
        bytes = 8_u64 * x.len() as u64,
        meta = [layer = 3, name = "fc"],
        sync = waited.set(waited.get() + 1),
        { Ok(x.to_vec()) }
    )
}

fn early_exits(x: &[f32]) -> usize {
    let mut passes = 0;
    for limit in [1, 2, 3] {
        op!("pass", inputs = [x], {
            passes += 1;
            if limit == 2 {
                break;
            }
        });
    }
    passes
}

fn inferred_by_what_is_around() -> (u64, Box<dyn Fn(f32) -> f32>) {
    let wide: u64 = op!("into", { 3_u8.into() });
    let boxed: Box<dyn Fn(f32) -> f32> = op!("boxed", { Box::new(|x| x + 1.0) });
    (wide, boxed)
}

fn diverges(x: &[f32]) -> Vec<f32> {
    op!("diverges", inputs = [&x], { panic!("as it should") })
}

#[test]
fn the_value_of_the_macro_is_the_value_of_the_block() {
    assert_eq!(softmax(&[0.0]), [1.0]);
    assert_eq!(first_positive(&[-1.0, 2.0]), Some(2.0));
    assert_eq!(first_positive(&[]), None);
    let mut x = [1.0, 2.0];
    scale(&mut x, 2.0);
    assert_eq!(x, [2.0, 4.0]);
    let waited = std::cell::Cell::new(0);
    assert_eq!(everything(&[1.0], &waited), Ok(vec![1.0]));
    assert_eq!(
        waited.get(),
        0,
        "nothing is evaluated while nothing records"
    );
    assert_eq!(early_exits(&[]), 2);
    let (wide, boxed) = inferred_by_what_is_around();
    assert_eq!((wide, boxed(1.0)), (3, 2.0));
    assert!(std::panic::catch_unwind(|| diverges(&[])).is_err());
}

#[cfg(feature = "enabled")]
mod recorded {
    use super::*;
    use trace_runtime::{DType, OpKind, Outcome, record};

    #[test]
    fn inputs_and_value_are_described() {
        let (_, trace) = record(|| softmax(&[1.0, 2.0]));
        let entry = &trace.entries[0];
        assert_eq!(entry.operation, "softmax");
        assert_eq!(entry.input_shapes, [[2]]);
        assert_eq!(entry.output_shape, [2]);
        assert_eq!(entry.output_dtypes, [DType::F32]);
    }

    #[test]
    fn a_block_left_early_is_an_error() {
        let (_, trace) = record(|| (first_positive(&[]), early_exits(&[1.0])));
        let outcomes: Vec<_> = trace.entries.iter().map(|entry| entry.outcome).collect();
        assert_eq!(outcomes, [Outcome::Error, Outcome::Ok, Outcome::Error]);
        let (_, trace) = record(|| std::panic::catch_unwind(|| diverges(&[1.0])));
        assert_eq!(trace.entries[0].outcome, Outcome::Panicked);
        assert_eq!(trace.entries[0].input_shapes, [[1]]);
    }

    #[test]
    fn a_tensor_written_in_place_is_described_after_the_block() {
        let ((), trace) = record(|| scale(&mut [1.0, 2.0, 3.0], 2.0));
        assert_eq!(trace.entries[0].output_shape, [3]);
    }

    #[test]
    fn every_option_is_recorded() {
        let waited = std::cell::Cell::new(0);
        let (_, trace) = record(|| everything(&[1.0; 4], &waited));
        let entry = &trace.entries[0];
        assert_eq!(entry.kind, Some(OpKind::Communication));
        assert_eq!(entry.input_shapes, [[4], [3]]);
        assert_eq!(entry.device_id.as_deref(), Some("npu:3"));
        assert_eq!((entry.flops, entry.bytes_moved), (Some(8), Some(32)));
        assert_eq!(entry.meta["layer"], "3");
        assert_eq!(entry.meta["name"], "fc");
        assert_eq!(entry.output_shape, [4]);
        assert_eq!(waited.get(), 1);
    }
}

#[test]
fn communication_has_its_group_peer_and_tag() {
    #[trace_runtime::traced_op(tag = tag, meta(note = "x"), peer = to, group = "dp")]
    fn my_send(x: &[f32], to: u32, tag: i32) -> usize {
        x.len() + to as usize + tag.unsigned_abs() as usize
    }
    let (_, trace) = trace_runtime::record(|| {
        let from = 4;
        op!(
            "my_recv",
            kind = communication,
            peer = from,
            tag = 9,
            group = "dp",
            { my_send(&[1.0, 2.0], 3, 9) }
        )
    });
    if trace.entries.is_empty() {
        return;
    }
    let meta = |index: usize| {
        let entry: &trace_runtime::RecordedTraceEntry = &trace.entries[index];
        assert_eq!(entry.kind, Some(trace_runtime::OpKind::Communication));
        let get = |key: &str| entry.meta.get(key).cloned().unwrap_or_default();
        (get("peer"), get("tag"), get("process_group"))
    };
    assert_eq!(meta(0), ("4".into(), "9".into(), "dp".into()));
    assert_eq!(meta(1), ("3".into(), "9".into(), "dp".into()));
    assert_eq!(trace.entries[1].meta["note"], "x");
}
