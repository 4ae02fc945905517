//! `#[traced]`.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote};
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, Ident, ItemFn, LitStr, Result, Token, parenthesized};

/// What stands in the parentheses of the attribute.
pub(crate) struct Arguments {
    category: Expr,
    name: Option<LitStr>,
    annotations: Vec<TokenStream>,
    ret: bool,
    err: bool,
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.is_empty() {
            return Err(input.error("name the category: `#[traced(CATEGORY)]`"));
        }
        let category = input.parse()?;
        let mut arguments =
            Self { category, name: None, annotations: Vec::new(), ret: false, err: false };
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            let word: Ident = input.parse()?;
            match word.to_string().as_str() {
                "name" => {
                    input.parse::<Token![=]>()?;
                    arguments.name = Some(input.parse()?);
                }
                "args" => {
                    let content;
                    parenthesized!(content in input);
                    let list = Punctuated::<Annotation, Token![,]>::parse_terminated(&content)?;
                    arguments.annotations =
                        list.into_iter().map(|annotation| annotation.0).collect();
                }
                "ret" => arguments.ret = true,
                "err" => arguments.err = true,
                _ => {
                    let message = "`traced` takes a category, then `name = \"text\"`, `args(...)`, `ret` or `err`";
                    return Err(Error::new(word.span(), message));
                }
            }
        }
        Ok(arguments)
    }
}

/// `id`, `?id`, `%id`, `@id`, or `key = value` with such a mark before the value: in the grammar of the event macros.
struct Annotation(TokenStream);

impl Parse for Annotation {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.peek(Ident) && input.peek2(Token![=]) && !input.peek2(Token![==]) {
            let key: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            let mark = mark(input)?;
            let value: Expr = input.parse()?;
            return Ok(Self(quote!(#key = #mark #value)));
        }
        let mark = mark(input)?;
        let name: Ident = if input.peek(Token![self]) {
            return Err(input.error("give `self` a key: `key = self.field`"));
        } else {
            input.parse()?
        };
        // As a string, because a few words have a meaning of their own as keys.
        let key = LitStr::new(&name.unraw().to_string(), name.span());
        Ok(Self(quote!(#key = #mark #name)))
    }
}

fn mark(input: ParseStream<'_>) -> Result<TokenStream> {
    if input.peek(Token![?]) {
        return Ok(input.parse::<Token![?]>()?.to_token_stream());
    }
    if input.peek(Token![%]) {
        return Ok(input.parse::<Token![%]>()?.to_token_stream());
    }
    if input.peek(Token![@]) {
        return Ok(input.parse::<Token![@]>()?.to_token_stream());
    }
    Ok(TokenStream::new())
}

/// The function below the attribute.
pub(crate) fn function(item: TokenStream) -> Result<ItemFn> {
    let advice = "`#[traced]` records the calls of one function: put it on a `fn` with a body, such as each method of \
        an `impl` block";
    syn::parse2(item.clone()).map_err(|error| match syn::parse2::<syn::Item>(item) {
        // An error inside the function, or a function of a trait that has no body.
        Ok(syn::Item::Fn(_)) => error,
        Ok(item) => Error::new_spanned(item, advice),
        Err(_) => Error::new(error.span(), format!("{error}; {advice}")),
    })
}

pub(crate) fn expand(arguments: &Arguments, mut function: ItemFn) -> Result<TokenStream> {
    if let Some(word) = &function.sig.constness {
        return Err(Error::new_spanned(
            word,
            "a `const fn` cannot be recorded: it may run in the compiler",
        ));
    }
    let Arguments { category, name, annotations, ret, err } = arguments;
    let is_async = function.sig.asyncness.is_some();
    let body = &function.block;
    let text = name.as_ref().map_or_else(|| function.sig.ident.unraw().to_string(), LitStr::value);
    // Names that the function cannot see.
    let slice = Ident::new("slice", Span::mixed_site());
    let output = Ident::new("output", Span::mixed_site());
    let error = Ident::new("error", Span::mixed_site());
    let value = Ident::new("value", Span::mixed_site());
    let results = match (*ret, *err) {
        (false, false) => TokenStream::new(),
        (true, false) => quote!(::tracing_sdk::end!(#slice, "return" = ?#output);),
        (false, true) => quote! {
            if let ::core::result::Result::Err(#error) = &#output {
                ::tracing_sdk::end!(#slice, "error" = %#error);
            }
        },
        (true, true) => quote! {
            match &#output {
                ::core::result::Result::Ok(#value) => ::tracing_sdk::end!(#slice, "return" = ?#value),
                ::core::result::Result::Err(#error) => ::tracing_sdk::end!(#slice, "error" = %#error),
            }
        },
    };
    let block = if is_async {
        let end = match (*ret, *err) {
            (false, false) => quote!(|slice, _| slice.end()),
            (true, false) => quote!(::tracing_sdk::__private::end_return),
            (false, true) => quote!(::tracing_sdk::__private::end_error),
            (true, true) => quote!(::tracing_sdk::__private::end_result),
        };
        quote!({
            let #slice = ::tracing_sdk::async_slice!(#category, #text, #(#annotations),*);
            ::tracing_sdk::__private::traced_until(async move #body, #slice, #end).await
        })
    } else if results.is_empty() {
        match name {
            Some(_) => quote!({
                let _slice = ::tracing_sdk::slice!(#category, #text, #(#annotations),*);
                #body
            }),
            None => quote!({
                ::tracing_sdk::function!(#category, #(#annotations),*);
                #body
            }),
        }
    } else {
        let returned = returned(&function.sig.output);
        quote!({
            let #slice = ::tracing_sdk::slice!(#category, #text, #(#annotations),*);
            // A closure, so that `return` and `?` end the function's own body only.
            #[allow(clippy::redundant_closure_call)]
            let #output: #returned = (move || #body)();
            #results
            #output
        })
    };
    function.block = Box::new(syn::parse2(block)?);
    Ok(function.into_token_stream())
}

/// The type of what a function returns, for a variable.
fn returned(output: &syn::ReturnType) -> TokenStream {
    match output {
        syn::ReturnType::Default => quote!(()),
        // The type of a variable cannot contain `impl Trait`.
        syn::ReturnType::Type(_, kind) if has_impl(kind) => quote!(_),
        syn::ReturnType::Type(_, kind) => quote!(#kind),
    }
}

/// Whether a type contains `impl Trait`.
fn has_impl(kind: &syn::Type) -> bool {
    let tokens = kind.to_token_stream();
    fn search(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(word) => word == "impl",
            TokenTree::Group(group) => search(group.stream()),
            _ => false,
        })
    }
    search(tokens)
}
