//! Our own reading of `.proto` text: proto2, proto3 and editions, to unlinked descriptors and notes.
//!
//! ```text
//!  text --lexer--> tokens --grammar, field, option--> FileDescriptorProto (names as written)
//!                  comments ------------------------> Notes (places, comments)
//! ```
//!
//! It sees what protobuf-parse does not: comments, places, extension ranges, editions. Features of
//! an edition go where `protoc` would put them: into the options' unknown fields, since the
//! descriptor types are older than editions. Types are resolved later, in `link`.

mod cursor;
mod field;
mod grammar;
mod lexer;
mod option;
mod remark;

use protobuf::descriptor::FileDescriptorProto;

use crate::notes::Notes;

pub(crate) use option::{Constant, WRITTEN, Written};

/// One file, read but not linked.
pub(crate) struct Syntax {
    pub descriptor: FileDescriptorProto,
    pub notes: Notes,
    /// What descriptors are to have in field [`WRITTEN`] of the options, by the index there.
    pub options: Vec<Written>,
    /// It has something that protobuf-parse cannot read.
    pub beyond: bool,
}

/// Levels of messages, groups and option literals in each other.
const DEPTH_MAX: usize = 32;

/// What a path must be that leads from an include folder to a file, and nowhere else, on every
/// system: the rule of `protoc` (`importer.cc`).
pub(crate) const PLAIN: &str =
    "no backslash, no consecutive slashes, no \".\" or \"..\", not absolute";

/// Whether `path` is as [`PLAIN`] says.
pub(crate) fn plain(path: &str) -> bool {
    let part = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', '\0']);
    // `c:x` is on another drive, where there are drives.
    let drive = matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    path.split('/').all(part) && !drive
}

/// What to say of an import that is not.
pub(crate) fn not_plain(import: &str) -> String {
    format!("{import:?} is no plain path: {PLAIN}")
}

/// Reads the text of `path`. Its imports are [`plain`]: they may be looked for.
///
/// # Errors
/// The first thing that is no `.proto`, with its place.
pub(crate) fn read(path: &str, text: &str) -> Result<Syntax, crate::Error> {
    lexer::tokens(text)
        .and_then(|(spots, comments)| grammar::Grammar::new(path, spots, comments).file())
        .map_err(|(at, message)| crate::Error {
            file: path.to_owned(),
            line: at.line,
            column: at.column,
            message,
        })
}

#[cfg(test)]
mod tests;
