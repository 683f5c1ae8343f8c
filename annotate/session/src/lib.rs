//! Records every annotated function of a process from its start, if the variable `ANNOTATE_RECORD` is set.

use std::sync::Arc;
use trace_core::__engine::clock::Clock;
use trace_core::__engine::log::Shared;
use trace_core::__engine::state::{self, Running};

/// Enough to record most tests completely; ops beyond it are dropped and counted, as in any session.
const MEMORY_LIMIT: usize = 256 << 20;

#[ctor::ctor(unsafe)]
fn start() {
    if std::env::var_os("ANNOTATE_RECORD").is_none() || !state::claim() {
        return;
    }
    let mut clock = Clock::counter();
    state::run(Some(Running {
        shared: Arc::new(Shared::new(MEMORY_LIMIT, None, 1)),
        base: clock.now(),
        clock,
        only: None,
    }));
}
