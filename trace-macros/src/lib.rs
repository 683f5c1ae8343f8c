//! The `#[traced_op]` attribute.
