//! A convolution whose images are computed by a rayon pool, each as a child of the one op.

#[path = "../seeded/rng.rs"]
mod rng;

use ndarray::{Array2, Array3, Array4, ArrayRef2, ArrayRef3, Axis, s};
use rayon::prelude::*;
use rng::Rng;
use trace_runtime::{current_op, in_op, traced_op};

/// The size of a convolution.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dims {
    pub(crate) images: usize,
    pub(crate) channels: usize,
    pub(crate) side: usize,
    pub(crate) filters: usize,
    pub(crate) kernel: usize,
}

impl Dims {
    /// The side of the output: no padding, stride one.
    pub(crate) fn output_side(&self) -> usize {
        self.side - self.kernel + 1
    }

    pub(crate) fn random_input(&self, seed: u64) -> (Array4<f32>, Array4<f32>) {
        let mut rng = Rng::seeded(seed);
        let images = (self.images, self.channels, self.side, self.side);
        let filters = (self.filters, self.channels, self.kernel, self.kernel);
        let mut random = |dims| Array4::from_shape_simple_fn(dims, || rng.around_zero(1.0));
        (random(images), random(filters))
    }
}

/// Every image with every filter: `[n, c, h, w]` and `[f, c, k, k]` to `[n, f, h - k + 1, w - k + 1]`.
#[traced_op(kind = compute)]
pub(crate) fn conv2d(images: &Array4<f32>, filters: &Array4<f32>) -> Array4<f32> {
    let (count, channels, kernel, _) = filters.dim();
    let flat = filters
        .to_shape((count, channels * kernel * kernel))
        .expect("filters are contiguous");
    let (_, _, height, width) = images.dim();
    let output = (
        images.len_of(Axis(0)),
        count,
        height + 1 - kernel,
        width + 1 - kernel,
    );

    let mut result = Array4::zeros(output);
    // Worker threads have no parent op of their own. `in_op` gives them this one.
    let here = current_op();
    let pairs: Vec<_> = images.outer_iter().zip(result.outer_iter_mut()).collect();
    pairs.into_par_iter().for_each(|(image, mut slot)| {
        let convolved = in_op(&here, || conv_image(&image, &flat, kernel));
        slot.assign(&convolved);
    });
    result
}

#[traced_op(kind = compute)]
fn conv_image(image: &ArrayRef3<f32>, filters: &ArrayRef2<f32>, kernel: usize) -> Array3<f32> {
    let (_, height, width) = image.dim();
    let output = (filters.nrows(), height + 1 - kernel, width + 1 - kernel);
    let patches = im2col(image, kernel);
    matmul(filters, &patches)
        .into_shape_with_order(output)
        .expect("one column per pixel")
}

/// The pixels under the kernel, one column per output pixel.
#[traced_op(kind = memory)]
fn im2col(image: &ArrayRef3<f32>, kernel: usize) -> Array2<f32> {
    let (channels, height, width) = image.dim();
    let (rows, columns) = (height + 1 - kernel, width + 1 - kernel);
    let mut patches = Array2::zeros((channels * kernel * kernel, rows * columns));
    for channel in 0..channels {
        for y in 0..kernel {
            for x in 0..kernel {
                let seen = image.slice(s![channel, y..y + rows, x..x + columns]);
                let mut row = patches.row_mut((channel * kernel + y) * kernel + x);
                for (slot, pixel) in row.iter_mut().zip(seen) {
                    *slot = *pixel;
                }
            }
        }
    }
    patches
}

#[traced_op(kind = compute, flops = 2 * a.nrows() * a.ncols() * b.ncols())]
fn matmul(a: &ArrayRef2<f32>, b: &ArrayRef2<f32>) -> Array2<f32> {
    a.dot(b)
}

/// The same convolution by its definition, one output element at a time.
pub(crate) fn direct(images: &Array4<f32>, filters: &Array4<f32>, at: [usize; 4]) -> f32 {
    let [image, filter, y, x] = at;
    let (_, channels, kernel, _) = filters.dim();
    let seen = images.slice(s![image, ..channels, y..y + kernel, x..x + kernel]);
    (&seen * &filters.index_axis(Axis(0), filter)).sum()
}
