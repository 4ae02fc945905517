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
//! descriptors are taken, and so they are where the two differ ([`facts`]). A descriptor set is of its
//! descriptors alone: only they have all options.

mod build;
mod check;
mod default;
mod facts;
mod features;
mod fill;
mod imports;
mod link;
mod options;
mod set;

use std::collections::BTreeMap;

use protobuf::Message as _;
use protobuf::descriptor::FileDescriptorProto;
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
    /// See [`syntax::WRITTEN`].
    pub options: Vec<syntax::Written>,
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
    let Read { mut files, .. } = read(sources)?;
    let listed = files.len();
    // It says what options there are, whether or not anybody imports it.
    let known = files.iter().any(|f| f.path == options::DESCRIPTOR);
    if !known && let Some(source) = wellknown::source(options::DESCRIPTOR) {
        files.push(own(&source, false)?.0);
    }
    resolve(&mut files)?;
    // Some mistakes show in values only, which nothing here looks at.
    let schema = build::whole(&files, true)?;
    let options = options::Options::new(&files, &schema);
    let mut open: BTreeMap<&str, usize> =
        files[..listed].iter().enumerate().map(|(at, f)| (f.path.as_str(), at)).collect();
    let mut set = Vec::new();
    while !open.is_empty() {
        // Imports in a circle were refused, so each round finds some.
        let imports = |at: usize| &files[at].descriptor.dependency;
        let ready = |at: usize| !imports(at).iter().any(|path| open.contains_key(path.as_str()));
        let ready: Vec<usize> = open.values().copied().filter(|at| ready(*at)).collect();
        assert!(!ready.is_empty(), "imports are checked");
        for at in ready {
            let mut descriptor = files[at].descriptor.clone();
            default::rewrite(&mut descriptor);
            // What says nothing is proto2.
            if descriptor.syntax() == "proto2" {
                descriptor.clear_syntax();
            }
            let bytes = descriptor.write_to_bytes().map_err(|e| Error {
                file: files[at].path.clone(),
                line: 0,
                column: 0,
                message: format!("descriptor set: {e}"),
            })?;
            let bytes = fill::fill(&bytes, &options.of_file(at)?);
            // Field 1 of the set.
            set.push(0x0a);
            options::varint(&mut set, bytes.len() as u64);
            set.extend(bytes);
            open.remove(files[at].path.as_str());
        }
    }
    Ok(set)
}

/// What was read, not linked.
struct Read {
    /// The sources, and those brought along.
    files: Vec<Parsed>,
    brought: Vec<Source>,
    /// There is something that protobuf-parse cannot read.
    beyond: bool,
}

fn read(sources: &[Source]) -> Result<Read, Error> {
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
    Ok(Read { files, brought, beyond })
}

/// Resolves all names, and finds what is wrong.
fn resolve(files: &mut [Parsed]) -> Result<(), Error> {
    imports::check(files)?;
    link::link(files)?;
    check::check(files)?;
    for file in files {
        features::pass_to_entries(&mut file.descriptor.message_type);
    }
    Ok(())
}

fn linked(sources: &[Source]) -> Result<Vec<Parsed>, Error> {
    let Read { mut files, brought, beyond } = read(sources)?;
    resolve(&mut files)?;
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
    let syntax::Syntax { descriptor, notes, options, beyond } = read;
    Ok((Parsed { path: source.path.clone(), descriptor, notes, options, emitted }, beyond))
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
    resolve(&mut files)?;
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
