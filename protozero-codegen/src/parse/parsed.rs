//! One file, as any of the parsers returns it.

use std::collections::BTreeSet;

use protobuf::descriptor::FileDescriptorProto;

use crate::error::Error;
use crate::notes::{Note, Notes, Place};
use crate::syntax;

/// One file, as any of the parsers returns it.
pub(crate) struct Parsed {
    /// Path by which other files import it.
    pub path: String,
    pub descriptor: FileDescriptorProto,
    pub notes: Notes,
    /// See [`syntax::WRITTEN`].
    pub options: Vec<syntax::WrittenOption>,
    /// Files of `import option`. Only options use their names.
    pub option_imports: Vec<String>,
    /// Paths of the types that other files cannot use.
    pub local: BTreeSet<String>,
    /// Code is generated for it.
    pub emitted: bool,
}

impl Parsed {
    /// Every file that it imports, in the order of the notes about them.
    pub fn imports(&self) -> impl Iterator<Item = &String> {
        self.descriptor.dependency.iter().chain(&self.option_imports)
    }

    /// An error about the declaration at `path`, at one of its places.
    pub(super) fn error(&self, path: &str, place: fn(&Note) -> Place, message: String) -> Error {
        let note = self.notes.get(path).cloned().unwrap_or_default();
        let at = match place(&note) {
            Place { line: 0, .. } => note.at,
            at => at,
        };
        Error { file: self.path.clone(), line: at.line, column: at.column, message }
    }
}
