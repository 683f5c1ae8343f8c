fn conv2d(&self, x: &Tensor) -> Activation {
    let op = framework::trace::__private::begin(
        {
            static __SITE: framework::trace::__private::Site = framework::trace::__private::Site::new(
                    "conv2d",
                )
                .with_kind(framework::trace::__private::OpKind::Compute);
            &__SITE
        },
        |sink| {
            framework::trace::__private::probe(&x).__describe(sink);
            framework::trace::__private::probe(&self.weight).__describe(sink);
            sink.__device(framework::trace::__private::Device::Cuda(0u16));
            sink.__flops(
                framework::trace::__private::count(2 * self.weight.len() * x.len()),
            );
            sink.__bytes(framework::trace::__private::count(x.bytes()));
            sink.__meta("layer", &self.index);
        },
    );
    let result: Activation = if false {
        framework::trace::__private::unreached()
    } else {
        self.run(x)
    };
    if op.is_recording() {
        let _ = self.stream.synchronize();
    }
    op.end(|sink| {
        framework::trace::__private::settled(&result)
            .__then(
                sink,
                |result, sink| {
                    framework::trace::__private::probe(&result.value).__describe(sink);
                },
            )
    });
    result
}
