fn load(path: String) -> Pin<Box<dyn Future<Output = Tensor> + Send>> {
    let op = ::trace_runtime::__private::begin_deferred(
        "load",
        ::trace_runtime::__private::None,
        (),
    );
    let future: Pin<Box<dyn Future<Output = Tensor> + Send>> = if false {
        ::trace_runtime::__private::unreached()
    } else {
        Box::pin(async move { read(path).await })
    };
    if ::trace_runtime::__private::AsyncOp::is_recording(&op) {
        ::trace_runtime::__private::Box::pin(
            ::trace_runtime::__private::follow(
                op,
                future,
                || {},
                |result, sink| ::trace_runtime::__private::Describe::describe(
                    ::trace_runtime::__private::ended(result).__seen(),
                    sink,
                ),
            ),
        )
    } else {
        future
    }
}
