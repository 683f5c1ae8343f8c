pub fn window<'a>(x: &'a mut Tensor, at: usize) -> Result<&'a mut Tensor, Error> {
    let op = ::trace_runtime::__private::begin(
        {
            static __SITE: ::trace_runtime::__private::Site = ::trace_runtime::__private::Site::new(
                "window",
            );
            &__SITE
        },
        |sink| {
            ::trace_runtime::__private::probe(&x).__describe(sink);
        },
    );
    let result: Result<&'a mut Tensor, Error> = ::trace_runtime::__private::call::<
        Result<&'a mut Tensor, Error>,
        _,
    >(move || {
        if at == 0 {
            return Ok(x);
        }
        x.narrow(at)
    });
    op.end(|sink| ::trace_runtime::__private::ended(&result).__describe(sink));
    result
}
