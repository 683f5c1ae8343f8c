//! Panics in the user's code that describes an op: `TensorLike::describe` and the expressions of options.
//!
//! Recording must not change the behaviour of a function, so these panics are caught. The op is recorded without the
//! part that panicked. A session counts them by op and expression, and keeps the message of the first of each.
//!
//! `catch_unwind` alone would still run the panic hook, which prints a message for each panic and may end the process.
//! So the first recording of the process installs a hook before the existing one. It passes every panic on, except for
//! those that are caught here. A hook that the program sets later replaces it. With `panic = "abort"` nothing can be
//! caught, and the process ends as with any other panic.

use super::rows::Meta;
use super::signatures::Signatures;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, Once, PoisonError};

/// First character of the keys under which failures are kept with an op's metadata until it ends.
const MARK: char = '\0';
/// Distinct pairs of op and expression that a session keeps. Further ones are added to the count of the last.
const MOST: usize = 64;
/// Bytes of a message that are kept.
const LONGEST_MESSAGE: usize = 300;

/// The user's code that can fail, as the key under which a failure is kept until the op ends.
pub(crate) mod expression {
    pub(crate) const LABEL: &str = "\0label";
    pub(crate) const INPUTS: &str = "\0inputs";
    pub(crate) const OUTPUT: &str = "\0output";
    pub(crate) const DESCRIBE: &str = "\0describe";
    pub(crate) const DEVICE: &str = "\0device";
    pub(crate) const FLOPS: &str = "\0flops";
    pub(crate) const BYTES: &str = "\0bytes";
    pub(crate) const META: &str = "\0meta";
}

thread_local! {
    /// The user's code is running, and its panics are caught.
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
    /// The source line of the latest panic that was caught.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs the user's code. Returns the message if it panics.
#[inline]
pub(crate) fn catch<R>(run: impl FnOnce() -> R) -> Result<R, String> {
    let outer = IS_CAUGHT.replace(true);
    // This is unwind safe: the only data of ours that it changes is a `TensorSink`, which is consistent after each of
    // its methods. The user's data is only borrowed; after a panic its cells have the values that the user's own
    // `catch_unwind` would find.
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    IS_CAUGHT.set(outer);
    result.map_err(message)
}

#[cold]
fn message(payload: Box<dyn Any + Send>) -> String {
    let text = match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => {
            let text = payload.downcast_ref::<&str>().copied();
            let text = text.unwrap_or("a panic without a message").to_owned();
            free(payload);
            text
        }
    };
    let place = PLACE.try_with(RefCell::take).ok().flatten();
    let mut message = match place {
        Some(place) => format!("{text} at {place}"),
        None => text,
    };
    let mut end = LONGEST_MESSAGE.min(message.len());
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message.truncate(end);
    message
}

/// Frees a payload. Its destructor may be the user's code too, and may panic with another payload. That second payload
/// is freed only if its type has no user-defined destructor.
fn free(payload: Box<dyn Any + Send>) {
    let outer = IS_CAUGHT.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(|| drop(payload)));
    IS_CAUGHT.set(outer);
    if let Err(second) = result
        && !second.is::<&str>()
        && !second.is::<String>()
    {
        std::mem::forget(second);
    }
}

/// Keeps the panic hook quiet about panics that are caught here. Called whenever a recording starts.
pub(crate) fn quiet_hook() {
    static INSTALLED: Once = Once::new();
    // A panicking thread cannot change the hook; the next recording will do it.
    if std::thread::panicking() {
        return;
    }
    INSTALLED.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if IS_CAUGHT.get() {
                let place = panic.location().map(ToString::to_string);
                let _ = PLACE.try_with(|kept| kept.replace(place));
            } else {
                others(panic);
            }
        }));
    });
}

/// True if a key of an op's metadata belongs to a failure.
pub(crate) fn is_failure(key: &str) -> bool {
    key.starts_with(MARK)
}

/// The failures of a session.
#[derive(Debug, Default)]
pub struct Failures(Mutex<Vec<Failure>>);

/// An expression of an op that has panicked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub operation: String,
    /// The option, or `describe`.
    pub expression: String,
    pub count: u64,
    /// The message of the first panic, with its place.
    pub message: String,
}

impl Failures {
    /// Counts the failures in an op's metadata and removes them from it. `signature` is one of the op's signatures.
    #[cold]
    pub(crate) fn take_from(&self, meta: &mut Meta, signature: u32, signatures: &Signatures) {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, message) in meta.extract_if(.., |(key, _)| is_failure(key)) {
            let expression = key.trim_start_matches(MARK);
            let operation = signatures.operation(signature);
            let is_full = failures.len() >= MOST;
            let known = failures.iter_mut().find(|known| {
                known.expression == expression && Some(&known.operation) == operation.as_ref()
            });
            match known {
                Some(known) => known.count += 1,
                None if is_full => {
                    if let Some(last) = failures.last_mut() {
                        last.count += 1;
                    }
                }
                None => failures.push(Failure {
                    operation: operation.unwrap_or_default(),
                    expression: expression.to_owned(),
                    count: 1,
                    message,
                }),
            }
        }
    }

    /// The failures so far, in the order in which each first happened.
    pub fn all(&self) -> Vec<Failure> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message_and_its_place() {
        quiet_hook();
        let error = catch(|| -> usize { panic!("no dims of {}", 3) }).unwrap_err();
        assert!(error.starts_with("no dims of 3 at "), "{error}");
        assert!(error.contains("failures.rs:"), "{error}");
        assert!(!IS_CAUGHT.get());
        assert_eq!(catch(|| 7), Ok(7));
    }

    #[test]
    fn a_payload_of_any_type_is_caught_even_if_its_drop_panics() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("in drop");
            }
        }
        quiet_hook();
        let error = catch(|| panic::panic_any(Bomb)).unwrap_err();
        assert!(error.starts_with("a panic without a message"), "{error}");
    }

    #[test]
    fn the_payload_is_freed() {
        use std::sync::Arc;

        struct Payload(#[expect(dead_code, reason = "counted")] Arc<()>);
        struct Bomb(#[expect(dead_code, reason = "counted")] Arc<()>);
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("in drop");
            }
        }
        quiet_hook();
        let count = Arc::new(());
        let payload = Payload(count.clone());
        assert!(catch(|| panic::panic_any(payload)).is_err());
        let bomb = Bomb(count.clone());
        assert!(catch(|| panic::panic_any(bomb)).is_err());
        assert_eq!(Arc::strong_count(&count), 1);
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        quiet_hook();
        let error = catch(|| panic!("{}", "é".repeat(1000))).unwrap_err();
        assert!(error.len() <= LONGEST_MESSAGE && error.len() > LONGEST_MESSAGE - 2);
    }
}
