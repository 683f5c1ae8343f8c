//! [`TensorLike`] for the standard library's pointers, guards, cells and locks.
//!
//! Only types that can be read without a side effect: a `LazyLock` would be initialised by reading it. A lock is tried
//! and never waited for; if it is taken, the tensors in it are not described.

use crate::slices::{Elements, Slices};
use crate::{TensorLike, TensorSink};
use std::borrow::Cow;
use std::cell::{OnceCell, Ref, RefCell, RefMut};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard};

macro_rules! pointers {
    ($($trait:ident::$method:ident: $($pointer:ty),*;)*) => {$($(
        impl<T: $trait + ?Sized> $trait for $pointer {
            #[inline]
            fn $method(&self, sink: &mut TensorSink) {
                (**self).$method(sink);
            }
        }
    )*)*};
}

macro_rules! all_pointers {
    ($($trait:ident::$method:ident)*) => {$(
        pointers! {
            $trait::$method: &T, &mut T, Box<T>, Rc<T>, Arc<T>, ManuallyDrop<T>, Ref<'_, T>, RefMut<'_, T>,
                MutexGuard<'_, T>, RwLockReadGuard<'_, T>, RwLockWriteGuard<'_, T>;
        }

        impl<T: $trait + ToOwned + ?Sized> $trait for Cow<'_, T> {
            #[inline]
            fn $method(&self, sink: &mut TensorSink) {
                (**self).$method(sink);
            }
        }

        /// Of the pointers above; the `Deref` of others is user code.
        impl<P: Deref<Target: $trait> + Known> $trait for Pin<P> {
            #[inline]
            fn $method(&self, sink: &mut TensorSink) {
                (**self).$method(sink);
            }
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

all_pointers!(TensorLike::describe Elements::describe_elements Slices::describe_slices);

/// A pointer of the standard library that `Pin` is used with.
#[doc(hidden)]
pub trait Known {}

impl<T: ?Sized> Known for &T {}
impl<T: ?Sized> Known for &mut T {}
impl<T: ?Sized> Known for Box<T> {}
impl<T: ?Sized> Known for Rc<T> {}
impl<T: ?Sized> Known for Arc<T> {}
