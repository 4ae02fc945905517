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

/// One file, read but not linked.
pub(crate) struct Syntax {
    pub descriptor: FileDescriptorProto,
    pub notes: Notes,
    /// It has something that protobuf-parse cannot read.
    pub beyond: bool,
}

/// Levels of messages, groups and option literals in each other.
const DEPTH_MAX: usize = 32;

/// Reads the text of `path`.
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
