//! The kind, the type and the role of a field.

use syn::{Expr, Type};

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

pub(crate) enum What {
    Field { held: Held, number: u32, shape: Shape, default: Option<Expr> },
    Map { key: Held, value: Held, number: u32 },
    Oneof { numbers: Vec<u32>, inner: Type },
    Unknown { extensions: bool },
}
