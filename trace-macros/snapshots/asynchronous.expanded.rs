async fn all_reduce(x: Tensor, group: &Group) -> Result<Tensor, Error> {
    let returns = ::trace_runtime::__private::Returns::<Result<Tensor, Error>>::TYPE;
    let (op, result) = ::trace_runtime::__private::starting(move || {
            let op = ::trace_runtime::__private::begin_async(
                ::trace_runtime::__private::concat!(
                    "all_reduce\0", ::trace_runtime::__private::module_path!(), "\0"
                ),
                ::trace_runtime::__private::None,
                (
                    ::trace_runtime::__private::probe(&x).__tensors(),
                    ::trace_runtime::__private::probe(group).__tensors(),
                ),
            );
            (
                op,
                async move {
                    if false {
                        let _ = &x;
                        return returns.unreached();
                    }
                    let mut x = x;
                    group.reduce(&mut x).await?;
                    Ok(x)
                },
            )
        })
        .await;
    ::trace_runtime::__private::AsyncOp::end(
        op,
        ::trace_runtime::__private::outcome(&result).__tensors(),
    );
    result
}
