//! One field of a struct: its presence and element type, from flags and type.

use syn::Type;

use super::shape::{Held, Shape, What};
use super::types::{argument, arguments, borrows, check, check_boxed};
use crate::attrs::Flags;
use crate::diag::Diagnostics;
use crate::kind::Kind;

/// A field that is not a map.
pub(super) fn single(
    kind: Kind,
    number: u32,
    flags: Flags,
    ty: &Type,
    view: bool,
    diag: &mut Diagnostics,
) -> Option<What> {
    let (shape, inner) = shape(kind, &flags, ty, diag)?;
    check_boxed(kind, &flags, &inner, diag);
    check(kind, &inner, view, diag);
    if let Some(span) = flags.or_unknown.filter(|_| kind != Kind::String) {
        diag.at_span(
            span,
            "only strings can be `or_unknown`: what is not UTF-8 is an unknown field",
        );
    }
    if let Some(default) = &flags.default {
        if kind.nested() {
            diag.at(default, "a message cannot have a default");
        } else if shape != Shape::Optional {
            diag.at(default, "only an `Option` can have a default");
        }
    }
    let held = held(kind, inner, &flags, view);
    Some(What::Field { held, number, shape, default: flags.default })
}

fn held(kind: Kind, ty: Type, flags: &Flags, view: bool) -> Held {
    let borrows = view && borrows(&ty);
    Held { kind, ty, checked: flags.or_unknown.is_none(), borrows }
}

/// A map.
pub(super) fn map(
    (key, value): (Kind, Kind),
    number: u32,
    flags: Flags,
    ty: &Type,
    view: bool,
    diag: &mut Diagnostics,
) -> Option<What> {
    const OTHER: &str = "a map allows no flag except `or_unknown`, `name` and `json`";
    let words = [flags.repeated, flags.packed, flags.boxed, flags.required];
    for span in words.into_iter().flatten() {
        diag.at_span(span, OTHER);
    }
    if let Some(default) = &flags.default {
        diag.at(default, OTHER);
    }
    if let Some(span) = flags.or_unknown.filter(|_| key != Kind::String && value != Kind::String) {
        diag.at_span(
            span,
            "only strings can be `or_unknown`: what is not UTF-8 is an unknown field",
        );
    }
    let found = arguments(ty, "BTreeMap").or_else(|| arguments(ty, "HashMap"));
    let Some([key_ty, value_ty, ..]) = found.as_deref() else {
        diag.at(ty, "a map is a `BTreeMap<K, V>` or a `HashMap<K, V>`");
        return None;
    };
    check(key, key_ty, view, diag);
    check(value, value_ty, view, diag);
    let key = held(key, (*key_ty).clone(), &flags, view);
    let value = held(value, (*value_ty).clone(), &flags, view);
    Some(What::Map { key, value, number })
}

fn shape(kind: Kind, flags: &Flags, ty: &Type, diag: &mut Diagnostics) -> Option<(Shape, Type)> {
    if let (Some(_), Some(span)) = (flags.repeated, flags.packed) {
        diag.at_span(span, "`packed` already says `repeated`");
        return None;
    }
    if let (None, None) = (flags.repeated, flags.packed) {
        return single_shape(kind, flags, ty, diag);
    }
    if let Some(span) = flags.packed.filter(|_| !kind.packable()) {
        diag.at_span(span, "only numbers, bools and enumerations can be packed");
        return None;
    }
    if let Some(span) = flags.required {
        diag.at_span(span, "a repeated field cannot be required");
        return None;
    }
    let Some(inner) = argument(ty, "Vec") else {
        diag.at(ty, "a repeated field is a `Vec`");
        return None;
    };
    let shape = if flags.packed.is_some() { Shape::Packed } else { Shape::Repeated };
    Some((shape, inner.clone()))
}

fn single_shape(
    kind: Kind,
    flags: &Flags,
    ty: &Type,
    diag: &mut Diagnostics,
) -> Option<(Shape, Type)> {
    if let Some(inner) = argument(ty, "Option") {
        if let Some(span) = flags.required {
            diag.at_span(span, "what is required is no `Option`");
        }
        return Some((Shape::Optional, inner.clone()));
    }
    let is_vec = argument(ty, "Vec").is_some();
    if is_vec && kind != Kind::Bytes {
        diag.at(ty, "a `Vec` needs `repeated` or `packed`");
        return None;
    }
    if flags.required.is_some() {
        return Some((Shape::Required, ty.clone()));
    }
    if kind.nested() {
        diag.at(ty, "a message field is an `Option`, an `Option<Box<_>>` or, `repeated`, a `Vec`");
        return None;
    }
    Some((Shape::Implicit, ty.clone()))
}
