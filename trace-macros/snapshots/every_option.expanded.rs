fn conv2d(&self, x: &Tensor) -> Activation {
    let mut op = framework::trace::__private::begin_kind(
        "conv2d",
        framework::trace::__private::OpKind::Compute,
        framework::trace::__private::told(|sink| {
            framework::trace::__private::probe(&x).__seen().__tell(sink);
            framework::trace::__private::probe(&self.weight).__seen().__tell(sink);
            sink.__device(framework::trace::__private::Device::Cuda(0u16));
            sink.__flops(
                framework::trace::__private::count(2 * self.weight.len() * x.len()),
            );
            sink.__bytes(framework::trace::__private::count(x.bytes()));
            sink.__meta("layer", &self.index);
        }),
    );
    let result: Activation = if false {
        framework::trace::__private::unreached()
    } else {
        self.run(x)
    };
    if op.is_recording() {
        let _ = self.stream.synchronize();
    }
    framework::trace::__private::Op::end(
        &mut op,
        framework::trace::__private::settled(&result)
            .__then(|result, sink| {
                framework::trace::__private::probe(&result.value).__seen().__tell(sink);
            }),
    );
    result
}
