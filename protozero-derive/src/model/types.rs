//! Reads types such as `Option<Box<T>>` as they are written; a macro cannot resolve names.

use proc_macro2::Span;
use syn::{GenericArgument, PathArguments, Type};

use crate::attrs::Flags;
use crate::diag::Diagnostics;
use crate::kind::Kind;

/// `T` of `Wrapper<T>`, for any path before `Wrapper`.
pub(super) fn argument<'t>(ty: &'t Type, wrapper: &str) -> Option<&'t Type> {
    arguments(ty, wrapper)?.into_iter().next()
}

/// All types among the arguments of `Wrapper<...>`.
pub(super) fn arguments<'t>(ty: &'t Type, wrapper: &str) -> Option<Vec<&'t Type>> {
    let segment = last_segment(ty)?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(inner) => Some(inner),
        _ => None,
    });
    (segment.ident == wrapper).then(|| types.collect())
}

fn last_segment(ty: &Type) -> Option<&syn::PathSegment> {
    match ty {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last(),
        // Types from a macro_rules fragment are wrapped in an invisible group.
        Type::Group(group) => last_segment(&group.elem),
        Type::Paren(paren) => last_segment(&paren.elem),
        _ => None,
    }
}

fn simple_name(ty: &Type) -> Option<String> {
    let segment = last_segment(ty)?;
    segment.arguments.is_none().then(|| segment.ident.to_string())
}

/// Whether a value of this type borrows from the input, in a view.
pub(crate) fn borrows(ty: &Type) -> bool {
    is_reference(ty) || arguments(ty, "Cow").is_some()
}

fn is_reference(ty: &Type) -> bool {
    match ty {
        Type::Reference(_) => true,
        Type::Group(group) => is_reference(&group.elem),
        Type::Paren(paren) => is_reference(&paren.elem),
        _ => false,
    }
}

/// A span for generated tokens that belong to `ty`: type errors point at the user's type, and names are resolved at the
/// call site of the macro.
pub(crate) fn span_of(ty: &Type) -> Span {
    Span::call_site().located_at(syn::spanned::Spanned::span(ty))
}

/// Reports a primitive type of another kind here, because the message can name both. Trait bounds of the expansion
/// catch all other wrong types.
pub(super) fn check(kind: Kind, inner: &Type, view: bool, diag: &mut Diagnostics) {
    if is_reference(inner) {
        match kind {
            Kind::String | Kind::Bytes if view => {}
            Kind::String | Kind::Bytes => {
                diag.at(inner, "only a view borrows: derive MessageView and give it a lifetime");
            }
            _ => diag.at(inner, "only strings and bytes can be borrowed"),
        }
        return;
    }
    if argument(inner, "Option").is_some() {
        diag.at(inner, "an `Option` cannot be inside a list, a map or another `Option`");
        return;
    }
    if argument(inner, "Vec").is_some() && kind != Kind::Bytes {
        diag.at(
            inner,
            "a list is a whole field, a `Vec` and `repeated` or `packed`: not a part of one",
        );
        return;
    }
    let wanted = match kind {
        Kind::Scalar { rust, .. } => rust,
        Kind::String => "String",
        Kind::Bytes => "Vec<u8>",
        Kind::Enumeration => "a type that implements protozero::Enumeration",
        Kind::Message | Kind::Group => "a type that derives protozero::Message",
    };
    const PRIMITIVES: &[&str] = &[
        "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize",
        "f32", "f64", "bool", "char", "String",
    ];
    let Some(name) = simple_name(inner) else { return };
    if PRIMITIVES.contains(&name.as_str()) && name != wanted {
        let quoted = if wanted.contains(' ') { wanted.to_string() } else { format!("`{wanted}`") };
        diag.at(inner, format!("this kind is held by {quoted}, not by `{name}`"));
    }
}

/// Checks that `boxed` and `Box` occur together.
pub(super) fn check_boxed(kind: Kind, flags: &Flags, inner: &Type, diag: &mut Diagnostics) {
    let is_box = argument(inner, "Box").is_some();
    match flags.boxed {
        Some(span) if !kind.nested() => diag.at_span(span, "only messages are boxed"),
        Some(_) if !is_box => diag.at(inner, "`boxed` needs a `Box`"),
        None if is_box && kind.nested() => {
            diag.at(inner, "a `Box` needs `boxed`, as in #[pb(message, 3, boxed)]");
        }
        _ => {}
    }
}
