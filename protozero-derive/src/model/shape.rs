//! The kind, the type and the role of a field.

use syn::{Expr, LitStr, Type};

use crate::attrs::Flags;
use crate::kind::Kind;

/// How often a field may occur in a message, and when it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// `T`: written unless it is the default.
    Implicit,
    /// `T`: always written.
    Required,
    /// `Option<T>`: written when present.
    Optional,
    /// `Vec<T>`: one field for each element.
    Repeated,
    /// `Vec<T>`: one field for all elements.
    Packed,
}

/// A kind and the Rust type of its value.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) kind: Kind,
    pub(crate) ty: Type,
    /// Text that is not UTF-8 is an error.
    pub(crate) checked: bool,
    /// The value borrows from the input.
    pub(crate) borrows: bool,
}

/// What a field is called outside of Rust.
#[derive(Clone)]
pub(crate) struct FieldName {
    /// In the schema.
    pub(crate) schema: String,
    /// In JSON, if it is not made of that.
    pub(crate) json: Option<LitStr>,
}

impl FieldName {
    /// What the attribute says, or else what is made of the name in Rust.
    pub(super) fn new(flags: &Flags, rust: String) -> Self {
        let schema = flags.name.as_ref().map_or(rust, LitStr::value);
        Self { schema, json: flags.json.clone() }
    }

    /// The name in JSON.
    pub(super) fn in_json(&self) -> String {
        if let Some(name) = &self.json {
            return name.value();
        }
        let mut name = String::new();
        let mut capital = false;
        for letter in self.schema.chars() {
            if letter == '_' {
                capital = true;
            } else if core::mem::take(&mut capital) {
                name.push(letter.to_ascii_uppercase());
            } else {
                name.push(letter);
            }
        }
        name
    }
}

pub(crate) enum What {
    Field { held: Held, number: u32, shape: Shape, default: Option<Expr> },
    Map { key: Held, value: Held, number: u32 },
    Oneof { numbers: Vec<u32>, inner: Type },
    Unknown { extensions: bool },
}
