//! Tensors on their way to the recorder: handed over as values, and looked at only while recording.

use super::slices::{Elements, Slices};
use super::{TensorLike, TensorSink};
use std::marker::PhantomData;
use std::ops::Deref;

/// Something that an op's inputs or outputs are told by, once. A closure would do, and does where the user
/// wrote an expression; values cost the compiler a third of it.
pub trait Describe {
    /// Says what there is to say.
    fn describe(self, sink: &mut TensorSink);
}

impl<F: FnOnce(&mut TensorSink)> Describe for F {
    #[inline]
    fn describe(self, sink: &mut TensorSink) {
        self(sink);
    }
}

/// One after the other. Longer lists are nested.
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

/// A value, and what it was seen as.
#[derive(Debug)]
pub struct Seen<'a, T: ?Sized, As>(&'a T, PhantomData<As>);

impl<'a, T: ?Sized, As> Seen<'a, T, As> {
    #[inline]
    pub(super) fn new(value: &'a T) -> Seen<'a, T, As> {
        Seen(value, PhantomData)
    }

    /// For code that has the sink in hand.
    #[inline]
    pub fn __tell(self, sink: &mut TensorSink)
    where
        Self: Describe,
    {
        self.describe(sink);
    }
}

macro_rules! seen {
    ($($(#[$doc:meta])* $as:ident: $bound:path, |$value:ident, $sink:ident| $describe:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $as;

        impl<T: $bound + ?Sized> Describe for Seen<'_, T, $as> {
            #[inline]
            fn describe(self, $sink: &mut TensorSink) {
                let $value = self.0;
                $describe
            }
        }
    )*};
}

seen! {
    AsTensors: TensorLike, |value, sink| value.describe(sink);
    AsElements: Elements, |value, sink| value.describe_elements(sink);
    AsSlices: Slices, |value, sink| value.describe_slices(sink);
    AsPointee: Pointer, |value, sink| value.describe_pointee(sink);
    AsPointedSlices: SlicePointer, |value, sink| value.describe_pointee(sink);
}

/// There is nothing to say.
#[derive(Debug)]
pub struct AsNothing;

impl<T: ?Sized> Describe for Seen<'_, T, AsNothing> {
    #[inline]
    fn describe(self, _: &mut TensorSink) {}
}

/// A pointer to tensors.
pub trait Pointer {
    fn describe_pointee(&self, sink: &mut TensorSink);
}

impl<P: Deref<Target: TensorLike> + ?Sized> Pointer for P {
    #[inline]
    fn describe_pointee(&self, sink: &mut TensorSink) {
        self.deref().describe(sink);
    }
}

/// A pointer to a slice.
pub trait SlicePointer {
    fn describe_pointee(&self, sink: &mut TensorSink);
}

impl<P: Deref<Target: Slices> + ?Sized> SlicePointer for P {
    #[inline]
    fn describe_pointee(&self, sink: &mut TensorSink) {
        self.deref().describe_slices(sink);
    }
}

/// A result: what is in it if it is a success, else the op has failed.
#[derive(Debug)]
pub struct AsOutcome<As>(PhantomData<As>);

impl<'a, T, E, As> Describe for Seen<'a, Result<T, E>, AsOutcome<As>>
where
    Seen<'a, T, As>: Describe,
{
    #[inline]
    fn describe(self, sink: &mut TensorSink) {
        match self.0 {
            Ok(value) => Seen::new(value).describe(sink),
            Err(_) => sink.__failed(),
        }
    }
}

impl<'a, T, As> Describe for Seen<'a, Option<T>, AsOutcome<As>>
where
    Seen<'a, T, As>: Describe,
{
    #[inline]
    fn describe(self, sink: &mut TensorSink) {
        match self.0 {
            Some(value) => Seen::new(value).describe(sink),
            None => sink.__failed(),
        }
    }
}
