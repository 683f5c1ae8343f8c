//! A dump when the program panics, after the panic hook that was there before.

use super::dumper::Dumper;
use std::panic;
use std::sync::{Arc, Mutex, Once, Weak};

/// The flight recorder of the session that runs.
static ACTIVE: Mutex<Weak<Dumper>> = Mutex::new(Weak::new());

/// Dumps to the file of `dumper` when a thread panics, until `dumper` is dropped.
pub(super) fn dump_on_panic(dumper: &Arc<Dumper>) {
    static INSTALLED: Once = Once::new();
    if let Ok(mut active) = ACTIVE.lock() {
        *active = Arc::downgrade(dumper);
    }
    INSTALLED.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            before(info);
            // No dump for a panic inside a dump, or while another one is dumped.
            if let Ok(active) = ACTIVE.try_lock()
                && let Some(dumper) = active.upgrade()
            {
                dumper.dump_now();
            }
        }));
    });
}
