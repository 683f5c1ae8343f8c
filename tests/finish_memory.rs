//! Finishing a session with an output takes little memory in addition to the trace: entries are written from the
//! compact store.
#![cfg(feature = "enabled")]

mod counting;

use trace_runtime::{Session, traced_op};

#[traced_op]
fn matmul(a: &[[f32; 8]; 4], b: &[[f32; 2]; 8]) -> [[f32; 2]; 4] {
    std::array::from_fn(|i| std::array::from_fn(|j| a[i][0] * b[0][j]))
}

#[test]
fn an_output_is_written_without_a_copy_of_the_trace() {
    const OPS: usize = 60_000;
    let path = std::env::temp_dir().join(format!("finish-{}.json", std::process::id()));
    let session = Session::builder().output(&path).start().unwrap();
    for _ in 0..OPS {
        matmul(&[[1.0; 8]; 4], &[[2.0; 2]; 8]);
    }
    let (store, held) = counting::most_held_during(|| session.try_finish().unwrap());
    assert_eq!(store.len(), OPS);
    let written = std::fs::metadata(&path).unwrap().len();
    std::fs::remove_file(path).unwrap();
    assert!(written > 100 * OPS as u64, "{written} bytes were written");
    // 64 MB for ten million entries. 4 bytes per entry of it are for the order of the entries, which the store keeps.
    let allowed = OPS * 64 / 10 + (512 << 10);
    assert!(
        held <= allowed,
        "{held} bytes were held for {OPS} entries, more than {allowed}"
    );
}
