//! The files of `google/protobuf` that schemas use, in our own words.
//!
//! Names, numbers and types are the contract. A schema that imports one of them need not have it:
//! it is added here. Code is made only for those whose messages a schema uses. What describes
//! interfaces and compilers (`type.proto`, `api.proto`, `source_context.proto`,
//! `compiler/plugin.proto`, `cpp_features.proto`) is not among them: its place is an include folder.

use std::collections::BTreeSet;

use crate::Source;
use crate::parse::Parsed;

const FILES: &[(&str, &str)] = &[
    ("google/protobuf/any.proto", include_str!("wellknown/any.proto")),
    ("google/protobuf/descriptor.proto", include_str!("wellknown/descriptor.proto")),
    ("google/protobuf/duration.proto", include_str!("wellknown/duration.proto")),
    ("google/protobuf/empty.proto", include_str!("wellknown/empty.proto")),
    ("google/protobuf/field_mask.proto", include_str!("wellknown/field_mask.proto")),
    ("google/protobuf/struct.proto", include_str!("wellknown/struct.proto")),
    ("google/protobuf/timestamp.proto", include_str!("wellknown/timestamp.proto")),
    ("google/protobuf/wrappers.proto", include_str!("wellknown/wrappers.proto")),
];

/// The well-known files that `files` import, and do not have: none of them imports another.
pub(crate) fn missing(files: &[Parsed]) -> Vec<Source> {
    let imported: BTreeSet<&str> =
        files.iter().flat_map(|f| &f.descriptor.dependency).map(String::as_str).collect();
    let given: BTreeSet<&str> = files.iter().map(|f| f.path.as_str()).collect();
    FILES
        .iter()
        .filter(|(path, _)| imported.contains(path) && !given.contains(path))
        .map(|(path, text)| Source { path: (*path).into(), text: (*text).into() })
        .collect()
}

/// Whether this crate brings the file along.
pub(crate) fn is(path: &str) -> bool {
    FILES.iter().any(|(known, _)| *known == path)
}
