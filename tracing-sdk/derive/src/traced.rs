//! `#[traced]`.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{
    Block, Error, Expr, GenericArgument, Ident, ItemFn, LitStr, PathArguments, PathSegment, Result,
    ReturnType, Stmt, Token, Type, TypeParamBound, parenthesized,
};

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
    let returned = &function.sig.output;
    let block = if function.sig.asyncness.is_some() {
        let edge = return_edge(returned);
        let statements = &function.block.stmts;
        let future = quote!(async move { #edge #(#statements)* });
        let begin = begin(arguments, "async_slice");
        let future = until_ready(arguments, &future);
        let slice = own("slice");
        quote!({
            let #slice = #begin;
            #future.await
        })
    } else if let Some(future) = returned_future(&mut function.block) {
        *future = syn::parse2(until_ready(arguments, future))?;
        let statements = &function.block.stmts;
        let begin = begin(arguments, "async_slice");
        let slice = own("slice");
        quote!({
            let #slice = #begin;
            #(#statements)*
        })
    } else {
        refuse_future(returned)?;
        call(arguments, returned, &function.block)
    };
    function.block = Box::new(syn::parse2(block)?);
    Ok(function.into_token_stream())
}

/// A variable that the function cannot see.
fn own(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The expression that begins the slice; `verb` is `slice` or `async_slice`.
fn begin(arguments: &Arguments, verb: &str) -> TokenStream {
    let Arguments { category, name, annotations, .. } = arguments;
    let verb = Ident::new(verb, Span::call_site());
    match name {
        Some(name) => quote!(::tracing_sdk::#verb!(#category, #name, #(#annotations),*)),
        None => quote!(::tracing_sdk::__event!(@function #verb [#category] #(#annotations),*)),
    }
}

/// The body of a function that returns when its slice ends.
fn call(arguments: &Arguments, returned: &ReturnType, body: &Block) -> TokenStream {
    let begin = begin(arguments, "slice");
    let (slice, output, error, value) = (own("slice"), own("output"), own("error"), own("value"));
    let end = match (arguments.ret, arguments.err) {
        (false, false) => {
            let guard = own("_slice");
            return quote!({
                let #guard = #begin;
                #body
            });
        }
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
    // Where the closure names its type, results are coerced as in the function.
    let returned = match returned {
        ReturnType::Default => quote!(-> ()),
        // A closure cannot return `impl Trait`.
        ReturnType::Type(_, kind) if has_impl(kind) => TokenStream::new(),
        ReturnType::Type(..) => returned.to_token_stream(),
    };
    quote!({
        let #slice = #begin;
        // A closure, so that `return` and `?` end the function's own body only.
        let #output = ::tracing_sdk::__private::call(move || #returned #body);
        #end
        #output
    })
}

/// A future, with its slice, which is in a variable.
fn until_ready(arguments: &Arguments, future: &impl ToTokens) -> TokenStream {
    let slice = own("slice");
    let end = match (arguments.ret, arguments.err) {
        (false, false) => quote!(|slice, _| slice.end()),
        (true, false) => quote!(::tracing_sdk::__private::end_return),
        (false, true) => quote!(::tracing_sdk::__private::end_error),
        (true, true) => quote!(::tracing_sdk::__private::end_result),
    };
    quote!(::tracing_sdk::__private::traced_until(#future, #slice, #end))
}

/// Tells an `async` block its type by a `return` that never runs, so that results are coerced as in an `async fn`.
fn return_edge(returned: &ReturnType) -> TokenStream {
    let output = own("output");
    match returned {
        // A variable cannot be of the type `!`, or contain `impl Trait`.
        ReturnType::Type(_, kind) if matches!(**kind, Type::Never(_)) || has_impl(kind) => {
            TokenStream::new()
        }
        ReturnType::Default => TokenStream::new(),
        ReturnType::Type(_, kind) => quote! {
            #[allow(unreachable_code, clippy::type_complexity)]
            if let ::core::option::Option::Some(#output) = ::core::option::Option::None::<#kind> {
                return #output;
            }
        },
    }
}

/// The `async` block that a function returns, in `Box::pin(..)`, as from `#[async_trait]`, or without a box.
fn returned_future(body: &mut Block) -> Option<&mut Expr> {
    let Some(Stmt::Expr(last, None)) = body.stmts.last_mut() else { return None };
    match last {
        Expr::Async(_) => Some(last),
        Expr::Call(call) if is_box_pin(&call.func) => {
            call.args.first_mut().filter(|future| matches!(future, Expr::Async(_)))
        }
        _ => None,
    }
}

fn is_box_pin(function: &Expr) -> bool {
    let Expr::Path(path) = function else { return false };
    let mut words = path.path.segments.iter().rev().map(|segment| &segment.ident);
    words.next().is_some_and(|word| word == "pin") && words.next().is_some_and(|word| word == "Box")
}

/// Only how the future is made would be in its slice.
fn refuse_future(returned: &ReturnType) -> Result<()> {
    match returned {
        ReturnType::Type(_, kind) if is_future(kind) => Err(Error::new_spanned(
            kind,
            "`#[traced]` would record how this future is made, and not its life: let the function end with \
             `Box::pin(async move { .. })` or `async move { .. }`, or write \
             `future.traced(async_slice!(NET, \"name\"))` in it instead of the attribute; `function!(NET)` records \
             how it is made",
        )),
        _ => Ok(()),
    }
}

/// Whether a type is a future by its name: `impl Future`, `Pin<Box<dyn Future>>`, `BoxFuture`.
fn is_future(kind: &Type) -> bool {
    let bounds = match kind {
        Type::ImplTrait(kind) => &kind.bounds,
        Type::TraitObject(kind) => &kind.bounds,
        Type::Path(path) => {
            return path.path.segments.last().is_some_and(|last| {
                let is_pointer = last.ident == "Pin" || last.ident == "Box";
                let is_boxed = last.ident == "BoxFuture" || last.ident == "LocalBoxFuture";
                is_boxed || is_pointer && arguments_of(last).any(is_future)
            });
        }
        _ => return false,
    };
    bounds.iter().any(|bound| match bound {
        TypeParamBound::Trait(bound) => {
            bound.path.segments.last().is_some_and(|last| last.ident == "Future")
        }
        _ => false,
    })
}

/// The types in the angle brackets.
fn arguments_of(segment: &PathSegment) -> impl Iterator<Item = &Type> {
    let arguments = match &segment.arguments {
        PathArguments::AngleBracketed(arguments) => Some(&arguments.args),
        _ => None,
    };
    arguments.into_iter().flatten().filter_map(|argument| match argument {
        GenericArgument::Type(kind) => Some(kind),
        _ => None,
    })
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
