//! ResNet-18 (He et al., 2015) from candle's own layers, with random weights.
//!
//! candle itself is not changed: each kind of layer is called through one annotated function.

#[path = "../../seeded/rng.rs"]
mod rng;

use candle_core::{Device, Module, ModuleT, Result, Tensor};
use candle_nn::{BatchNorm, Conv2d, Conv2dConfig, Linear};
use rng::Rng;
use trace_runtime::traced_op;

pub(crate) const CLASSES: usize = 1000;

/// The network. Its input is `[n, 3, side, side]`; `side` is a multiple of 32.
pub(crate) struct ResNet {
    stem: ConvNorm,
    stages: Vec<Vec<Residual>>,
    classifier: Linear,
}

impl ResNet {
    pub(crate) fn new(seed: u64) -> Result<ResNet> {
        let rng = &mut Rng::seeded(seed);
        let stem = ConvNorm::new(rng, 3, 64, 7, 2)?;
        let mut stages = Vec::new();
        let mut channels = 64;
        for (width, stride) in [(64, 1), (128, 2), (256, 2), (512, 2)] {
            let first = Residual::new(rng, channels, width, stride)?;
            let second = Residual::new(rng, width, width, 1)?;
            stages.push(vec![first, second]);
            channels = width;
        }
        let weight = random(rng, &[CLASSES, channels], channels)?;
        let bias = Tensor::zeros(CLASSES, weight.dtype(), &Device::Cpu)?;
        let classifier = Linear::new(weight, Some(bias));
        Ok(ResNet {
            stem,
            stages,
            classifier,
        })
    }

    /// The logits of each class for each image.
    #[traced_op(name = "resnet18")]
    pub(crate) fn forward(&self, images: &Tensor) -> Result<Tensor> {
        let x = relu(&self.stem.forward(images)?)?;
        let mut x = max_pool(&x)?;
        for blocks in &self.stages {
            x = stage(blocks, &x)?;
        }
        linear(&self.classifier, &average_pool(&x)?)
    }
}

#[traced_op(inputs(x))]
fn stage(blocks: &[Residual], x: &Tensor) -> Result<Tensor> {
    blocks
        .iter()
        .try_fold(x.clone(), |x, block| block.forward(&x))
}

/// Two convolutions beside a shortcut.
struct Residual {
    first: ConvNorm,
    second: ConvNorm,
    shortcut: Option<ConvNorm>,
}

impl Residual {
    fn new(rng: &mut Rng, inputs: usize, outputs: usize, stride: usize) -> Result<Residual> {
        let reshapes = stride != 1 || inputs != outputs;
        Ok(Residual {
            first: ConvNorm::new(rng, inputs, outputs, 3, stride)?,
            second: ConvNorm::new(rng, outputs, outputs, 3, 1)?,
            shortcut: reshapes
                .then(|| ConvNorm::new(rng, inputs, outputs, 1, stride))
                .transpose()?,
        })
    }

    #[traced_op(name = "residual")]
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = relu(&self.first.forward(x)?)?;
        let y = self.second.forward(&y)?;
        let shortcut = match &self.shortcut {
            Some(shortcut) => shortcut.forward(x)?,
            None => x.clone(),
        };
        relu(&add(&y, &shortcut)?)
    }
}

/// A convolution and its batch normalisation.
struct ConvNorm {
    conv: Conv2d,
    norm: BatchNorm,
}

impl ConvNorm {
    fn new(
        rng: &mut Rng,
        inputs: usize,
        outputs: usize,
        kernel: usize,
        stride: usize,
    ) -> Result<Self> {
        let dims = [outputs, inputs, kernel, kernel];
        let config = Conv2dConfig {
            stride,
            padding: kernel / 2,
            ..Conv2dConfig::default()
        };
        let weight = random(rng, &dims, inputs * kernel * kernel)?;
        let (zeros, ones) = (
            Tensor::zeros(outputs, weight.dtype(), &Device::Cpu)?,
            Tensor::ones(outputs, weight.dtype(), &Device::Cpu)?,
        );
        let norm = BatchNorm::new(outputs, zeros.clone(), ones.clone(), ones, zeros, 1e-5)?;
        Ok(ConvNorm {
            conv: Conv2d::new(weight, None, config),
            norm,
        })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        batch_norm(&self.norm, &conv2d(&self.conv, x)?)
    }
}

#[traced_op(kind = compute, inputs(x, layer.weight()), flops = conv_flops(layer, x))]
fn conv2d(layer: &Conv2d, x: &Tensor) -> Result<Tensor> {
    layer.forward(x)
}

/// Two FLOPs per weight and output pixel; 0 if `x` is not a batch of images.
fn conv_flops(layer: &Conv2d, x: &Tensor) -> usize {
    let Ok((images, _, height, width)) = x.dims4() else {
        return 0;
    };
    let (config, kernel) = (layer.config(), layer.weight().dims()[3]);
    let side = |side: usize| (side + 2 * config.padding).saturating_sub(kernel) / config.stride + 1;
    2 * images * side(height) * side(width) * layer.weight().elem_count()
}

#[traced_op(kind = compute, inputs(x))]
fn batch_norm(layer: &BatchNorm, x: &Tensor) -> Result<Tensor> {
    layer.forward_t(x, false)
}

#[traced_op(
    kind = compute,
    inputs(x, layer.weight()),
    flops = 2 * x.dims()[0] * layer.weight().elem_count()
)]
fn linear(layer: &Linear, x: &Tensor) -> Result<Tensor> {
    layer.forward(x)
}

#[traced_op(kind = compute)]
fn relu(x: &Tensor) -> Result<Tensor> {
    x.relu()
}

#[traced_op(kind = compute)]
fn add(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    x + y
}

/// Maximum over windows of 3 × 3 pixels with stride 2.
#[traced_op(kind = compute)]
fn max_pool(x: &Tensor) -> Result<Tensor> {
    x.pad_with_same(2, 1, 1)?
        .pad_with_same(3, 1, 1)?
        .max_pool2d_with_stride(3, 2)
}

/// The mean of each channel.
#[traced_op(kind = compute)]
fn average_pool(x: &Tensor) -> Result<Tensor> {
    x.mean((2, 3))
}

/// Images to classify: random noise. The same seed gives the same images.
pub(crate) fn noise(images: usize, side: usize, seed: u64) -> Result<Tensor> {
    random(&mut Rng::seeded(seed), &[images, 3, side, side], 1)
}

/// Random weights with He initialisation for `fan_in` inputs.
fn random(rng: &mut Rng, dims: &[usize], fan_in: usize) -> Result<Tensor> {
    let deviation = (2.0 / fan_in as f32).sqrt();
    let count = dims.iter().product();
    let values = (0..count)
        .map(|_| rng.around_zero(deviation))
        .collect::<Vec<_>>();
    Tensor::from_vec(values, dims, &Device::Cpu)
}
