fn matmul(a: &Tensor, b: &Tensor) -> Tensor {
    let mut op = ::trace_runtime::__private::begin(
        "matmul",
        (
            ::trace_runtime::__private::probe(a).__seen(),
            ::trace_runtime::__private::probe(b).__seen(),
        ),
    );
    let result: Tensor = if false {
        ::trace_runtime::__private::unreached()
    } else {
        a.matmul(b)
    };
    op.end(::trace_runtime::__private::ended(&result).__seen());
    result
}
