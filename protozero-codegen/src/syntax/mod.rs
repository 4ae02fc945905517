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
mod exported;
mod field;
mod grammar;
mod import;
mod lexer;
mod option;
mod output;
mod remark;
mod visibility;

pub(crate) use import::{PLAIN, not_plain, plain};
pub(crate) use output::{Constant, Syntax, WRITTEN, WrittenOption};

/// Reads the text of `path`. Its imports are [`plain`], so it is safe to look for them.
///
/// # Errors
/// The first syntax error, with its place.
pub(crate) fn read(path: &str, text: &str) -> Result<Syntax, crate::Error> {
    lexer::tokens(text)
        .and_then(|(tokens, comments)| cursor::Grammar::new(path, tokens, comments).file())
        .map_err(|(at, message)| crate::Error {
            file: path.to_owned(),
            line: at.line,
            column: at.column,
            message,
        })
}

#[cfg(test)]
mod tests;
