use trace_runtime::traced_op;

trait Layer {
    #[traced_op]
    fn forward(&self, x: &[f32]) -> Vec<f32>;
}

struct Identity;

impl Layer for Identity {
    fn forward(&self, x: &[f32]) -> Vec<f32> {
        x.to_vec()
    }
}

fn main() {
    Identity.forward(&[]);
}
