//! The macros of `tracing-sdk` that read types and functions. Use them through `tracing_sdk` (feature `derive`).

mod annotate;
mod traced;

use proc_macro::TokenStream;

/// Implements `tracing_sdk::Annotate`, so that values of the type can be annotations.
///
/// | type | shown as |
/// |---|---|
/// | struct with named fields | a map |
/// | struct of one field without a name | this field |
/// | tuple struct | a list |
/// | unit struct or variant | its name |
/// | other variant | a map of one entry: its name, and its fields as above |
///
/// Attributes of fields: `#[annotate(skip)]` leaves it out, `#[annotate(debug)]` and `#[annotate(display)]` format it,
/// `#[annotate(rename = "name")]` names it; `rename` works for variants, too. An
/// attribute anywhere else is an error.
///
/// A type parameter must implement `Annotate` if a field of its type is shown, or `Debug` or `Display` if that field is
/// formatted. So must a type that belongs to a parameter, such as `I::Item`, and then nothing is asked of `I` itself. A
/// parameter of fields that are left out may be any type.
#[proc_macro_derive(Annotate, attributes(annotate))]
pub fn derive_annotate(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    annotate::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Records each call of a function as a slice.
///
/// `#[traced(CATEGORY)]` records a slice with the path of the function as its name. After the category come:
///
/// | argument | what |
/// |---|---|
/// | `name = "text"` | another name |
/// | `args(id, ?request, %url, count = items.len())` | annotations: arguments of the function, or expressions |
/// | `ret` | the result, by `Debug`, as the annotation `return` |
/// | `err` | the error of a `Result`, by `Display`, as the annotation `error` |
///
/// In `args`, a key such as `flow` or `track` means what it means in `tracing_sdk::instant!`: `args(flow = job.flow)`.
/// A future takes no `track`.
///
/// An `async fn` is recorded as a future: its whole life on a track of its own, and each time it is polled. So is a
/// function whose last expression is `Box::pin(async move { .. })` or `async move { .. }`, as methods below
/// `#[async_trait]` are. Its life begins when it is called, and that of an `async fn` when it is polled first. Another
/// function whose type says that it returns a future is an error, because only how the future is made would be
/// recorded: write `future.traced(async_slice!(CATEGORY, "name"))` in it.
///
/// Functions may have generics, lifetimes, `self` and `impl Trait`; a `const fn` cannot be recorded.
#[proc_macro_attribute]
pub fn traced(arguments: TokenStream, function: TokenStream) -> TokenStream {
    let arguments = syn::parse_macro_input!(arguments as traced::Arguments);
    let function = match traced::function(function.into()) {
        Ok(function) => function,
        Err(error) => return error.into_compile_error().into(),
    };
    traced::expand(&arguments, function).unwrap_or_else(syn::Error::into_compile_error).into()
}
