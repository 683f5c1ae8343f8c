//! fastrace: local spans below a root span, shapes as properties.

use crate::subject::{Matrix, Subject, timed};
use fastrace::collector::{Config, Reporter, SpanRecord};
use fastrace::prelude::{LocalSpan, Span, SpanContext};
use std::time::Duration;

pub struct Fastrace;

struct Nowhere;

impl Reporter for Nowhere {
    fn report(&mut self, _spans: Vec<SpanRecord>) {}
}

impl Fastrace {
    pub fn new() -> Fastrace {
        // The collector runs when it is flushed, not during the round of another subject.
        let config = Config::default().report_interval(Duration::from_secs(3600));
        fastrace::set_reporter(Nowhere, config);
        Fastrace
    }
}

#[inline(never)]
fn bare(a: &Matrix, b: &Matrix) -> Matrix {
    let _span = LocalSpan::enter_with_local_parent("matmul");
    a.times(b)
}

#[inline(never)]
fn with_shapes(a: &Matrix, b: &Matrix) -> Matrix {
    let span = LocalSpan::enter_with_local_parent("matmul");
    let c = a.times(b);
    let _span = span.with_properties(|| {
        [
            ("a", format!("{:?}", a.dims)),
            ("b", format!("{:?}", b.dims)),
            ("output", format!("{:?}", c.dims)),
        ]
    });
    c
}

/// Runs inside a root span, without which nothing is recorded. It holds 10,240 spans, more than a round makes.
fn in_root(work: impl FnOnce() -> Duration) -> Duration {
    let root = Span::root("round", SpanContext::random());
    let _local = root.set_local_parent();
    work()
}

impl Subject for Fastrace {
    fn name(&self) -> &'static str {
        "fastrace"
    }

    fn collect(&self, work: &mut dyn FnMut()) {
        work();
        fastrace::flush();
    }

    fn bare(&self, calls: usize) -> Option<Duration> {
        Some(in_root(|| timed(calls, bare)))
    }

    fn with_shapes(&self, calls: usize) -> Option<Duration> {
        Some(in_root(|| timed(calls, with_shapes)))
    }

    fn off(&self, calls: usize) -> Option<Duration> {
        Some(timed(calls, bare))
    }
}
