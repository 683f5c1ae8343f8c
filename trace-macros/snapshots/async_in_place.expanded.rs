async fn update(&mut self, x: &mut Tensor) {
    let op = ::trace_runtime::__private::begin_async(
        {
            struct __Here;
            &::trace_runtime::__private::Method(
                ::trace_runtime::__private::type_name::<__Here>,
                ::trace_runtime::__private::concat!(
                    ::trace_runtime::__private::module_path!(), "\0"
                ),
            )
        },
        ::trace_runtime::__private::None,
        (
            ::trace_runtime::__private::probe(&*self).__tensors(),
            ::trace_runtime::__private::probe(&*x).__tensors(),
        ),
    );
    let (op, _) = ::trace_runtime::__private::running(
            op,
            async {
                if false {
                    let _ = &mut *self;
                    return;
                }
                let mut x = &mut *x;
                self.step(x).await;
            },
        )
        .await;
    ::trace_runtime::__private::AsyncOp::end(
        op,
        (
            ::trace_runtime::__private::probe(&*self).__tensors(),
            ::trace_runtime::__private::probe(&*x).__tensors(),
        ),
    );
}
