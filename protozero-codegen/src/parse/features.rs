//! The features of a file's syntax or edition, for each of its fields: presence, packing, framing.
//!
//! proto2 and proto3 are two fixed sets of features. In an edition, files, messages, fields, oneofs and enums can
//! change features for their contents. The descriptor types are older than editions and keep features as unknown
//! fields, from which they are read here (numbers: `descriptor.proto`).

use std::collections::BTreeMap;

use protobuf::descriptor::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    OneofDescriptorProto,
};
use protobuf::well_known_types::empty::Empty;
use protobuf::{Message as _, MessageField, UnknownValueRef};

/// `FieldOptions.features`.
const OF_FIELD: u32 = 21;
/// `FeatureSet.utf8_validation`.
const UTF8: u32 = 4;

/// What the absence of a singular field means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Explicit,
    Implicit,
    Required,
}

/// The resolved features that concern the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Features {
    pub presence: Presence,
    pub closed: bool,
    pub packed: bool,
    pub utf8: bool,
    pub delimited: bool,
    /// Two fields must not have the same name in JSON.
    pub json_names: bool,
}

const PROTO2: Features = Features {
    presence: Presence::Explicit,
    closed: true,
    packed: false,
    utf8: false,
    delimited: false,
    json_names: false,
};

const PROTO3: Features = Features {
    presence: Presence::Implicit,
    closed: false,
    packed: true,
    utf8: true,
    delimited: false,
    json_names: true,
};

/// Also those of edition 2024, which changed none of them.
const EDITION_2023: Features = Features { presence: Presence::Explicit, ..PROTO3 };

/// `FileDescriptorProto.edition`.
const EDITION: u32 = 14;
/// `Edition.EDITION_2023`.
const YEAR_2023: u64 = 1000;
/// `Edition.EDITION_2024`.
const YEAR_2024: u64 = 1001;

impl Features {
    /// # Errors
    /// When the syntax or edition of the file is not supported.
    pub fn of_file(d: &FileDescriptorProto) -> Result<Self, String> {
        let start = match d.syntax() {
            "" | "proto2" => PROTO2,
            "proto3" => PROTO3,
            "editions" => match d.special_fields.unknown_fields().get(EDITION) {
                Some(UnknownValueRef::Varint(YEAR_2023 | YEAR_2024)) => EDITION_2023,
                _ => {
                    let known = "proto2, proto3, edition 2023 and edition 2024 are";
                    return Err(format!("its edition is not known: {known}"));
                }
            },
            other => return Err(format!("syntax {other} is not known")),
        };
        let features = start.with(&d.options, 50);
        if features.presence == Presence::Required {
            return Err("fields are required one by one, not all of a file".into());
        }
        Ok(features)
    }

    pub fn of_message(self, d: &DescriptorProto) -> Self {
        self.with(&d.options, 12)
    }

    pub fn of_field(self, d: &FieldDescriptorProto) -> Self {
        self.with(&d.options, OF_FIELD)
    }

    pub fn of_oneof(self, d: &OneofDescriptorProto) -> Self {
        self.with(&d.options, 1)
    }

    pub fn of_enum(self, d: &EnumDescriptorProto) -> Self {
        self.with(&d.options, 7)
    }

    /// Numbers and values of the features that a field sets itself.
    pub fn own(d: &FieldDescriptorProto) -> Vec<(u32, u64)> {
        let Some(options) = d.options.as_ref() else { return Vec::new() };
        sets(options, OF_FIELD).iter().flat_map(values).collect()
    }

    /// `options` as changed by their field `number`, a `FeatureSet`.
    fn with<O: protobuf::Message>(mut self, options: &MessageField<O>, number: u32) -> Self {
        let Some(options) = options.as_ref() else { return self };
        for (feature, value) in sets(options, number).iter().flat_map(values) {
            match (feature, value) {
                (1, 1) => self.presence = Presence::Explicit,
                (1, 2) => self.presence = Presence::Implicit,
                (1, 3) => self.presence = Presence::Required,
                (2, v) => self.closed = v == 2,
                (3, v) => self.packed = v == 1,
                (UTF8, v) => self.utf8 = v == 2,
                (5, v) => self.delimited = v == 2,
                (6, v) => self.json_names = v == 1,
                _ => {}
            }
        }
        self
    }
}

/// Copies the UTF-8 feature of a map field to key and value of its entry, as `protoc` does.
pub(super) fn pass_to_entries(messages: &mut [DescriptorProto]) {
    for message in messages {
        let own = |f: &FieldDescriptorProto| {
            Features::own(f).into_iter().rfind(|(feature, _)| *feature == UTF8)
        };
        // The checks have verified that only strings and maps set this feature.
        let of_map = |f: &FieldDescriptorProto| {
            let entry = f.type_name().rsplit('.').next().unwrap_or_default();
            own(f).map(|(_, value)| (entry.to_owned(), value))
        };
        let values: BTreeMap<String, u64> = message.field.iter().filter_map(of_map).collect();
        for entry in message.nested_type.iter_mut().filter(|m| m.options.map_entry()) {
            let Some(value) = values.get(entry.name()) else { continue };
            for field in entry.field.iter_mut().filter(|f| own(f).is_none()) {
                let mut set = Empty::new();
                set.special_fields.mut_unknown_fields().add_varint(UTF8, *value);
                let set = set.write_to_bytes().unwrap_or_default();
                let options = field.options.mut_or_insert_default();
                options.special_fields.mut_unknown_fields().add_length_delimited(OF_FIELD, set);
            }
        }
        pass_to_entries(&mut message.nested_type);
    }
}

/// Every `FeatureSet` that is field `number` of `options`.
fn sets<O: protobuf::Message>(options: &O, number: u32) -> Vec<Empty> {
    let mut sets = Vec::new();
    for (at, value) in options.special_fields().unknown_fields() {
        if let (true, UnknownValueRef::LengthDelimited(set)) = (at == number, value) {
            sets.extend(Empty::parse_from_bytes(set));
        }
    }
    sets
}

/// Features of a set and their values, by number.
fn values(set: &Empty) -> impl Iterator<Item = (u32, u64)> {
    set.special_fields.unknown_fields().iter().filter_map(|(feature, value)| match value {
        UnknownValueRef::Varint(value) => Some((feature, value)),
        _ => None,
    })
}
