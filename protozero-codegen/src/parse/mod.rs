//! From text to [`Schema`]. Only this file uses protobuf-parse, and only this module uses descriptors.
//!
//! ```text
//!  Source* --syntax--> names as written, notes --link, check--> FileDescriptorProto --build--> Schema
//!             |                                                   ^
//!             `------- text that it can read --protobuf-parse ----'
//! ```
//!
//! protobuf-parse reads proto2 and proto3. It does not know editions, drops comments, and gives no places for errors
//! that are not syntax errors. So [`syntax`] reads each file first and finds the errors. Its descriptors are used for
//! files that only it can read, and where the two parsers differ ([`facts`]). Descriptor sets are always made of its
//! descriptors, because only they have all options.

mod build;
mod check;
mod default;
mod facts;
mod features;
mod fill;
mod imports;
mod link;
mod options;
mod parsed;
mod set;

use std::collections::BTreeMap;

use protobuf::Message as _;
use protobuf::descriptor::FileDescriptorProto;
use protobuf_parse::Parser;

pub(crate) use parsed::Parsed;

use crate::error::Error;
use crate::model::Schema;

use crate::{Source, syntax, wellknown};

/// Parses and resolves all sources. Files keep their order; well-known files follow.
pub(crate) fn parse(sources: &[Source], open_enums: bool) -> Result<Schema, Error> {
    build::schema(&linked(sources)?, open_enums)
}

/// `sources` and the well-known files they need as a `FileDescriptorSet`. Each file follows its imports.
pub(crate) fn descriptor_set(sources: &[Source]) -> Result<Vec<u8>, Error> {
    let Read { mut files, .. } = read(sources)?;
    let listed = files.len();
    // It declares the options, so it is needed even if no file imports it.
    let known = files.iter().any(|f| f.path == options::DESCRIPTOR);
    if !known && let Some(source) = wellknown::source(options::DESCRIPTOR) {
        files.push(own(&source, false)?.0);
    }
    resolve(&mut files)?;
    // Some errors are only visible in values, which only building the schema checks.
    let schema = build::whole(&files, true)?;
    let options = options::Options::new(&files, &schema);
    let mut open: BTreeMap<&str, usize> =
        files[..listed].iter().enumerate().map(|(at, f)| (f.path.as_str(), at)).collect();
    let mut set = Vec::new();
    while !open.is_empty() {
        // Cyclic imports were refused, so each round finds at least one file.
        let imports = |at: usize| &files[at].descriptor.dependency;
        let ready = |at: usize| !imports(at).iter().any(|path| open.contains_key(path.as_str()));
        let ready: Vec<usize> = open.values().copied().filter(|at| ready(*at)).collect();
        assert!(!ready.is_empty(), "imports are checked");
        for at in ready {
            let mut descriptor = files[at].descriptor.clone();
            default::rewrite(&mut descriptor);
            // A file without a syntax statement is proto2.
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
            // Tag of field 1 of the set.
            set.push(0x0a);
            options::varint(&mut set, bytes.len() as u64);
            set.extend(bytes);
            open.remove(files[at].path.as_str());
        }
    }
    Ok(set)
}

/// Files with unresolved names.
struct Read {
    /// The sources, and the well-known files that they import.
    files: Vec<Parsed>,
    used_well_known: Vec<Source>,
    /// A file uses something that protobuf-parse cannot read.
    beyond: bool,
}

fn read(sources: &[Source]) -> Result<Read, Error> {
    let (mut files, mut beyond) = (Vec::new(), false);
    for source in sources {
        let (file, more) = own(source, true)?;
        beyond |= more;
        files.push(file);
    }
    let used_well_known = wellknown::missing(&files);
    for source in &used_well_known {
        files.push(own(source, false)?.0);
    }
    Ok(Read { files, used_well_known, beyond })
}

/// Resolves all names and checks the files.
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
    let Read { mut files, used_well_known, beyond } = read(sources)?;
    resolve(&mut files)?;
    if !beyond && let Some(descriptors) = pure(sources.iter().chain(&used_well_known)) {
        for (file, descriptor) in files.iter_mut().zip(descriptors) {
            // protobuf-parse has bugs: it searches names in too few scopes, and reads octal numbers as decimal ones.
            // Where the two differ, our descriptors are used.
            if facts::of(&descriptor) == facts::of(&file.descriptor) {
                file.descriptor = descriptor;
            }
        }
    }
    Ok(files)
}

/// Our parser's result with unresolved names, and whether protobuf-parse cannot read the file.
fn own(source: &Source, emitted: bool) -> Result<(Parsed, bool), Error> {
    let read = syntax::read(&source.path, &source.text)?;
    let syntax::Syntax { descriptor, notes, options, option_imports, local, beyond } = read;
    let path = source.path.clone();
    Ok((Parsed { path, descriptor, notes, options, option_imports, local, emitted }, beyond))
}

/// Resolves descriptors that another program made. `emitted` tells for which files code is generated.
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

/// One descriptor per source, in their order; `None` if protobuf-parse cannot read one of them.
///
/// Its trait for reading from memory is not exported, so the sources are written to a private temporary folder, which
/// is removed before this returns.
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
