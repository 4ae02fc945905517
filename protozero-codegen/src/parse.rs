//! Text to [`Schema`]: the only file that names protobuf-parse. Its descriptors stop in this module.
//!
//! ```text
//!  Source*  --protobuf-parse-->  FileDescriptorProto  --build-->  Schema
//!           --comments-------->  Notes (places)      --^
//! ```

mod build;
mod default;
mod features;
mod imports;
mod place;

use protobuf::descriptor::FileDescriptorProto;
use protobuf_parse::Parser;

use crate::Source;
use crate::comments::{self, Notes};
use crate::error::Error;
use crate::model::Schema;

/// One file as any parser hands it over.
pub(crate) struct Parsed {
    /// Path as others import it.
    pub path: String,
    pub descriptor: FileDescriptorProto,
    pub notes: Notes,
    /// Code is to be made for it.
    pub emitted: bool,
}

/// Parses and resolves all sources; files keep their order.
pub(crate) fn parse(sources: &[Source], open_enums: bool) -> Result<Schema, Error> {
    imports::check(sources)?;
    let descriptors = descriptors(sources)?;
    let files: Vec<_> = sources
        .iter()
        .zip(descriptors)
        .map(|(source, descriptor)| Parsed {
            path: source.path.clone(),
            descriptor,
            notes: comments::scan(&source.text),
            emitted: true,
        })
        .collect();
    build::schema(&files, open_enums)
}

/// One descriptor per source, in the order of the sources.
///
/// The parser can read from memory, but the trait that would let us is not exported; so the sources
/// make a short trip through a private temporary folder, which is gone when this returns.
fn descriptors(sources: &[Source]) -> Result<Vec<FileDescriptorProto>, Error> {
    let whole = |source: &Source, message: String| Error {
        file: source.path.clone(),
        line: 0,
        column: 0,
        message,
    };
    let Some(any) = sources.first() else { return Ok(Vec::new()) };
    let folder =
        tempfile::tempdir().map_err(|e| whole(any, format!("no temporary folder: {e}")))?;
    let mut parser = Parser::new();
    parser.pure().include(folder.path());
    for source in sources {
        let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\\');
        if !source.path.split('/').all(plain) {
            return Err(whole(source, "a source's path must be relative and plain".into()));
        }
        let file = folder.path().join(&source.path);
        let written = match file.parent() {
            Some(parent) => std::fs::create_dir_all(parent),
            None => Ok(()),
        };
        written
            .and_then(|()| std::fs::write(&file, &source.text))
            .map_err(|e| whole(source, format!("no temporary file: {e}")))?;
        parser.input(file);
    }
    let parsed = parser
        .parse_and_typecheck()
        .map_err(|e| place::located(sources, &folder.path().display().to_string(), &e))?
        .file_descriptors;
    sources
        .iter()
        .map(|source| {
            parsed
                .iter()
                .find(|d| d.name() == source.path)
                .cloned()
                .ok_or_else(|| whole(source, "the parser lost this file".into()))
        })
        .collect()
}

#[cfg(test)]
mod tests;
