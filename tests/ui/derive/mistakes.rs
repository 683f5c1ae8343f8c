use trace_runtime::TensorLike;

#[derive(TensorLike)]
union Bits {
    float: f32,
    word: u32,
}

#[derive(TensorLike)]
struct Linear {
    #[tensor_like(skpi)]
    weight: Vec<f32>,
}

#[derive(TensorLike)]
#[tensor_like(skip)]
struct Whole {
    weight: Vec<f32>,
}

fn main() {
    let _ = Bits { word: 0 };
    let _ = Linear { weight: vec![] }.weight;
    let _ = Whole { weight: vec![] }.weight;
}
