fn load(path: String) -> Pin<Box<dyn Future<Output = Tensor> + Send>> {
    let flow = ::trace_runtime::__private::Returns::<
        Pin<Box<dyn Future<Output = Tensor> + Send>>,
    >::TYPE
        .__flow();
    let op = flow
        .begin(
            ::trace_runtime::__private::concat!(
                "load\0", ::trace_runtime::__private::module_path!(), "\0"
            ),
            ::trace_runtime::__private::None,
            (),
        );
    let result: Pin<Box<dyn Future<Output = Tensor> + Send>> = if false {
        ::trace_runtime::__private::unreached()
    } else {
        Box::pin(async move { read(path).await })
    };
    flow.end(
        op,
        result,
        |result, sink| ::trace_runtime::__private::Describe::describe(
            ::trace_runtime::__private::outcome(result).__tensors(),
            sink,
        ),
    )
}
