fn axpy(alpha: f32, x: &[f32], y: &mut [f32]) {
    let op = ::trace_runtime::__private::begin(
        {
            static __SITE: ::trace_runtime::__private::Site = ::trace_runtime::__private::Site::new(
                "axpy",
            );
            &__SITE
        },
        |sink| {
            ::trace_runtime::__private::probe(&x).__describe(sink);
            ::trace_runtime::__private::probe(&y).__describe(sink);
        },
    );
    let _unit: () = if false {} else {
        let y = &mut *y;
        for (y, x) in y.iter_mut().zip(x) {
            *y += alpha * x;
        }
    };
    op.end(|sink| {
        ::trace_runtime::__private::probe(&y).__describe(sink);
    });
}
