//! Data-parallel training over several devices. Each device has a compute thread and a communication
//! thread, gradients are summed in a ring of channels, and one device has more rows than its share.

#[path = "../seeded/rng.rs"]
mod rng;

use ndarray::{Array2, Axis};
use rng::Rng;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use trace_runtime::{
    DType, Device, OpHandle, TensorLike, TensorSink, current_op, in_op, traced_op,
};

pub(crate) const INPUTS: usize = 256;
pub(crate) const HIDDEN: usize = 512;
pub(crate) const OUTPUTS: usize = 128;
/// Rows per device and number of steps in the example. One device has five times as many rows.
pub(crate) const EXAMPLE_ROWS: [usize; 4] = [64, 64, 320, 64];
pub(crate) const EXAMPLE_STEPS: usize = 12;

/// A matrix on one of the devices. `TensorLike` makes it a tensor that is recorded with its device.
#[derive(Clone)]
pub(crate) struct DeviceTensor {
    values: Array2<f32>,
    device: Device,
}

impl TensorLike for DeviceTensor {
    fn describe(&self, sink: &mut TensorSink) {
        sink.tensor(self.values.shape(), DType::F32, self.device);
    }
}

/// Trains for some steps; device `i` has `rows[i]` rows of the batch. Returns the final weights of the
/// first layer on each device.
pub(crate) fn train(rows: &[usize], steps: usize) -> Vec<Array2<f32>> {
    let mut rings = ring(rows.len());
    thread::scope(|scope| {
        let mut workers = Vec::new();
        for (index, &rows) in rows.iter().enumerate() {
            let name = format!("npu:{index}");
            let device = Device::named(&name);
            let (submit, submitted) = channel();
            let link = rings.remove(0);
            thread::Builder::new()
                .name(format!("{name} communication"))
                .spawn_scoped(scope, move || communicate(&link, &submitted))
                .expect("a thread for each device");
            let worker = thread::Builder::new()
                .name(format!("{name} compute"))
                .spawn_scoped(scope, move || {
                    let mut worker = Worker::new(device, index, rows, submit);
                    for _ in 0..steps {
                        worker.step();
                    }
                    worker.first.values
                })
                .expect("a thread for each device");
            workers.push(worker);
        }
        workers
            .into_iter()
            .map(|worker| worker.join().expect("no device fails"))
            .collect()
    })
}

/// A request to the communication thread: sum a gradient over all devices.
struct Reduction {
    gradient: DeviceTensor,
    parent: OpHandle,
    reply: Sender<DeviceTensor>,
}

struct Worker {
    inputs: DeviceTensor,
    targets: DeviceTensor,
    first: DeviceTensor,
    second: DeviceTensor,
    submit: Sender<Reduction>,
}

impl Worker {
    fn new(device: Device, index: usize, rows: usize, submit: Sender<Reduction>) -> Worker {
        let tensor = |rng: &mut Rng, rows, columns, deviation| DeviceTensor {
            values: Array2::from_shape_simple_fn((rows, columns), || rng.around_zero(deviation)),
            device,
        };
        // Every device starts from the same weights and has different data.
        let same = &mut Rng::seeded(1);
        let own = &mut Rng::seeded(100 + index as u64);
        Worker {
            first: tensor(same, INPUTS, HIDDEN, 0.05),
            second: tensor(same, HIDDEN, OUTPUTS, 0.05),
            inputs: tensor(own, rows, INPUTS, 1.0),
            targets: tensor(own, rows, OUTPUTS, 1.0),
            submit,
        }
    }

    // Without a device, because it only calls other ops, which have one.
    #[traced_op(name = "step", kind = other)]
    fn step(&mut self) {
        let hidden = relu(matmul(&self.inputs, &self.first));
        let guess = matmul(&hidden, &self.second);
        let slope = subtract(guess, &self.targets);
        // The gradient of the second layer is summed while that of the first layer is still computed.
        let second = self.all_reduce(matmul(&transpose(&hidden), &slope));
        let slope = matmul(&slope, &transpose(&self.second));
        let slope = relu_backward(slope, &hidden);
        let first = self.all_reduce(matmul(&transpose(&self.inputs), &slope));
        let second = second.recv().expect("the sum arrives");
        descend(&mut self.second, &second);
        let first = first.recv().expect("the sum arrives");
        descend(&mut self.first, &first);
    }

    fn all_reduce(&self, gradient: DeviceTensor) -> Receiver<DeviceTensor> {
        let (reply, result) = channel();
        let parent = current_op();
        let reduction = Reduction {
            gradient,
            parent,
            reply,
        };
        self.submit
            .send(reduction)
            .expect("the communication thread is running");
        result
    }
}

/// The two channels of a device in the ring.
struct Link {
    next: Sender<Array2<f32>>,
    previous: Receiver<Array2<f32>>,
    devices: usize,
}

fn ring(devices: usize) -> Vec<Link> {
    let (senders, mut receivers): (Vec<_>, Vec<_>) = (0..devices).map(|_| channel()).unzip();
    receivers.rotate_right(1);
    senders
        .into_iter()
        .zip(receivers)
        .map(|(next, previous)| Link {
            next,
            previous,
            devices,
        })
        .collect()
}

fn communicate(link: &Link, submitted: &Receiver<Reduction>) {
    for reduction in submitted {
        let sum = in_op(&reduction.parent, || all_reduce(&reduction.gradient, link));
        // A device that has finished does not receive its sum any more.
        drop(reduction.reply.send(sum));
    }
}

/// The sum of `gradient` over all devices: each device sends the gradients that it receives on, once around the ring.
#[traced_op(kind = communication, bytes = 4 * gradient.values.len() * (link.devices - 1))]
fn all_reduce(gradient: &DeviceTensor, link: &Link) -> DeviceTensor {
    let mut sum = gradient.clone();
    let mut passing = gradient.values.clone();
    for _ in 1..link.devices {
        link.next.send(passing).expect("the ring is closed");
        passing = link.previous.recv().expect("the ring is closed");
        sum.values += &passing;
    }
    sum
}

#[traced_op(kind = compute, flops = 2 * a.values.nrows() * a.values.ncols() * b.values.ncols())]
fn matmul(a: &DeviceTensor, b: &DeviceTensor) -> DeviceTensor {
    DeviceTensor {
        values: a.values.dot(&b.values),
        device: a.device,
    }
}

#[traced_op(kind = memory)]
fn transpose(x: &DeviceTensor) -> DeviceTensor {
    DeviceTensor {
        values: x.values.t().as_standard_layout().into_owned(),
        device: x.device,
    }
}

#[traced_op(kind = compute)]
fn relu(mut x: DeviceTensor) -> DeviceTensor {
    x.values.mapv_inplace(|x| x.max(0.0));
    x
}

#[traced_op(kind = compute)]
fn relu_backward(mut slope: DeviceTensor, activations: &DeviceTensor) -> DeviceTensor {
    slope.values.zip_mut_with(&activations.values, |slope, &x| {
        if x <= 0.0 {
            *slope = 0.0;
        }
    });
    slope
}

#[traced_op(kind = compute)]
fn subtract(mut x: DeviceTensor, y: &DeviceTensor) -> DeviceTensor {
    x.values -= &y.values;
    let rows = x.values.len_of(Axis(0)) as f32;
    x.values /= rows;
    x
}

#[traced_op(kind = compute)]
fn descend(weights: &mut DeviceTensor, gradient: &DeviceTensor) {
    weights.values.scaled_add(-0.001, &gradient.values);
}
