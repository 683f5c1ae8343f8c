//! A program that runs for a while, to watch it: in one terminal `OPTRACE=run.optrace cargo run --release --example
//! serving -- 60`, in another `optrace top run.optrace`.
//!
//! Runs for a second without an argument.

use ndarray::Array2;
use std::time::{Duration, Instant};
use trace_runtime::{Session, traced_op};

#[traced_op]
fn layer(x: &Array2<f32>, weight: &Array2<f32>) -> Array2<f32> {
    x.dot(weight).mapv_into(|x| x.max(0.0))
}

#[traced_op]
fn request(x: &Array2<f32>, weights: &[Array2<f32>]) -> Array2<f32> {
    weights
        .iter()
        .fold(x.clone(), |x, weight| layer(&x, weight))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(1.0), |text| text.parse());
    let end = Instant::now() + Duration::try_from_secs_f64(seconds?)?;
    let _session = Session::from_env()?;
    let weights = vec![Array2::from_elem((64, 64), 1.0 / 64.0); 4];
    let x = Array2::ones((16, 64));
    let mut requests = 0u64;
    while Instant::now() < end {
        let y = request(&x, &weights);
        assert!(y.iter().all(|y| (y - 1.0).abs() < 1e-3));
        requests += 1;
        std::thread::sleep(Duration::from_millis(1));
    }
    println!("{requests} requests");
    Ok(())
}
