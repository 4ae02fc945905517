//! Places and comments of declarations, by path. Descriptors do not hold them.

use std::collections::BTreeMap;

/// Line and column in characters, from 1; 0 and 0 when not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub line: u32,
    pub column: u32,
}

/// One declaration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Note {
    /// Comment lines without marks and common indentation.
    pub lines: Vec<String>,
    /// Its name.
    pub at: Place,
    /// Its type; a method's request.
    pub type_at: Place,
    /// Its number; a method's response.
    pub number_at: Place,
    /// The message an extension extends.
    pub extendee_at: Place,
}

/// Notes of one file: path within the package (`Outer.Inner.field`, `Enum.VALUE`, `Service.Method`,
/// empty for the file itself) to note. What has no name is counted: `Outer#reserved0`, `#import2`.
pub(crate) type Notes = BTreeMap<String, Note>;

/// Path of the package's note.
pub(crate) const PACKAGE: &str = "#package";

/// `outer.name`, or `name` alone.
pub(crate) fn join(outer: &str, name: &str) -> String {
    if outer.is_empty() { name.to_owned() } else { format!("{outer}.{name}") }
}
