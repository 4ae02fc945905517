//! `google/protobuf/*.proto`: what every protobuf brings along, in our own words.
//!
//! Names, numbers and types are the contract. A schema that imports one of them need not have it:
//! it is added here. Code is made only for those whose messages a schema uses.

use std::collections::BTreeSet;

use crate::Source;

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

/// The sources (true) and, behind them, the well-known files they import (false).
pub(crate) fn complete(sources: &[Source]) -> Vec<(Source, bool)> {
    let mut out: Vec<_> = sources.iter().map(|s| (s.clone(), true)).collect();
    let given: BTreeSet<&str> = sources.iter().map(|s| s.path.as_str()).collect();
    for (path, text) in FILES {
        let quoted = [format!("\"{path}\""), format!("'{path}'")];
        let wanted = |s: &Source| quoted.iter().any(|q| s.text.contains(q.as_str()));
        if !given.contains(path) && sources.iter().any(wanted) {
            out.push((Source { path: (*path).into(), text: (*text).into() }, false));
        }
    }
    out
}

/// Whether this crate brings the file along.
pub(crate) fn is(path: &str) -> bool {
    FILES.iter().any(|(known, _)| *known == path)
}
