//! Tensors on their way to the recorder: passed as values, and described only while recording.

use crate::library::Library;
use crate::slices::{Elements, Slices};
use crate::{TensorLike, TensorSink};
use std::any::type_name;
use std::marker::PhantomData;

/// The inputs or outputs of an op. Closures implement it too, but cost three times the compile time of the values here.
pub trait Describe {
    /// Writes the descriptions to the sink. Called at most once, while recording.
    fn describe(self, sink: &mut TensorSink);

    /// Calls `use_label` with the label of this execution, if it has one. Called at most once, while recording.
    #[inline]
    fn label<R>(&mut self, _use_label: impl FnOnce(&str) -> R) -> Option<R> {
        None
    }
}

/// Inputs of an op with a label: `label = …`.
pub struct Labelled<F, D> {
    label: Option<F>,
    inputs: D,
}

/// Inputs with a label that is evaluated only while recording.
#[inline]
pub fn labelled<L: AsRef<str>, F: FnOnce() -> L, D: Describe>(
    label: F,
    inputs: D,
) -> Labelled<F, D> {
    let label = Some(label);
    Labelled { label, inputs }
}

impl<L: AsRef<str>, F: FnOnce() -> L, D: Describe> Describe for Labelled<F, D> {
    #[inline]
    fn describe(self, sink: &mut TensorSink) {
        self.inputs.describe(sink);
    }

    #[inline]
    fn label<R>(&mut self, use_label: impl FnOnce(&str) -> R) -> Option<R> {
        let label = self.label.take()?();
        Some(use_label(label.as_ref()))
    }
}

impl<F: FnOnce(&mut TensorSink)> Describe for F {
    #[inline]
    fn describe(self, sink: &mut TensorSink) {
        self(sink);
    }
}

/// Describes the parts in order. Longer lists are nested.
macro_rules! tuples {
    ($($($name:ident)*;)*) => {$(
        impl<$($name: Describe),*> Describe for ($($name,)*) {
            #[inline]
            #[allow(non_snake_case, unused_variables, reason = "a variable for each type")]
            fn describe(self, sink: &mut TensorSink) {
                let ($($name,)*) = self;
                $($name.describe(sink);)*
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

/// A value, and the way in which tensors are found in it.
#[derive(Debug)]
pub struct Found<'a, T: ?Sized, As>(&'a T, PhantomData<As>);

impl<'a, T: ?Sized, As> Found<'a, T, As> {
    #[inline]
    pub(crate) fn new(value: &'a T) -> Found<'a, T, As> {
        Found(value, PhantomData)
    }
}

macro_rules! found {
    ($($as:ident: $bound:path, $describe:ident;)*) => {$(
        #[derive(Debug)]
        pub struct $as;

        impl<T: $bound + ?Sized> Describe for Found<'_, T, $as> {
            #[inline]
            fn describe(self, sink: &mut TensorSink) {
                self.0.$describe(sink);
            }
        }
    )*};
}

found! {
    AsTensors: TensorLike, describe;
    AsElements: Elements, describe_elements;
    AsSlices: Slices, describe_slices;
}

/// The value contains no tensors that can be found.
#[derive(Debug)]
pub struct AsNothing;

impl<T: ?Sized> Describe for Found<'_, T, AsNothing> {
    #[inline]
    fn describe(self, sink: &mut TensorSink) {
        // A tensor of a library whose feature is off or supports another version.
        if let Some(library) = Library::of(type_name::<T>()) {
            sink.unrecorded(library);
        }
    }
}

/// Describes the value of a success; a failure is the op's failure.
#[derive(Debug)]
pub struct AsResult<As>(PhantomData<As>);

impl<'a, T, E, As> Describe for Found<'a, Result<T, E>, AsResult<As>>
where
    Found<'a, T, As>: Describe,
{
    #[inline]
    fn describe(self, sink: &mut TensorSink) {
        match self.0 {
            Ok(value) => Found::new(value).describe(sink),
            Err(_) => sink.__failed(),
        }
    }
}
