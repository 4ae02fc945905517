//! Services: a module with the method table, typed requests and responses, host and client, and with those of gRPC.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::context::{Context, docs_or, ident};
use super::tree;
use crate::model::{MessageId, Method, Service};
use crate::names::{Taken, raw, snake};

/// The module of a service; `grpc` has more items of it.
pub(super) fn emit(cx: &Context<'_>, at: usize, grpc: Option<TokenStream>) -> TokenStream {
    let service = &cx.schema.files[cx.file].services[at];
    let module = raw(cx.names.service(cx.file, at));
    let doc = format!("Service `{}`.", service.path.full());
    let doc = docs_or(&service.comment, service.deprecated, &doc);
    let port = cx.config.api_kinds.service.then(|| port(cx, service));
    quote! {
        #doc
        pub mod #module { #port #grpc }
    }
}

/// The service on any transport.
fn port(cx: &Context<'_>, service: &Service) -> TokenStream {
    let short = service.path.parts.concat();
    let table = table(&service.methods);
    let calls = named(&service.methods);
    let requests = side(cx, &calls, "Request", |m| m.request);
    let responses = side(cx, &calls, "Response", |m| m.response);
    let hosts = calls.iter().map(|Named { m, name, .. }| {
        let (doc, gate, request) = (docs_of(m), gate(cx, m), inner(cx, m.request));
        quote! { #doc #gate fn #name(&mut self, call: Self::Call, request: #request); }
    });
    let arms = calls.iter().map(|Named { m, variant, name }| {
        let gate = gate(cx, m);
        quote! { #gate Request::#variant(request) => self.#name(call, request), }
    });
    let asks = calls.iter().map(|Named { m, variant, name }| {
        let (doc, gate, request) = (docs_of(m), gate(cx, m), inner(cx, m.request));
        quote! {
            #doc
            ///
            /// # Errors
            /// Those of [`Client::invoke`].
            #gate
            fn #name(&mut self, request: #request) -> Result<Self::Call, Self::Error> {
                self.invoke(Request::#variant(request))
            }
        }
    });
    let runtime = tree::runtime(cx.config);
    quote! {
        #runtime
        use protozero::rt;
        use protozero::rt::heap::*;
        /// Name of the service, as a client asks for it when it binds.
        pub const NAME: &str = #short;
        /// Its methods in the order of the schema; ids count from 1.
        pub const METHODS: &[rt::MethodInfo] = &[#table];
        #requests
        #responses
        /// The side that answers requests.
        pub trait Host {
            /// The transport's key for the answer.
            type Call;
            #(#hosts)*
            /// Calls the method of `request`.
            fn dispatch(&mut self, call: Self::Call, request: Request) {
                match request { #(#arms)* }
            }
        }
        /// The side that sends requests.
        pub trait Client {
            /// Identifies a call that has no answer yet.
            type Call;
            /// Why a call could not be sent.
            type Error;
            /// Sends `request`.
            ///
            /// # Errors
            /// When it could not be sent.
            fn invoke(&mut self, request: Request) -> Result<Self::Call, Self::Error>;
            #(#asks)*
        }
    }
}

/// The rows of the method table.
fn table(methods: &[Method]) -> TokenStream {
    let rows = (1..).zip(methods).map(|(id, m)| {
        let (id, name) = (Literal::u32_unsuffixed(id), &m.name);
        let (streaming, client) = (m.streaming, m.client_streaming);
        quote! {
            rt::MethodInfo { id: #id, name: #name, streaming: #streaming, client_streaming: #client }
        }
    });
    quote! { #(#rows),* }
}

/// The documentation of a method.
fn docs_of(m: &Method) -> TokenStream {
    let doc = docs_or(&m.comment, m.deprecated, &format!("`{}`.", m.name));
    let once = m.client_streaming.then(|| {
        quote! {
            ///
            /// A call has many requests; this sends one of them.
        }
    });
    quote! { #doc #once }
}

/// The `cfg` attributes of a method whose messages lie in other areas. The method table always lists the method.
pub(super) fn gate(cx: &Context<'_>, m: &Method) -> TokenStream {
    let file = |id: MessageId| cx.schema.messages[id.0].file;
    let (request, response) = (file(m.request), file(m.response));
    let first = cx.gate_file(request);
    let second = (response != request).then(|| cx.gate_file(response));
    quote! { #first #second }
}

/// Path of a type as seen from the service's module: types of the same package are one level up.
fn inner(cx: &Context<'_>, id: MessageId) -> TokenStream {
    below(cx, id, quote! { super:: })
}

/// Path of a type as seen from a module from which `up` leads to the package.
pub(super) fn below(cx: &Context<'_>, id: MessageId, up: TokenStream) -> TokenStream {
    let (path, file) = (cx.owned(id), cx.schema.messages[id.0].file);
    let relative = cx.config.root.is_empty() && cx.schema.files[file].extern_module.is_none();
    if cx.is_beside(file) || relative {
        quote! { #up #path }
    } else {
        path
    }
}

/// A method with the names of its enum variants and of its functions.
struct Named<'m> {
    m: &'m Method,
    variant: Ident,
    name: Ident,
}

fn named(methods: &[Method]) -> Vec<Named<'_>> {
    let (mut variants, mut names) = (Taken::new(&["Self"]), Taken::new(&["dispatch", "invoke"]));
    let one = |m| {
        let Method { name, .. }: &Method = m;
        let variant = raw(&variants.take(name.clone()));
        Named { m, variant, name: raw(&names.take(snake(name))) }
    };
    methods.iter().map(one).collect()
}

/// `Request` or `Response`.
fn side(
    cx: &Context<'_>,
    calls: &[Named<'_>],
    name: &str,
    message: impl Fn(&Method) -> MessageId,
) -> TokenStream {
    let doc = format!(" A {} of any method.", name.to_lowercase());
    let name = ident(name);
    let rows = || {
        (1u32..).zip(calls).map(|(id, Named { m, variant, .. })| {
            (Literal::u32_unsuffixed(id), variant, *m, gate(cx, m))
        })
    };
    let variants = rows().map(|(_, variant, m, gate)| {
        let (doc, ty) = (format!(" Of `{}`.", m.name), inner(cx, message(m)));
        quote! { #[doc = #doc] #gate #variant(#ty) }
    });
    let ids = rows().map(|(id, variant, _, gate)| quote! { #gate Self::#variant(_) => #id });
    let decodes = rows().map(
        |(id, variant, _, gate)| quote! { #gate #id => rt::decode_within(bytes, context).map(Self::#variant) },
    );
    // A `match` on a reference to an enum without variants would still need an arm.
    let any = calls.iter().any(|call| gate(cx, call.m).is_empty());
    let (this, by) =
        if any { (quote! { self }, quote! {}) } else { (quote! { *self }, quote! { ref }) };
    let encodes =
        rows().map(|(_, variant, _, gate)| quote! { #gate Self::#variant(#by m) => rt::encode(m) });
    quote! {
        #[doc = #doc]
        #[derive(Clone, PartialEq, Debug)]
        pub enum #name { #(#variants),* }
        impl #name {
            /// Position of its method in [`METHODS`], from 1.
            #[inline]
            #[must_use]
            pub fn method_id(&self) -> u32 {
                match #this { #(#ids),* }
            }
            /// Decodes the arguments of a method.
            ///
            /// # Errors
            /// [`rt::CallError`] when there is no such method or the bytes are not its message.
            #[inline]
            pub fn decode(method_id: u32, bytes: &[u8]) -> Result<Self, rt::CallError> {
                let growth = rt::growth(bytes);
                Self::decode_within(method_id, bytes, rt::DecodeContext::new().with_growth(&growth))
            }
            /// Decodes the arguments of a method, within the limits of `context`.
            ///
            /// # Errors
            /// Those of `decode`.
            #[inline]
            pub fn decode_within(
                method_id: u32, bytes: &[u8], context: rt::DecodeContext<'_>,
            ) -> Result<Self, rt::CallError> {
                let _ = (bytes, context);
                match method_id {
                    #(#decodes,)*
                    _ => Err(rt::CallError::UnknownMethod(method_id)),
                }
            }
            /// The message's bytes.
            #[inline]
            #[must_use]
            pub fn encode(&self) -> Vec<u8> {
                match #this { #(#encodes),* }
            }
        }
    }
}
