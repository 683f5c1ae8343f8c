use trace_runtime::traced_op;

#[traced_op]
pub const fn elements(rows: usize, columns: usize) -> usize {
    rows * columns
}

const SIX: usize = elements(2, 3);

fn main() {
    assert_eq!(SIX, 6);
}
