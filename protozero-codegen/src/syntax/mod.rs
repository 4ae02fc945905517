//! Our parser of `.proto` text: proto2, proto3 and editions, to descriptors with unresolved names, and notes.
//!
//! ```text
//!  text --lexer--> tokens --grammar, field, option--> FileDescriptorProto (names as written)
//!                  comments ------------------------> Notes (places, comments)
//! ```
//!
//! It reads what protobuf-parse does not: comments, places, extension ranges, editions. The descriptor types are older
//! than editions, so features of an edition are stored as unknown fields of the options, with `protoc`'s numbers. Types
//! are resolved later, in `link`.

mod cursor;
mod field;
mod grammar;
mod lexer;
mod option;
mod remark;

use protobuf::descriptor::FileDescriptorProto;

use crate::notes::Notes;

pub(crate) use option::{Constant, WRITTEN, WrittenOption};

/// One file with unresolved names.
pub(crate) struct Syntax {
    pub descriptor: FileDescriptorProto,
    pub notes: Notes,
    /// Options to be interpreted later; descriptors hold their indices in field [`WRITTEN`] of the options.
    pub options: Vec<WrittenOption>,
    /// The file uses something that protobuf-parse cannot read.
    pub beyond: bool,
}

/// How deep messages, groups and option literals may be nested.
const DEPTH_MAX: usize = 32;

/// The rule for import paths, as `protoc` has it (`importer.cc`): they must not leave the include folder on any system.
pub(crate) const PLAIN: &str =
    "no backslash, no consecutive slashes, no \".\" or \"..\", not absolute";

/// Whether `path` follows the rule [`PLAIN`].
pub(crate) fn plain(path: &str) -> bool {
    let part = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', '\0']);
    // On Windows, `c:x` is on another drive.
    let drive = matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    path.split('/').all(part) && !drive
}

/// The error for an import that is not plain.
pub(crate) fn not_plain(import: &str) -> String {
    format!("{import:?} is not a plain path: {PLAIN}")
}

/// Reads the text of `path`. Its imports are [`plain`], so it is safe to look for them.
///
/// # Errors
/// The first syntax error, with its place.
pub(crate) fn read(path: &str, text: &str) -> Result<Syntax, crate::Error> {
    lexer::tokens(text)
        .and_then(|(tokens, comments)| grammar::Grammar::new(path, tokens, comments).file())
        .map_err(|(at, message)| crate::Error {
            file: path.to_owned(),
            line: at.line,
            column: at.column,
            message,
        })
}

#[cfg(test)]
mod tests;
