//! Parses `#[pb(...)]`. Whether the attribute fits its field is checked later, in `model`.

use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Attribute, Expr, Ident, LitInt, LitStr, Token, parenthesized};

use crate::kind::{self, Kind};

/// A field number with its span.
#[derive(Clone, Debug)]
pub(crate) struct Number {
    pub(crate) value: u32,
    pub(crate) span: Span,
}

impl Parse for Number {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(syn::Ident) {
            let word: Ident = input.parse()?;
            let message = match word.to_string().as_str() {
                name @ ("tag" | "optional") => unknown_flag(name),
                name => format!("the number must come before `{name}`, as in #[pb(uint32, 3)]"),
            };
            return Err(syn::Error::new(word.span(), message));
        }
        if !input.peek(LitInt) {
            return Err(input.error("expected a field number, as in #[pb(uint32, 3)]"));
        }
        let literal: LitInt = input.parse()?;
        let error = |message: String| Err(syn::Error::new(literal.span(), message));
        match literal.base10_parse::<u32>() {
            Ok(value @ 19_000..=19_999) => {
                error(format!("{value} is reserved: 19000 to 19999 belong to protobuf itself"))
            }
            Ok(value @ 1..=536_870_911) => Ok(Number { value, span: literal.span() }),
            _ => error(format!("{literal} is no field number: they go from 1 to 536870911")),
        }
    }
}

/// The flags after the number.
#[derive(Clone, Default)]
pub(crate) struct Flags {
    pub(crate) repeated: Option<Span>,
    pub(crate) packed: Option<Span>,
    pub(crate) boxed: Option<Span>,
    pub(crate) required: Option<Span>,
    pub(crate) or_unknown: Option<Span>,
    pub(crate) default: Option<Expr>,
    /// Name in the schema.
    pub(crate) name: Option<LitStr>,
    /// Name in JSON.
    pub(crate) json: Option<LitStr>,
}

/// One parsed `#[pb(...)]`.
pub(crate) enum Pb {
    Field {
        kind: Kind,
        number: Number,
        flags: Flags,
    },
    Map {
        key: Kind,
        value: Kind,
        number: Number,
        flags: Flags,
    },
    Oneof {
        numbers: Vec<Number>,
    },
    /// The span of `extensions`, if the message allows extensions.
    Unknown {
        extensions: bool,
    },
}

impl Parse for Pb {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.is_empty() {
            return Err(input.error("expected a kind, as in #[pb(uint32, 3)]"));
        }
        let word: Ident = input.parse()?;
        let pb = match word.to_string().as_str() {
            "unknown" => Pb::Unknown { extensions: extensions(input)? },
            "oneof" => Pb::Oneof { numbers: numbers(input, &word)? },
            "map" => {
                let (key, value) = entry(input, &word)?;
                comma(input)?;
                Pb::Map { key, value, number: input.parse()?, flags: flags(input)? }
            }
            _ => {
                let kind = kind(&word)?;
                comma(input)?;
                Pb::Field { kind, number: input.parse()?, flags: flags(input)? }
            }
        };
        if !input.is_empty() {
            return Err(input.error("unexpected: the attribute is complete before this"));
        }
        Ok(pb)
    }
}

fn kind(word: &Ident) -> syn::Result<Kind> {
    let name = word.to_string();
    Kind::from_name(&name).ok_or_else(|| syn::Error::new(word.span(), kind::unknown(&name)))
}

fn comma(input: ParseStream<'_>) -> syn::Result<()> {
    if !input.peek(Token![,]) {
        return Err(input.error("expected `,` and a field number, as in #[pb(uint32, 3)]"));
    }
    input.parse::<Token![,]>().map(drop)
}

/// `(KEY, VALUE)` of a map.
fn entry(input: ParseStream<'_>, map: &Ident) -> syn::Result<(Kind, Kind)> {
    const EXAMPLE: &str =
        "a map needs the kinds of key and value, as in #[pb(map(string, message), 3)]";
    if !input.peek(syn::token::Paren) {
        return Err(syn::Error::new(map.span(), EXAMPLE));
    }
    let inner;
    parenthesized!(inner in input);
    let key: Ident = inner.parse()?;
    let key_kind = kind(&key)?;
    if !key_kind.key() {
        let message = format!("`{key}` cannot be a key: integers, bool and string can");
        return Err(syn::Error::new(key.span(), message));
    }
    if !inner.peek(Token![,]) {
        return Err(inner.error(EXAMPLE));
    }
    inner.parse::<Token![,]>()?;
    let value: Ident = inner.parse()?;
    if value == "map" || value == "group" || value == "oneof" {
        let message = format!("protobuf has no maps of {value}s: put it into a message");
        return Err(syn::Error::new(value.span(), message));
    }
    let value_kind = kind(&value)?;
    if !inner.is_empty() {
        return Err(inner.error(EXAMPLE));
    }
    Ok((key_kind, value_kind))
}

fn extensions(input: ParseStream<'_>) -> syn::Result<bool> {
    if !input.peek(Token![,]) {
        return Ok(false);
    }
    input.parse::<Token![,]>()?;
    if input.is_empty() {
        return Ok(false);
    }
    let word: Ident = input.parse()?;
    if word != "extensions" {
        let message = format!("`{word}` is not `extensions`, all that can be said here");
        return Err(syn::Error::new(word.span(), message));
    }
    Ok(true)
}

fn numbers(input: ParseStream<'_>, word: &Ident) -> syn::Result<Vec<Number>> {
    let mut numbers = Vec::new();
    while input.peek(Token![,]) {
        input.parse::<Token![,]>()?;
        if input.is_empty() {
            break;
        }
        numbers.push(input.parse()?);
    }
    if numbers.is_empty() {
        let message = "a oneof lists the numbers of its variants, as in #[pb(oneof, 1, 2)]";
        return Err(syn::Error::new(word.span(), message));
    }
    Ok(numbers)
}

fn flags(input: ParseStream<'_>) -> syn::Result<Flags> {
    let mut flags = Flags::default();
    while input.peek(Token![,]) {
        input.parse::<Token![,]>()?;
        if input.is_empty() {
            break;
        }
        let word: Ident = input.parse()?;
        let again = match word.to_string().as_str() {
            "repeated" => flags.repeated.replace(word.span()).is_some(),
            "packed" => flags.packed.replace(word.span()).is_some(),
            "boxed" => flags.boxed.replace(word.span()).is_some(),
            "required" => flags.required.replace(word.span()).is_some(),
            "or_unknown" => flags.or_unknown.replace(word.span()).is_some(),
            "default" => {
                if !input.peek(Token![=]) {
                    let message = "a default has a value, as in `default = 7`";
                    return Err(syn::Error::new(word.span(), message));
                }
                input.parse::<Token![=]>()?;
                flags.default.replace(input.parse()?).is_some()
            }
            "name" => flags.name.replace(field_name(input, &word)?).is_some(),
            "json" => flags.json.replace(text(input, &word, "@id")?).is_some(),
            other => return Err(syn::Error::new(word.span(), unknown_flag(other))),
        };
        if again {
            return Err(twice(&word));
        }
    }
    Ok(flags)
}

fn twice(word: &Ident) -> syn::Error {
    syn::Error::new(word.span(), format!("`{word}` is given twice"))
}

/// The text behind a word: `= "TEXT"`.
fn text(input: ParseStream<'_>, word: &Ident, example: &str) -> syn::Result<LitStr> {
    if !input.peek(Token![=]) {
        let message = format!("`{word}` has a text, as in `{word} = \"{example}\"`");
        return Err(syn::Error::new(word.span(), message));
    }
    input.parse::<Token![=]>()?;
    input.parse()
}

/// Whether a schema may have this name.
pub(crate) fn is_name(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| is_letter(c) && !c.is_ascii_digit()) && name.chars().all(is_letter)
}

fn field_name(input: ParseStream<'_>, word: &Ident) -> syn::Result<LitStr> {
    let name = text(input, word, "note")?;
    if is_name(&name.value()) {
        return Ok(name);
    }
    Err(syn::Error::new(
        name.span(),
        "the name of a field has ASCII letters, digits and underscores",
    ))
}

fn unknown_flag(name: &str) -> String {
    match name {
        "optional" => "write `Option<T>` instead of `optional`".into(),
        "tag" => "write the number without `tag`, as in #[pb(uint32, 3)]".into(),
        "utf8" => "delete `utf8`: a string that is not UTF-8 is an error without a word".into(),
        _ => format!(
            "`{name}` is not one of `repeated`, `packed`, `boxed`, `required`, `or_unknown`, `default = ...`, \
             `name = \"...\"`, `json = \"...\"`"
        ),
    }
}

/// The one `#[pb(...)]` among `attrs`; `owner` names the field or variant in messages.
pub(crate) fn find(attrs: &[Attribute], owner: &Ident, what: &str) -> syn::Result<Pb> {
    match one(attrs, owner, what)? {
        Some(attr) => attr.parse_args(),
        None => {
            let message = format!(
                "{what} `{owner}` has no #[pb(...)]: give its kind and number, as in #[pb(uint32, 3)]"
            );
            Err(syn::Error::new(owner.span(), message))
        }
    }
}

/// The flags of a struct: `#[pb(...)]` above it.
#[derive(Default)]
pub(crate) struct StructFlags {
    /// Where it says `skip_unknown`.
    pub(crate) skips_unknown: Option<Span>,
    /// Full name in the schema.
    pub(crate) name: Option<LitStr>,
}

impl Parse for StructFlags {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut flags = Self::default();
        loop {
            let word: Ident = input.parse()?;
            let again = match word.to_string().as_str() {
                "skip_unknown" => flags.skips_unknown.replace(word.span()).is_some(),
                "name" => flags.name.replace(full_name(input, &word)?).is_some(),
                _ => {
                    let message = format!(
                        "`{word}` is none of `crate = ...`, `name = \"...\"`, `skip_unknown`"
                    );
                    return Err(syn::Error::new(word.span(), message));
                }
            };
            if again {
                return Err(twice(&word));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
            if input.is_empty() {
                return Ok(flags);
            }
        }
    }
}

fn full_name(input: ParseStream<'_>, word: &Ident) -> syn::Result<LitStr> {
    let name = text(input, word, "shop.Order")?;
    if name.value().split('.').all(is_name) {
        return Ok(name);
    }
    let message =
        "a full name is the package and the message, as in \"shop.Order\", without a dot in front";
    Err(syn::Error::new(name.span(), message))
}

/// The flags of the struct `owner`; none: the default.
pub(crate) fn struct_flags(attrs: &[Attribute], owner: &Ident) -> syn::Result<StructFlags> {
    match one(attrs, owner, "struct")? {
        Some(attr) => attr.parse_args(),
        None => Ok(StructFlags::default()),
    }
}

/// The `#[pb(...)]` among `attrs`, if there is one.
pub(crate) fn one<'a>(
    attrs: &'a [Attribute],
    owner: &Ident,
    what: &str,
) -> syn::Result<Option<&'a Attribute>> {
    let mut found = attrs.iter().filter(|attr| attr.path().is_ident("pb"));
    let first = found.next();
    match found.next() {
        None => Ok(first),
        Some(second) => {
            let message = format!("{what} `{owner}` has a second #[pb(...)]");
            Err(syn::Error::new(second.span(), message))
        }
    }
}
