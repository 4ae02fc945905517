//! A struct or enum that makes sense: numbers are unique, types fit their kinds, presence is
//! decided. What gets here expands without further questions.

use std::collections::BTreeMap;

use proc_macro2::Span;
use syn::{Data, DeriveInput, Fields, GenericArgument, Generics, Ident, PathArguments, Type};

use crate::attrs::{self, Flags, Kind, Number, Pb};
use crate::diag::Diagnostics;

/// How often a field may stand in a message, and when it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// `T`: written unless it is the default.
    Implicit,
    /// `Option<T>`: written when present.
    Optional,
    /// `Vec<T>`: one field an element.
    Repeated,
    /// `Vec<T>`: one field for all.
    Packed,
}

/// One struct field and what becomes of it.
pub(crate) struct Member {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    pub(crate) what: What,
}

pub(crate) enum What {
    Field { kind: Kind, number: u32, shape: Shape, inner: Type },
    Oneof { numbers: Vec<u32>, inner: Type },
    Unknown,
}

/// The input of `#[derive(Message)]`.
pub(crate) struct Message {
    pub(crate) ident: Ident,
    pub(crate) generics: Generics,
    pub(crate) members: Vec<Member>,
}

impl Message {
    pub(crate) fn new(input: DeriveInput) -> syn::Result<Self> {
        let DeriveInput { ident, generics, data, .. } = input;
        let fields = match data {
            Data::Struct(data) => data.fields,
            Data::Enum(_) => {
                let message = "Message is for structs; an enum of alternatives derives Oneof";
                return Err(syn::Error::new(ident.span(), message));
            }
            Data::Union(_) => return Err(syn::Error::new(ident.span(), "Message is for structs")),
        };
        let named = match fields {
            Fields::Named(fields) => fields.named,
            Fields::Unit => Default::default(),
            Fields::Unnamed(fields) => {
                let message = "a message has named fields";
                return Err(syn::Error::new_spanned(fields, message));
            }
        };
        let mut diag = Diagnostics::default();
        let mut numbers = Numbers::default();
        let mut unknown: Option<Ident> = None;
        let mut members = Vec::new();
        for field in named {
            let ident = field.ident.expect("fields of a braced struct have names");
            let Some(pb) = diag.take(attrs::find(&field.attrs, &ident, "field")) else { continue };
            let what = match pb {
                Pb::Field { kind, number, flags } => {
                    numbers.add(&number, &ident, &mut diag);
                    field_shape(kind, flags, &field.ty, &mut diag).map(|(shape, inner)| {
                        What::Field { kind, number: number.value, shape, inner }
                    })
                }
                Pb::Oneof { numbers: list } => {
                    for number in &list {
                        numbers.add(number, &ident, &mut diag);
                    }
                    let numbers = list.into_iter().map(|number| number.value).collect();
                    let inner = argument(&field.ty, "Option").cloned();
                    if inner.is_none() {
                        diag.at(&field.ty, "a oneof is an `Option` of an enum that derives Oneof");
                    }
                    inner.map(|inner| What::Oneof { numbers, inner })
                }
                Pb::Unknown => {
                    if let Some(first) = &unknown {
                        let message = format!("unknown fields are already kept in `{first}`");
                        diag.at(&ident, message);
                    }
                    unknown = Some(ident.clone());
                    Some(What::Unknown)
                }
            };
            members.extend(what.map(|what| Member { ident, ty: field.ty, what }));
        }
        diag.finish(Message { ident, generics, members })
    }
}

/// One alternative of a oneof.
pub(crate) struct Variant {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    pub(crate) kind: Kind,
    pub(crate) number: u32,
}

/// The input of `#[derive(Oneof)]`.
pub(crate) struct Oneof {
    pub(crate) ident: Ident,
    pub(crate) generics: Generics,
    pub(crate) variants: Vec<Variant>,
}

impl Oneof {
    pub(crate) fn new(input: DeriveInput) -> syn::Result<Self> {
        let DeriveInput { ident, generics, data, .. } = input;
        let Data::Enum(data) = data else {
            return Err(syn::Error::new(ident.span(), "Oneof is for enums"));
        };
        let mut diag = Diagnostics::default();
        if data.variants.is_empty() {
            diag.at(&ident, "a oneof needs at least one variant");
        }
        let mut numbers = Numbers::default();
        let mut variants = Vec::new();
        for variant in data.variants {
            let ident = variant.ident;
            let Some(pb) = diag.take(attrs::find(&variant.attrs, &ident, "variant")) else {
                continue;
            };
            let Pb::Field { kind, number, flags } = pb else {
                diag.at(&ident, "a variant of a oneof is one field: it has a kind and a number");
                continue;
            };
            numbers.add(&number, &ident, &mut diag);
            for span in [flags.repeated, flags.packed].into_iter().flatten() {
                diag.at_span(span, "a variant of a oneof cannot be repeated");
            }
            let ty = match variant.fields {
                Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                    fields.unnamed.into_iter().next().expect("counted").ty
                }
                _ => {
                    diag.at(&ident, format!("write the one value it holds: `{ident}(T)`"));
                    continue;
                }
            };
            check_boxed(kind, flags, &ty, &mut diag);
            check_type(kind, &ty, &mut diag);
            variants.push(Variant { ident, ty, kind, number: number.value });
        }
        diag.finish(Oneof { ident, generics, variants })
    }
}

/// Field numbers seen so far and who has them.
#[derive(Default)]
struct Numbers(BTreeMap<u32, Ident>);

impl Numbers {
    fn add(&mut self, number: &Number, owner: &Ident, diag: &mut Diagnostics) {
        if let Some(first) = self.0.insert(number.value, owner.clone()) {
            let message = format!("number {} is already taken by `{first}`", number.value);
            diag.at_span(number.span, message);
        }
    }
}

/// Reads presence and element type off a field's flags and type.
fn field_shape(
    kind: Kind,
    flags: Flags,
    ty: &Type,
    diag: &mut Diagnostics,
) -> Option<(Shape, Type)> {
    if let (Some(_), Some(span)) = (flags.repeated, flags.packed) {
        diag.at_span(span, "`packed` already says `repeated`");
        return None;
    }
    let (shape, inner) = match (flags.repeated, flags.packed) {
        (None, None) => single_shape(kind, ty, diag)?,
        (_, packed) => {
            if let Some(span) = packed.filter(|_| !kind.packable()) {
                diag.at_span(span, "only numbers, bools and enumerations can be packed");
                return None;
            }
            let Some(inner) = argument(ty, "Vec") else {
                diag.at(ty, "a repeated field is a `Vec`");
                return None;
            };
            (if packed.is_some() { Shape::Packed } else { Shape::Repeated }, inner.clone())
        }
    };
    check_boxed(kind, flags, &inner, diag);
    check_type(kind, &inner, diag);
    Some((shape, inner))
}

fn single_shape(kind: Kind, ty: &Type, diag: &mut Diagnostics) -> Option<(Shape, Type)> {
    if let Some(inner) = argument(ty, "Option") {
        return Some((Shape::Optional, inner.clone()));
    }
    let is_vec = argument(ty, "Vec").is_some();
    if is_vec && kind != Kind::Bytes {
        diag.at(ty, "a `Vec` needs `repeated` or `packed`");
        return None;
    }
    if kind == Kind::Message {
        diag.at(ty, "a message field is an `Option`, an `Option<Box<_>>` or, `repeated`, a `Vec`");
        return None;
    }
    Some((Shape::Implicit, ty.clone()))
}

fn check_boxed(kind: Kind, flags: Flags, inner: &Type, diag: &mut Diagnostics) {
    let is_box = argument(inner, "Box").is_some();
    match flags.boxed {
        Some(span) if kind != Kind::Message => diag.at_span(span, "only messages are boxed"),
        Some(_) if !is_box => diag.at(inner, "`boxed` needs a `Box`"),
        None if is_box => diag.at(inner, "a `Box` needs `boxed`, as in #[pb(message, 3, boxed)]"),
        _ => {}
    }
}

/// Catches the primitive of another kind here, where the message can name both; whatever else
/// does not fit is found by the trait bounds of the expansion.
fn check_type(kind: Kind, inner: &Type, diag: &mut Diagnostics) {
    let wanted = match kind {
        Kind::Scalar { rust, .. } => rust,
        Kind::String => "String",
        Kind::Bytes => "Vec<u8>",
        Kind::Enumeration => "a type that implements protozero::Enumeration",
        Kind::Message => "a type that derives protozero::Message",
    };
    const PRIMITIVES: &[&str] = &[
        "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize",
        "f32", "f64", "bool", "char", "String",
    ];
    let Some(name) = simple_name(inner) else { return };
    if PRIMITIVES.contains(&name.as_str()) && name != wanted {
        diag.at(inner, format!("this kind is held by {}, not by `{name}`", quoted(wanted)));
    }
}

fn quoted(wanted: &str) -> String {
    if wanted.starts_with("a type") { wanted.to_string() } else { format!("`{wanted}`") }
}

fn last_segment(ty: &Type) -> Option<&syn::PathSegment> {
    match ty {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last(),
        // Types that came through a macro_rules fragment are wrapped in an invisible group.
        Type::Group(group) => last_segment(&group.elem),
        Type::Paren(paren) => last_segment(&paren.elem),
        _ => None,
    }
}

fn simple_name(ty: &Type) -> Option<String> {
    let segment = last_segment(ty)?;
    segment.arguments.is_none().then(|| segment.ident.to_string())
}

/// `T` of `Wrapper<T>`, whatever path leads to `Wrapper`.
fn argument<'t>(ty: &'t Type, wrapper: &str) -> Option<&'t Type> {
    let segment = last_segment(ty)?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(inner) if segment.ident == wrapper => Some(inner),
        _ => None,
    }
}

/// A span for tokens that belong to `ty`, so that type errors point at what the user wrote.
pub(crate) fn span_of(ty: &Type) -> Span {
    syn::spanned::Spanned::span(ty)
}
