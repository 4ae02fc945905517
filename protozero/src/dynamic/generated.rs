//! Builds a pool from the descriptors of generated code.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

#[cfg(feature = "std")]
use super::origins::Origins;
use super::pool::{MessageDescriptor, Pool};
use super::schema::{
    EnumData, FieldData, Label, MessageData, OneofData, Schema, Symbol, Type, is_proto2_group,
    json_name, short,
};
use super::value::Value;
use crate::descriptor::{self as fixed, Presence};

impl Pool {
    /// A pool of `roots` and all types that they use. Types with equal names are the same type: the one that comes
    /// first, where all that a root uses comes before the next root. Enums with equal names and different values are
    /// different types, of which the first has the name.
    #[must_use]
    pub fn from_generated(roots: &[&'static fixed::MessageDescriptor]) -> Self {
        Self(Arc::new(Builder::new(roots).schema.prepared()))
    }

    /// The same, and what it was made of, if no name has two meanings in it.
    #[cfg(feature = "std")]
    pub(crate) fn with_origins(
        roots: &[&'static fixed::MessageDescriptor],
    ) -> (Self, Option<Origins>) {
        let builder = Builder::new(roots);
        let sources = (0..).zip(&builder.sources);
        let origins = Origins::new(sources.filter_map(|(index, source)| match source {
            Source::Message(message) => Some((index, *message)),
            Source::Entry(..) => None,
        }));
        let is_plain = !builder.is_mixed && origins.cover(roots);
        (Self(Arc::new(builder.schema.prepared())), is_plain.then_some(origins))
    }
}

impl From<&'static fixed::MessageDescriptor> for MessageDescriptor {
    fn from(root: &'static fixed::MessageDescriptor) -> Self {
        // The root is the first message.
        Pool::from_generated(&[root]).message_at(0)
    }
}

#[derive(Default)]
struct Builder {
    schema: Schema,
    /// The source of each message, by index. Map entries have no descriptor.
    sources: Vec<Source>,
    messages: BTreeMap<&'static str, u32>,
    enums: BTreeMap<EnumKey, u32>,
    /// Whether two elements have one name: two enums, or two of different kinds.
    is_mixed: bool,
}

/// Name, values, and whether there are no others. Derived enums may have the same name: that of Rust, without a module.
type EnumKey = (&'static str, &'static [(&'static str, i32)], bool);

#[derive(Clone, Copy)]
enum Source {
    Message(&'static fixed::MessageDescriptor),
    Entry(&'static [fixed::Kind; 2], bool),
}

impl Builder {
    /// All that `roots` use.
    fn new(roots: &[&'static fixed::MessageDescriptor]) -> Self {
        let mut builder = Self::default();
        let mut index = 0;
        for root in roots {
            builder.message(root);
            // `fill` adds the messages that a message uses to the end, so this loop reaches all of
            // them.
            while let Some(found) = builder.sources.get(index).copied() {
                builder.fill(index as u32, found);
                index += 1;
            }
        }
        builder
    }

    fn new_message(&mut self, full_name: &str, found: Source) -> u32 {
        let index = self.sources.len() as u32;
        self.sources.push(found);
        self.schema.messages.push(MessageData::new(full_name));
        let other = self.schema.symbols.insert(String::from(full_name), Symbol::Message(index));
        self.is_mixed |= other.is_some();
        index
    }

    fn message(&mut self, message: &'static fixed::MessageDescriptor) -> u32 {
        if let Some(index) = self.messages.get(message.name) {
            return *index;
        }
        let index = self.new_message(message.name, Source::Message(message));
        self.messages.insert(message.name, index);
        index
    }

    fn enumeration(&mut self, found: &'static fixed::EnumDescriptor) -> u32 {
        let key: EnumKey = (found.name, found.values, found.closed);
        if let Some(index) = self.enums.get(&key) {
            return *index;
        }
        let index = self.schema.enums.len() as u32;
        let values = found.values.iter().map(|(name, number)| (Box::from(*name), *number));
        self.schema.enums.push(EnumData::new(found.name, values.collect(), found.closed));
        self.is_mixed |= self.schema.symbols.contains_key(found.name);
        self.schema.symbols.entry(String::from(found.name)).or_insert(Symbol::Enum(index));
        self.enums.insert(key, index);
        index
    }

    fn ty(&mut self, kind: fixed::Kind) -> Type {
        match kind {
            fixed::Kind::Int32 => Type::Int32,
            fixed::Kind::Int64 => Type::Int64,
            fixed::Kind::Uint32 => Type::Uint32,
            fixed::Kind::Uint64 => Type::Uint64,
            fixed::Kind::Sint32 => Type::Sint32,
            fixed::Kind::Sint64 => Type::Sint64,
            fixed::Kind::Fixed32 => Type::Fixed32,
            fixed::Kind::Fixed64 => Type::Fixed64,
            fixed::Kind::Sfixed32 => Type::Sfixed32,
            fixed::Kind::Sfixed64 => Type::Sfixed64,
            fixed::Kind::Float => Type::Float,
            fixed::Kind::Double => Type::Double,
            fixed::Kind::Bool => Type::Bool,
            fixed::Kind::String => Type::String,
            // A schema cannot contain a map of maps.
            fixed::Kind::Bytes | fixed::Kind::Map(_) => Type::Bytes,
            fixed::Kind::Enum(found) => Type::Enum(self.enumeration(found)),
            fixed::Kind::Message(found) => Type::Message(self.message(found())),
        }
    }

    fn fill(&mut self, index: u32, found: Source) {
        match found {
            Source::Message(message) => {
                for field in message.fields {
                    self.field(index, message.name, field);
                }
                let data = &mut self.schema.messages[index as usize];
                data.message_set = message.message_set;
                data.reserved_names =
                    message.reserved_names.iter().map(|name| Box::from(*name)).collect();
                data.reserved_names.sort_unstable();
                for extension in message.extensions {
                    self.extension(index, extension);
                }
            }
            Source::Entry(kinds, utf8) => {
                for (at, name) in ["key", "value"].into_iter().enumerate() {
                    let ty = self.ty(kinds[at]);
                    let mut data = singular_field(index, name, at as u32 + 1, ty);
                    data.utf8 = utf8;
                    self.schema.messages[index as usize].fields.push(data);
                }
                self.schema.messages[index as usize].map_entry = true;
            }
        }
        // An error would mean two fields with one number or name. The generator prevents that.
        let _ = self.schema.messages[index as usize].index();
    }

    fn field(&mut self, parent: u32, scope: &str, field: &fixed::FieldDescriptor) {
        let mut data = match field.kind {
            fixed::Kind::Map(kinds) => {
                let name = format!("{scope}.{}Entry", json_name(&format!("_{}", field.name)));
                let entry = self.new_message(&name, Source::Entry(kinds, field.utf8));
                let mut data =
                    singular_field(parent, field.name, field.number, Type::Message(entry));
                data.map = true;
                data
            }
            kind => {
                let ty = self.ty(kind);
                singular_field(parent, field.name, field.number, ty)
            }
        };
        self.set_properties(&mut data, scope, field);
        let message = &mut self.schema.messages[parent as usize];
        if let Some(name) = field.oneof {
            let known = message.oneofs.iter().position(|oneof| *oneof.name == *name);
            let oneof = known.unwrap_or(message.oneofs.len());
            if known.is_none() {
                message.oneofs.push(OneofData { name: name.into(), fields: Vec::new() });
            }
            message.oneofs[oneof].fields.push(message.fields.len() as u32);
            data.oneof = Some(oneof as u32);
        }
        message.fields.push(data);
    }

    fn extension(&mut self, parent: u32, extension: &fixed::FieldDescriptor) {
        let ty = self.ty(extension.kind);
        let mut data = singular_field(parent, extension.name, extension.number, ty);
        data.json_name = json_name(short(extension.name));
        data.extension = true;
        let scope = extension.name.rsplit_once('.').map_or("", |(scope, _)| scope);
        self.set_properties(&mut data, scope, extension);
        let index = self.schema.extensions.len() as u32;
        if let Type::Message(ty) = ty
            && *self.schema.message(ty).full_name == *scope
            && self.schema.message(parent).message_set
            && !data.repeated()
        {
            self.schema.messages[parent as usize].members.insert(ty, index);
        }
        let name = String::from(extension.name);
        self.is_mixed |= self.schema.symbols.insert(name, Symbol::Extension(index)).is_some();
        self.schema.messages[parent as usize].extensions.insert(extension.number, index);
        self.schema.extensions.push(data);
    }

    /// Sets everything except the type.
    fn set_properties(&self, data: &mut FieldData, scope: &str, field: &fixed::FieldDescriptor) {
        data.label = match (field.label, field.presence) {
            (fixed::Label::Repeated | fixed::Label::Packed, _) => Label::Repeated,
            (_, Presence::Required) => Label::Required,
            _ => Label::Optional,
        };
        data.packed = field.label == fixed::Label::Packed && data.ty.packable();
        let message = matches!(data.ty, Type::Message(_));
        data.presence = !data.repeated()
            && (field.presence != Presence::Implicit || field.oneof.is_some() || message);
        data.utf8 = field.utf8;
        if let Some(name) = field.json_name {
            data.json_name = name.into();
        }
        let parse = |text| Value::parse_default(&self.schema, data.ty, text);
        data.default = field.default.filter(|_| !data.repeated()).and_then(parse);
        data.delimited = field.delimited && message && !data.map;
        if let (true, Type::Message(index)) = (data.delimited, data.ty) {
            data.is_proto2_group =
                is_proto2_group(short(field.name), scope, &self.schema.message(index).full_name);
        }
    }
}

/// A singular field.
fn singular_field(parent: u32, name: &str, number: u32, ty: Type) -> FieldData {
    FieldData {
        name: name.into(),
        json_name: json_name(name),
        number,
        ty,
        label: Label::Optional,
        presence: true,
        packed: false,
        delimited: false,
        utf8: false,
        map: false,
        extension: false,
        oneof: None,
        parent,
        is_proto2_group: false,
        default: None,
    }
}
