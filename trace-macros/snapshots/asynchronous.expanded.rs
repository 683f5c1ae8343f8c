async fn all_reduce(x: Tensor, group: &Group) -> Result<Tensor, Error> {
    let mut op = ::trace_runtime::__private::begin_async(
        {
            static __SITE: ::trace_runtime::__private::Site = ::trace_runtime::__private::Site::new(
                "all_reduce",
            );
            &__SITE
        },
        |sink| {
            ::trace_runtime::__private::probe(&x).__describe(sink);
            ::trace_runtime::__private::probe(&group).__describe(sink);
        },
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
    op.end(|sink| ::trace_runtime::__private::ended(&result).__describe(sink));
    result
}
