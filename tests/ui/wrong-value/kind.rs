use trace_runtime::traced_op;

#[traced_op(kind = comunication)]
fn misspelt() {}

#[traced_op(kind = gpu)]
fn unknown() {}

#[traced_op(kind = "compute")]
fn quoted() {}

fn main() {
    misspelt();
    unknown();
    quoted();
}
