fn axpy(alpha: f32, x: &[f32], y: &mut [f32]) {
    let mut op = ::trace_runtime::__private::begin(
        ::trace_runtime::__private::concat!(
            "axpy\0", ::trace_runtime::__private::module_path!(), "\0"
        ),
        (
            ::trace_runtime::__private::probe(x).__tensors(),
            ::trace_runtime::__private::probe(&*y).__tensors(),
        ),
    );
    let _unit: () = if false {} else {
        let y = &mut *y;
        for (y, x) in y.iter_mut().zip(x) {
            *y += alpha * x;
        }
    };
    ::trace_runtime::__private::Op::end(
        &mut op,
        ::trace_runtime::__private::probe(&*y).__tensors(),
    );
}
