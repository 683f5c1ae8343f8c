async fn all_reduce(x: Tensor, group: &Group) -> Result<Tensor, Error> {
    let mut op = ::trace_runtime::__private::begin_async(
        "all_reduce",
        ::trace_runtime::__private::None,
        (
            ::trace_runtime::__private::probe(&x).__seen(),
            ::trace_runtime::__private::probe(group).__seen(),
        ),
    );
    let returns = ::trace_runtime::__private::Returns::<Result<Tensor, Error>>::TYPE;
    let result: Result<Tensor, Error> = ::trace_runtime::__private::AsyncOp::run(
            &mut op,
            async move {
                if false {
                    return returns.unreached();
                }
                let mut x = x;
                group.reduce(&mut x).await?;
                Ok(x)
            },
        )
        .await;
    op.end(::trace_runtime::__private::ended(&result).__seen());
    result
}
