//! The messages that have a form of their own.

/// A message of `google.protobuf` whose JSON is not an object of its fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Known {
    Any,
    Timestamp,
    Duration,
    FieldMask,
    Struct,
    Value,
    ListValue,
    /// One value in field 1.
    Wrapper,
}

impl Known {
    /// The form of the message with this name.
    pub(crate) fn of(full_name: &str) -> Option<Self> {
        Some(match full_name.strip_prefix("google.protobuf.")? {
            "Any" => Self::Any,
            "Timestamp" => Self::Timestamp,
            "Duration" => Self::Duration,
            "FieldMask" => Self::FieldMask,
            "Struct" => Self::Struct,
            "Value" => Self::Value,
            "ListValue" => Self::ListValue,
            "DoubleValue" | "FloatValue" | "Int64Value" | "UInt64Value" | "Int32Value"
            | "UInt32Value" | "BoolValue" | "StringValue" | "BytesValue" => Self::Wrapper,
            _ => return None,
        })
    }
}

/// The enum whose only value is `null`.
pub(super) const NULL_VALUE: &str = "google.protobuf.NullValue";

/// Ends the error about the type of an `Any` that is in no pool.
pub(super) const ADD: &str = ": `Registry::add` adds a generated type";
