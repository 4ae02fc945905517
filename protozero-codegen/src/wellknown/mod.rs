//! The files of `google/protobuf` that schemas use, in our own words.
//!
//! Names, numbers and types are the contract. A schema that imports one of them need not have it:
//! it is added here, and so is what such a file imports. Code is made only for those whose messages a
//! schema uses.

use std::collections::BTreeSet;

use crate::Source;
use crate::parse::Parsed;

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
    "duration.proto" "empty.proto" "field_mask.proto" "java_features.proto" "source_context.proto"
    "struct.proto" "timestamp.proto" "type.proto" "wrappers.proto"
};

/// The file of that path, if it comes along.
pub(crate) fn source(path: &str) -> Option<Source> {
    let (path, text) = FILES.iter().find(|(known, _)| *known == path)?;
    Some(Source { path: (*path).into(), text: (*text).into() })
}

/// The well-known files that `files` import, and do not have.
pub(crate) fn missing(files: &[Parsed]) -> Vec<Source> {
    let given: BTreeSet<&str> = files.iter().map(|f| f.path.as_str()).collect();
    let mut open: Vec<String> =
        files.iter().flat_map(|f| f.descriptor.dependency.iter().cloned()).collect();
    let mut found = BTreeSet::new();
    while let Some(path) = open.pop() {
        let at = FILES.iter().position(|(known, _)| *known == path);
        let Some(at) = at.filter(|_| !given.contains(path.as_str())) else { continue };
        if found.insert(at) {
            open.extend(imports(FILES[at].1));
        }
    }
    let source = |at: usize| Source { path: FILES[at].0.into(), text: FILES[at].1.into() };
    found.into_iter().map(source).collect()
}

/// What one of our files imports, each in a line.
fn imports(text: &str) -> impl Iterator<Item = String> {
    let path = |line: &str| line.strip_prefix("import \"")?.strip_suffix("\";").map(str::to_owned);
    text.lines().filter_map(path)
}

/// Whether this crate brings the file along.
pub(crate) fn is(path: &str) -> bool {
    FILES.iter().any(|(known, _)| *known == path)
}
