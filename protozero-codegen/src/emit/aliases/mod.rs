//! Aliases of types at the paths that prost gives them: see [`Config::prost_names`].
//!
//! | schema | type | alias |
//! |---|---|---|
//! | message `Order.Item` | `Order_Item` | `order::Item` |
//! | oneof `paid_by` of `Order` | `Order_PaidByOneof` | `order::PaidBy` |
//! | message `KVPair` | `KVPair` | `KvPair` |
//! | service `KV`, with gRPC | `KV::client::KVClient` | `kv_client::KvClient` |
//!
//! An alias whose name is taken in its module is left out, so that every schema still compiles.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use quote::quote;

use super::context::{cfg, ident};
use crate::Config;
use crate::model::{MessageId, Path, Schema};
use crate::names::{Names, is_reserved, prost, raw};

/// A module of aliases.
#[derive(Default)]
struct Module {
    /// Alias, and its type: the feature of the type, and its name in the module of the package.
    types: BTreeMap<String, (Option<String>, String)>,
    modules: BTreeMap<String, Module>,
    /// What is re-exported from the module of the package: a client or a server.
    services: Vec<TokenStream>,
    /// The features that it needs.
    gates: Vec<String>,
}

impl Module {
    /// Adds the type `name` of the schema's type `path`, or of something inside it.
    fn add(&mut self, parents: &[String], alias: &str, name: &str, gate: Option<&str>) {
        let Some(alias) = upper(alias) else { return };
        let mut module = self;
        for parent in parents {
            module = module.modules.entry(prost::snake(parent)).or_default();
        }
        let target = (gate.map(str::to_owned), name.to_owned());
        module.types.entry(alias).or_insert(target);
    }

    fn tokens(&self, depth: usize) -> TokenStream {
        let up = match depth {
            0 => quote! { self:: },
            _ => (0..depth).map(|_| quote! { super:: }).collect(),
        };
        let types = self.types.iter().map(|(alias, (gate, name))| {
            let (gate, alias, name) = (cfg(gate.as_deref()), raw(alias), ident(name));
            quote! { #gate pub use #up #name as #alias; }
        });
        let modules = self.modules.iter().map(|(name, inner)| {
            let (id, items) = (raw(name), inner.tokens(depth + 1));
            let doc = format!(" Types at the paths of prost: inside `{name}`.");
            let gates = inner.gates.iter().map(|gate| cfg(Some(gate)));
            quote! { #[doc = #doc] #(#gates)* pub mod #id { #items } }
        });
        let services = &self.services;
        quote! { #(#types)* #(pub use #up #services)* #(#modules)* }
    }
}

/// The aliases of one package, for its module. `files` are its files, and `beside` the modules of packages in it.
pub(super) fn emit<'a>(
    config: &Config,
    schema: &Schema,
    names: &Names,
    files: &[usize],
    beside: impl Iterator<Item = &'a String>,
) -> TokenStream {
    let mut taken: BTreeSet<String> = beside.cloned().collect();
    let mut package = Module::default();
    for at in files {
        let file = &schema.files[*at];
        let gate = config.feature(&file.path);
        let mut add = |path: &Path, name: &str| {
            taken.insert(name.to_owned());
            if let Some((last, parents)) = path.parts.split_last() {
                package.add(parents, last, name, gate);
            }
        };
        for id in &file.enums {
            add(&schema.enums[id.0].path, names.enumeration(*id));
        }
        let messages = file.messages.iter().filter(|id| !schema.messages[id.0].map_entry);
        for id in messages.clone() {
            add(&schema.messages[id.0].path, &names.message(*id).owned);
        }
        for id in messages {
            let (message, names) = (&schema.messages[id.0], names.message(*id));
            taken.extend(names.all().map(str::to_owned));
            for (oneof, name) in message.oneofs.iter().zip(&names.oneofs) {
                package.add(&message.path.parts, &oneof.name, name, gate);
            }
        }
        taken.extend((0..file.services.len()).map(|s| names.service(*at, s).to_owned()));
        services(config, schema, names, *at, &mut package);
    }
    let free = |alias: &String| !taken.contains(alias) && !is_reserved(alias);
    package.types.retain(|alias, _| free(alias));
    package.modules.retain(|alias, _| free(alias));
    package.tokens(0)
}

/// `greeter_client` and `greeter_server`. None for a service that uses types of another area, and may lack them.
fn services(config: &Config, schema: &Schema, names: &Names, at: usize, package: &mut Module) {
    let gate = config.feature(&schema.files[at].path).map(str::to_owned);
    let far = |id: MessageId| {
        let file = &schema.files[schema.messages[id.0].file];
        config.feature(&file.path).is_some_and(|theirs| Some(theirs) != gate.as_deref())
    };
    for (service, place) in schema.files[at].services.iter().zip(0..) {
        let short = service.path.parts.concat();
        let Some(alias) = upper(&short).filter(|_| short.starts_with(char::is_uppercase)) else {
            continue;
        };
        if service.methods.iter().any(|m| far(m.request) || far(m.response)) {
            continue;
        }
        let module = ident(names.service(at, place));
        let mut add = |side: &str, ends: &[&str]| {
            let inside =
                package.modules.entry(format!("{}_{side}", prost::snake(&short))).or_default();
            inside.gates = gate.iter().chain(&config.grpc_feature).cloned().collect();
            let side = ident(side);
            inside.services.push(quote! { #module::#side::*; });
            for end in ends.iter().filter(|_| alias != short) {
                let (name, alias) = (raw(&format!("{short}{end}")), raw(&format!("{alias}{end}")));
                inside.services.push(quote! { #module::#side::#name as #alias; });
            }
        };
        if config.grpc.client {
            add("client", &["Client"]);
        }
        if config.grpc.server {
            add("server", &["Server", ""]);
        }
    }
}

/// `KVPair` and `kv_pair` to `KvPair`; none if that is no name.
fn upper(name: &str) -> Option<String> {
    Some(prost::camel(name)).filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests;
