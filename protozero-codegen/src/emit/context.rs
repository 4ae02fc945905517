//! What the emitters share: paths of generated types, attributes, comments.

use std::cell::RefCell;
use std::fmt::Write as _;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use super::hashable::{Hashable, hash_map};
use crate::comments::mark;
use crate::model::{EnumId, Field, Kind, Message, MessageId, Schema};
use crate::names::{Names, member, prost, raw};
use crate::{Config, attributes, wellknown};

/// Columns a line may take with its attribute in front.
const WIDTH: usize = 120;

/// The input of an emitter for one file.
pub(crate) struct Context<'a> {
    pub schema: &'a Schema,
    pub names: &'a Names,
    pub config: &'a Config,
    pub hashable: &'a Hashable,
    /// Index of the file that is being generated.
    pub file: usize,
    /// Items that are already text: see [`Context::verbatim`].
    pub texts: RefCell<Vec<String>>,
}

impl Context<'_> {
    /// The `cfg` attribute of a field whose type lies in another area: see [`Config::features`].
    pub fn gate(&self, field: &Field) -> TokenStream {
        cfg(self.gate_feature(field))
    }

    /// The feature of [`Context::gate`].
    pub fn gate_feature(&self, field: &Field) -> Option<&str> {
        let file = match field.kind {
            Kind::Message(id) => self.schema.messages[id.0].file,
            Kind::Enum(id) => self.schema.enums[id.0].file,
            _ => return None,
        };
        self.area(file)
    }

    /// The `cfg` attribute of an item that needs `file`, if `file` lies in another area.
    pub fn gate_file(&self, file: usize) -> TokenStream {
        cfg(self.area(file))
    }

    /// The feature of `file`, if it lies in another area.
    fn area(&self, file: usize) -> Option<&str> {
        let feature = |file: usize| self.config.feature(&self.schema.files[file].path);
        feature(file).filter(|theirs| feature(self.file) != Some(theirs))
    }

    /// Adds an item that is already text: a call of one of our macros, whose rows a formatter would join into a
    /// paragraph.
    pub fn verbatim(&self, text: String) -> TokenStream {
        let mut texts = self.texts.borrow_mut();
        texts.push(text);
        let at = texts.len() - 1;
        quote! { verbatim! { #at } }
    }

    /// Appends a row of such a table, with its comment and its `cfg` attribute.
    pub fn row(
        &self,
        out: &mut String,
        indent: &str,
        doc: Option<String>,
        feature: Option<&str>,
        line: &str,
    ) {
        // Writing to a string cannot fail.
        if let Some(doc) = doc {
            let _ = writeln!(out, "{indent}/// {doc}");
        }
        let gate = feature.map(|feature| format!("#[cfg(feature = \"{feature}\")]"));
        let _ = match gate {
            Some(gate) if indent.len() + gate.len() + 1 + line.len() > WIDTH => {
                writeln!(out, "{indent}{gate}\n{indent}{line}")
            }
            Some(gate) => writeln!(out, "{indent}{gate} {line}"),
            None => writeln!(out, "{indent}{line}"),
        };
    }

    /// Path of the owned struct.
    pub fn owned(&self, id: MessageId) -> TokenStream {
        self.path_to(self.schema.messages[id.0].file, &self.names.message(id).owned)
    }

    /// Path of the writer.
    pub fn writer(&self, id: MessageId) -> TokenStream {
        self.path_to(self.schema.messages[id.0].file, &self.names.message(id).writer)
    }

    /// Path of the reader.
    pub fn reader(&self, id: MessageId) -> TokenStream {
        self.path_to(self.schema.messages[id.0].file, &self.names.message(id).reader)
    }

    /// Path of the struct that borrows, without its lifetime.
    pub fn view(&self, id: MessageId) -> TokenStream {
        self.path_to(self.schema.messages[id.0].file, &self.names.message(id).view)
    }

    /// Path of the enum.
    pub fn enumeration(&self, id: EnumId) -> TokenStream {
        self.path_to(self.schema.enums[id.0].file, self.names.enumeration(id))
    }

    /// Path of a type from the module of this file's package.
    fn path_to(&self, file: usize, name: &str) -> TokenStream {
        let name = ident(name);
        if self.is_beside(file) {
            return quote! { #name };
        }
        let modules = self.names.modules(file).iter().map(|part| raw(part));
        if let Some(outer) = &self.schema.files[file].extern_module {
            let outer = path(outer);
            return quote! { #outer #(:: #modules)* :: #name };
        }
        let root = self.root();
        quote! { #root #(#modules ::)* #name }
    }

    /// Whether the items of `file` are in the same module as those of this file.
    pub fn is_beside(&self, file: usize) -> bool {
        let external = self.schema.files[file].extern_module.is_some();
        !external && self.names.modules(file) == self.names.modules(self.file)
    }

    /// The name of a field or a oneof in Rust, before it is made a valid one.
    pub fn field_name(&self, name: &str) -> String {
        if self.config.prost_names { prost::snake(name) } else { name.to_owned() }
    }

    /// The name of a field or a oneof beside members that have `reserved` names. It is a valid one with or without
    /// `r#`. Those of two fields are equal only with the names of prost, which has no underscore at the end.
    pub fn member_name(&self, name: &str, reserved: &[&str]) -> String {
        let name = self.field_name(name);
        if self.config.prost_names { name } else { member(name, reserved) }
    }

    /// Whether the owned message of that name has no place for unknown fields.
    pub fn drops_unknown(&self, message: &Message) -> bool {
        let full = message.path.full();
        let names = &self.config.drop_unknown_fields;
        message.extension_ranges.is_empty()
            && names.iter().any(|name| attributes::inside(name, &full))
    }

    /// Whether the owned message of that name is compact.
    pub fn is_compact(&self, message: &Message) -> bool {
        let full = message.path.full();
        let is_in = |outer: &String| {
            full.strip_prefix(outer.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let compact = self.config.compact && !self.drops_unknown(message);
        compact && !self.config.not_compact.iter().any(is_in)
    }

    /// The configured attributes of a message or oneof.
    pub fn message_attributes(&self, full: &str) -> TokenStream {
        attributes::of(self.config, &self.config.message_attributes, full)
    }

    /// The configured attributes of an enum.
    pub fn enum_attributes(&self, full: &str) -> TokenStream {
        attributes::of(self.config, &self.config.enum_attributes, full)
    }

    /// The configured attributes of a field.
    pub fn field_attributes(&self, full: &str) -> TokenStream {
        attributes::of(self.config, &self.config.field_attributes, full)
    }

    /// The configured attributes of a member of a oneof.
    pub fn member_attributes(&self, message: &Message, field: &Field) -> TokenStream {
        attributes::of_member(self.config, message, field)
    }

    /// The derives of `serde`, if the configuration asks for them.
    pub fn serde(&self) -> Option<TokenStream> {
        self.config.serde.then(|| quote! { #[derive(::serde::Serialize, ::serde::Deserialize)] })
    }

    /// `#[serde(WORD)]`, if the configuration asks for `serde`.
    pub fn serde_word(&self, word: &str) -> Option<TokenStream> {
        let word = ident(word);
        self.config.serde.then(|| quote! { #[serde(#word)] })
    }

    /// Whether the configuration asks for `bytes::Bytes` as the type of this field.
    pub fn shares_bytes(&self, message: &Message, field: &Field) -> bool {
        attributes::is_named(self.config, &self.config.bytes, message, field)
    }

    /// Whether the configuration asks for `SharedStr` as the type of this field.
    pub fn shares_text(&self, message: &Message, field: &Field) -> bool {
        attributes::is_named(self.config, &self.config.strings, message, field)
    }

    /// Whether owned messages and services have `()` in place of this message.
    pub fn is_unit(&self, id: MessageId) -> bool {
        self.is_plain() && self.schema.messages[id.0].path.full() == "google.protobuf.Empty"
    }

    /// The value that owned messages have in place of the message in this field.
    pub fn wrapped(&self, field: &Field) -> Option<&Field> {
        let Kind::Message(id) = field.kind else { return None };
        let Message { path, fields, .. } = &self.schema.messages[id.0];
        let is_wrapped = self.is_plain() && !field.delimited && wellknown::is_wrapper(&path.full());
        fields.first().filter(|_| is_wrapped)
    }

    /// Whether an owned message has this field in a `Box`.
    pub fn is_boxed(&self, field: &Field) -> bool {
        let is_unit = matches!(field.kind, Kind::Message(id) if self.is_unit(id));
        field.boxed && !is_unit && self.wrapped(field).is_none()
    }

    fn is_plain(&self) -> bool {
        self.config.plain_types && !self.config.compact
    }

    /// As [`scalar`](Self::scalar), of a field of owned messages.
    pub fn held(&self, field: &Field) -> TokenStream {
        match field.kind {
            Kind::Message(id) if self.is_unit(id) => quote! { () },
            kind => self.scalar(self.wrapped(field).map_or(kind, |value| value.kind)),
        }
    }

    /// The map type of this field of a message.
    pub fn map(&self, message: &Message, full: &str) -> TokenStream {
        match hash_map(self.config, full) && !self.is_compact(message) {
            true => quote! { ::std::collections::HashMap },
            false => quote! { rt::heap::BTreeMap },
        }
    }

    /// The prefix of a path from the root.
    fn root(&self) -> TokenStream {
        if self.config.root.is_empty() {
            // Items at the root are in a module of their own.
            let depth = self.names.modules(self.file).len().max(1);
            return (0..depth).map(|_| quote! { super:: }).collect();
        }
        self.config.root.split("::").map(raw_path).map(|part| quote! { #part :: }).collect()
    }

    /// Rust type of one scalar value, as owned structs and reader fields have it.
    pub fn scalar(&self, kind: Kind) -> TokenStream {
        match kind {
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => quote! { i32 },
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => quote! { i64 },
            Kind::Uint32 | Kind::Fixed32 => quote! { u32 },
            Kind::Uint64 | Kind::Fixed64 => quote! { u64 },
            Kind::Float => quote! { f32 },
            Kind::Double => quote! { f64 },
            Kind::Bool => quote! { bool },
            Kind::Enum(id) => self.enumeration(id),
            Kind::String => quote! { String },
            Kind::Bytes => quote! { Vec<u8> },
            Kind::Message(id) => self.owned(id),
        }
    }
}

/// The attribute that hides an item behind a feature.
pub(super) fn cfg(feature: Option<&str>) -> TokenStream {
    feature.map(|feature| quote! { #[cfg(feature = #feature)] }).unwrap_or_default()
}

/// A path that was checked before.
pub(super) fn path(text: &str) -> TokenStream {
    text.parse().unwrap_or_default()
}

/// One segment of a path; `crate`, `self` and `super` stay keywords.
fn raw_path(segment: &str) -> Ident {
    if matches!(segment, "crate" | "self" | "super") { ident(segment) } else { raw(segment) }
}

/// A name that is valid, or starts with `r#`.
pub(crate) fn ident(name: &str) -> Ident {
    match name.strip_prefix("r#") {
        Some(keyword) => Ident::new_raw(keyword, Span::call_site()),
        None => Ident::new(name, Span::call_site()),
    }
}

/// A path without the spaces that the token printer adds.
pub(crate) fn spaceless(tokens: TokenStream) -> String {
    tokens.to_string().replace(' ', "")
}

/// `rt::KIND`.
pub(crate) fn rt(kind: Kind) -> Ident {
    ident(kind.keyword())
}

/// A comment as doc attributes, and `#[deprecated]` if it applies.
pub(crate) fn docs(lines: &[String], deprecated: bool) -> TokenStream {
    let lines = lines.iter().map(|l| if l.is_empty() { String::new() } else { format!(" {l}") });
    let deprecated = deprecated.then(|| quote! { #[deprecated] });
    quote! { #(#[doc = #lines])* #deprecated }
}

/// As [`docs`], with a fallback for declarations without a comment.
pub(crate) fn docs_or(lines: &[String], deprecated: bool, fallback: &str) -> TokenStream {
    if lines.is_empty() {
        docs(&[fallback.to_owned()], deprecated)
    } else {
        docs(lines, deprecated)
    }
}

/// The first sentence of a comment, on one line.
pub(crate) fn summary(lines: &[String]) -> TokenStream {
    let text = first_sentence(lines).map(|text| format!(" {text}"));
    text.map(|text| quote! { #[doc = #text] }).unwrap_or_default()
}

/// The same, as text.
pub(crate) fn first_sentence(lines: &[String]) -> Option<String> {
    let prose = |l: &&str| !l.is_empty() && mark(l.trim_start()).is_none();
    let paragraph: Vec<&str> = lines.iter().map(String::as_str).take_while(prose).collect();
    let text = paragraph.join(" ");
    // The dot of `1. item` does not end a sentence.
    let end = text.match_indices(". ").map(|(at, _)| at);
    let end = end.into_iter().find(|at| text[..*at].contains(|c: char| !c.is_ascii_digit()));
    match end {
        _ if text.is_empty() => None,
        Some(end) => Some(text[..=end].to_owned()),
        None => Some(text),
    }
}
