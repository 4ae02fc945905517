//! A hand-written generated descriptor of `descriptor.proto`, so that tests can write schemas as
//! text.

use crate::descriptor::{
    EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor, message as message_type, optional,
    repeated,
};

macro_rules! messages {
    ($($name:ident $function:ident $full:literal { $($fields:tt)* })*) => {$(
        pub(super) static $name: MessageDescriptor = message_type(
            concat!("google.protobuf.", $full),
            { const FIELDS: &[FieldDescriptor] = &[$($fields)*]; FIELDS },
        );

        fn $function() -> &'static MessageDescriptor {
            &$name
        }
    )*};
}

static TYPE: EnumDescriptor = EnumDescriptor {
    name: "google.protobuf.FieldDescriptorProto.Type",
    values: &[
        ("TYPE_DOUBLE", 1),
        ("TYPE_FLOAT", 2),
        ("TYPE_INT64", 3),
        ("TYPE_UINT64", 4),
        ("TYPE_INT32", 5),
        ("TYPE_FIXED64", 6),
        ("TYPE_FIXED32", 7),
        ("TYPE_BOOL", 8),
        ("TYPE_STRING", 9),
        ("TYPE_GROUP", 10),
        ("TYPE_MESSAGE", 11),
        ("TYPE_BYTES", 12),
        ("TYPE_UINT32", 13),
        ("TYPE_ENUM", 14),
        ("TYPE_SFIXED32", 15),
        ("TYPE_SFIXED64", 16),
        ("TYPE_SINT32", 17),
        ("TYPE_SINT64", 18),
    ],
    closed: false,
};

static LABEL: EnumDescriptor = EnumDescriptor {
    name: "google.protobuf.FieldDescriptorProto.Label",
    values: &[("LABEL_OPTIONAL", 1), ("LABEL_REQUIRED", 2), ("LABEL_REPEATED", 3)],
    closed: false,
};

messages! {
    SET set "FileDescriptorSet" {
        repeated("file", 1, Kind::Message(file)),
    }
    FILE file "FileDescriptorProto" {
        optional("name", 1, Kind::String),
        optional("package", 2, Kind::String),
        repeated("message_type", 4, Kind::Message(message)),
        repeated("enum_type", 5, Kind::Message(enumeration)),
        repeated("extension", 7, Kind::Message(field)),
        optional("options", 8, Kind::Message(file_options)),
        optional("syntax", 12, Kind::String),
        optional("edition", 14, Kind::Int32),
    }
    MESSAGE message "DescriptorProto" {
        optional("name", 1, Kind::String),
        repeated("field", 2, Kind::Message(field)),
        repeated("nested_type", 3, Kind::Message(message)),
        repeated("enum_type", 4, Kind::Message(enumeration)),
        repeated("extension_range", 5, Kind::Message(range)),
        repeated("extension", 6, Kind::Message(field)),
        optional("options", 7, Kind::Message(message_options)),
        repeated("oneof_decl", 8, Kind::Message(oneof)),
        repeated("reserved_name", 10, Kind::String),
    }
    RANGE range "Range" {
        optional("start", 1, Kind::Int32),
        optional("end", 2, Kind::Int32),
    }
    FIELD field "FieldDescriptorProto" {
        optional("name", 1, Kind::String),
        optional("extendee", 2, Kind::String),
        optional("number", 3, Kind::Int32),
        optional("label", 4, Kind::Enum(&LABEL)),
        optional("type", 5, Kind::Enum(&TYPE)),
        optional("type_name", 6, Kind::String),
        optional("default_value", 7, Kind::String),
        optional("options", 8, Kind::Message(field_options)),
        optional("oneof_index", 9, Kind::Int32),
        optional("json_name", 10, Kind::String),
        optional("proto3_optional", 17, Kind::Bool),
    }
    ONEOF oneof "OneofDescriptorProto" {
        optional("name", 1, Kind::String),
    }
    ENUM enumeration "EnumDescriptorProto" {
        optional("name", 1, Kind::String),
        repeated("value", 2, Kind::Message(value)),
        optional("options", 3, Kind::Message(enum_options)),
        repeated("reserved_name", 5, Kind::String),
    }
    VALUE value "EnumValueDescriptorProto" {
        optional("name", 1, Kind::String),
        optional("number", 2, Kind::Int32),
    }
    FILE_OPTIONS file_options "FileOptions" {
        optional("features", 50, Kind::Message(features)),
    }
    MESSAGE_OPTIONS message_options "MessageOptions" {
        optional("message_set_wire_format", 1, Kind::Bool),
        optional("map_entry", 7, Kind::Bool),
        optional("features", 12, Kind::Message(features)),
    }
    FIELD_OPTIONS field_options "FieldOptions" {
        optional("packed", 2, Kind::Bool),
        optional("features", 21, Kind::Message(features)),
    }
    ENUM_OPTIONS enum_options "EnumOptions" {
        optional("allow_alias", 2, Kind::Bool),
        optional("features", 7, Kind::Message(features)),
    }
    FEATURES features "FeatureSet" {
        optional("field_presence", 1, Kind::Int32),
        optional("enum_type", 2, Kind::Int32),
        optional("repeated_field_encoding", 3, Kind::Int32),
        optional("utf8_validation", 4, Kind::Int32),
        optional("message_encoding", 5, Kind::Int32),
    }
}

#[test]
fn the_schema_is_complete() {
    let pool = crate::dynamic::Pool::from_generated(&[set()]);
    assert_eq!(pool.messages().count(), 13);
    assert_eq!(pool.message("google.protobuf.FileDescriptorProto").unwrap().fields().count(), 8);
}
