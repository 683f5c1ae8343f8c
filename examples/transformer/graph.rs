//! A small decoder-only transformer on ndarray: pre-norm blocks, causal attention with a key/value
//! cache, a GELU perceptron, and tokens sampled from the most likely few.

#[path = "../seeded/rng.rs"]
mod rng;
#[path = "../planted/slowdown.rs"]
mod slowdown;

use ndarray::{Array1, Array2, ArrayRef1, ArrayRef2, Axis, concatenate, s};
use rng::Rng;
use slowdown::planted;
use std::time::Duration;
use trace_runtime::traced_op;

/// The size of a model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    pub(crate) width: usize,
    pub(crate) heads: usize,
    pub(crate) layers: usize,
    pub(crate) hidden: usize,
    pub(crate) vocabulary: usize,
    pub(crate) context: usize,
}

/// A model, the number of tokens in the prompt, and the number of tokens to generate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) config: Config,
    pub(crate) prompt: usize,
    pub(crate) written: usize,
}

impl Run {
    /// The run of the example.
    pub(crate) const EXAMPLE: Run = Run {
        config: Config {
            width: 256,
            heads: 8,
            layers: 4,
            hidden: 1024,
            vocabulary: 8192,
            context: 256,
        },
        prompt: 96,
        written: 48,
    };

    pub(crate) fn prompt(&self) -> Vec<u32> {
        let vocabulary = self.config.vocabulary as u32;
        (0..self.prompt as u32)
            .map(|index| index * 83 % vocabulary)
            .collect()
    }
}

/// A model with random weights. The same seed gives the same weights.
pub(crate) struct Transformer {
    config: Config,
    tokens: Array2<f32>,
    positions: Array2<f32>,
    blocks: Vec<Block>,
    norm: LayerNorm,
    /// A separate matrix rather than the transpose of the embedding, because a product with a transposed matrix has
    /// another cost than the others.
    unembed: Array2<f32>,
}

impl Transformer {
    pub(crate) fn new(config: Config, seed: u64) -> Transformer {
        let rng = &mut Rng::seeded(seed);
        let width = config.width;
        Transformer {
            config,
            tokens: weights(rng, config.vocabulary, width),
            positions: weights(rng, config.context, width),
            blocks: (0..config.layers)
                .map(|_| Block::new(rng, &config))
                .collect(),
            norm: LayerNorm::new(width),
            unembed: weights(rng, width, config.vocabulary),
        }
    }

    /// Extends `prompt` by `count` tokens, one forward pass each; the first pass reads the prompt.
    #[traced_op(name = "generate", skip(prompt))]
    pub(crate) fn generate(&self, prompt: &[u32], count: usize, seed: u64) -> Vec<u32> {
        let mut rng = Rng::seeded(seed);
        let mut cache = Cache::new(&self.config);
        let mut text = prompt.to_vec();
        let mut unread = prompt.to_vec();
        for _ in 0..count {
            let logits = self.forward(&unread, &mut cache);
            let chance = rng.uniform();
            let token = slowdown::calls("sample", || sample(&logits, 40, chance));
            slowdown::added(Duration::from_micros(400));
            text.push(token);
            unread = vec![token];
        }
        text
    }

    /// The logits of the token that follows `tokens`; the tokens before them are in the cache.
    #[traced_op(name = "forward", skip(cache))]
    pub(crate) fn forward(&self, tokens: &[u32], cache: &mut Cache) -> Array1<f32> {
        let start = cache.len();
        let mut x = embed(tokens, &self.tokens, &self.positions, start);
        for (block, cache) in self.blocks.iter().zip(&mut cache.layers) {
            x = block.forward(x, cache);
        }
        let x = self.norm.forward(&x);
        let last = x.slice(s![-1.., ..]);
        matmul(&last, &self.unembed).remove_axis(Axis(0))
    }
}

/// The keys and values of the tokens that were read, per layer.
pub(crate) struct Cache {
    layers: Vec<LayerCache>,
}

struct LayerCache {
    keys: Array2<f32>,
    values: Array2<f32>,
}

impl Cache {
    pub(crate) fn new(config: &Config) -> Cache {
        let empty = || Array2::zeros((0, config.width));
        let layer = |_| LayerCache {
            keys: empty(),
            values: empty(),
        };
        Cache {
            layers: (0..config.layers).map(layer).collect(),
        }
    }

    fn len(&self) -> usize {
        self.layers.first().map_or(0, |layer| layer.keys.nrows())
    }
}

struct Block {
    attention_norm: LayerNorm,
    attention: Attention,
    mlp_norm: LayerNorm,
    mlp: Mlp,
}

impl Block {
    fn new(rng: &mut Rng, config: &Config) -> Block {
        Block {
            attention_norm: LayerNorm::new(config.width),
            attention: Attention::new(rng, config),
            mlp_norm: LayerNorm::new(config.width),
            mlp: Mlp::new(rng, config),
        }
    }

    #[traced_op(name = "block", skip(cache))]
    fn forward(&self, x: Array2<f32>, cache: &mut LayerCache) -> Array2<f32> {
        let attended = self
            .attention
            .forward(&self.attention_norm.forward(&x), cache);
        let x = add(x, &attended);
        let moved = self.mlp.forward(&self.mlp_norm.forward(&x));
        add(x, &moved)
    }
}

struct Attention {
    heads: usize,
    query: Array2<f32>,
    key: Array2<f32>,
    value: Array2<f32>,
    output: Array2<f32>,
}

impl Attention {
    fn new(rng: &mut Rng, config: &Config) -> Attention {
        let mut square = || weights(rng, config.width, config.width);
        Attention {
            heads: config.heads,
            query: square(),
            key: square(),
            value: square(),
            output: square(),
        }
    }

    #[traced_op(name = "attention", skip(cache))]
    fn forward(&self, x: &Array2<f32>, cache: &mut LayerCache) -> Array2<f32> {
        let queries = matmul(x, &self.query);
        let keys = matmul(x, &self.key);
        let values = matmul(x, &self.value);
        cache.keys = append(&cache.keys, &keys);
        cache.values = append(&cache.values, &values);

        let head_width = x.ncols() / self.heads;
        let mut mixed = Array2::zeros(x.dim());
        for head in 0..self.heads {
            let columns = s![.., head * head_width..(head + 1) * head_width];
            let keys = cache.keys.slice(columns);
            let scores = matmul(&queries.slice(columns), &keys.t());
            let weights = causal_softmax(scores, (head_width as f32).sqrt().recip());
            let head = matmul(&weights, &cache.values.slice(columns));
            mixed.slice_mut(columns).assign(&head);
        }
        matmul(&mixed, &self.output)
    }
}

struct Mlp {
    up: Array2<f32>,
    down: Array2<f32>,
}

impl Mlp {
    fn new(rng: &mut Rng, config: &Config) -> Mlp {
        Mlp {
            up: weights(rng, config.width, config.hidden),
            down: weights(rng, config.hidden, config.width),
        }
    }

    #[traced_op(name = "mlp")]
    fn forward(&self, x: &Array2<f32>) -> Array2<f32> {
        let hidden = gelu(matmul(x, &self.up));
        matmul(&hidden, &self.down)
    }
}

struct LayerNorm {
    gain: Array1<f32>,
    bias: Array1<f32>,
}

impl LayerNorm {
    fn new(width: usize) -> LayerNorm {
        LayerNorm {
            gain: Array1::ones(width),
            bias: Array1::zeros(width),
        }
    }

    #[traced_op(name = "layer_norm")]
    fn forward(&self, x: &ArrayRef2<f32>) -> Array2<f32> {
        let mut normed = x.to_owned();
        for mut row in normed.rows_mut() {
            let mean = row.sum() / row.len() as f32;
            row -= mean;
            let variance = row.dot(&row) / row.len() as f32;
            row *= (variance + 1e-5).sqrt().recip();
            row *= &self.gain;
            row += &self.bias;
        }
        normed
    }
}

#[traced_op(kind = compute, flops = 2 * a.nrows() * a.ncols() * b.ncols())]
fn matmul(a: &ArrayRef2<f32>, b: &ArrayRef2<f32>) -> Array2<f32> {
    planted("matmul", a.shape(), || a.dot(b))
}

/// Scales each row of `scores` and turns it into weights that sum to one. A token uses only itself and the tokens
/// before it; the last row belongs to the last column.
#[traced_op(kind = compute)]
fn causal_softmax(mut scores: Array2<f32>, scale: f32) -> Array2<f32> {
    let before = scores.ncols() - scores.nrows();
    for (index, mut row) in scores.rows_mut().into_iter().enumerate() {
        let (mut seen, mut unseen) = row.view_mut().split_at(Axis(0), before + index + 1);
        unseen.fill(0.0);
        let largest = seen.fold(f32::NEG_INFINITY, |largest, &x| largest.max(x));
        seen.mapv_inplace(|x| ((x - largest) * scale).exp());
        let sum = seen.sum();
        seen /= sum;
    }
    scores
}

#[traced_op(kind = compute)]
fn gelu(mut x: Array2<f32>) -> Array2<f32> {
    let gelu = |x: f32| 0.5 * x * (1.0 + (0.797_884_6 * (x + 0.044_715 * x.powi(3))).tanh());
    let dims = [x.nrows(), x.ncols()];
    planted("gelu", &dims, || x.mapv_inplace(gelu));
    x
}

#[traced_op(kind = compute)]
fn add(mut x: Array2<f32>, y: &Array2<f32>) -> Array2<f32> {
    x += y;
    x
}

#[traced_op(kind = memory, skip(table, positions))]
fn embed(
    tokens: &[u32],
    table: &Array2<f32>,
    positions: &Array2<f32>,
    start: usize,
) -> Array2<f32> {
    let rows: Vec<_> = tokens.iter().map(|&token| token as usize).collect();
    let mut x = table.select(Axis(0), &rows);
    x += &positions.slice(s![start..start + rows.len(), ..]);
    x
}

#[traced_op(name = "cache_append", kind = memory)]
fn append(cached: &ArrayRef2<f32>, new: &ArrayRef2<f32>) -> Array2<f32> {
    concatenate![Axis(0), cached.view(), new.view()]
}

/// One of the `candidates` most likely tokens, chosen by `chance` in `0.0 .. 1.0`.
#[traced_op(kind = compute)]
fn sample(logits: &ArrayRef1<f32>, candidates: usize, chance: f32) -> u32 {
    // Sorts the whole vocabulary to find a few candidates. This is intended: the trace shows its cost.
    let mut ranked: Vec<usize> = (0..logits.len()).collect();
    planted("sample", logits.shape(), || {
        ranked.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
    });
    ranked.truncate(candidates);

    let largest = logits[ranked[0]];
    let weights: Vec<f32> = ranked
        .iter()
        .map(|&token| (logits[token] - largest).exp())
        .collect();
    let mut left = chance * weights.iter().sum::<f32>();
    for (&token, weight) in ranked.iter().zip(weights) {
        left -= weight;
        if left < 0.0 {
            return token as u32;
        }
    }
    ranked[0] as u32
}

fn weights(rng: &mut Rng, rows: usize, columns: usize) -> Array2<f32> {
    let deviation = (rows as f32).sqrt().recip();
    Array2::from_shape_simple_fn((rows, columns), || rng.around_zero(deviation))
}
