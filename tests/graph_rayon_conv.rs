//! Work that an op gives to a rayon pool is recorded as its children, on every thread.
#![cfg(feature = "enabled")]

#[path = "../examples/rayon_conv/graph.rs"]
mod graph;
mod tree;

use graph::{Dims, conv2d, direct};
use std::collections::BTreeMap;
use trace_runtime::Session;

const DIMS: Dims = Dims {
    images: 6,
    channels: 3,
    side: 10,
    filters: 4,
    kernel: 3,
};

/// The only test in this file, because a session records every thread of the process.
#[test]
fn every_image_is_a_child_of_the_convolution_and_the_result_is_right() {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(3)
        .build()
        .expect("three threads");
    let (images, filters) = DIMS.random_input(5);
    let session = Session::start().expect("no other session");
    let result = pool.install(|| conv2d(&images, &filters));
    let trace = session.finish();

    let side = DIMS.output_side();
    assert_eq!(result.dim(), (DIMS.images, DIMS.filters, side, side));
    for at in [[0, 0, 0, 0], [5, 3, 7, 7], [2, 1, 4, 6]] {
        assert!((result[at] - direct(&images, &filters, at)).abs() < 1e-4);
    }

    let n = DIMS.images;
    let expected = BTreeMap::from([
        ("conv2d", 1),
        ("conv_image", n),
        ("im2col", n),
        ("matmul", n),
    ]);
    assert_eq!(tree::counts(&trace), expected);
    assert_eq!(tree::depth(&trace), 3);
    for image in tree::of(&trace, "conv_image") {
        assert_eq!(tree::caller(&trace, image), Some("conv2d"));
        let patch = DIMS.channels * DIMS.kernel * DIMS.kernel;
        assert_eq!(
            image.input_shapes,
            [
                vec![DIMS.channels, DIMS.side, DIMS.side],
                vec![DIMS.filters, patch]
            ]
        );
        assert_eq!(image.output_shape, [DIMS.filters, side, side]);
    }
    for inner in tree::of(&trace, "im2col").chain(tree::of(&trace, "matmul")) {
        let parent = tree::parent(&trace, inner).expect("it has one");
        assert_eq!(parent.operation, "conv_image");
        assert_eq!(parent.thread, inner.thread);
    }
    tree::assert_matmuls_follow_the_formula(&trace);
}
