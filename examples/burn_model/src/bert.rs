//! BERT-mini (Turc et al., 2019) from burn's own modules, with random weights.
//!
//! burn itself is not changed: each kind of module is called through one annotated function.

use burn::module::Module;
use burn::nn::attention::{MhaInput, MultiHeadAttention, MultiHeadAttentionConfig};
use burn::nn::{Embedding, EmbeddingConfig, LayerNorm, LayerNormConfig, Linear, LinearConfig};
use burn::tensor::activation::gelu;
use burn::tensor::{Device, Int, Tensor};
use trace_runtime::traced_op;

/// The size of a BERT model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    pub(crate) width: usize,
    pub(crate) heads: usize,
    pub(crate) layers: usize,
    pub(crate) vocabulary: usize,
    pub(crate) context: usize,
}

/// The published size: 11.2 million parameters.
pub(crate) const MINI: Config = Config {
    width: 256,
    heads: 4,
    layers: 4,
    vocabulary: 30_522,
    context: 512,
};

#[derive(Module, Debug)]
pub(crate) struct Bert {
    words: Embedding,
    positions: Embedding,
    segments: Embedding,
    norm: LayerNorm,
    layers: Vec<Layer>,
    pooler: Linear,
}

impl Bert {
    pub(crate) fn new(config: &Config, device: &Device) -> Bert {
        let embedding = |count| EmbeddingConfig::new(count, config.width).init(device);
        Bert {
            words: embedding(config.vocabulary),
            positions: embedding(config.context),
            segments: embedding(2),
            norm: norm(config, device),
            layers: (0..config.layers)
                .map(|_| Layer::new(config, device))
                .collect(),
            pooler: LinearConfig::new(config.width, config.width).init(device),
        }
    }

    /// One vector for each sequence of tokens: the output at the first position, through the pooler.
    #[traced_op(name = "bert")]
    pub(crate) fn forward(&self, tokens: &Tensor<2, Int>) -> Tensor<2> {
        let mut x = layer_norm(&self.norm, self.embed(tokens));
        for layer in &self.layers {
            x = layer.forward(x);
        }
        let first = x.narrow(1, 0, 1);
        linear(&self.pooler, first).squeeze_dim::<2>(1).tanh()
    }

    #[traced_op(name = "embed", kind = memory)]
    fn embed(&self, tokens: &Tensor<2, Int>) -> Tensor<3> {
        let [_, length] = tokens.dims();
        let positions = Tensor::arange(0..length as i64, &tokens.device()).unsqueeze::<2>();
        let words = self.words.forward(tokens.clone());
        let segments = self.segments.forward(tokens.zeros_like());
        words + self.positions.forward(positions) + segments
    }
}

#[derive(Module, Debug)]
struct Layer {
    attention: MultiHeadAttention,
    attention_norm: LayerNorm,
    up: Linear,
    down: Linear,
    output_norm: LayerNorm,
}

impl Layer {
    fn new(config: &Config, device: &Device) -> Layer {
        let width = config.width;
        Layer {
            attention: MultiHeadAttentionConfig::new(width, config.heads).init(device),
            attention_norm: norm(config, device),
            up: LinearConfig::new(width, 4 * width).init(device),
            down: LinearConfig::new(4 * width, width).init(device),
            output_norm: norm(config, device),
        }
    }

    #[traced_op(name = "layer")]
    fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let attended = attention(&self.attention, x.clone());
        let x = layer_norm(&self.attention_norm, add(x, attended));
        let moved = feed_forward(&self.up, &self.down, x.clone());
        layer_norm(&self.output_norm, add(x, moved))
    }
}

#[traced_op(kind = compute, flops = attention_flops(x.dims()))]
fn attention(module: &MultiHeadAttention, x: Tensor<3>) -> Tensor<3> {
    module.forward(MhaInput::self_attn(x)).context
}

/// Four projections, the scores and the mixing.
pub(crate) fn attention_flops([batch, length, width]: [usize; 3]) -> usize {
    2 * batch * length * (4 * width * width + 2 * length * width)
}

#[traced_op(inputs(&x))]
fn feed_forward(up: &Linear, down: &Linear, x: Tensor<3>) -> Tensor<3> {
    linear(down, activate(linear(up, x)))
}

#[traced_op(
    kind = compute,
    inputs(&x, &*module.weight),
    flops = 2 * x.shape().num_elements() * module.weight.dims()[1]
)]
fn linear(module: &Linear, x: Tensor<3>) -> Tensor<3> {
    module.forward(x)
}

#[traced_op(name = "gelu", kind = compute)]
fn activate(x: Tensor<3>) -> Tensor<3> {
    gelu(x)
}

#[traced_op(kind = compute)]
fn layer_norm(module: &LayerNorm, x: Tensor<3>) -> Tensor<3> {
    module.forward(x)
}

#[traced_op(kind = compute)]
fn add(x: Tensor<3>, y: Tensor<3>) -> Tensor<3> {
    x + y
}

fn norm(config: &Config, device: &Device) -> LayerNorm {
    LayerNormConfig::new(config.width).init(device)
}
