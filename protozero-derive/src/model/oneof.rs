//! The alternatives of a oneof.

use syn::ext::IdentExt as _;
use syn::{Data, DeriveInput, Fields, Generics, Ident, Lifetime};

use super::types::{borrows, check, check_boxed};
use super::{FieldName, Held, Numbers};
use crate::attrs::{self, Pb};
use crate::diag::Diagnostics;
use crate::kind::Kind;

/// One alternative of a oneof.
pub(crate) struct Variant {
    pub(crate) ident: Ident,
    pub(crate) name: FieldName,
    pub(crate) held: Held,
    pub(crate) number: u32,
}

/// The input of `#[derive(Oneof)]`. An enum with a lifetime borrows and belongs to a view.
pub(crate) struct Oneof {
    pub(crate) ident: Ident,
    pub(crate) generics: Generics,
    pub(crate) lifetime: Option<Lifetime>,
    pub(crate) variants: Vec<Variant>,
}

impl Oneof {
    pub(crate) fn new(input: DeriveInput) -> syn::Result<Self> {
        let lifetime = match input.generics.lifetimes().next() {
            Some(_) => Some(super::view_lifetime(&input)?),
            None => None,
        };
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
            let view = lifetime.is_some();
            variants.extend(self::variant(variant, view, &mut numbers, &mut diag));
        }
        diag.finish(Oneof { ident, generics, lifetime, variants })
    }
}

fn variant(
    variant: syn::Variant,
    view: bool,
    numbers: &mut Numbers,
    diag: &mut Diagnostics,
) -> Option<Variant> {
    let ident = variant.ident;
    let pb = diag.take(attrs::find(&variant.attrs, &ident, "variant"))?;
    let Pb::Field { kind, number, flags } = pb else {
        diag.at(&ident, "a variant of a oneof is one field: it has a kind and a number");
        return None;
    };
    numbers.add(&number, &ident, diag);
    for span in [flags.repeated, flags.packed].into_iter().flatten() {
        diag.at_span(span, "a variant of a oneof cannot be repeated");
    }
    if let Some(span) = flags.required {
        diag.at_span(span, "a variant of a oneof cannot be required");
    }
    if let Some(default) = &flags.default {
        diag.at(default, "a variant of a oneof has no default");
    }
    if let Some(span) = flags.or_unknown.filter(|_| kind != Kind::String) {
        diag.at_span(
            span,
            "only strings can be `or_unknown`: what is not UTF-8 is an unknown field",
        );
    }
    let ty = match variant.fields {
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
            fields.unnamed.into_iter().next().expect("counted").ty
        }
        _ => {
            diag.at(&ident, format!("write the one value it holds: `{ident}(T)`"));
            return None;
        }
    };
    check_boxed(kind, &flags, &ty, diag);
    check(kind, &ty, view, diag);
    let borrows = view && borrows(&ty);
    let held = Held { kind, ty, checked: flags.or_unknown.is_none(), borrows };
    let name = FieldName::new(&flags, snake(&ident.unraw().to_string()));
    Some(Variant { ident, name, held, number: number.value })
}

/// `CashBox` to `cash_box`, and `HTTPServer` to `http_server`.
fn snake(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| letters.get(before));
        let is_next_lower = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        let begins_word = before.is_some_and(|before| {
            before.is_lowercase()
                || before.is_ascii_digit()
                || before.is_uppercase() && is_next_lower
        });
        if letter.is_uppercase() && begins_word {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}
