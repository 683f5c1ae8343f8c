use trace_runtime::traced_op;

struct Linear;

#[traced_op(flops = 1, inputs(x), output(result), bytes = 2)]
impl Linear {
    fn forward(&self, x: &[f32]) -> Vec<f32> {
        x.to_vec()
    }
}

#[traced_op(skip)]
impl Linear {
    fn backward(&self) {}
}

#[traced_op(name = Linear::NAME)]
impl Linear {
    const NAME: &'static str = "linear";
}

fn main() {
    Linear.forward(&[]);
    Linear.backward();
    let _ = Linear::NAME;
}
