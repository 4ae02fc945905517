//! Enumerations: a Rust enum is closed, a struct around an `i32` is open.

use std::collections::BTreeSet;

use proc_macro2::Literal;
use syn::parse::{Parse, ParseStream};
use syn::{
    Data, DeriveInput, Expr, ExprLit, ExprUnary, Fields, Ident, Lit, LitInt, LitStr, Token, Type,
    UnOp, parenthesized,
};

use crate::attrs;
use crate::diag::Diagnostics;

/// The input of `#[derive(Enumeration)]`.
pub(crate) struct Enumeration {
    pub(crate) ident: Ident,
    /// Its full name in the schema.
    pub(crate) name: String,
    pub(crate) values: Values,
}

pub(crate) enum Values {
    Closed(Vec<Variant>),
    /// Constants and their numbers.
    Open(Vec<(Ident, Literal)>),
}

pub(crate) struct Variant {
    pub(crate) ident: Ident,
    /// Its name in the schema.
    pub(crate) name: String,
    /// Its number is a literal that was checked.
    pub(crate) known: bool,
}

/// `#[pb(name = "...", values(NAME = 0, ...))]`.
#[derive(Default)]
struct Item {
    name: Option<LitStr>,
    values: Option<Vec<(Ident, i32)>>,
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut item = Self::default();
        while !input.is_empty() {
            let word: Ident = input.parse()?;
            match word.to_string().as_str() {
                "name" if item.name.is_none() => {
                    input.parse::<Token![=]>()?;
                    item.name = Some(input.parse()?);
                }
                "values" if item.values.is_none() => {
                    let inner;
                    parenthesized!(inner in input);
                    let pairs = inner.parse_terminated(value, Token![,])?;
                    item.values = Some(pairs.into_iter().collect());
                }
                "name" | "values" => {
                    return Err(syn::Error::new(word.span(), format!("`{word}` is given twice")));
                }
                _ => {
                    let message = format!("`{word}` is none of `name = \"...\"`, `values(...)`");
                    return Err(syn::Error::new(word.span(), message));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(item)
    }
}

const NO_NUMBER: &str = "a value is a number of 32 bits";

/// The value of a literal number. Other expressions are left to the compiler.
fn literal(number: &Expr) -> Option<i128> {
    let (sign, number) = match number {
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => (-1, &**expr),
        number => (1, number),
    };
    let Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) = number else { return None };
    literal.base10_parse::<i64>().ok().map(|number| sign * i128::from(number))
}

/// `NAME = NUMBER`.
fn value(input: ParseStream<'_>) -> syn::Result<(Ident, i32)> {
    let name: Ident = input.parse()?;
    input.parse::<Token![=]>()?;
    let minus = input.parse::<Option<Token![-]>>()?.is_some();
    let literal: LitInt = input.parse()?;
    let number: i64 = literal.base10_parse()?;
    let number = if minus { -number } else { number };
    let number = i32::try_from(number).map_err(|_| syn::Error::new(literal.span(), NO_NUMBER))?;
    Ok((name, number))
}

impl Enumeration {
    pub(crate) fn new(input: DeriveInput) -> syn::Result<Self> {
        let item: Item = match attrs::one(&input.attrs, &input.ident, "enumeration")? {
            Some(attr) => attr.parse_args()?,
            None => Item::default(),
        };
        if let Some(first) = input.generics.params.first() {
            return Err(syn::Error::new_spanned(first, "an enumeration has no parameters"));
        }
        let name = item.name.as_ref().map_or_else(|| input.ident.to_string(), LitStr::value);
        let values = match input.data {
            Data::Enum(data) => {
                if let Some(values) = &item.values {
                    let message = "the variants are the values: `values` is for open enumerations";
                    return Err(syn::Error::new(values_span(values, &input.ident), message));
                }
                closed(data, &input.ident)?
            }
            Data::Struct(data) => open(&data.fields, item.values, &input.ident)?,
            Data::Union(_) => {
                let message = "Enumeration is for enums and for structs around an i32";
                return Err(syn::Error::new(input.ident.span(), message));
            }
        };
        Ok(Self { ident: input.ident, name, values })
    }
}

fn values_span(values: &[(Ident, i32)], owner: &Ident) -> proc_macro2::Span {
    values.first().map_or(owner.span(), |value| value.0.span())
}

fn closed(data: syn::DataEnum, owner: &Ident) -> syn::Result<Values> {
    let mut diag = Diagnostics::default();
    if data.variants.is_empty() {
        diag.at(owner, "an enumeration needs at least one value");
    }
    let mut variants = Vec::new();
    let mut names = BTreeSet::new();
    for variant in data.variants {
        let written = variant.discriminant.as_ref().map(|(_, number)| number);
        let number = written.and_then(literal);
        if number.is_some_and(|number| i32::try_from(number).is_err()) {
            diag.at(&written, NO_NUMBER);
        }
        if !matches!(variant.fields, Fields::Unit) {
            let message = "a value of an enumeration is a number and holds nothing";
            diag.at(&variant.ident, message);
        }
        let item = diag.take(attrs::one(&variant.attrs, &variant.ident, "value")).flatten();
        let item: Item = match item {
            Some(attr) => diag.take(attr.parse_args()).unwrap_or_default(),
            None => Item::default(),
        };
        if item.values.is_some() {
            diag.at(&variant.ident, "a value has a `name` and nothing else");
        }
        let name = match item.name {
            Some(name) => name.value(),
            None => screaming(&variant.ident.to_string()),
        };
        if !names.insert(name.clone()) {
            diag.at(&variant.ident, format!("the schema's `{name}` is given twice"));
        }
        variants.push(Variant { ident: variant.ident, name, known: number.is_some() });
    }
    diag.finish(Values::Closed(variants))
}

fn open(fields: &Fields, values: Option<Vec<(Ident, i32)>>, owner: &Ident) -> syn::Result<Values> {
    let around_i32 = match fields {
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
            matches!(&fields.unnamed[0].ty, Type::Path(path) if path.path.is_ident("i32"))
        }
        _ => false,
    };
    if !around_i32 {
        let message = format!("an open enumeration is a struct around an i32: `{owner}(i32)`");
        return Err(syn::Error::new(owner.span(), message));
    }
    let Some(values) = values else {
        let message = "say its values: #[pb(values(NONE = 0, SOME = 1))]";
        return Err(syn::Error::new(owner.span(), message));
    };
    let mut diag = Diagnostics::default();
    let mut names = BTreeSet::new();
    for (name, _) in &values {
        if !names.insert(name.to_string()) {
            diag.at(name, format!("`{name}` is given twice"));
        }
    }
    let literals = values.into_iter().map(|(name, n)| (name, Literal::i32_unsuffixed(n)));
    diag.finish(Values::Open(literals.collect()))
}

/// `DarkBlue` to `DARK_BLUE`, the usual form of values in schemas.
fn screaming(name: &str) -> String {
    let mut out = String::new();
    let mut lower = false;
    for c in name.trim_start_matches("r#").chars() {
        if c.is_uppercase() && lower {
            out.push('_');
        }
        lower = c.is_lowercase() || c.is_ascii_digit();
        out.extend(c.to_uppercase());
    }
    out
}
