impl<T: Float> Layer for Linear<T> {
    type Output = Tensor<T>;
    fn forward(&self, x: &Tensor<T>) -> Self::Output {
        let mut op = ::trace_runtime::__private::begin_kind(
            ::trace_runtime::__private::concat!(
                "Linear::forward\0", ::trace_runtime::__private::module_path!(), "\0"
            ),
            ::trace_runtime::__private::OpKind::Compute,
            (
                ::trace_runtime::__private::probe(self).__tensors(),
                ::trace_runtime::__private::probe(x).__tensors(),
            ),
        );
        let result: Self::Output = if false {
            ::trace_runtime::__private::unreached()
        } else {
            x.matmul(&self.weight)
        };
        ::trace_runtime::__private::Op::end(
            &mut op,
            ::trace_runtime::__private::outcome(&result).__tensors(),
        );
        result
    }
    fn name(&self) -> &str {
        "linear"
    }
}
