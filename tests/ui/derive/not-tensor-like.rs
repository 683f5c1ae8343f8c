use std::net::Ipv4Addr;
use trace_runtime::TensorLike;

#[derive(TensorLike)]
struct Layer<A> {
    weight: Vec<f32>,
    activation: A,
}

fn describe(_: &impl TensorLike) {}

fn main() {
    let layer = Layer { weight: vec![], activation: Ipv4Addr::LOCALHOST };
    describe(&layer);
    let _ = (layer.weight, layer.activation);
}
