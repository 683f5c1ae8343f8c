//! [`TensorLike`] for the standard library's pointers, guards, cells and locks.
//!
//! Only types that can be read without a side effect are here: reading a `LazyLock` would initialise it. Locks are read
//! with `try_lock`; if a lock is held, the tensors in it are not described.

use crate::slices::{Elements, Slices};
use crate::{TensorLike, TensorSink};
use std::borrow::Cow;
use std::cell::{OnceCell, Ref, RefCell, RefMut};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Implements the methods for a type that dereferences to the value that it describes.
macro_rules! through {
    ([$method:ident $($can_panic:ident)?]) => {
        #[inline]
        fn $method(&self, sink: &mut TensorSink) {
            (**self).$method(sink);
        }

        $(#[inline]
        fn $can_panic(&self) -> bool {
            (**self).$can_panic()
        })?
    };
}

macro_rules! pointers {
    ($trait:ident $methods:tt $($pointer:ty),*) => {$(
        impl<T: $trait + ?Sized> $trait for $pointer {
            through!($methods);
        }
    )*};
}

macro_rules! all_pointers {
    ($($trait:ident::$method:ident through $methods:tt)*) => {$(
        pointers! {
            $trait $methods &T, &mut T, Box<T>, Rc<T>, Arc<T>, ManuallyDrop<T>, Ref<'_, T>, RefMut<'_, T>,
                MutexGuard<'_, T>, RwLockReadGuard<'_, T>, RwLockWriteGuard<'_, T>
        }

        impl<T: $trait + ToOwned + ?Sized> $trait for Cow<'_, T> {
            through!($methods);
        }

        /// Only for the pointers above, because the `Deref` of others is user code.
        impl<P: Deref<Target: $trait> + Known> $trait for Pin<P> {
            through!($methods);
        }

        impl<T: $trait + ?Sized> $trait for RefCell<T> {
            fn $method(&self, sink: &mut TensorSink) {
                if let Ok(value) = self.try_borrow() {
                    value.$method(sink);
                }
            }
        }

        impl<T: $trait + ?Sized> $trait for Mutex<T> {
            fn $method(&self, sink: &mut TensorSink) {
                if let Ok(value) = self.try_lock() {
                    value.$method(sink);
                }
            }
        }

        impl<T: $trait + ?Sized> $trait for RwLock<T> {
            fn $method(&self, sink: &mut TensorSink) {
                if let Ok(value) = self.try_read() {
                    value.$method(sink);
                }
            }
        }

        impl<T: $trait> $trait for OnceCell<T> {
            fn $method(&self, sink: &mut TensorSink) {
                if let Some(value) = self.get() {
                    value.$method(sink);
                }
            }
        }

        impl<T: $trait> $trait for OnceLock<T> {
            fn $method(&self, sink: &mut TensorSink) {
                if let Some(value) = self.get() {
                    value.$method(sink);
                }
            }
        }
    )*};
}

all_pointers! {
    TensorLike::describe through [describe __can_panic]
    Elements::describe_elements through [describe_elements]
    Slices::describe_slices through [describe_slices]
}

/// A pointer of the standard library that `Pin` is used with.
#[doc(hidden)]
pub trait Known {}

impl<T: ?Sized> Known for &T {}
impl<T: ?Sized> Known for &mut T {}
impl<T: ?Sized> Known for Box<T> {}
impl<T: ?Sized> Known for Rc<T> {}
impl<T: ?Sized> Known for Arc<T> {}
