//! The files of `google/protobuf` that schemas use, with comments of our own.
//!
//! Names, numbers and types are protobuf's. A schema that imports one of these files need not contain it: it is added,
//! together with its imports. Code is generated only for files whose messages the schema uses.

use std::collections::BTreeSet;

use crate::parse::Parsed;
use crate::{Config, Source};

macro_rules! files {
    ($($path:literal)*) => {
        &[$((
            concat!("google/protobuf/", $path),
            include_str!($path),
        )),*]
    };
}

const FILES: &[(&str, &str)] = files! {
    "any.proto" "api.proto" "compiler/plugin.proto" "cpp_features.proto" "descriptor.proto"
    "duration.proto" "empty.proto" "field_mask.proto" "go_features.proto" "java_features.proto" "source_context.proto"
    "struct.proto" "timestamp.proto" "type.proto" "wrappers.proto"
};

/// The files whose code is in the crate of well-known types.
const SHARED: &[&str] = &[
    "google/protobuf/any.proto",
    "google/protobuf/api.proto",
    "google/protobuf/duration.proto",
    "google/protobuf/empty.proto",
    "google/protobuf/field_mask.proto",
    "google/protobuf/source_context.proto",
    "google/protobuf/struct.proto",
    "google/protobuf/timestamp.proto",
    "google/protobuf/type.proto",
    "google/protobuf/wrappers.proto",
];

/// The folder of all these files.
const FOLDER: &str = "google/protobuf";

/// The package of all these files.
pub(crate) const PACKAGE: &str = "google.protobuf";

/// For each file of the crate of well-known types, the module there, unless the configuration names another for this
/// folder.
pub(crate) fn externs(config: &Config) -> Vec<(String, String)> {
    if config.generate_well_known {
        return Vec::new();
    }
    let types = if config.types.is_empty() { "::protozero_types" } else { &config.types };
    // A crate with other files of Google, below `google/`, has these in the crate of well-known types, too.
    let is_elsewhere = |path: &str| {
        let mut prefixes = config.externs.iter().map(|(prefix, _)| prefix.as_str());
        prefixes.any(|prefix| prefix.starts_with(FOLDER) && path.starts_with(prefix))
    };
    let shared = SHARED.iter().filter(|path| !is_elsewhere(path));
    shared.map(|path| ((*path).to_owned(), types.to_owned())).collect()
}

/// The messages that hold one value and no more.
const WRAPPERS: &[&str] = &[
    "BoolValue",
    "BytesValue",
    "DoubleValue",
    "FloatValue",
    "Int32Value",
    "Int64Value",
    "StringValue",
    "UInt32Value",
    "UInt64Value",
];

/// Whether the message with this full name is one of them.
pub(crate) fn is_wrapper(full: &str) -> bool {
    full.strip_prefix("google.protobuf.").is_some_and(|name| WRAPPERS.contains(&name))
}

/// Whether the code of this file is that of our crate of well-known types.
pub(crate) fn is_in_types_crate(config: &Config, path: &str) -> bool {
    externs(config).iter().any(|(shared, _)| shared == path)
}

/// The built-in file with that path.
pub(crate) fn source(path: &str) -> Option<Source> {
    let (path, text) = FILES.iter().find(|(known, _)| *known == path)?;
    Some(Source { path: (*path).into(), text: (*text).into() })
}

/// The built-in files that `files` import and do not contain.
pub(crate) fn missing(files: &[Parsed]) -> Vec<Source> {
    let known: BTreeSet<&str> = files.iter().map(|f| f.path.as_str()).collect();
    let mut open: Vec<String> = files.iter().flat_map(|f| f.imports().cloned()).collect();
    let mut found = BTreeSet::new();
    while let Some(path) = open.pop() {
        let at = FILES.iter().position(|(name, _)| *name == path);
        let Some(at) = at.filter(|_| !known.contains(path.as_str())) else { continue };
        if found.insert(at) {
            open.extend(imports(FILES[at].1));
        }
    }
    let source = |at: usize| Source { path: FILES[at].0.into(), text: FILES[at].1.into() };
    found.into_iter().map(source).collect()
}

/// The imports of a built-in file; each has its own line.
fn imports(text: &str) -> impl Iterator<Item = String> {
    let path = |line: &str| line.strip_prefix("import \"")?.strip_suffix("\";").map(str::to_owned);
    text.lines().filter_map(path)
}

/// Whether the file is built in.
pub(crate) fn is(path: &str) -> bool {
    FILES.iter().any(|(known, _)| *known == path)
}

#[cfg(test)]
mod tests;
