//! The end of a session: the rows become a trace, and the output is written.

use super::{Session, describe, panics};
use crate::model::assemble::assemble;
use crate::model::wire::metadata as keys;
use crate::model::{TraceError, TraceStore};
use crate::record::stream::Stream;
use crate::record::{device_memory, heap};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use trace_core::__engine::log::ThreadLog;
use trace_core::__engine::state;

impl Session {
    /// Ends recording and writes the output. Returns the trace and the result of the write.
    pub(super) fn close(&mut self) -> (TraceStore, Result<(), TraceError>) {
        self.is_over = true;
        // This comes first, because a signal that arrives later must not write a recording that is being closed.
        drop(self.on_signal.take());
        if self.is_in_fork() {
            // In a forked child: the writer's thread exists only in the parent.
            let _ = self.stream.take().map(std::mem::ManuallyDrop::new);
            let mut store = TraceStore::default();
            store.insert_metadata(keys::FORKED_FROM, self.pid.to_string());
            return (store, Ok(()));
        }
        let open = state::with_any(|recorder| {
            if !recorder.is_of(Some(&self.running.shared)) {
                return 0;
            }
            recorder.end_unfinished();
            let open = recorder.open_ops();
            recorder.detach();
            open
        });
        state::release();
        let memory = heap::finish(&self.running);
        let tasks = self.running.shared.open_tasks.load(Ordering::Relaxed);
        let still_running = open.unwrap_or(0) + tasks;
        if let Some(written) = self.close_stream(still_running) {
            let store = self.stream.as_ref().map(Stream::read);
            let mut store = store.and_then(Result::ok).unwrap_or_default();
            self.add_memory(&mut store, memory.as_ref());
            let written = written.and_then(|()| self.write_output(&mut store));
            return (store, written);
        }
        let (rows, interner, mut metadata) = state::undisturbed(|| {
            let logs = self.running.shared.take_logs();
            let metadata = describe(
                &self.running.shared,
                &logs,
                &self.metadata,
                &self.steps,
                self.unreachable_before,
            );
            let rows = logs.iter().map(|log| log.take()).collect();
            (rows, self.running.shared.signatures.take(), metadata)
        });
        if still_running > 0 {
            metadata.insert(keys::STILL_RUNNING.into(), still_running.to_string());
        }
        let scale = self.running.clock.scale(self.running.base);
        let mut store = assemble(rows, interner, scale, metadata);
        store.set_steps(self.steps.steps(scale, self.rank()));
        self.add_memory(&mut store, memory.as_ref());
        let written = self.write_output(&mut store);
        if let Err(error) = &written
            && self.reports_errors
        {
            report_loss(error);
        }
        (store, written)
    }

    fn add_memory(&self, store: &mut TraceStore, heap: Option<&heap::HeapRecord>) {
        let reported = self.running.shared.memory.events();
        device_memory::add_to(store, &reported, self.rank());
        if let Some(heap) = heap {
            heap::add_to(store, heap, self.rank());
        }
    }

    fn write_output(&self, store: &mut TraceStore) -> Result<(), TraceError> {
        let Some(output) = &self.output else {
            return Ok(());
        };
        if let Some(path) = output.write(store, self.rank())? {
            if self.reports_errors {
                report_other_path(&path);
            }
            store.insert_metadata(keys::WRITTEN_TO, path.display().to_string());
        }
        Ok(())
    }

    /// Ends the recording in a ring, if there is one.
    fn close_stream(&mut self, still_running: u64) -> Option<Result<(), TraceError>> {
        let stream = self.stream.as_mut()?;
        let logs = self.running.shared.take_logs();
        let sum = |count: fn(&ThreadLog) -> &AtomicU64| -> u64 {
            logs.iter()
                .map(|log| count(log).load(Ordering::Relaxed))
                .sum()
        };
        stream.set_counts(
            state::unreachable_ops().saturating_sub(self.unreachable_before),
            sum(|log| &log.sampled_out),
            sum(|log| &log.filtered_out),
        );
        for (key, value) in panics(&self.running.shared) {
            stream.metadata(&key, &value);
        }
        if still_running > 0 {
            stream.metadata(keys::STILL_RUNNING, &still_running.to_string());
        }
        let written = stream.finish();
        if let Err(error) = &written
            && self.reports_errors
        {
            report_loss(error);
        }
        Some(written)
    }
}

/// Prints one line on standard error: another process wrote the requested file.
pub(in crate::record) fn report_other_path(path: &Path) {
    eprintln!(
        "another process has written the output of this session since it started; the trace of process {} is in `{}`",
        std::process::id(),
        path.display()
    );
}

/// Prints one line on standard error about a failed write that cannot be returned to a caller.
pub(in crate::record) fn report_loss(error: &TraceError) {
    eprintln!("the recorded trace is lost: {error}");
}

/// The output is written even if `finish` is not called.
impl Drop for Session {
    fn drop(&mut self) {
        if !self.is_over {
            drop(self.on_signal.take());
            if self.is_in_fork() {
                drop(self.close());
            } else if self.stream.is_some() && self.output.is_none() {
                self.is_over = true;
                self.reports_errors = true;
                state::release();
                let _ = heap::finish(&self.running);
                drop(self.close_stream(0));
            } else if self.output.is_some() {
                // A drop cannot return the error.
                self.reports_errors = true;
                drop(self.close());
            } else {
                self.is_over = true;
                state::release();
                let _ = heap::finish(&self.running);
            }
        }
    }
}
