//! The parts of `google/protobuf/descriptor.proto` that affect the encoding, as messages.
//!
//! Names and numbers are those of protobuf. Enums are plain numbers, which the code that uses them
//! checks.

use alloc::string::String;
use alloc::vec::Vec;

use crate::Message;

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
pub(super) struct FileDescriptorSet {
    #[pb(message, 1, repeated)]
    pub(super) file: Vec<FileDescriptorProto>,
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
pub(super) struct FileDescriptorProto {
    #[pb(string, 1)]
    pub(super) name: Option<String>,
    #[pb(string, 2)]
    pub(super) package: Option<String>,
    #[pb(message, 4, repeated)]
    pub(super) message_type: Vec<DescriptorProto>,
    #[pb(message, 5, repeated)]
    pub(super) enum_type: Vec<EnumDescriptorProto>,
    #[pb(message, 7, repeated)]
    pub(super) extension: Vec<FieldDescriptorProto>,
    #[pb(message, 8)]
    pub(super) options: Option<FileOptions>,
    #[pb(string, 12)]
    pub(super) syntax: Option<String>,
    #[pb(int32, 14)]
    pub(super) edition: Option<i32>,
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
pub(super) struct DescriptorProto {
    #[pb(string, 1)]
    pub(super) name: Option<String>,
    #[pb(message, 2, repeated)]
    pub(super) field: Vec<FieldDescriptorProto>,
    #[pb(message, 3, repeated)]
    pub(super) nested_type: Vec<DescriptorProto>,
    #[pb(message, 4, repeated)]
    pub(super) enum_type: Vec<EnumDescriptorProto>,
    #[pb(message, 5, repeated)]
    pub(super) extension_range: Vec<Range>,
    #[pb(message, 6, repeated)]
    pub(super) extension: Vec<FieldDescriptorProto>,
    #[pb(message, 7)]
    pub(super) options: Option<MessageOptions>,
    #[pb(message, 8, repeated)]
    pub(super) oneof_decl: Vec<OneofDescriptorProto>,
    #[pb(string, 10, repeated)]
    pub(super) reserved_name: Vec<String>,
}

/// A range of numbers without its `end`.
#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
pub(super) struct Range {
    #[pb(int32, 1)]
    pub(super) start: Option<i32>,
    #[pb(int32, 2)]
    pub(super) end: Option<i32>,
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
pub(super) struct FieldDescriptorProto {
    #[pb(string, 1)]
    pub(super) name: Option<String>,
    #[pb(string, 2)]
    pub(super) extendee: Option<String>,
    #[pb(int32, 3)]
    pub(super) number: Option<i32>,
    #[pb(int32, 4)]
    pub(super) label: Option<i32>,
    #[pb(int32, 5)]
    pub(super) r#type: Option<i32>,
    #[pb(string, 6)]
    pub(super) type_name: Option<String>,
    #[pb(string, 7)]
    pub(super) default_value: Option<String>,
    #[pb(message, 8)]
    pub(super) options: Option<FieldOptions>,
    #[pb(int32, 9)]
    pub(super) oneof_index: Option<i32>,
    #[pb(string, 10)]
    pub(super) json_name: Option<String>,
    #[pb(bool, 17)]
    pub(super) proto3_optional: Option<bool>,
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
pub(super) struct OneofDescriptorProto {
    #[pb(string, 1)]
    pub(super) name: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
pub(super) struct EnumDescriptorProto {
    #[pb(string, 1)]
    pub(super) name: Option<String>,
    #[pb(message, 2, repeated)]
    pub(super) value: Vec<EnumValueDescriptorProto>,
    #[pb(message, 3)]
    pub(super) options: Option<EnumOptions>,
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
pub(super) struct EnumValueDescriptorProto {
    #[pb(string, 1)]
    pub(super) name: Option<String>,
    #[pb(int32, 2)]
    pub(super) number: Option<i32>,
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
pub(super) struct FileOptions {
    #[pb(message, 50)]
    pub(super) features: Option<FeatureSet>,
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
pub(super) struct MessageOptions {
    #[pb(bool, 1)]
    pub(super) message_set_wire_format: Option<bool>,
    #[pb(bool, 7)]
    pub(super) map_entry: Option<bool>,
    #[pb(message, 12)]
    pub(super) features: Option<FeatureSet>,
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
pub(super) struct FieldOptions {
    #[pb(bool, 2)]
    pub(super) packed: Option<bool>,
    #[pb(message, 21)]
    pub(super) features: Option<FeatureSet>,
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
pub(super) struct EnumOptions {
    #[pb(bool, 2)]
    pub(super) allow_alias: Option<bool>,
    #[pb(message, 7)]
    pub(super) features: Option<FeatureSet>,
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
pub(super) struct FeatureSet {
    #[pb(int32, 1)]
    pub(super) field_presence: Option<i32>,
    #[pb(int32, 2)]
    pub(super) enum_type: Option<i32>,
    #[pb(int32, 3)]
    pub(super) repeated_field_encoding: Option<i32>,
    #[pb(int32, 4)]
    pub(super) utf8_validation: Option<i32>,
    #[pb(int32, 5)]
    pub(super) message_encoding: Option<i32>,
}
