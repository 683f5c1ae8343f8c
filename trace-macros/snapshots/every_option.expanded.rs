fn conv2d(&self, x: &Tensor) -> Activation {
    let mut op = framework::trace::__private::begin_kind(
        framework::trace::__private::concat!(
            "conv2d\0", framework::trace::__private::module_path!(), "\0"
        ),
        framework::trace::__private::OpKind::Compute,
        framework::trace::__private::described_by(|sink| {
            framework::trace::__private::Describe::describe(
                framework::trace::__private::probe(&x).__tensors(),
                sink,
            );
            framework::trace::__private::Describe::describe(
                framework::trace::__private::probe(&self.weight).__tensors(),
                sink,
            );
            sink.__device(|| framework::trace::__private::Device::Cuda(0u16));
            sink.__flops(|| framework::trace::__private::count(
                2 * self.weight.len() * x.len(),
            ));
            sink.__bytes(|| framework::trace::__private::count(x.bytes()));
            sink.__meta("layer", || framework::trace::__private::text(&self.index));
        }),
    );
    let result: Activation = if false {
        framework::trace::__private::unreached()
    } else {
        self.run(x)
    };
    if framework::trace::__private::Op::begin_sync(&mut op) {
        let _ = self.stream.synchronize();
    }
    framework::trace::__private::Op::end(
        &mut op,
        framework::trace::__private::success(&result)
            .__describe(|result, sink| {
                framework::trace::__private::Describe::describe(
                    framework::trace::__private::probe(&result.value).__tensors(),
                    sink,
                );
            }),
    );
    result
}
