//! The content of a linked descriptor as sorted rows: two parsers agree on a file if their rows are equal.

use protobuf::descriptor::field_descriptor_proto::Type;
use protobuf::descriptor::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
};

use super::default;
use crate::model::{EnumId, Kind};
use crate::notes::join;

type Rows = Vec<(String, String)>;

/// The rows of a file: everything that generated code depends on.
pub(super) fn of(d: &FileDescriptorProto) -> Rows {
    let mut rows = Vec::new();
    let (imports, public) = (&d.dependency, &d.public_dependency);
    let syntax = if d.syntax().is_empty() { "proto2" } else { d.syntax() };
    rows.push((String::new(), format!("{syntax} {} {imports:?} {public:?}", d.package())));
    d.message_type.iter().for_each(|m| message("", m, &mut rows));
    d.enum_type.iter().for_each(|e| enumeration("", e, &mut rows));
    d.extension.iter().for_each(|x| field("", x, "", &mut rows));
    for s in &d.service {
        for (at, m) in s.method.iter().enumerate() {
            let streams = (m.client_streaming(), m.server_streaming());
            let fact = format!("{at} {} {} {streams:?}", m.input_type(), m.output_type());
            rows.push((join(s.name(), m.name()), fact));
        }
    }
    rows.sort();
    rows
}

fn message(scope: &str, d: &DescriptorProto, rows: &mut Rows) {
    let local = join(scope, d.name());
    for (at, f) in d.field.iter().enumerate() {
        let oneof = f.oneof_index.and_then(|at| d.oneof_decl.get(usize::try_from(at).ok()?));
        let oneof = oneof.map(|o| o.name()).unwrap_or_default();
        field(&local, f, &format!("{at} {oneof}"), rows);
    }
    d.extension.iter().for_each(|x| field(&local, x, "", rows));
    d.nested_type.iter().for_each(|m| message(&local, m, rows));
    d.enum_type.iter().for_each(|e| enumeration(&local, e, rows));
    let ranges: Vec<_> = d.extension_range.iter().map(|r| (r.start(), r.end())).collect();
    let reserved: Vec<_> = d.reserved_range.iter().map(|r| (r.start(), r.end())).collect();
    let o = &d.options;
    let flags = (o.map_entry(), o.message_set_wire_format(), o.deprecated());
    let fact = format!("{ranges:?} {reserved:?} {:?} {flags:?}", d.reserved_name);
    rows.push((local, fact));
}

fn field(scope: &str, d: &FieldDescriptorProto, place: &str, rows: &mut Rows) {
    let (number, label, kind) = (d.number(), d.label(), d.type_());
    let names = (d.type_name(), d.extendee(), d.json_name());
    let o = &d.options;
    let flags = (o.packed, o.deprecated(), d.proto3_optional());
    let value = default(d);
    let fact = format!("{place} {number} {label:?} {kind:?} {names:?} {flags:?} {value}");
    rows.push((join(scope, d.name()), fact));
}

/// A default by its value, because one number can be written in many ways.
fn default(d: &FieldDescriptorProto) -> String {
    let kind = match d.type_() {
        Type::TYPE_FLOAT | Type::TYPE_DOUBLE => Kind::Double,
        Type::TYPE_BOOL => Kind::Bool,
        Type::TYPE_STRING => Kind::String,
        Type::TYPE_BYTES => Kind::Bytes,
        Type::TYPE_ENUM => Kind::Enum(EnumId(0)),
        Type::TYPE_UINT64 | Type::TYPE_FIXED64 => Kind::Uint64,
        _ => Kind::Int64,
    };
    let value = d.default_value.as_deref().map(|text| default::value(kind, text));
    format!("{value:?}")
}

fn enumeration(scope: &str, d: &EnumDescriptorProto, rows: &mut Rows) {
    let local = join(scope, d.name());
    let values = d.value.iter().map(|v| (v.name(), v.number(), v.options.deprecated()));
    let values: Vec<_> = values.collect();
    let reserved: Vec<_> = d.reserved_range.iter().map(|r| (r.start(), r.end())).collect();
    let flags = (d.options.allow_alias(), d.options.deprecated());
    let fact = format!("{values:?} {reserved:?} {:?} {flags:?}", d.reserved_name);
    rows.push((local, fact));
}
