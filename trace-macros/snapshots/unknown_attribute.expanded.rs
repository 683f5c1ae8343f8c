impl Linear {
    #[cfg_attr(feature = "quiet", traced_op(skip))]
    #[::trace_runtime::__private::traced_op(
        __block("Linear", kind = compute),
        crate = ::trace_runtime
    )]
    fn forward(&self, x: &Tensor) -> Tensor {
        x.matmul(&self.weight)
    }
}
