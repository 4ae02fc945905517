//! The grammar of `#[pb(...)]`: what one attribute says, before anybody asks whether it fits.

use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Attribute, Ident, LitInt, Token};

/// What protobuf writes for one value, by its name in `#[pb(...)]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Numbers and bool: the marker type in `rt` and the one Rust type that holds it.
    Scalar {
        marker: &'static str,
        rust: &'static str,
    },
    String,
    Bytes,
    Enumeration,
    Message,
}

const SCALARS: &[(&str, &str, &str)] = &[
    ("int32", "Int32", "i32"),
    ("int64", "Int64", "i64"),
    ("uint32", "Uint32", "u32"),
    ("uint64", "Uint64", "u64"),
    ("sint32", "Sint32", "i32"),
    ("sint64", "Sint64", "i64"),
    ("fixed32", "Fixed32", "u32"),
    ("fixed64", "Fixed64", "u64"),
    ("sfixed32", "Sfixed32", "i32"),
    ("sfixed64", "Sfixed64", "i64"),
    ("float", "Float", "f32"),
    ("double", "Double", "f64"),
    ("bool", "Bool", "bool"),
];
const OTHERS: &[&str] = &["string", "bytes", "enumeration", "message", "oneof", "unknown"];

impl Kind {
    fn from_name(name: &str) -> Option<Kind> {
        if let Some(&(_, marker, rust)) = SCALARS.iter().find(|scalar| scalar.0 == name) {
            return Some(Kind::Scalar { marker, rust });
        }
        Some(match name {
            "string" => Kind::String,
            "bytes" => Kind::Bytes,
            "enumeration" => Kind::Enumeration,
            "message" => Kind::Message,
            _ => return None,
        })
    }

    /// May many of these share one length-delimited field?
    pub(crate) fn packable(self) -> bool {
        matches!(self, Kind::Scalar { .. } | Kind::Enumeration)
    }
}

/// A field number with the place it was written at.
#[derive(Clone, Debug)]
pub(crate) struct Number {
    pub(crate) value: u32,
    pub(crate) span: Span,
}

impl Parse for Number {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
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

/// Words after the number.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Flags {
    pub(crate) repeated: Option<Span>,
    pub(crate) packed: Option<Span>,
    pub(crate) boxed: Option<Span>,
}

/// One `#[pb(...)]`, understood.
#[derive(Debug)]
pub(crate) enum Pb {
    Field { kind: Kind, number: Number, flags: Flags },
    Oneof { numbers: Vec<Number> },
    Unknown,
}

impl Parse for Pb {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.is_empty() {
            return Err(input.error("expected a kind, as in #[pb(uint32, 3)]"));
        }
        let word: Ident = input.parse()?;
        let name = word.to_string();
        let pb = match name.as_str() {
            "unknown" => Pb::Unknown,
            "oneof" => Pb::Oneof { numbers: numbers(input, &word)? },
            _ => {
                let kind = Kind::from_name(&name)
                    .ok_or_else(|| syn::Error::new(word.span(), unknown_kind(&name)))?;
                comma(input, "expected `,` and a field number, as in #[pb(uint32, 3)]")?;
                Pb::Field { kind, number: input.parse()?, flags: flags(input)? }
            }
        };
        if !input.is_empty() {
            return Err(input.error("unexpected: the attribute is complete before this"));
        }
        Ok(pb)
    }
}

fn comma(input: ParseStream<'_>, message: &str) -> syn::Result<()> {
    if !input.peek(Token![,]) {
        return Err(input.error(message));
    }
    input.parse::<Token![,]>().map(drop)
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
        let place = match word.to_string().as_str() {
            "repeated" => &mut flags.repeated,
            "packed" => &mut flags.packed,
            "boxed" => &mut flags.boxed,
            other => {
                let message = format!("`{other}` is none of `repeated`, `packed`, `boxed`");
                return Err(syn::Error::new(word.span(), message));
            }
        };
        if place.replace(word.span()).is_some() {
            return Err(syn::Error::new(word.span(), format!("`{word}` is said twice")));
        }
    }
    Ok(flags)
}

fn unknown_kind(name: &str) -> String {
    let names = || SCALARS.iter().map(|scalar| scalar.0).chain(OTHERS.iter().copied());
    let known = names().collect::<Vec<_>>().join(", ");
    // What people type by habit from other libraries and from Rust itself.
    let habit = match name {
        "enum" => Some("enumeration"),
        "i32" => Some("int32"),
        "i64" => Some("int64"),
        "u32" => Some("uint32"),
        "u64" => Some("uint64"),
        "f32" => Some("float"),
        "f64" => Some("double"),
        "str" | "String" => Some("string"),
        "msg" => Some("message"),
        _ => names().find(|known| known.eq_ignore_ascii_case(name)),
    };
    match habit {
        Some(meant) => format!("unknown kind `{name}`: did you mean `{meant}`?"),
        None => format!("unknown kind `{name}`; the kinds are {known}"),
    }
}

/// The one `#[pb(...)]` among `attrs`; `owner` names the field or variant in messages.
pub(crate) fn find(attrs: &[Attribute], owner: &Ident, what: &str) -> syn::Result<Pb> {
    let mut found = attrs.iter().filter(|attr| attr.path().is_ident("pb"));
    let Some(attr) = found.next() else {
        let message = format!(
            "{what} `{owner}` has no #[pb(...)]: say its kind and number, as in #[pb(uint32, 3)]"
        );
        return Err(syn::Error::new(owner.span(), message));
    };
    if let Some(second) = found.next() {
        let message = format!("{what} `{owner}` has a second #[pb(...)]");
        return Err(syn::Error::new(second.span(), message));
    }
    attr.parse_args()
}
