//! A perceptron with one hidden layer, its gradients written by hand, and Adam.

#[path = "../seeded/rng.rs"]
mod rng;
#[path = "../planted/slowdown.rs"]
mod slowdown;

use ndarray::{Array1, Array2, ArrayRef2, Axis, Zip};
use rng::Rng;
use slowdown::planted;
use trace_runtime::traced_op;

pub(crate) const INPUTS: usize = 64;
pub(crate) const HIDDEN: usize = 384;
pub(crate) const CLASSES: usize = 10;
pub(crate) const BATCH: usize = 128;

/// The order in which the optimiser visits the elements of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Walk {
    /// In the order of memory.
    Rows,
    /// The next element is a whole row further. This is the slowdown that the comparison must find.
    Columns,
}

/// Trains for some steps and returns the loss of each.
pub(crate) fn train(steps: usize, walk: Walk) -> Vec<f32> {
    let mut rng = Rng::seeded(7);
    let teacher = random(&mut rng, INPUTS, CLASSES);
    let mut mlp = Mlp::new(&mut rng);
    (1..=steps)
        .map(|step| {
            let inputs = random(&mut rng, BATCH, INPUTS);
            let labels = strongest(&inputs.dot(&teacher));
            mlp.train_step(&inputs, &labels, step as i32, walk)
        })
        .collect()
}

struct Mlp {
    hidden: Linear,
    output: Linear,
}

impl Mlp {
    fn new(rng: &mut Rng) -> Mlp {
        Mlp {
            hidden: Linear::new(rng, INPUTS, HIDDEN),
            output: Linear::new(rng, HIDDEN, CLASSES),
        }
    }

    #[traced_op(name = "train_step")]
    fn train_step(&mut self, inputs: &Array2<f32>, labels: &[u32], step: i32, walk: Walk) -> f32 {
        let (activations, logits) = self.forward(inputs);
        let (loss, slope) = cross_entropy(&logits, labels);
        let (hidden, output) = self.backward(inputs, &activations, &slope);
        self.hidden.update(&hidden, step, walk);
        self.output.update(&output, step, walk);
        loss
    }

    #[traced_op(name = "forward")]
    fn forward(&self, inputs: &Array2<f32>) -> (Array2<f32>, Array2<f32>) {
        let activations = relu(self.hidden.forward(inputs));
        let logits = self.output.forward(&activations);
        (activations, logits)
    }

    #[traced_op(name = "backward", output())]
    fn backward(
        &self,
        inputs: &Array2<f32>,
        activations: &Array2<f32>,
        slope: &Array2<f32>,
    ) -> (Gradient, Gradient) {
        let output = Gradient::of(activations, slope);
        let slope = matmul(slope, &self.output.weight.t());
        let slope = relu_backward(slope, activations);
        (Gradient::of(inputs, &slope), output)
    }
}

struct Linear {
    weight: Array2<f32>,
    bias: Array1<f32>,
    mean: Array2<f32>,
    square: Array2<f32>,
}

struct Gradient {
    weight: Array2<f32>,
    bias: Array1<f32>,
}

impl Gradient {
    fn of(inputs: &Array2<f32>, slope: &Array2<f32>) -> Gradient {
        Gradient {
            weight: matmul(&inputs.t(), slope),
            bias: slope.sum_axis(Axis(0)),
        }
    }
}

impl Linear {
    fn new(rng: &mut Rng, inputs: usize, outputs: usize) -> Linear {
        let scale = (2.0 / inputs as f32).sqrt();
        Linear {
            weight: random(rng, inputs, outputs) * scale,
            bias: Array1::zeros(outputs),
            mean: Array2::zeros((inputs, outputs)),
            square: Array2::zeros((inputs, outputs)),
        }
    }

    #[traced_op(name = "linear")]
    fn forward(&self, x: &Array2<f32>) -> Array2<f32> {
        matmul(x, &self.weight) + &self.bias
    }

    /// Adam on the weights, plain descent on the bias.
    fn update(&mut self, gradient: &Gradient, step: i32, walk: Walk) {
        self.bias.scaled_add(-0.01, &gradient.bias);
        adam(
            &mut self.weight,
            &mut self.mean,
            &mut self.square,
            &gradient.weight,
            step,
            walk,
        );
    }
}

#[traced_op(kind = compute, flops = 2 * a.nrows() * a.ncols() * b.ncols())]
fn matmul(a: &ArrayRef2<f32>, b: &ArrayRef2<f32>) -> Array2<f32> {
    planted("matmul", a.shape(), || a.dot(b))
}

#[traced_op(kind = compute)]
fn relu(mut x: Array2<f32>) -> Array2<f32> {
    x.mapv_inplace(|x| x.max(0.0));
    x
}

#[traced_op(kind = compute)]
fn relu_backward(mut slope: Array2<f32>, activations: &Array2<f32>) -> Array2<f32> {
    planted("relu_backward", activations.shape(), || {
        Zip::from(&mut slope)
            .and(activations)
            .for_each(|slope, &x| {
                if x <= 0.0 {
                    *slope = 0.0;
                }
            });
    });
    slope
}

/// The mean loss, and its slope by each logit.
#[traced_op(kind = compute)]
fn cross_entropy(logits: &Array2<f32>, labels: &[u32]) -> (f32, Array2<f32>) {
    let mut slope = logits.clone();
    let mut loss = 0.0;
    let rows = labels.len() as f32;
    for (mut row, &label) in slope.rows_mut().into_iter().zip(labels) {
        let largest = row.fold(f32::NEG_INFINITY, |largest, &x| largest.max(x));
        row.mapv_inplace(|x| (x - largest).exp());
        let sum = row.sum();
        row /= sum;
        loss -= row[label as usize].max(f32::MIN_POSITIVE).ln();
        row[label as usize] -= 1.0;
        row /= rows;
    }
    (loss / rows, slope)
}

#[traced_op(kind = compute)]
fn adam(
    weight: &mut Array2<f32>,
    mean: &mut Array2<f32>,
    square: &mut Array2<f32>,
    gradient: &Array2<f32>,
    step: i32,
    walk: Walk,
) {
    let rate = 0.002 * (1.0 - 0.999_f32.powi(step)).sqrt() / (1.0 - 0.9_f32.powi(step));
    let one = |weight: &mut f32, mean: &mut f32, square: &mut f32, gradient: &f32| {
        *mean = 0.9 * *mean + 0.1 * gradient;
        *square = 0.999 * *square + 0.001 * gradient * gradient;
        *weight -= rate * *mean / (square.sqrt() + 1e-8);
    };
    match walk {
        Walk::Rows => Zip::from(weight)
            .and(mean)
            .and(square)
            .and(gradient)
            .for_each(one),
        Walk::Columns => {
            for column in 0..gradient.ncols() {
                for row in 0..gradient.nrows() {
                    let at = (row, column);
                    one(
                        &mut weight[at],
                        &mut mean[at],
                        &mut square[at],
                        &gradient[at],
                    );
                }
            }
        }
    }
}

fn random(rng: &mut Rng, rows: usize, columns: usize) -> Array2<f32> {
    Array2::from_shape_simple_fn((rows, columns), || rng.around_zero(1.0))
}

fn strongest(scores: &Array2<f32>) -> Vec<u32> {
    let strongest = |row: ndarray::ArrayView1<'_, f32>| {
        let best = row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        best.map_or(0, |(index, _)| index as u32)
    };
    scores.rows().into_iter().map(strongest).collect()
}
