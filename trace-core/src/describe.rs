//! The inputs and outputs of an op as expanded code passes them: values that are described only while recording.

use crate::library::Library;
use crate::slices::{Elements, Slices};
use crate::{TensorLike, TensorSink};
use std::any::type_name;
use std::marker::PhantomData;

/// The inputs or outputs of an op. Closures implement it too, but cost three times the compile time of the values here.
pub trait Describe {
    /// True if there is nothing to describe and no user code to run.
    const IS_NOTHING: bool = false;

    /// True if there may be a [label](Self::label).
    const HAS_LABEL: bool = false;

    /// Writes the descriptions to the sink. Called at most once, while recording. A panic in the user's code is caught.
    #[inline]
    fn describe(self, sink: &mut TensorSink)
    where
        Self: Sized,
    {
        if self.can_panic() {
            sink.catch_tensors(|sink| self.describe_uncaught(sink));
        } else {
            self.describe_uncaught(sink);
        }
    }

    /// Writes the descriptions without catching panics: for a part of a list, because the list catches them.
    fn describe_uncaught(self, sink: &mut TensorSink);

    /// True if [`describe_uncaught`](Self::describe_uncaught) may panic.
    fn can_panic(&self) -> bool;

    /// Calls `use_label` with the label of this execution, if it has one. Called at most once, while recording.
    #[inline]
    fn label<R>(&mut self, _use_label: impl FnOnce(&str) -> R) -> Option<R> {
        None
    }
}

/// Inputs of an op with a label: `label = …`.
pub struct Labelled<F, D> {
    label: Option<F>,
    /// The message of the panic, if the label panicked.
    failed: Option<String>,
    inputs: D,
}

/// Inputs with a label that is evaluated only while recording.
#[inline]
pub fn labelled<L: AsRef<str>, F: FnOnce() -> L, D: Describe>(
    label: F,
    inputs: D,
) -> Labelled<F, D> {
    Labelled {
        label: Some(label),
        failed: None,
        inputs,
    }
}

impl<L: AsRef<str>, F: FnOnce() -> L, D: Describe> Describe for Labelled<F, D> {
    const HAS_LABEL: bool = true;

    #[inline]
    fn describe_uncaught(self, sink: &mut TensorSink) {
        if let Some(message) = self.failed {
            sink.label_failed(message);
        }
        self.inputs.describe_uncaught(sink);
    }

    #[inline]
    fn can_panic(&self) -> bool {
        self.inputs.can_panic()
    }

    #[inline]
    fn label<R>(&mut self, use_label: impl FnOnce(&str) -> R) -> Option<R> {
        let label = self.label.take()?;
        match TensorSink::caught(|| use_label(label().as_ref())) {
            Ok(used) => Some(used),
            Err(message) => {
                self.failed = Some(message);
                None
            }
        }
    }
}

impl<F: FnOnce(&mut TensorSink)> Describe for F {
    #[inline]
    fn describe_uncaught(self, sink: &mut TensorSink) {
        sink.catch(self);
    }

    #[inline]
    fn can_panic(&self) -> bool {
        false
    }
}

/// Describes the parts in order. Longer lists are nested.
macro_rules! tuples {
    ($($($name:ident)*;)*) => {$(
        impl<$($name: Describe),*> Describe for ($($name,)*) {
            const IS_NOTHING: bool = true $(&& $name::IS_NOTHING)*;

            #[inline]
            #[allow(non_snake_case, unused_variables, reason = "a variable for each type")]
            fn describe_uncaught(self, sink: &mut TensorSink) {
                let ($($name,)*) = self;
                $($name.describe_uncaught(sink);)*
            }

            #[inline]
            #[allow(non_snake_case, reason = "as above")]
            fn can_panic(&self) -> bool {
                let ($($name,)*) = self;
                false $(|| $name.can_panic())*
            }
        }
    )*};
}

tuples! {
    ;
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}

/// A value, with the method by which tensors are found in it.
#[derive(Debug)]
pub struct Found<'a, T: ?Sized, As>(&'a T, PhantomData<As>);

impl<'a, T: ?Sized, As> Found<'a, T, As> {
    #[inline]
    pub(crate) fn new(value: &'a T) -> Found<'a, T, As> {
        Found(value, PhantomData)
    }
}

macro_rules! found {
    ($($as:ident: $bound:path, $describe:ident, $value:ident => $can_panic:expr;)*) => {$(
        #[derive(Debug)]
        pub struct $as;

        impl<T: $bound + ?Sized> Describe for Found<'_, T, $as> {
            #[inline]
            fn describe_uncaught(self, sink: &mut TensorSink) {
                self.0.$describe(sink);
            }

            #[inline]
            fn can_panic(&self) -> bool {
                let $value = self.0;
                $can_panic
            }
        }
    )*};
}

found! {
    AsTensors: TensorLike, describe, value => value.__can_panic();
    AsElements: Elements, describe_elements, _value => false;
    AsSlices: Slices, describe_slices, _value => false;
}

/// Describes nothing: no tensors can be found in the value.
#[derive(Debug)]
pub struct AsNothing;

impl<T: ?Sized> Describe for Found<'_, T, AsNothing> {
    #[inline]
    fn describe_uncaught(self, sink: &mut TensorSink) {
        // The value may be a tensor of a library whose feature is off or supports another version.
        if let Some(library) = Library::of(type_name::<T>()) {
            sink.unrecorded(library);
        }
    }

    #[inline]
    fn can_panic(&self) -> bool {
        false
    }
}

/// Describes the value of a successful result. An unsuccessful one makes the outcome of the op an error.
#[derive(Debug)]
pub struct AsResult<As>(PhantomData<As>);

impl<'a, T, E, As> Describe for Found<'a, Result<T, E>, AsResult<As>>
where
    Found<'a, T, As>: Describe,
{
    #[inline]
    fn describe_uncaught(self, sink: &mut TensorSink) {
        match self.0 {
            Ok(value) => Found::new(value).describe_uncaught(sink),
            Err(_) => sink.__failed(),
        }
    }

    #[inline]
    fn can_panic(&self) -> bool {
        self.0
            .as_ref()
            .is_ok_and(|value| Found::new(value).can_panic())
    }
}
