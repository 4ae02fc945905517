//! Text to [`Schema`]: the only file that names protobuf-parse. Descriptors stop in this module.
//!
//! ```text
//!  Source* --syntax--> names as written, notes --link, check--> FileDescriptorProto --build--> Schema
//!             |                                                   ^
//!             `------- text that it can read --protobuf-parse ----'
//! ```
//!
//! protobuf-parse makes the descriptors of all that it can read, which is proto2 and proto3. It
//! knows no editions, keeps no comments, and names no places past the syntax; so each file is read
//! by [`syntax`] first, which finds all that is wrong and where. For what only that can read its
//! descriptors are taken, and so they are where the two differ ([`facts`]).

mod build;
mod check;
mod default;
mod facts;
mod features;
mod imports;
mod link;
mod set;

use std::collections::BTreeMap;

use protobuf::Message as _;
use protobuf::descriptor::{FileDescriptorProto, FileDescriptorSet};
use protobuf_parse::Parser;

use crate::error::Error;
use crate::model::Schema;
use crate::notes::{Note, Notes, Place};
use crate::{Source, syntax, wellknown};

/// One file as any parser hands it over.
pub(crate) struct Parsed {
    /// Path as others import it.
    pub path: String,
    pub descriptor: FileDescriptorProto,
    pub notes: Notes,
    /// Code is to be made for it.
    pub emitted: bool,
}

impl Parsed {
    /// `message` about the declaration at `path`, at one of its places.
    fn error(&self, path: &str, place: fn(&Note) -> Place, message: String) -> Error {
        let note = self.notes.get(path).cloned().unwrap_or_default();
        let at = match place(&note) {
            Place { line: 0, .. } => note.at,
            at => at,
        };
        Error { file: self.path.clone(), line: at.line, column: at.column, message }
    }
}

/// Parses and resolves all sources; files keep their order, well-known ones come behind.
pub(crate) fn parse(sources: &[Source], open_enums: bool) -> Result<Schema, Error> {
    build::schema(&linked(sources)?, open_enums)
}

/// `sources` and the well-known files they need as a `FileDescriptorSet`, a file behind those that
/// it imports.
pub(crate) fn descriptor_set(sources: &[Source]) -> Result<Vec<u8>, Error> {
    let files = linked(sources)?;
    // Some mistakes show in values only, which nothing here looks at.
    build::schema(&files, true)?;
    let mut set = FileDescriptorSet::new();
    let mut open: BTreeMap<&str, &FileDescriptorProto> =
        files.iter().map(|f| (f.path.as_str(), &f.descriptor)).collect();
    while !open.is_empty() {
        // Imports in a circle were refused, so each round finds some.
        let ready: Vec<&str> = open
            .iter()
            .filter(|(_, d)| !d.dependency.iter().any(|path| open.contains_key(path.as_str())))
            .map(|(path, _)| *path)
            .collect();
        assert!(!ready.is_empty(), "imports are checked");
        set.file.extend(ready.into_iter().filter_map(|path| open.remove(path).cloned()));
    }
    set.file.iter_mut().for_each(default::rewrite);
    set.write_to_bytes().map_err(|e| Error {
        file: String::new(),
        line: 0,
        column: 0,
        message: format!("descriptor set: {e}"),
    })
}

fn linked(sources: &[Source]) -> Result<Vec<Parsed>, Error> {
    let (mut files, mut beyond) = (Vec::new(), false);
    for source in sources {
        let (file, more) = own(source, true)?;
        beyond |= more;
        files.push(file);
    }
    let brought = wellknown::missing(&files);
    for source in &brought {
        files.push(own(source, false)?.0);
    }
    imports::check(&files)?;
    link::link(&mut files)?;
    check::check(&files)?;
    if !beyond && let Some(descriptors) = pure(sources.iter().chain(&brought)) {
        for (file, descriptor) in files.iter_mut().zip(descriptors) {
            // It has mistakes of its own: it looks for names in fewer places than it should, and
            // takes octal numbers for decimal ones. Where the two differ, ours counts.
            if facts::of(&descriptor) == facts::of(&file.descriptor) {
                file.descriptor = descriptor;
            }
        }
    }
    Ok(files)
}

/// By our own reading, not linked; and whether protobuf-parse cannot read it.
fn own(source: &Source, emitted: bool) -> Result<(Parsed, bool), Error> {
    let read = syntax::read(&source.path, &source.text)?;
    let (path, descriptor, notes) = (source.path.clone(), read.descriptor, read.notes);
    Ok((Parsed { path, descriptor, notes, emitted }, read.beyond))
}

/// Descriptors by somebody else; `emitted` tells for which files code is to be made.
pub(crate) fn descriptors(
    descriptors: Vec<FileDescriptorProto>,
    emitted: impl Fn(&str) -> bool,
    open_enums: bool,
) -> Result<Schema, Error> {
    let mut files: Vec<Parsed> = Vec::new();
    for d in descriptors {
        let emitted = emitted(d.name());
        files.push(set::parsed(d, emitted));
    }
    for source in wellknown::missing(&files) {
        files.push(own(&source, false)?.0);
    }
    imports::check(&files)?;
    link::link(&mut files)?;
    check::check(&files)?;
    build::schema(&files, open_enums)
}

/// One descriptor per source, in their order; none if the parser cannot read one of them.
///
/// It could read from memory, but the trait that would let us is not exported; so the sources make
/// a short trip through a private temporary folder, which is gone when this returns.
fn pure<'s>(sources: impl Iterator<Item = &'s Source> + Clone) -> Option<Vec<FileDescriptorProto>> {
    let folder = tempfile::tempdir().ok()?;
    let mut parser = Parser::new();
    parser.pure().include(folder.path());
    for source in sources.clone() {
        let file = folder.path().join(&source.path);
        std::fs::create_dir_all(file.parent()?).ok()?;
        std::fs::write(&file, &source.text).ok()?;
        parser.input(file);
    }
    let parsed = parser.parse_and_typecheck().ok()?.file_descriptors;
    let mut by_path: BTreeMap<String, FileDescriptorProto> =
        parsed.into_iter().map(|d| (d.name().to_owned(), d)).collect();
    sources.map(|source| by_path.remove(&source.path)).collect()
}

#[cfg(test)]
mod props;
#[cfg(test)]
pub(crate) mod tests;
