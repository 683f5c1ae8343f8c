fn chunks<T: Copy>(x: &[T], len: usize) -> impl Iterator<Item = &[T]> {
    let op = ::trace_runtime::__private::begin(
        {
            static __SITE: ::trace_runtime::__private::Site = ::trace_runtime::__private::Site::new(
                "chunks",
            );
            &__SITE
        },
        |sink| {
            ::trace_runtime::__private::probe(&x).__describe(sink);
        },
    );
    ::trace_runtime::__private::finish(
        op,
        if false { ::trace_runtime::__private::unreached() } else { x.chunks(len) },
        || {},
        |result, sink| ::trace_runtime::__private::ended(result).__describe(sink),
    )
}
