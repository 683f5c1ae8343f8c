use trace_runtime::TensorLike;

#[derive(TensorLike)]
union Bits {
    float: f32,
    word: u32,
}

#[derive(TensorLike)]
#[tensor_like(skip)]
struct Linear {
    #[tensor_like(skpi)]
    weight: Vec<f32>,
    #[tensor_like(crate = trace_runtime)]
    bias: Vec<f32>,
    #[tensor_like]
    scale: Vec<f32>,
    #[tensor_like(crate)]
    shift: Vec<f32>,
}

#[derive(TensorLike)]
enum Cache {
    #[tensor_like(skip)]
    Full(Vec<f32>),
    Paged(#[tensor_like(skip, all)] Vec<f32>),
}

fn main() {
    let _ = Bits { word: 0 };
    let _ = [Cache::Full(vec![]), Cache::Paged(vec![])];
    let _ = Linear {
        weight: vec![],
        bias: vec![],
        scale: vec![],
        shift: vec![],
    };
}
