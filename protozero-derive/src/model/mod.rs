//! A checked struct or enum: numbers are unique, types fit their kinds, presence is decided. Expansion needs no more
//! checks.

mod enumeration;
mod field;
mod oneof;
mod shape;
pub(crate) mod types;

use std::collections::BTreeMap;

use proc_macro2::Span;
use syn::ext::IdentExt as _;
use syn::{
    Data, DeriveInput, Fields, GenericParam, Generics, Ident, Lifetime, LitStr, Type, Visibility,
};

use crate::attrs::{self, Number, Pb};
use crate::diag::Diagnostics;

pub(crate) use enumeration::{Enumeration, Values, Variant};
pub(crate) use oneof::Oneof;
pub(crate) use shape::{FieldName, Held, Shape, What};

/// One field of the struct, and its role.
pub(crate) struct Member {
    pub(crate) ident: Ident,
    pub(crate) name: FieldName,
    pub(crate) vis: Visibility,
    pub(crate) ty: Type,
    pub(crate) what: What,
}

/// The input of `#[derive(Message)]` or, with a lifetime, `#[derive(MessageView)]`.
pub(crate) struct Message {
    pub(crate) ident: Ident,
    pub(crate) vis: Visibility,
    /// Full name in the schema. Without one there is no descriptor.
    pub(crate) name: Option<LitStr>,
    pub(crate) generics: Generics,
    pub(crate) lifetime: Option<Lifetime>,
    pub(crate) members: Vec<Member>,
}

impl Message {
    /// Reads a struct; `view` if it borrows.
    pub(crate) fn new(input: DeriveInput, view: bool) -> syn::Result<Self> {
        let name = if view { "MessageView" } else { "Message" };
        let lifetime = if view { Some(view_lifetime(&input)?) } else { None };
        let DeriveInput { ident, generics, data, attrs, vis: struct_vis } = input;
        let fields = match data {
            Data::Struct(data) => data.fields,
            Data::Enum(_) => {
                let message =
                    format!("{name} is for structs; an enum of alternatives derives Oneof");
                return Err(syn::Error::new(ident.span(), message));
            }
            Data::Union(_) => {
                return Err(syn::Error::new(ident.span(), format!("{name} is for structs")));
            }
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
        let flags = diag.take(attrs::struct_flags(&attrs, &ident)).unwrap_or_default();
        let mut numbers = Numbers::default();
        let mut unknown: Option<Ident> = None;
        let mut members = Vec::new();
        for syn::Field { attrs, vis, ident, ty, .. } in named {
            let ident = ident.expect("fields of a braced struct have names");
            let Some(pb) = diag.take(attrs::find(&attrs, &ident, "field")) else { continue };
            let name = field_name(&pb, &ident);
            let what = match pb {
                Pb::Field { kind, number, flags } => {
                    numbers.add(&number, &ident, &mut diag);
                    field::single(kind, number.value, flags, &ty, view, &mut diag)
                }
                Pb::Map { key, value, number, flags } => {
                    numbers.add(&number, &ident, &mut diag);
                    field::map((key, value), number.value, flags, &ty, view, &mut diag)
                }
                Pb::Oneof { numbers: list } => {
                    for number in &list {
                        numbers.add(number, &ident, &mut diag);
                    }
                    let numbers = list.into_iter().map(|number| number.value).collect();
                    let inner = types::argument(&ty, "Option").cloned();
                    if inner.is_none() {
                        diag.at(&ty, "a oneof is an `Option` of an enum that derives Oneof");
                    }
                    inner.map(|inner| What::Oneof { numbers, inner })
                }
                Pb::Unknown { extensions } => {
                    if let Some(first) = &unknown {
                        let message = format!("unknown fields are already kept in `{first}`");
                        diag.at(&ident, message);
                    }
                    unknown = Some(ident.clone());
                    Some(What::Unknown { extensions })
                }
            };
            members.extend(what.map(|what| Member { ident, name, vis, ty, what }));
        }
        check_unknown(&ident, flags.skips_unknown, unknown.as_ref(), &mut diag);
        check_names(flags.name.as_ref(), &generics, &members, &mut diag);
        let (vis, name) = (struct_vis, flags.name);
        diag.finish(Message { ident, vis, name, generics, lifetime, members })
    }

    /// The field for unknown fields.
    pub(crate) fn unknown(&self) -> Option<&Member> {
        self.members.iter().find(|member| matches!(member.what, What::Unknown { .. }))
    }
}

/// Checks that the struct says what becomes of fields that it does not list.
fn check_unknown(
    name: &Ident,
    skips: Option<Span>,
    keeper: Option<&Ident>,
    diag: &mut Diagnostics,
) {
    match (skips, keeper) {
        (Some(span), Some(keeper)) => {
            diag.at_span(span, format!("unknown fields are kept in `{keeper}`, not skipped"));
        }
        // Other mistakes come first: one of them may be in the attribute of that field.
        (None, None) if diag.is_empty() => {
            let message = format!(
                "`{name}` would lose fields that it does not list: keep them in a field \
                 `#[pb(unknown)] rest: protozero::UnknownFields`, or say `#[pb(skip_unknown)]` above the struct"
            );
            diag.at(name, message);
        }
        _ => {}
    }
}

/// What the schema calls a field with that attribute.
fn field_name(pb: &Pb, ident: &Ident) -> FieldName {
    let rust = ident.unraw().to_string();
    match pb {
        Pb::Field { flags, .. } | Pb::Map { flags, .. } => FieldName::new(flags, rust),
        _ => FieldName { schema: rust, json: None },
    }
}

/// Checks that a schema can be made of the names, if the struct has one.
fn check_names(
    full: Option<&LitStr>,
    generics: &Generics,
    members: &[Member],
    diag: &mut Diagnostics,
) {
    let Some(full) = full else {
        for json in members.iter().filter_map(|member| member.name.json.as_ref()) {
            diag.at(
                json,
                "only a struct with a name has JSON: say #[pb(name = \"shop.Order\")] above it",
            );
        }
        return;
    };
    if generics.params.iter().any(|param| !matches!(param, GenericParam::Lifetime(_))) {
        diag.at(full, "a struct with parameters is several messages: it cannot have one name");
    }
    let (mut names, mut in_json) = (BTreeMap::new(), BTreeMap::new());
    for Member { ident, name, what, .. } in members {
        if !matches!(what, What::Unknown { .. }) && !attrs::is_name(&name.schema) {
            diag.at(ident, "a schema has ASCII names: give it one, as in `name = \"note\"`");
        }
        if !matches!(what, What::Field { .. } | What::Map { .. }) {
            continue;
        }
        let first = names.insert(name.schema.clone(), ident);
        let first = in_json.insert(name.in_json(), ident).or(first);
        if let Some(first) = first {
            let message = format!(
                "`{first}` has the same name in the schema or in JSON: give one of them another `name`"
            );
            diag.at(ident, message);
        }
    }
}

fn view_lifetime(input: &DeriveInput) -> syn::Result<Lifetime> {
    let mut lifetimes = input.generics.lifetimes();
    match (lifetimes.next(), lifetimes.next()) {
        (Some(only), None) => Ok(only.lifetime.clone()),
        (None, _) => {
            let message = "a view borrows: give it a lifetime, or derive Message";
            Err(syn::Error::new(input.ident.span(), message))
        }
        (_, Some(second)) => {
            Err(syn::Error::new_spanned(second, "a view has one lifetime, that of the input"))
        }
    }
}

/// Field numbers seen so far, and the names of their fields.
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
