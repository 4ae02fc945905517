//! Encoding, back to front: unknown fields, then the fields from the highest number to the lowest.

use core::cmp::Reverse;

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};

use super::parts::{each_variant, literal, marker};
use crate::model::{self, Member, Shape, What, types::span_of};

pub(super) fn message(message: &model::Message) -> TokenStream {
    let mut calls = TokenStream::new();
    if let Some(Member { ident, ty, .. }) = message.unknown() {
        calls.extend(quote_spanned!(span_of(ty)=> __pb::put_unknown(out, &self.#ident);));
    }
    for run in runs(message) {
        calls.extend(put(&run));
    }
    if calls.is_empty() {
        return quote!(let _ = out;);
    }
    quote!(use ::protozero::rt::owned as __pb; #calls)
}

/// Numbers of one member that have no number of another member between them.
struct Run<'m> {
    member: &'m Member,
    numbers: (u32, u32),
    /// The member has no other numbers.
    is_whole: bool,
}

/// The known fields, from the highest number to the lowest.
fn runs(message: &model::Message) -> Vec<Run<'_>> {
    let mut all = Vec::new();
    for (at, member) in message.members.iter().enumerate() {
        match &member.what {
            What::Field { number, .. } | What::Map { number, .. } => all.push((*number, at)),
            What::Oneof { numbers, .. } => all.extend(numbers.iter().map(|number| (*number, at))),
            What::Unknown { .. } => {}
        }
    }
    all.sort_unstable_by_key(|(number, _)| Reverse(*number));
    let count = |at| all.iter().filter(|(_, of)| *of == at).count();
    all.chunk_by(|a, b| a.1 == b.1)
        .map(|run| Run {
            member: &message.members[run[0].1],
            numbers: (run[run.len() - 1].0, run[0].0),
            is_whole: count(run[0].1) == run.len(),
        })
        .collect()
}

fn put(run: &Run<'_>) -> TokenStream {
    let Member { ident, ty, what, .. } = run.member;
    let span = span_of(ty);
    match what {
        What::Field { held, number, shape, .. } => {
            let (marker, number) = (marker(held), literal(*number));
            let call = format_ident!(
                "{}",
                match shape {
                    Shape::Implicit => "put_implicit",
                    Shape::Required => "put",
                    Shape::Optional => "put_optional",
                    Shape::Repeated => "put_repeated",
                    Shape::Packed => "put_packed",
                }
            );
            quote_spanned!(span=> __pb::#call::<#marker>(out, #number, &self.#ident);)
        }
        What::Map { key, value, number } => {
            let (key, value, number) = (marker(key), marker(value), literal(*number));
            quote_spanned!(span=> __pb::put_map::<#key, #value>(out, #number, &self.#ident);)
        }
        What::Oneof { .. } if run.is_whole => {
            quote_spanned!(span=> __pb::put_oneof(out, &self.#ident);)
        }
        What::Oneof { .. } => {
            let (first, last) = (literal(run.numbers.0), literal(run.numbers.1));
            quote_spanned!(span=> __pb::put_within(out, #first, #last, &self.#ident);)
        }
        What::Unknown { .. } => TokenStream::new(),
    }
}

pub(super) fn oneof(oneof: &model::Oneof) -> TokenStream {
    each_variant(oneof, |ident, marker, number, span| {
        quote_spanned! {span=>
            Self::#ident(value) => __pb::put::<#marker>(out, #number, value),
        }
    })
}

pub(super) fn number(oneof: &model::Oneof) -> TokenStream {
    each_variant(oneof, |ident, _, number, span| quote_spanned!(span=> Self::#ident(_) => #number,))
}
