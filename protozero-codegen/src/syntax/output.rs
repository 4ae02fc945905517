//! The results of the parser.

use std::collections::BTreeSet;

use protobuf::descriptor::FileDescriptorProto;

use crate::notes::{Notes, Place};

/// One file with unresolved names.
pub(crate) struct Syntax {
    pub descriptor: FileDescriptorProto,
    pub notes: Notes,
    /// Options to be interpreted later; descriptors hold their indices in field [`WRITTEN`] of the options.
    pub options: Vec<WrittenOption>,
    /// Files of `import option`. Only options use their names.
    pub option_imports: Vec<String>,
    /// Paths of the types that other files cannot use.
    pub local: BTreeSet<String>,
    /// The file uses something that protobuf-parse cannot read.
    pub beyond: bool,
}

impl Syntax {
    /// Every file that it imports, in the order of the notes about them.
    pub fn imports(&self) -> impl Iterator<Item = &String> {
        self.descriptor.dependency.iter().chain(&self.option_imports)
    }
}

/// Field of the options message that holds the index of a [`WrittenOption`]: `uninterpreted_option`.
pub(crate) const WRITTEN: u32 = 999;

/// An option as written. It does not change the encoding.
pub(crate) struct WrittenOption {
    /// The options message it belongs to, such as `FieldOptions`.
    pub of: &'static str,
    /// The innermost scope of its names, relative to the package.
    pub scope: String,
    /// Path of the declaration it belongs to.
    pub element: String,
    /// The parts of its name; true for those in parentheses, which are extensions.
    pub name: Vec<(String, bool)>,
    pub value: Constant,
    pub at: Place,
    pub value_at: Place,
}

/// The value of an option.
pub(crate) enum Constant {
    /// A name, or a signed `inf` or `nan`.
    Word(String),
    Int(bool, u64),
    Float(f64),
    Text(Vec<u8>),
    /// Fields by name; extensions and type URLs keep their brackets.
    Message(Vec<(String, Constant)>),
    List(Vec<Constant>),
}
