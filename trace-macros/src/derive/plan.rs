//! Stage 2: decides which fields are described and which bounds the impl needs. Nothing here can fail.

use super::tokens::names;
use super::validate::{Body, CheckedType, Field};
use proc_macro::{TokenStream, TokenTree};

/// The type, with the decisions about its impl.
pub(super) struct Plan {
    /// The type, with only the fields that may hold tensors.
    pub(super) ty: CheckedType,
    /// Field types that need the bound `TensorLike`.
    pub(super) bounded: Vec<TokenStream>,
}

impl Plan {
    pub(super) fn new(mut ty: CheckedType) -> Plan {
        let keep = |fields: &mut Vec<Field>| fields.retain(|field| !is_scalar(&field.ty));
        match &mut ty.body {
            Body::Struct(fields) => keep(fields),
            Body::Enum(variants) => variants.iter_mut().for_each(|(_, fields)| keep(fields)),
        }
        let bounded = ty
            .fields()
            .filter(|field| needs_bound(field, &ty))
            .map(|field| field.ty.iter().cloned().collect())
            .collect();
        Plan { ty, bounded }
    }

    pub(super) fn has_fields(&self) -> bool {
        self.ty.fields().next().is_some()
    }
}

impl CheckedType {
    fn fields(&self) -> impl Iterator<Item = &Field> {
        let (of_struct, of_enum) = match &self.body {
            Body::Struct(fields) => (Some(fields), None),
            Body::Enum(variants) => (None, Some(variants.iter().map(|(_, fields)| fields))),
        };
        of_struct
            .into_iter()
            .chain(of_enum.into_iter().flatten())
            .flatten()
    }
}

/// True if the field's type contains a type parameter, because without a bound no tensor would be found in it. False
/// for a type that contains itself: its bound would refer to itself without end.
fn needs_bound(field: &Field, ty: &CheckedType) -> bool {
    let names = names(field.ty.iter().cloned());
    let is_param = |name: &String| {
        ty.params
            .iter()
            .any(|param| param.type_name.as_ref() == Some(name))
    };
    let own_name = ty.name.to_string();
    let has_no_tensor = |name: &String| name == "PhantomData" || name == "fn" || *name == own_name;
    names.iter().any(is_param) && !names.iter().any(has_no_tensor)
}

/// Types that are never tensors, so they are not searched.
fn is_scalar(ty: &[TokenTree]) -> bool {
    const SCALARS: [&str; 18] = [
        "f32", "f64", "bool", "usize", "isize", "u8", "u16", "u32", "u64", "u128", "i8", "i16",
        "i32", "i64", "i128", "char", "str", "String",
    ];
    matches!(ty, [TokenTree::Ident(name)] if SCALARS.contains(&name.to_string().as_str()))
}
