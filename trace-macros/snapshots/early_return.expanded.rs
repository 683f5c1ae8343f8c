pub fn window<'a>(x: &'a mut Tensor, at: usize) -> Result<&'a mut Tensor, Error> {
    let mut op = ::trace_runtime::__private::begin(
        ::trace_runtime::__private::concat!(
            "window\0", ::trace_runtime::__private::module_path!(), "\0"
        ),
        ::trace_runtime::__private::probe(&*x).__tensors(),
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
    ::trace_runtime::__private::Op::end(
        &mut op,
        ::trace_runtime::__private::outcome(&result).__tensors(),
    );
    result
}
