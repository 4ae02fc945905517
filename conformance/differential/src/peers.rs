//! The other libraries behind one trait: read, compare, write.

use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};
use protobuf::descriptor::field_descriptor_proto::Type;
use protobuf::descriptor::{DescriptorProto, FileDescriptorSet};
use protobuf::reflect::{FileDescriptor, MessageDescriptor as PbMessage, ReflectEqMode};
use protobuf::text_format::{merge_from_str, print_to_string_pretty};
use protobuf::{Message as _, MessageDyn};
use std::marker::PhantomData;

/// One library and one message of the schema.
pub trait Peer {
    fn name(&self) -> &'static str;

    /// Checks that both are encodings of the same value.
    ///
    /// # Errors
    /// The library's decoding error, or the two values.
    fn same(&self, one: &[u8], other: &[u8]) -> Result<(), String>;

    /// The value as this library encodes it.
    ///
    /// # Errors
    /// The library's decoding error.
    fn again(&self, bytes: &[u8]) -> Result<Vec<u8>, String>;

    /// Whether the library keeps unknown fields in their order.
    fn keeps_unknown(&self) -> bool {
        false
    }
}

/// A library with the text format.
pub trait Speaks: Peer {
    /// # Errors
    /// The bytes are not a valid message.
    fn print(&self, bytes: &[u8]) -> Result<String, String>;

    /// # Errors
    /// The library's parse error.
    fn parse(&self, text: &str) -> Result<Vec<u8>, String>;
}

fn compare<T: PartialEq>(one: T, other: T, show: impl Fn(&T) -> String) -> Result<(), String> {
    if one == other { Ok(()) } else { Err(format!("{}\nis not\n{}", show(&one), show(&other))) }
}

/// prost's generated messages: no extensions, no unknown fields.
#[derive(Default)]
pub struct Prost<M>(PhantomData<M>);

impl<M: prost::Message + Default + PartialEq + std::fmt::Debug> Peer for Prost<M> {
    fn name(&self) -> &'static str {
        "prost"
    }

    fn same(&self, one: &[u8], other: &[u8]) -> Result<(), String> {
        let decode = |bytes| M::decode(bytes).map_err(|e| e.to_string());
        compare(decode(one)?, decode(other)?, |m| format!("{m:?}"))
    }

    fn again(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        M::decode(bytes).map(|m| m.encode_to_vec()).map_err(|e| e.to_string())
    }
}

/// prost-reflect's dynamic messages: extensions, groups and unknown fields.
pub struct Reflect(pub MessageDescriptor);

impl Reflect {
    /// The message `name`.
    ///
    /// # Panics
    /// The schema has no such message.
    pub fn new(name: &str) -> Self {
        let pool = DescriptorPool::decode(crate::DESCRIPTORS).expect("our own descriptors");
        Self(pool.get_message_by_name(name).expect("a message of the schema"))
    }

    /// # Errors
    /// The bytes are not a valid message.
    pub fn decode(&self, bytes: &[u8]) -> Result<DynamicMessage, String> {
        DynamicMessage::decode(self.0.clone(), bytes).map_err(|e| e.to_string())
    }
}

impl Peer for Reflect {
    fn name(&self) -> &'static str {
        "prost-reflect"
    }

    fn same(&self, one: &[u8], other: &[u8]) -> Result<(), String> {
        // Encoded again, because only then a default that was read equals an absent one.
        let settled = |bytes| self.decode(&self.again(bytes)?);
        compare(settled(one)?, settled(other)?, |m| m.to_text_format())
    }

    fn again(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        self.decode(bytes).map(|m| m.encode_to_vec())
    }

    fn keeps_unknown(&self) -> bool {
        true
    }
}

impl Speaks for Reflect {
    fn print(&self, bytes: &[u8]) -> Result<String, String> {
        self.decode(bytes).map(|m| m.to_text_format())
    }

    fn parse(&self, text: &str) -> Result<Vec<u8>, String> {
        let message = DynamicMessage::parse_text_format(self.0.clone(), text);
        message.map(|m| m.encode_to_vec()).map_err(|e| e.to_string())
    }
}

/// rust-protobuf's dynamic messages: unknown fields, but neither groups nor extensions.
///
/// Its dynamic writer drops every zero of a proto3 schema, even with explicit presence. So it writes with a proto2
/// schema here, which still tests presence.
pub struct RustProtobuf {
    reader: PbMessage,
    writer: PbMessage,
}

impl RustProtobuf {
    /// The message `name`.
    ///
    /// # Panics
    /// The schema has no such message.
    pub fn new(name: &str) -> Self {
        let mut set = FileDescriptorSet::parse_from_bytes(crate::DESCRIPTORS).expect("descriptors");
        // It refuses schemas with groups.
        for file in &mut set.file {
            file.extension.clear();
            file.message_type.iter_mut().for_each(without_groups);
        }
        let find = |set: &FileDescriptorSet| {
            let files =
                FileDescriptor::new_dynamic_fds(set.file.clone(), &[]).expect("descriptors");
            let name = format!(".{name}");
            let found = files.iter().find_map(|file| file.message_by_full_name(&name));
            found.expect("a message of the schema")
        };
        let reader = find(&set);
        set.file.iter_mut().for_each(|file| file.syntax = Some("proto2".to_owned()));
        Self { reader, writer: find(&set) }
    }
}

fn without_groups(message: &mut DescriptorProto) {
    message.field.retain(|field| field.type_() != Type::TYPE_GROUP);
    message.extension.clear();
    message.nested_type.iter_mut().for_each(without_groups);
}

fn decode(of: &PbMessage, bytes: &[u8]) -> Result<Box<dyn MessageDyn>, String> {
    of.parse_from_bytes(bytes).map_err(|e| e.to_string())
}

fn again(of: &PbMessage, bytes: &[u8]) -> Result<Vec<u8>, String> {
    decode(of, bytes)?.write_to_bytes_dyn().map_err(|e| e.to_string())
}

impl Peer for RustProtobuf {
    fn name(&self) -> &'static str {
        "rust-protobuf"
    }

    fn same(&self, one: &[u8], other: &[u8]) -> Result<(), String> {
        let settled = |bytes| decode(&self.reader, &again(&self.reader, bytes)?);
        let (one, other) = (settled(one)?, settled(other)?);
        if one.reflect_eq_dyn(&*other, &ReflectEqMode::default()) {
            return Ok(());
        }
        Err(format!("{one}\nis not\n{other}"))
    }

    fn again(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        again(&self.writer, bytes)
    }
}

impl Speaks for RustProtobuf {
    fn print(&self, bytes: &[u8]) -> Result<String, String> {
        decode(&self.writer, bytes).map(|m| print_to_string_pretty(&*m))
    }

    fn parse(&self, text: &str) -> Result<Vec<u8>, String> {
        let mut message = self.writer.new_instance();
        merge_from_str(&mut *message, text).map_err(|e| e.to_string())?;
        message.write_to_bytes_dyn().map_err(|e| e.to_string())
    }
}
