//! The kinds of values, by their names in `#[pb(...)]`.

/// A kind of value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Numbers and bool: the marker type in `rt` and the one Rust type that holds it.
    Scalar {
        name: &'static str,
        marker: &'static str,
        rust: &'static str,
    },
    String,
    Bytes,
    Enumeration,
    Message,
    Group,
}

const SCALARS: &[(&str, &str, &str)] = &[
    ("int32", "Int32", "i32"),
    ("int64", "Int64", "i64"),
    ("uint32", "Uint32", "u32"),
    ("uint64", "Uint64", "u64"),
    ("sint32", "Sint32", "i32"),
    ("sint64", "Sint64", "i64"),
    ("fixed32", "Fixed32", "u32"),
    ("fixed64", "Fixed64", "u64"),
    ("sfixed32", "Sfixed32", "i32"),
    ("sfixed64", "Sfixed64", "i64"),
    ("float", "Float", "f32"),
    ("double", "Double", "f64"),
    ("bool", "Bool", "bool"),
];
const OTHERS: &[&str] =
    &["string", "bytes", "enumeration", "message", "group", "map", "oneof", "unknown"];

impl Kind {
    pub(crate) fn from_name(name: &str) -> Option<Kind> {
        if let Some(&(name, marker, rust)) = SCALARS.iter().find(|scalar| scalar.0 == name) {
            return Some(Kind::Scalar { name, marker, rust });
        }
        Some(match name {
            "string" => Kind::String,
            "bytes" => Kind::Bytes,
            "enumeration" => Kind::Enumeration,
            "message" => Kind::Message,
            "group" => Kind::Group,
            _ => return None,
        })
    }

    /// Whether repeated values may be packed into one length-delimited field.
    pub(crate) fn packable(self) -> bool {
        matches!(self, Kind::Scalar { .. } | Kind::Enumeration)
    }

    /// Whether the value is a struct.
    pub(crate) fn nested(self) -> bool {
        matches!(self, Kind::Message | Kind::Group)
    }

    /// Whether it may be the key of a map.
    pub(crate) fn key(self) -> bool {
        match self {
            Kind::Scalar { name, .. } => name != "float" && name != "double",
            kind => kind == Kind::String,
        }
    }
}

/// The error message for an unknown kind.
pub(crate) fn unknown(name: &str) -> String {
    let names = || SCALARS.iter().map(|scalar| scalar.0).chain(OTHERS.iter().copied());
    let known = names().collect::<Vec<_>>().join(", ");
    // Names that are used in other libraries and in Rust.
    let habit = match name {
        "enum" => Some("enumeration"),
        "i32" => Some("int32"),
        "i64" => Some("int64"),
        "u32" => Some("uint32"),
        "u64" => Some("uint64"),
        "f32" => Some("float"),
        "f64" => Some("double"),
        "str" | "String" => Some("string"),
        "msg" => Some("message"),
        "btree_map" | "hash_map" => Some("map"),
        _ => names().find(|known| known.eq_ignore_ascii_case(name)),
    };
    match habit {
        Some(meant) => format!("unknown kind `{name}`: did you mean `{meant}`?"),
        None => format!("unknown kind `{name}`; the kinds are {known}"),
    }
}
