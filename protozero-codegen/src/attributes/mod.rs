//! Attributes that the configuration adds to generated types and fields: see [`Config::message_attributes`].

use proc_macro2::TokenStream;
use quote::quote;
use syn::Attribute;
use syn::parse::Parser as _;

use crate::model::{Field, Kind, Label, Message, Schema};
use crate::{Config, Error};

/// Whether a name of the configuration matches a full name of the schema.
type Rule = fn(&str, &str) -> bool;

/// Parses attributes in Rust's syntax: `#[a] #[b(c)]`.
pub(crate) fn parse(text: &str) -> syn::Result<Vec<Attribute>> {
    let found = Attribute::parse_outer.parse_str(text)?;
    if found.is_empty() {
        return Err(syn::Error::new(proc_macro2::Span::call_site(), "no attribute"));
    }
    Ok(found)
}

/// # Errors
/// When a text is not an attribute, or a name is not in the schema. The error has the text or the name as its file.
pub(crate) fn check(config: &Config, schema: &Schema) -> Result<(), Error> {
    let types = config.message_attributes.iter().chain(&config.enum_attributes);
    for (_, text) in types.chain(&config.field_attributes) {
        parse(text).map_err(|error| Error {
            file: text.clone(),
            line: 0,
            column: 0,
            message: format!("not attributes: {error}"),
        })?;
    }
    // `type_attribute` sets both lists with one name, so a name may match either messages or enums.
    let types = config.message_attributes.iter().chain(&config.enum_attributes);
    let rule = if config.prost_names { like_prost } else { inside };
    let lost = types.clone().find(|(name, _)| !any(schema, name, false, rule));
    let lost =
        lost.or_else(|| config.field_attributes.iter().find(|(n, _)| !any(schema, n, true, rule)));
    let nothing = |name: &String, what: &str| Error {
        file: name.clone(),
        line: 0,
        column: 0,
        message: format!("nothing in the schema has this name, to {what}{}", ends(schema, name)),
    };
    if let Some((name, _)) = lost {
        return Err(nothing(name, "stand attributes at"));
    }
    let lists: [(_, _, Rule, _); 6] = [
        (&config.bytes, true, rule, "hold as Bytes"),
        (&config.strings, true, rule, "hold as SharedStr"),
        (&config.eq_and_hash, false, rule, "derive Eq and Hash for"),
        (&config.hash_map, true, rule, "hold as a HashMap"),
        (&config.boxed, true, rule, "hold in a Box"),
        (&config.drop_unknown_fields, false, inside, "drop unknown fields of"),
    ];
    for (names, fields, rule, what) in lists {
        if let Some(name) = names.iter().find(|name| !any(schema, name, fields, rule)) {
            return Err(nothing(name, what));
        }
    }
    match config.shared.iter().find(|name| !is_single_message(schema, name)) {
        None => Ok(()),
        Some(name) => Err(nothing(name, "share: a field with one message, in no oneof")),
    }
}

/// Whether a field of that name holds one message and is in no oneof.
fn is_single_message(schema: &Schema, name: &str) -> bool {
    schema.messages.iter().any(|message| {
        let full = message.path.full();
        message.fields.iter().any(|field| {
            matches!(field.kind, Kind::Message(_))
                && field.label != Label::Repeated
                && field.oneof.is_none()
                && name == format!("{full}.{}", field.name)
        })
    })
}

/// Whether `name` matches a message, oneof or enum, or, with `fields`, a field.
fn any(schema: &Schema, name: &str, fields: bool, rule: Rule) -> bool {
    if name.trim_start_matches('.').is_empty() {
        return true;
    }
    let types = schema.messages.iter().any(|message| {
        let full = message.path.full();
        let within = |short: &str| rule(name, &format!("{full}.{short}"));
        let field = |field: &Field| {
            let of = field.oneof.map(|at| format!("{}.{}", message.oneofs[at].name, field.name));
            within(&field.name) || of.is_some_and(|member| within(&member))
        };
        rule(name, &full)
            || message.oneofs.iter().any(|oneof| within(&oneof.name))
            || fields && within("unknown_fields")
            || fields && message.fields.iter().any(field)
    });
    types || schema.enums.iter().any(|e| rule(name, &e.path.full()))
}

/// A full name of a type or a field that ends with `name`, for a message.
fn ends(schema: &Schema, name: &str) -> String {
    let end = format!(".{}", name.trim_start_matches('.'));
    let messages = schema.messages.iter().flat_map(|message| {
        let full = message.path.full();
        let fields = message.fields.iter().map(|f| format!("{full}.{}", f.name));
        fields.chain([full.clone()]).collect::<Vec<_>>()
    });
    let mut all = messages.chain(schema.enums.iter().map(|e| e.path.full()));
    let found = all.find(|full| full.ends_with(&end));
    found.map(|full| format!("; names are full: {full}")).unwrap_or_default()
}

/// The rule of prost: a name that begins with a dot is full, and matches what is inside it. Another one is the end of a
/// full name, and matches nothing else.
fn like_prost(name: &str, full: &str) -> bool {
    if name.is_empty() || name.starts_with('.') {
        return inside(name, full);
    }
    full.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Whether the configuration's `name` matches the element with the name `full`.
pub(crate) fn matches(config: &Config, name: &str, full: &str) -> bool {
    if config.prost_names { like_prost(name, full) } else { inside(name, full) }
}

/// Whether `full` is `name` or lies inside it.
pub(crate) fn inside(name: &str, full: &str) -> bool {
    let name = name.trim_start_matches('.');
    let rest = full.strip_prefix(name);
    name.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The two names of a field in a configuration: in its message, and for a member in its oneof.
fn names(message: &Message, field: &Field) -> (String, Option<String>) {
    let outer = message.path.full();
    let oneof = field.oneof.and_then(|at| message.oneofs.get(at));
    let member = oneof.map(|oneof| format!("{outer}.{}.{}", oneof.name, field.name));
    (format!("{outer}.{}", field.name), member)
}

/// Whether `list`, one of the lists of the configuration, names this field or an element around it.
pub(crate) fn is_named(config: &Config, list: &[String], message: &Message, field: &Field) -> bool {
    let (full, member) = names(message, field);
    let has = |full: &str| list.iter().any(|name| matches(config, name, full));
    has(&full) || member.is_some_and(|member| has(&member))
}

/// The attributes of a member of a oneof. A name of the oneof is that of the field that holds it, and reaches the
/// members only where prost's does.
pub(crate) fn of_member(config: &Config, message: &Message, field: &Field) -> TokenStream {
    let (full, member) = names(message, field);
    let member = member.unwrap_or_default();
    let inside = |name: &str| match config.prost_names {
        true => like_prost(name, &member),
        false => name.trim_start_matches('.') == member,
    };
    joined(config.field_attributes.iter().filter(|(n, _)| matches(config, n, &full) || inside(n)))
}

/// The attributes in `list` that match the name `full`, in their order there.
pub(crate) fn of(config: &Config, list: &[(String, String)], full: &str) -> TokenStream {
    joined(list.iter().filter(|(name, _)| matches(config, name, full)))
}

fn joined<'a>(list: impl Iterator<Item = &'a (String, String)>) -> TokenStream {
    let found = list.flat_map(|(_, text)| parse(text).unwrap_or_default());
    found.map(|attribute| quote! { #attribute }).collect()
}

#[cfg(test)]
mod tests;
