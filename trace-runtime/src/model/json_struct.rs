//! Writes structs as JSON objects and reads them, without serde's derive.
//!
//! The derive would bring syn, quote and proc-macro2 into builds that turn tracing off to avoid them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::marker::PhantomData;

/// Writes a struct's fields as the keys of an object and reads them back.
///
/// `required` keys are always written and must be present; `optional` ones are written only if they differ
/// from their default. Unknown keys are ignored, because a newer writer may add some.
macro_rules! json_struct {
    ($type:ident {
        required: [$($req:ident),* $(,)?],
        optional: [$($opt:ident),* $(,)?] $(,)?
    }) => {
        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use ::serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                $(map.serialize_entry(
                    stringify!($req),
                    &$crate::model::json_struct::Wire(&self.$req),
                )?;)*
                $(if !$crate::model::json_struct::is_default(&self.$opt) {
                    map.serialize_entry(
                        stringify!($opt),
                        &$crate::model::json_struct::Wire(&self.$opt),
                    )?;
                })*
                map.end()
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Fields;
                impl<'de> ::serde::de::Visitor<'de> for Fields {
                    type Value = $type;

                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        f.write_str(concat!("a ", stringify!($type), " object"))
                    }

                    fn visit_map<A>(self, mut map: A) -> Result<$type, A::Error>
                    where
                        A: ::serde::de::MapAccess<'de>,
                    {
                        use ::serde::de::Error as _;
                        $(let mut $req = None;)*
                        $(let mut $opt = None;)*
                        while let Some(key) = map.next_key::<::std::borrow::Cow<'de, str>>()? {
                            match &*key {
                                $(stringify!($req) => {
                                    if $req.is_some() {
                                        return Err(A::Error::duplicate_field(stringify!($req)));
                                    }
                                    $req = Some(map.next_value::<$crate::model::json_struct::Read<_>>()?.0);
                                })*
                                $(stringify!($opt) => {
                                    if $opt.is_some() {
                                        return Err(A::Error::duplicate_field(stringify!($opt)));
                                    }
                                    $opt = Some(map.next_value::<$crate::model::json_struct::Read<_>>()?.0);
                                })*
                                _ => {
                                    map.next_value::<::serde::de::IgnoredAny>()?;
                                }
                            }
                        }
                        // Assigned one by one, because fields of some structs are accessed through `DerefMut`.
                        let mut whole = <$type>::default();
                        $(whole.$req = match $req {
                            Some(value) => value,
                            None => $crate::model::json_struct::OnWire::absent()
                                .ok_or_else(|| A::Error::missing_field(stringify!($req)))?,
                        };)*
                        $(if let Some(value) = $opt {
                            whole.$opt = value;
                        })*
                        Ok(whole)
                    }
                }
                deserializer.deserialize_map(Fields)
            }
        }

        impl $crate::model::json_struct::OnWire for $type {
            fn write<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                ::serde::Serialize::serialize(self, serializer)
            }

            fn read<'de, D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                ::serde::Deserialize::deserialize(deserializer)
            }
        }
    };
}

pub(crate) use json_struct;

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A field being written.
pub(crate) struct Wire<'a, T>(pub(crate) &'a T);

/// A field being read.
pub(crate) struct Read<T>(pub(crate) T);

/// The form of a field in JSON. It differs from serde's only for floats: JSON has no NaN and no infinity, so these are
/// written as the strings `"NaN"`, `"inf"` and `"-inf"`.
pub(crate) trait OnWire: Sized {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;

    /// The value that replaces a missing required key, if there is one.
    fn absent() -> Option<Self> {
        None
    }
}

impl<T: OnWire> Serialize for Wire<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer)
    }
}

impl<'de, T: OnWire> Deserialize<'de> for Read<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::read(deserializer).map(Read)
    }
}

macro_rules! as_serde_does {
    ($($type:ty),* $(,)?) => {$(
        impl OnWire for $type {
            fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.serialize(serializer)
            }
            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::deserialize(deserializer)
            }
        }
    )*};
}

as_serde_does!(
    bool,
    i64,
    u32,
    u64,
    usize,
    String,
    super::DType,
    super::DTypes,
    super::OpKind,
    super::Outcome,
    BTreeMap<String, String>,
);

impl OnWire for f64 {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_finite() {
            serializer.serialize_f64(*self)
        } else {
            serializer.collect_str(self)
        }
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl serde::de::Visitor<'_> for Number {
            type Value = f64;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_f64<E>(self, value: f64) -> Result<f64, E> {
                Ok(value)
            }

            fn visit_u64<E>(self, value: u64) -> Result<f64, E> {
                Ok(value as f64)
            }

            fn visit_i64<E>(self, value: i64) -> Result<f64, E> {
                Ok(value as f64)
            }

            /// `serde_json` writes `null` for a NaN.
            fn visit_unit<E>(self) -> Result<f64, E> {
                Ok(f64::NAN)
            }

            fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<f64, E> {
                match value {
                    "NaN" => Ok(f64::NAN),
                    "inf" => Ok(f64::INFINITY),
                    "-inf" => Ok(f64::NEG_INFINITY),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(value), &self)),
                }
            }
        }
        deserializer.deserialize_any(Number)
    }
}

impl<T: OnWire> OnWire for Option<T> {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(value) => serializer.serialize_some(&Wire(value)),
            None => serializer.serialize_none(),
        }
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::<Read<T>>::deserialize(deserializer)?.map(|read| read.0))
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: OnWire> OnWire for Vec<T> {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Wire))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items<T>(PhantomData<T>);
        impl<'de, T: OnWire> serde::de::Visitor<'de> for Items<T> {
            type Value = Vec<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut items: A,
            ) -> Result<Vec<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(Read(item)) = items.next_element()? {
                    list.push(item);
                }
                Ok(list)
            }
        }
        deserializer.deserialize_seq(Items(PhantomData))
    }
}

impl<A: OnWire, B: OnWire> OnWire for (A, B) {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (Wire(&self.0), Wire(&self.1)).serialize(serializer)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (Read(a), Read(b)) = Deserialize::deserialize(deserializer)?;
        Ok((a, b))
    }
}

/// Written in the order of the keys, so that the same trace gives the same bytes.
impl OnWire for HashMap<String, String> {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sorted: BTreeMap<_, _> = self.iter().collect();
        serializer.collect_map(sorted)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}
