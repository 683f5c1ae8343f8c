fn split(x: (Tensor, Config), at: usize) -> Result<(Tensor, Tensor, Instant), Error> {
    let mut op = ::trace_runtime::__private::begin(
        ::trace_runtime::__private::concat!(
            "split\0", ::trace_runtime::__private::module_path!(), "\0"
        ),
        (
            ::trace_runtime::__private::probe(&x.0).__tensors(),
            ::trace_runtime::__private::probe(&x.1).__tensors(),
        ),
    );
    let result: Result<(Tensor, Tensor, Instant), Error> = if false {
        ::trace_runtime::__private::unreached()
    } else {
        x.0.split(at, &x.1)
    };
    ::trace_runtime::__private::Op::end(
        &mut op,
        ::trace_runtime::__private::success(&result)
            .__describe(|value, sink| {
                ::trace_runtime::__private::Describe::describe(
                    ::trace_runtime::__private::probe(&value.0).__tensors(),
                    sink,
                );
                ::trace_runtime::__private::Describe::describe(
                    ::trace_runtime::__private::probe(&value.1).__tensors(),
                    sink,
                );
                ::trace_runtime::__private::Describe::describe(
                    ::trace_runtime::__private::probe(&value.2).__tensors(),
                    sink,
                );
            }),
    );
    result
}
