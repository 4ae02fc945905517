//! Turns names of the schema into names of Rust.
//!
//! Types are in the module of their package, and their names follow from their full names in the schema alone: see
//! [`rule`]. In packages of [`Config::flat`] they are at the root, and names are joined without a mark. There, two
//! types of the schema that have one name are an error, and a derived name that is taken gets an underscore.

mod ident;
pub(crate) mod prost;
mod rule;
mod values;

use std::collections::BTreeMap;

use proc_macro2::Ident;

pub(crate) use self::ident::{Taken, camel, entry, json, raw, snake};
pub(crate) use self::rule::{ROOT_ITEMS, is_reserved, member, setter, setter_gather, setter_raw};
use crate::model::{EnumId, Message, MessageId, Path, Schema, Service};
use crate::{Config, Error, wellknown};

/// Types that generated code uses without a path, and modules; a flat name may be none of them.
const RESERVED_FLAT: &[&str] = &[
    "Box",
    "Clone",
    "Debug",
    "Default",
    "Err",
    "Error",
    "Iterator",
    "None",
    "Ok",
    "Option",
    "PartialEq",
    "Result",
    "Self",
    "Some",
    "String",
    "Vec",
    "alloc",
    "core",
    "d",
    "protozero",
    ROOT_ITEMS,
    "rt",
    "std",
];

/// Rust names of one message.
#[derive(Clone, Debug)]
pub(crate) struct MessageNames {
    pub owned: String,
    pub writer: String,
    pub reader: String,
    /// The enum a reader yields.
    pub field: String,
    /// The struct that holds all fields after one pass.
    pub table: String,
    /// One enum per oneof.
    pub oneofs: Vec<String>,
    /// The struct that borrows.
    pub view: String,
    /// One enum per oneof, for that.
    pub view_oneofs: Vec<String>,
}

/// Rust names of the whole schema.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    messages: Vec<MessageNames>,
    enums: Vec<String>,
    constants: Vec<Vec<String>>,
    /// Per file, per service: its module.
    services: Vec<Vec<String>>,
    /// Per file: its modules, from the root.
    modules: Vec<Vec<String>>,
}

impl Names {
    /// # Errors
    /// When two names of flat packages are equal.
    pub fn new(config: &Config, schema: &Schema) -> Result<Self, Error> {
        let style = |package: &str| Style::of(config, package);
        let by_path = |path: &Path| raw(&style(&path.package).declared(path)).to_string();
        let enumeration = |path: &Path| raw(&style(&path.package).enumeration(path)).to_string();
        let service = |s: &Service| style(&s.path.package).service(&s.path);
        let paths = schema.messages.iter().filter(|m| !m.map_entry).map(|m| &m.path);
        let flat = paths.chain(schema.enums.iter().map(|e| &e.path));
        let flat = flat.filter(|path| matches!(style(&path.package), Style::Flat)).map(by_path);
        let flat: Vec<String> = flat.collect();
        let mut taken = Taken::new(&flat.iter().map(String::as_str).collect::<Vec<_>>());
        let message = |m: &Message| style(&m.path.package).message(m, &mut taken);
        let names = Self {
            messages: schema.messages.iter().map(message).collect(),
            enums: schema.enums.iter().map(|e| enumeration(&e.path)).collect(),
            constants: schema
                .enums
                .iter()
                .map(|e| match style(&e.path.package) {
                    Style::Flat => values::as_declared(e),
                    Style::Packages => values::short(e, config.prost_names),
                })
                .collect(),
            services: schema
                .files
                .iter()
                .map(|f| f.services.iter().map(service).collect())
                .collect(),
            modules: schema.files.iter().map(|f| style(&f.package).modules(&f.package)).collect(),
        };
        names.check(schema)?;
        Ok(names)
    }

    /// No two items of a module have the same name. The rule of packages says so; flat packages must be so.
    fn check(&self, schema: &Schema) -> Result<(), Error> {
        let mut taken = BTreeMap::new();
        for (file, at) in schema.files.iter().zip(0..) {
            let code = schema.files[at].has_code();
            let mut take = |name: &str, full: String| {
                let key = (self.modules[at].as_slice(), name.to_owned());
                let other = if code { taken.insert(key, full.clone()) } else { None };
                other.map_or(Ok(()), |other| Err(clash(file.path.clone(), name, &other, &full)))
            };
            for id in &file.enums {
                take(self.enumeration(*id), schema.enums[id.0].path.full())?;
            }
            for id in file.messages.iter().filter(|id| !schema.messages[id.0].map_entry) {
                let names = self.message(*id);
                for name in names.all() {
                    take(name, schema.messages[id.0].path.full())?;
                }
            }
            for (service, name) in file.services.iter().zip(&self.services[at]) {
                take(name, service.path.full())?;
            }
        }
        Ok(())
    }

    pub fn message(&self, id: MessageId) -> &MessageNames {
        &self.messages[id.0]
    }

    pub fn enumeration(&self, id: EnumId) -> &str {
        &self.enums[id.0]
    }

    /// The constants of an enum, in the order of its values.
    pub fn constants(&self, id: EnumId) -> &[String] {
        &self.constants[id.0]
    }

    pub fn service(&self, file: usize, at: usize) -> &str {
        &self.services[file][at]
    }

    /// The modules of a file's package, from the root; none if its items are at the root.
    pub fn modules(&self, file: usize) -> &[String] {
        &self.modules[file]
    }
}

fn clash(file: String, name: &str, one: &str, other: &str) -> Error {
    let message = format!(
        "{one} and {other} would both be `{name}`: rename one, or make code without `flat`, which \
         has no such clashes"
    );
    Error { file, line: 0, column: 0, message }
}

impl MessageNames {
    pub fn all(&self) -> impl Iterator<Item = &str> {
        let own = [&self.owned, &self.writer, &self.reader, &self.field, &self.table, &self.view];
        own.into_iter().chain(&self.oneofs).chain(&self.view_oneofs).map(String::as_str)
    }
}

/// How the types of a package are named.
#[derive(Clone, Copy)]
enum Style {
    Packages,
    Flat,
}

impl Style {
    fn of(config: &Config, package: &str) -> Self {
        // The names of the crate of well-known types.
        if package == wellknown::PACKAGE && !config.generate_well_known {
            return Self::Packages;
        }
        let is = |name: &String| name == "." || name.trim_start_matches('.') == package;
        if config.flat.iter().any(is) { Self::Flat } else { Self::Packages }
    }

    fn declared(self, path: &Path) -> String {
        match self {
            Self::Packages => rule::declared(&path.parts),
            Self::Flat => flat(camel(&path.parts.concat())),
        }
    }

    fn enumeration(self, path: &Path) -> String {
        match self {
            Self::Packages => rule::enumeration(&path.parts),
            Self::Flat => self.declared(path),
        }
    }

    fn service(self, path: &Path) -> String {
        match self {
            Self::Packages => rule::declared(&path.parts),
            Self::Flat => flat(snake(&path.parts.concat())),
        }
    }

    fn modules(self, package: &str) -> Vec<String> {
        match self {
            Self::Packages => {
                package.split('.').filter(|part| !part.is_empty()).map(rule::module).collect()
            }
            Self::Flat => Vec::new(),
        }
    }

    /// `taken` has the names at the root, without those that are derived from this message.
    fn message(self, message: &Message, taken: &mut Taken) -> MessageNames {
        let (path, parts) = (&message.path, &message.path.parts);
        let (base, field, table) = match self {
            Self::Packages => (rule::base(parts), rule::FIELD, rule::TABLE),
            Self::Flat => (camel(&parts.concat()), "Field", "Table"),
        };
        let mut beside = Taken::new(&[]);
        let mut derived = |name: String| match self {
            Self::Packages => beside.take(name),
            Self::Flat => taken.take(name),
        };
        let ends = [rule::WRITER, rule::READER, field, table];
        let [writer, reader, field, table] = ends.map(|end| derived(format!("{base}{end}")));
        let oneof = |name: &str| match self {
            Self::Packages => rule::oneof(parts, name),
            Self::Flat => format!("{base}{}", camel(name)),
        };
        // Of two oneofs whose names have the same letters, the one that is in lower case comes first.
        let mut order: Vec<usize> = (0..message.oneofs.len()).collect();
        order.sort_by_key(|at| core::cmp::Reverse(&message.oneofs[*at].name));
        let mut oneofs = vec![String::new(); order.len()];
        for at in &order {
            oneofs[*at] = derived(oneof(&message.oneofs[*at].name));
        }
        // After all others, none of which they change.
        let view = derived(format!("{base}{}", rule::VIEW));
        let mut view_oneofs = vec![String::new(); order.len()];
        for at in order {
            let name = format!("{}_{}", message.oneofs[at].name, rule::VIEW);
            view_oneofs[at] = derived(oneof(&name));
        }
        let owned = raw(&self.declared(path)).to_string();
        MessageNames { owned, writer, reader, field, table, oneofs, view, view_oneofs }
    }
}

fn flat(name: String) -> String {
    if RESERVED_FLAT.contains(&name.as_str()) { format!("{name}_") } else { name }
}

/// Variants of an enum over the fields of `message` that `keep` selects, in order.
pub(crate) fn variants(
    message: &Message,
    reserved: &[&str],
    like_prost: bool,
    keep: impl Fn(usize) -> bool,
) -> Vec<Option<Ident>> {
    let mut taken = Taken::new(reserved);
    let camel = if like_prost { prost::camel } else { camel };
    let all = message.fields.iter().enumerate();
    all.map(|(at, f)| keep(at).then(|| raw(&taken.take(camel(&f.name))))).collect()
}

#[cfg(test)]
mod tests;
