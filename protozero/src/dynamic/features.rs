//! Features that editions let the schema choose, and that proto2 and proto3 fix.
//!
//! An element inherits the features of its parent and can override them. The features of an enum
//! are those at its declaration, not at its use. The defaults are in protobuf's `descriptor.proto`.

use super::proto::{FeatureSet, FileDescriptorProto};

/// The features of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Features {
    pub(super) implicit: bool,
    pub(super) required: bool,
    pub(super) closed: bool,
    pub(super) packed: bool,
    pub(super) utf8: bool,
    pub(super) delimited: bool,
}

const PROTO2: Features = Features {
    implicit: false,
    required: false,
    closed: true,
    packed: false,
    utf8: false,
    delimited: false,
};

const PROTO3: Features =
    Features { implicit: true, closed: false, packed: true, utf8: true, ..PROTO2 };

const EDITION: Features = Features { implicit: false, ..PROTO3 };

/// Editions with the same features.
const EDITIONS: [i32; 2] = [1000, 1001];

impl Features {
    /// The features of a file; `None` if its syntax is unknown.
    pub(super) fn of_file(file: &FileDescriptorProto) -> Option<Self> {
        let base = match file.syntax.as_deref() {
            None | Some("" | "proto2") => PROTO2,
            Some("proto3") => PROTO3,
            Some("editions") if file.edition.is_some_and(|e| EDITIONS.contains(&e)) => EDITION,
            _ => return None,
        };
        Some(base.with(file.options.as_ref().and_then(|options| options.features.as_ref())))
    }

    /// The features of an inner element, with its own overrides.
    pub(super) fn with(self, own: Option<&FeatureSet>) -> Self {
        let Some(own) = own else { return self };
        let mut all = self;
        if let Some(presence @ 1..=3) = own.field_presence {
            (all.implicit, all.required) = (presence == 2, presence == 3);
        }
        if let Some(kind @ 1..=2) = own.enum_type {
            all.closed = kind == 2;
        }
        if let Some(encoding @ 1..=2) = own.repeated_field_encoding {
            all.packed = encoding == 1;
        }
        if let Some(validation @ 2..=3) = own.utf8_validation {
            all.utf8 = validation == 2;
        }
        if let Some(encoding @ 1..=2) = own.message_encoding {
            all.delimited = encoding == 2;
        }
        all
    }
}
