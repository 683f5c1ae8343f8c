//! Data-parallel training of a two-stage pipeline on MPI: `mpirun --oversubscribe -n 4 mpi_training`.
//!
//! The first half of the ranks is stage 0, the second half stage 1; rank `r` of stage 0 sends its activations to rank
//! `r + n/2` and gets gradients back. The ranks of a stage all-reduce their gradients. Run with
//! `OPTRACE=traces/{rank}.json` to record one trace per rank.
//!
//! With `--overlap yes` gradients are reduced in the background while the loss is computed (`MPI_Iallreduce`), and
//! activations are received in advance (`MPI_Irecv`).
//!
//! `--straggler RANK` makes the computation of one rank 30 % longer, and `MPI_TRAINING_CLOCK_OFFSET=RANK=MS` makes the
//! wall clock of a rank wrong by the given milliseconds. The metadata of the trace has the planted delay of each step.

use mpi::collective::SystemOperation;
use mpi::topology::Color;
use mpi::traits::Communicator;
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};
use trace_mpi::{Traced, exchange_clocks, wait_all};
use trace_runtime::{Session, traced_op};

const USAGE: &str = "usage: mpi_training [--steps N] [--straggler RANK] [--overlap yes|no]";
const WIDTH: usize = 96;
/// Extra time of the straggler, as a share of its computing time.
const EXTRA: f64 = 0.3;

struct Options {
    steps: usize,
    straggler: Option<i32>,
    overlap: bool,
}

fn options() -> Result<Options, Box<dyn Error>> {
    let mut options = Options {
        steps: 20,
        straggler: None,
        overlap: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or(USAGE)?;
        match word.as_str() {
            "--steps" => options.steps = value.parse()?,
            "--straggler" => options.straggler = Some(value.parse()?),
            "--overlap" => options.overlap = value == "yes",
            _ => return Err(USAGE.into()),
        }
    }
    Ok(options)
}

/// One layer of the model, and the slowdown of this rank.
struct Stage {
    weights: Vec<f32>,
    extra: f64,
    planted: Duration,
}

#[traced_op]
impl Stage {
    fn forward(&mut self, x: &[f32]) -> Vec<f32> {
        self.compute(x, 100)
    }

    fn backward(&mut self, gradient: &[f32]) -> Vec<f32> {
        self.compute(gradient, 200)
    }

    /// Multiplies with the weights, and then waits for a simulated device that takes a fixed time. So the time of an op
    /// hardly depends on the number of ranks per processor. On a busy machine, a process may wake up a few milliseconds
    /// late.
    #[traced_op(skip)]
    fn compute(&mut self, x: &[f32], device_ms: u64) -> Vec<f32> {
        let start = Instant::now();
        let mut y = x.to_vec();
        let before = black_box(y.clone());
        for (row, y) in self.weights.chunks(WIDTH).zip(y.chunks_mut(WIDTH)) {
            for (column, y) in y.iter_mut().enumerate() {
                *y = row
                    .iter()
                    .zip(&before[column..])
                    .map(|(w, x)| w * x)
                    .sum::<f32>()
                    * 0.1;
            }
        }
        let usual = Duration::from_millis(device_ms);
        std::thread::sleep(usual.saturating_sub(start.elapsed()));
        if self.extra > 0.0 {
            let done = start.elapsed();
            std::thread::sleep(done.mul_f64(self.extra));
            self.planted += start.elapsed().saturating_sub(done);
        }
        y
    }
}

#[traced_op]
fn update(weights: &mut [f32], gradient: &[f32], ranks: f32) {
    for (w, g) in weights.iter_mut().zip(gradient) {
        *w -= 1e-3 * g / ranks;
    }
}

#[traced_op]
fn loss(gradient: &[f32]) -> f32 {
    gradient.iter().map(|g| g * g).sum()
}

/// Sends activations and receives gradients; the receive can be posted before the send.
fn exchange(
    comm: &Traced<'_, impl Communicator>,
    other: i32,
    tag: i32,
    send: &[f32],
    receive: &mut [f32],
    overlap: bool,
) {
    if !overlap {
        comm.send(other, tag, send);
        comm.receive_into(other, tag, receive);
        return;
    }
    mpi::request::scope(|scope| {
        let received = comm.immediate_receive_into(scope, other, tag, receive);
        let sent = comm.immediate_send(scope, other, tag, send);
        wait_all([sent, received]);
    });
}

fn plant_clock_offset(session: &mut Session, rank: i32) -> Result<(), Box<dyn Error>> {
    let Ok(text) = std::env::var("MPI_TRAINING_CLOCK_OFFSET") else {
        return Ok(());
    };
    let (of, ms) = text
        .split_once('=')
        .ok_or("MPI_TRAINING_CLOCK_OFFSET is `RANK=MS`")?;
    if of.parse::<i32>()? == rank {
        let start: i128 = session.metadata()["start_unix_ns"].parse()?;
        let wrong = start + ms.parse::<i128>()? * 1_000_000;
        session.insert_metadata("start_unix_ns", wrong.to_string());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = options()?;
    let universe = mpi::initialize().ok_or("MPI is initialised already")?;
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    if size % 2 != 0 {
        return Err("the pipeline has two stages: start an even number of processes".into());
    }
    let half = size / 2;
    let stage = rank / half;
    let mut recording = Session::from_env()?;
    if let Some(session) = recording.as_mut() {
        plant_clock_offset(session, rank)?;
        session.insert_metadata("stage", stage.to_string());
        exchange_clocks(session, &world);
    }
    let own = world
        .split_by_color(Color::with_value(stage))
        .ok_or("no communicator")?;
    let everyone = Traced::world(&world);
    let replicas = Traced::group(&own, format!("stage {stage}"), &world);

    let mut model = Stage {
        weights: (0..WIDTH * WIDTH)
            .map(|i| ((i * 7 + 3) % 11) as f32 * 0.01)
            .collect(),
        extra: if options.straggler == Some(rank) {
            EXTRA
        } else {
            0.0
        },
        planted: Duration::ZERO,
    };
    let mut x: Vec<f32> = (0..2 * WIDTH * WIDTH)
        .map(|i| (i % 13) as f32 * 0.1)
        .collect();
    let mut gradient = vec![0.0_f32; x.len()];
    everyone.barrier();
    if let Some(session) = recording.as_mut() {
        // The time before this is not part of a step.
        session.step();
    }
    let mut planted = Vec::new();
    for step in 0..options.steps {
        let tag = i32::try_from(step % 1000)?;
        let other = if stage == 0 { rank + half } else { rank - half };
        let before = model.planted;
        if stage == 0 {
            let y = model.forward(&x);
            exchange(&everyone, other, tag, &y, &mut gradient, options.overlap);
            gradient = model.backward(&gradient);
        } else {
            everyone.receive_into(other, tag, &mut x);
            let y = model.forward(&x);
            gradient = model.backward(&y);
            everyone.send(other, tag, &gradient);
        }
        let mut sum = vec![0.0_f32; gradient.len()];
        if options.overlap {
            mpi::request::scope(|scope| {
                let operation = SystemOperation::sum();
                let request =
                    replicas.immediate_all_reduce_into(scope, &gradient, &mut sum, operation);
                loss(&gradient);
                request.wait();
            });
        } else {
            replicas.all_reduce_into(&gradient, &mut sum, SystemOperation::sum());
        }
        update(&mut model.weights, &sum, half as f32);
        planted.push((model.planted - before).as_nanos().to_string());
        if let Some(session) = recording.as_mut() {
            session.step();
        }
    }
    everyone.barrier();
    if let Some(session) = recording.as_mut() {
        session.insert_metadata("planted_ns", planted.join(" "));
        exchange_clocks(session, &world);
    }
    drop(recording);
    if rank == 0 {
        println!(
            "{} steps on {size} ranks, weight {:.3}",
            options.steps, model.weights[1]
        );
    }
    Ok(())
}
