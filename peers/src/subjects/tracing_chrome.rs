//! tracing with tracing-chrome: messages to a thread that writes JSON, shapes as formatted fields.

use crate::subject::{Matrix, Subject, timed};
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_chrome::{ChromeLayer, ChromeLayerBuilder, FlushGuard};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::{Layered, SubscriberExt};

pub struct TracingChrome {
    drain: Mutex<(FlushGuard, Receiver<()>)>,
}

impl TracingChrome {
    pub fn new() -> TracingChrome {
        let (flushed, has_flushed) = channel();
        let (layer, guard) = ChromeLayerBuilder::new()
            .writer(Nowhere { flushed })
            .include_args(true)
            .build();
        let switched = Switched(tracing_subscriber::registry().with(layer));
        tracing::subscriber::set_global_default(switched).expect("the only subscriber");
        TracingChrome {
            drain: Mutex::new((guard, has_flushed)),
        }
    }
}

/// Reports when everything that was sent before a flush has been written.
struct Nowhere {
    flushed: Sender<()>,
}

impl Write for Nowhere {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        // The last one has no receiver.
        let _ = self.flushed.send(());
        Ok(())
    }
}

/// The global subscriber, which is the fastest kind but cannot be removed. While it is off, it reports no interest, so
/// that a span costs the same as without a subscriber.
struct Switched(Layered<ChromeLayer<Registry>, Registry>);

static IS_ON: AtomicBool = AtomicBool::new(false);

fn switch(is_on: bool) {
    IS_ON.store(is_on, Ordering::SeqCst);
    tracing::callsite::rebuild_interest_cache();
}

impl Subscriber for Switched {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if IS_ON.load(Ordering::SeqCst) {
            self.0.register_callsite(metadata)
        } else {
            Interest::never()
        }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        (!IS_ON.load(Ordering::SeqCst)).then_some(LevelFilter::OFF)
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.0.enabled(metadata)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.0.new_span(span)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.0.record(span, values);
    }

    fn record_follows_from(&self, span: &Id, follows: &Id) {
        self.0.record_follows_from(span, follows);
    }

    fn event(&self, event: &Event<'_>) {
        self.0.event(event);
    }

    fn enter(&self, span: &Id) {
        self.0.enter(span);
    }

    fn exit(&self, span: &Id) {
        self.0.exit(span);
    }

    fn clone_span(&self, span: &Id) -> Id {
        self.0.clone_span(span)
    }

    fn try_close(&self, span: Id) -> bool {
        self.0.try_close(span)
    }
}

#[inline(never)]
fn bare(a: &Matrix, b: &Matrix) -> Matrix {
    let _span = tracing::info_span!("matmul").entered();
    a.times(b)
}

#[inline(never)]
fn with_shapes(a: &Matrix, b: &Matrix) -> Matrix {
    let span = tracing::info_span!(
        "matmul",
        a = ?a.dims,
        b = ?b.dims,
        output = tracing::field::Empty
    )
    .entered();
    let c = a.times(b);
    span.record("output", tracing::field::debug(c.dims));
    c
}

impl Subject for TracingChrome {
    fn name(&self) -> &'static str {
        "tracing-chrome"
    }

    fn collect(&self, work: &mut dyn FnMut()) {
        switch(true);
        work();
        switch(false);
        let drain = self
            .drain
            .lock()
            .expect("no thread panics while it holds the lock");
        drain.0.flush();
        drain.1.recv().expect("the writer outlives the guard");
    }

    fn bare(&self, calls: usize) -> Option<Duration> {
        Some(timed(calls, bare))
    }

    fn with_shapes(&self, calls: usize) -> Option<Duration> {
        Some(timed(calls, with_shapes))
    }

    fn off(&self, calls: usize) -> Option<Duration> {
        Some(timed(calls, bare))
    }
}
