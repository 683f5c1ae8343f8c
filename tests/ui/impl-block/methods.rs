use trace_runtime::traced_op;

struct Linear;

#[traced_op(skip(inptu))]
impl Linear {
    #[traced_op(skip, name = "quiet")]
    fn quiet(&self) {}

    #[traced_op(kidn = compute)]
    fn forward(&self, input: &[f32]) -> usize {
        input.len()
    }

    #[traced_op]
    const fn constant(&self) -> usize {
        1
    }
}

fn main() {
    Linear.quiet();
    Linear.forward(&[]);
    Linear.constant();
}
