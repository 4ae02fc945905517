//! gRPC: clients and servers for tonic, by the generator of tonic itself.
//!
//! Its traits `Service` and `Method` take names and types of ours. It makes a module for a client and one for a server.
//! They become `client` and `server` in the module of the service, where no name of the schema is beside theirs.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::quote;
use tonic_build::CodeGenBuilder;

use super::context::{Context, cfg, path};
use super::service::{below, gate};
use crate::model::{Method, Service};
use crate::names::{Taken, member, prost, raw, snake};

/// Functions that each client has, and those of traits that a call finds before one that takes `&mut self`.
const OF_CLIENTS: &[&str] = &[
    "accept_compressed",
    "clone",
    "connect",
    "into",
    "max_decoding_message_size",
    "max_encoding_message_size",
    "new",
    "send_compressed",
    "to_owned",
    "try_into",
    "with_interceptor",
    "with_origin",
];

/// What tonic's code names without a path: a trait of such a name would be taken for it.
const RESERVED: &[&str] = &[
    "Arc",
    "B",
    "Body",
    "Box",
    "BoxFuture",
    "BoxStream",
    "Bytes",
    "Clone",
    "CompressionEncoding",
    "Context",
    "D",
    "Debug",
    "Default",
    "EnabledCompressionEncodings",
    "F",
    "Future",
    "GrpcMethod",
    "InterceptedService",
    "Into",
    "Option",
    "Pin",
    "Poll",
    "Service",
    "StdError",
    "T",
    "TryInto",
    "Uri",
    "async_trait",
    "http",
    "i32",
    "std",
    "str",
    "tokio_stream",
    "tonic",
    "usize",
];

/// The modules `client` and `server` of a service.
pub(super) fn emit(cx: &Context<'_>, service: &Service) -> TokenStream {
    let grpc = cx.config.grpc;
    let runtime = match cx.config.grpc_runtime.as_str() {
        "" => "::protozero_tonic",
        other => other,
    };
    let codec = match cx.config.grpc_memory_max {
        Some(bytes) => format!("{runtime}::CodecWithin::<_, _, {bytes}>"),
        None => format!("{runtime}::Codec"),
    };
    let stub = Stub::new(cx, service, &codec);
    let mut builder = CodeGenBuilder::new();
    builder.build_transport(grpc.connect);
    builder.generate_default_stubs(cx.config.generate_default_stubs);
    builder.use_arc_self(cx.config.use_arc_self);
    let runtime = path(runtime);
    // All methods are compiled, or none.
    let gates: BTreeSet<String> = service.methods.iter().map(|m| gate(cx, m).to_string()).collect();
    let mut gates: TokenStream = gates.iter().map(|gate| path(gate)).collect();
    gates.extend(cfg(cx.config.grpc_feature.as_deref()));
    let module = |name: &str, code: TokenStream| {
        let doc = format!(" The {name} of `{}`.", service.path.full());
        let (name, items) = (raw(name), items(code));
        quote! {
            #[doc = #doc]
            #gates
            pub mod #name {
                use #runtime::tonic;
                #items
            }
        }
    };
    let client = grpc.client.then(|| module("client", builder.generate_client(&stub, "")));
    let server = grpc.server.then(|| module("server", stub.server(&builder)));
    quote! { #client #server }
}

/// What is in a module, without the attribute that allows lints: those of the package's module hold.
fn items(module: TokenStream) -> TokenStream {
    let body = module.into_iter().find_map(|tree| match tree {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group.stream()),
        _ => None,
    });
    let tokens: Vec<TokenTree> = body.unwrap_or_default().into_iter().collect();
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|t| t.to_string() == text);
    // `#![allow(...)]`
    let attribute = if is(0, "#") && is(1, "!") { 3 } else { 0 };
    tokens.into_iter().skip(attribute).collect()
}

/// A service as tonic's generator wants it.
struct Stub {
    package: String,
    /// Its name in the schema.
    identifier: String,
    /// Its name in Rust.
    name: String,
    comment: Vec<String>,
    calls: Vec<Call>,
}

impl Stub {
    fn new(cx: &Context<'_>, service: &Service, codec: &str) -> Self {
        let identifier = service.path.parts.concat();
        let mut name = raw(&identifier).to_string();
        if RESERVED.contains(&name.trim_end_matches('_')) {
            name.push('_');
        }
        let mut taken = Taken::new(OF_CLIENTS);
        let call = |m| Call::new(cx, m, &mut taken, codec);
        Self {
            package: service.path.package.clone(),
            identifier,
            name,
            comment: service.comment.clone(),
            calls: service.methods.iter().map(call).collect(),
        }
    }

    /// The module of the server. In it is a type `{method}Svc` for each method, whose name may be that of the service.
    fn server(mut self, builder: &CodeGenBuilder) -> TokenStream {
        let trait_of = self.name.clone();
        if !self.calls.iter().any(|call| format!("{}Svc", call.identifier) == trait_of) {
            return builder.generate_server(&self, "");
        }
        self.name.push('_');
        let there = [format!("{trait_of}_Server"), format!("{trait_of}_"), trait_of.clone()];
        let here = [format!("{trait_of}Server"), trait_of.clone(), format!("{trait_of}_")];
        let names: Vec<_> = there.iter().map(String::as_str).zip(here).collect();
        renamed(builder.generate_server(&self, ""), &names)
    }
}

/// The same code with other names.
fn renamed(code: TokenStream, names: &[(&str, String)]) -> TokenStream {
    let one = |tree| match tree {
        TokenTree::Group(group) => {
            let inner = renamed(group.stream(), names);
            Group::new(group.delimiter(), inner).into()
        }
        TokenTree::Ident(ident) => match names.iter().find(|(there, _)| ident == there) {
            Some((_, here)) => Ident::new(here, ident.span()).into(),
            None => ident.into(),
        },
        other => other,
    };
    code.into_iter().map(one).collect::<TokenStream>()
}

impl tonic_build::Service for Stub {
    type Comment = String;
    type Method = Call;

    fn name(&self) -> &str {
        &self.name
    }

    fn package(&self) -> &str {
        &self.package
    }

    fn identifier(&self) -> &str {
        &self.identifier
    }

    fn methods(&self) -> &[Call] {
        &self.calls
    }

    fn comment(&self) -> &[String] {
        &self.comment
    }
}

/// A method as tonic's generator wants it.
struct Call {
    /// Its name in the schema.
    identifier: String,
    /// Its function.
    name: String,
    codec: String,
    client_streaming: bool,
    server_streaming: bool,
    deprecated: bool,
    comment: Vec<String>,
    request: TokenStream,
    response: TokenStream,
}

impl Call {
    fn new(cx: &Context<'_>, m: &Method, taken: &mut Taken, codec: &str) -> Self {
        let type_of = |id| match cx.is_unit(id) {
            true => quote! { () },
            false => below(cx, id, quote! { super::super:: }),
        };
        let name = match cx.config.prost_names {
            true => prost::snake(&m.name),
            false => member(snake(&m.name), OF_CLIENTS),
        };
        Self {
            identifier: m.name.clone(),
            name: raw(&taken.take(name)).to_string(),
            codec: codec.to_owned(),
            client_streaming: m.client_streaming,
            server_streaming: m.streaming,
            deprecated: m.deprecated,
            comment: m.comment.clone(),
            request: type_of(m.request),
            response: type_of(m.response),
        }
    }
}

impl tonic_build::Method for Call {
    type Comment = String;

    fn name(&self) -> &str {
        &self.name
    }

    fn identifier(&self) -> &str {
        &self.identifier
    }

    fn codec_path(&self) -> &str {
        &self.codec
    }

    fn client_streaming(&self) -> bool {
        self.client_streaming
    }

    fn server_streaming(&self) -> bool {
        self.server_streaming
    }

    fn comment(&self) -> &[String] {
        &self.comment
    }

    fn deprecated(&self) -> bool {
        self.deprecated
    }

    fn request_response_name(&self, _: &str, _: bool) -> (TokenStream, TokenStream) {
        (self.request.clone(), self.response.clone())
    }
}

#[cfg(test)]
mod tests;
