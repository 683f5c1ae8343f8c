//! Writes small recordings into a folder, as the first inputs of the target `optrace`: `recordings FOLDER`.
//!
//! They are parts of split recordings, which have no ring. With only a few kilobytes, a fuzzer can explore them.

use std::error::Error;
use std::path::Path;
use std::time::Duration;
use trace_runtime::{Session, label_scope, traced_op};

#[traced_op(label = "layers.3", meta(batch = x.len()))]
fn inner(x: &[f32]) -> f32 {
    x.iter().sum()
}

#[traced_op]
fn outer(x: &[f32]) -> f32 {
    inner(x) + inner(&x[1..])
}

#[traced_op]
fn fails(x: &[f32]) -> Result<f32, String> {
    x.first().copied().ok_or_else(|| "no element".to_owned())
}

/// Records this many ops, with threads and steps, and returns when all of them are in the file.
fn record(path: &Path, ops: usize) -> Result<(), Box<dyn Error>> {
    let mut session = Session::builder()
        .stream_to(path)
        .stream_buffer(1)
        .rotate(4096, 8)
        .metadata("model", "tiny")
        .start()?;
    let data = [1.0; 9];
    for op in 0..ops {
        outer(&data[..2 + op % 7]);
        if op % 16 == 15 {
            let _ = fails(&data[..op / 16 % 2]);
            label_scope("head", || outer(&data));
            std::thread::scope(|scope| {
                scope.spawn(|| outer(&data[..3]));
            });
            session.step();
            std::thread::sleep(Duration::from_millis(30));
        }
    }
    session.finish_store();
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: recordings FOLDER")?;
    for ops in [1, 16, 100, 400] {
        record(&Path::new(&folder).join(format!("{ops}.optrace")), ops)?;
    }
    Ok(())
}
