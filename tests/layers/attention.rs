use trace_runtime::{op, traced_op};

pub(crate) struct Attention;

impl Attention {
    #[traced_op]
    pub(crate) fn forward(&self, x: &[f32]) -> Vec<f32> {
        let sum: f32 = op!("softmax", inputs = [x], { x.iter().sum() });
        self.norm(x).iter().map(|x| x / sum).collect()
    }
}

#[traced_op]
impl Attention {
    fn norm(&self, x: &[f32]) -> Vec<f32> {
        x.to_vec()
    }
}
