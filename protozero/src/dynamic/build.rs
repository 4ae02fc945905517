//! Builds a pool from a set of file descriptors, which may be untrusted.
//!
//! ```text
//!  declare: all files, outer to inner    names, extension ranges, enums
//!  resolve: fields, then extensions      types by name, in any file
//!  check:   map entries
//! ```
//!
//! The decoder limits nesting and memory. Full names have a limit for each name and for their sum.
//! All other elements have a fixed cost.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::cost::MEMORY_MAX;
use super::error::{PoolError, PoolErrorKind as Why};
use super::features::Features;
use super::pool::Pool;
use super::proto::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    FileDescriptorSet,
};
use super::schema::{
    Duplicate, EnumData, FieldData, Label, MessageData, OneofData, Schema, Symbol, Type,
    is_proto2_group, json_name, short,
};
use super::value::Value;
use crate::decode::{DecodeContext, DecodeMemory};
use crate::message::{Message as _, growth};
use crate::wire::tag::NUMBER_MAX;

/// Maximum length of a full name in bytes. The names of all inner elements repeat it.
const NAME_MAX: usize = 1024;

/// Maximum bytes of full names per byte of the set. Many elements in a scope with a long name
/// repeat that name, but a real schema is larger than its names.
const NAMES_PER_BYTE: usize = 8;

/// Bytes of full names that every set may have.
const NAMES_FREE: usize = 64 << 10;

/// Maximum number of parts of a package name: the name lookup tries each of them.
const PARTS_MAX: usize = 64;

impl Pool {
    /// Builds a pool of all files in an encoded `FileDescriptorSet`. `protoc --descriptor_set_out
    /// --include_imports` writes such a set.
    ///
    /// # Errors
    /// [`PoolError`] if the set is malformed, is not a valid schema of proto2, proto3 or a known
    /// edition, needs more than a gigabyte of memory, or has full names that are many times longer
    /// than the set.
    pub fn decode(set: &[u8]) -> Result<Self, PoolError> {
        let names = names_max(set.len());
        let memory = DecodeMemory::new(growth(set).min(2 * MEMORY_MAX));
        let context = DecodeContext::new().with_growth(&memory);
        let mut files = FileDescriptorSet::default();
        files.merge_within(set, context).map_err(|error| PoolError {
            file: String::new(),
            element: String::new(),
            kind: Why::Malformed(error),
        })?;
        build(&files, names)
    }
}

/// Maximum bytes of full names for a set of `len` bytes.
pub(super) const fn names_max(len: usize) -> usize {
    len.saturating_mul(NAMES_PER_BYTE).saturating_add(NAMES_FREE)
}

fn build(set: &FileDescriptorSet, names_left: usize) -> Result<Pool, PoolError> {
    let mut builder = Builder { names_left, ..Builder::default() };
    let mut files: BTreeMap<&str, &FileDescriptorProto> = BTreeMap::new();
    for file in &set.file {
        builder.file = file.name.as_deref().unwrap_or_default();
        // Concatenated sets contain common imports twice.
        match files.insert(builder.file, file) {
            Some(other) if other == file => {}
            Some(_) => return Err(builder.error("", Why::DuplicateFile)),
            None => builder.declare(file)?,
        }
    }
    let messages = core::mem::take(&mut builder.messages);
    for (index, work) in messages.iter().enumerate() {
        builder.file = work.file;
        builder.fields(index as u32, work)?;
    }
    let extensions = core::mem::take(&mut builder.extensions);
    for (index, work) in extensions.iter().enumerate() {
        builder.file = work.file;
        builder.extension(index as u32, work)?;
    }
    for (work, data) in messages.iter().zip(&builder.schema.messages) {
        if data.map_entry && !builder.is_entry(data) {
            builder.file = work.file;
            return Err(builder.error(&data.full_name, Why::MapEntry));
        }
    }
    Ok(Pool(Arc::new(builder.schema.prepared())))
}

/// A message whose fields are not resolved yet. Its index is that of its `MessageData`.
struct MessageWork<'s> {
    file: &'s str,
    proto: &'s DescriptorProto,
    features: Features,
    proto3: bool,
}

struct ExtensionWork<'s> {
    file: &'s str,
    scope: String,
    proto: &'s FieldDescriptorProto,
    features: Features,
}

#[derive(Default)]
struct Builder<'s> {
    /// The current file, for errors.
    file: &'s str,
    /// Bytes that are left for full names.
    names_left: usize,
    schema: Schema,
    messages: Vec<MessageWork<'s>>,
    extensions: Vec<ExtensionWork<'s>>,
}

impl<'s> Builder<'s> {
    fn error(&self, element: &str, kind: Why) -> PoolError {
        PoolError { file: self.file.to_string(), element: element.to_string(), kind }
    }

    /// `scope.name`, with checks.
    fn join(&self, scope: &str, name: Option<&String>) -> Result<String, PoolError> {
        let name = name.map_or("", String::as_str);
        if !is_identifier(name) || scope.len() + 1 + name.len() > NAME_MAX {
            let shown: String = name.chars().take(80).collect();
            return Err(self.error(&shown, Why::Name));
        }
        Ok(if scope.is_empty() { name.to_string() } else { format!("{scope}.{name}") })
    }

    /// Adds a full name and charges its length. Each full name is stored at most three times.
    fn symbol(&mut self, name: &str, symbol: Symbol) -> Result<(), PoolError> {
        let left = self.names_left.checked_sub(name.len());
        self.names_left = left.ok_or_else(|| self.error(name, Why::Names))?;
        match self.schema.symbols.insert(name.to_string(), symbol) {
            None => Ok(()),
            Some(_) => Err(self.error(name, Why::DuplicateName)),
        }
    }

    fn declare(&mut self, file: &'s FileDescriptorProto) -> Result<(), PoolError> {
        let Some(features) = Features::of_file(file) else {
            let syntax = file.syntax.clone().unwrap_or_default();
            let edition = file.edition.map(|edition| format!(" {edition}")).unwrap_or_default();
            return Err(self.error("", Why::Syntax(format!("{syntax}{edition}"))));
        };
        let package = file.package.as_deref().unwrap_or_default();
        let parts = || package.split('.');
        let too_long = package.len() > NAME_MAX || parts().count() > PARTS_MAX;
        if !package.is_empty() && (too_long || !parts().all(is_identifier)) {
            return Err(self.error("", Why::Name));
        }
        let proto3 = file.syntax.as_deref() == Some("proto3");
        for message in &file.message_type {
            self.message(package, message, features, proto3)?;
        }
        for enumeration in &file.enum_type {
            self.enumeration(package, enumeration, features)?;
        }
        for extension in &file.extension {
            self.declare_extension(package, extension, features)?;
        }
        Ok(())
    }

    /// Recursion is limited: the decoder accepts at most 100 levels.
    fn message(
        &mut self,
        scope: &str,
        proto: &'s DescriptorProto,
        outer: Features,
        proto3: bool,
    ) -> Result<(), PoolError> {
        let name = self.join(scope, proto.name.as_ref())?;
        let options = proto.options.as_ref();
        let features = outer.with(options.and_then(|options| options.features.as_ref()));
        self.symbol(&name, Symbol::Message(self.messages.len() as u32))?;
        self.messages.push(MessageWork { file: self.file, proto, features, proto3 });
        let mut data = MessageData::new(&name);
        data.map_entry = options.and_then(|options| options.map_entry) == Some(true);
        data.message_set =
            options.and_then(|options| options.message_set_wire_format) == Some(true);
        data.reserved_names = proto.reserved_name.iter().map(|name| Box::from(&**name)).collect();
        data.reserved_names.sort_unstable();
        data.extension_ranges = self.ranges(&name, proto)?;
        self.schema.messages.push(data);
        for nested in &proto.nested_type {
            self.message(&name, nested, features, proto3)?;
        }
        for enumeration in &proto.enum_type {
            self.enumeration(&name, enumeration, features)?;
        }
        for extension in &proto.extension {
            self.declare_extension(&name, extension, features)?;
        }
        Ok(())
    }

    /// The number ranges for extensions, sorted.
    fn ranges(&self, name: &str, proto: &DescriptorProto) -> Result<Vec<(u32, u32)>, PoolError> {
        let mut ranges = Vec::new();
        for range in &proto.extension_range {
            let wrong = || self.error(name, Why::ExtensionNumber(range.start.unwrap_or(0)));
            let bound = |bound: Option<i32>| u32::try_from(bound.unwrap_or(0)).map_err(|_| wrong());
            let (start, end) = (bound(range.start)?, bound(range.end)?);
            if start >= end {
                return Err(wrong());
            }
            ranges.push((start, end));
        }
        ranges.sort_unstable();
        match ranges.windows(2).find(|pair| pair[0].1 > pair[1].0) {
            Some(pair) => {
                let number = pair[1].0.cast_signed();
                Err(self.error(name, Why::DuplicateNumber(number)))
            }
            None => Ok(ranges),
        }
    }

    fn enumeration(
        &mut self,
        scope: &str,
        proto: &'s EnumDescriptorProto,
        outer: Features,
    ) -> Result<(), PoolError> {
        let name = self.join(scope, proto.name.as_ref())?;
        let options = proto.options.as_ref();
        let features = outer.with(options.and_then(|options| options.features.as_ref()));
        self.symbol(&name, Symbol::Enum(self.schema.enums.len() as u32))?;
        if proto.value.is_empty() {
            return Err(self.error(&name, Why::EmptyEnum));
        }
        let mut values: Vec<(Box<str>, i32)> = Vec::new();
        for value in &proto.value {
            let value_name = value.name.as_deref().unwrap_or_default();
            if !is_identifier(value_name) {
                return Err(self.error(&name, Why::Name));
            }
            values.push((value_name.into(), value.number.unwrap_or(0)));
        }
        let data = EnumData::new(&name, values, features.closed);
        if let Some(twice) = data.duplicate_name() {
            return Err(self.error(&format!("{name}.{twice}"), Why::DuplicateName));
        }
        let aliases = options.and_then(|options| options.allow_alias) == Some(true);
        if let Some(number) = data.duplicate_number().filter(|_| !aliases) {
            return Err(self.error(&name, Why::DuplicateNumber(number)));
        }
        self.schema.enums.push(data);
        Ok(())
    }

    fn declare_extension(
        &mut self,
        scope: &str,
        proto: &'s FieldDescriptorProto,
        features: Features,
    ) -> Result<(), PoolError> {
        let name = self.join(scope, proto.name.as_ref())?;
        self.symbol(&name, Symbol::Extension(self.extensions.len() as u32))?;
        let scope = scope.to_string();
        self.extensions.push(ExtensionWork { file: self.file, scope, proto, features });
        Ok(())
    }

    fn fields(&mut self, index: u32, work: &MessageWork<'s>) -> Result<(), PoolError> {
        let scope = self.schema.message(index).full_name.clone();
        let mut fields = Vec::with_capacity(work.proto.field.len());
        let mut oneofs: Vec<OneofData> = Vec::new();
        for oneof in &work.proto.oneof_decl {
            self.join(&scope, oneof.name.as_ref())?;
            let name = oneof.name.as_deref().unwrap_or_default().into();
            oneofs.push(OneofData { name, fields: Vec::new() });
        }
        for proto in &work.proto.field {
            let full = self.join(&scope, proto.name.as_ref())?;
            let mut field = self.field(&full, &scope, index, proto, work.features)?;
            let synthetic = work.proto3 && proto.proto3_optional == Some(true);
            if synthetic {
                field.presence = !field.repeated();
            } else if let Some(at) = proto.oneof_index {
                let oneof = usize::try_from(at).ok().and_then(|at| oneofs.get_mut(at));
                let oneof = oneof.ok_or_else(|| self.error(&full, Why::Oneof(at)))?;
                if field.label != Label::Optional {
                    return Err(self.error(&full, Why::Label));
                }
                oneof.fields.push(fields.len() as u32);
                (field.oneof, field.presence) = (Some(at as u32), true);
            }
            fields.push(field);
        }
        drop_synthetic(&mut oneofs, &mut fields);
        let data = &mut self.schema.messages[index as usize];
        (data.fields, data.oneofs) = (fields, oneofs);
        let clash = data.index();
        let field = |at: u32| &self.schema.message(index).fields[at as usize];
        match clash {
            Ok(()) => Ok(()),
            Err(Duplicate::Number(at)) => {
                let number = field(at).number.cast_signed();
                Err(self
                    .error(&format!("{scope}.{}", field(at).name), Why::DuplicateNumber(number)))
            }
            Err(Duplicate::Name(at)) => {
                Err(self.error(&format!("{scope}.{}", field(at).name), Why::DuplicateName))
            }
        }
    }

    fn extension(&mut self, index: u32, work: &ExtensionWork<'s>) -> Result<(), PoolError> {
        let full = self.join(&work.scope, work.proto.name.as_ref())?;
        let extendee = work.proto.extendee.as_deref().unwrap_or_default();
        let parent = match self.resolve(&work.scope, extendee) {
            Some(Symbol::Message(parent)) => parent,
            Some(_) => return Err(self.error(&full, Why::WrongType(extendee.to_string()))),
            None => return Err(self.error(&full, Why::UnknownType(extendee.to_string()))),
        };
        let mut field = self.field(&full, &work.scope, parent, work.proto, work.features)?;
        if field.label == Label::Required || field.map || work.proto.oneof_index.is_some() {
            return Err(self.error(&full, Why::Label));
        }
        field.extension = true;
        field.presence = !field.repeated();
        field.name = full.as_str().into();
        let number = field.number;
        let signed = number.cast_signed();
        let data = &mut self.schema.messages[parent as usize];
        let after = data.extension_ranges.partition_point(|range| range.0 <= number);
        if after == 0 || data.extension_ranges[after - 1].1 <= number {
            return Err(self.error(&full, Why::ExtensionNumber(signed)));
        }
        let taken = data.by_number(number).is_some();
        if taken || data.extensions.insert(number, index).is_some() {
            return Err(self.error(&full, Why::DuplicateNumber(signed)));
        }
        if let (true, Type::Message(ty)) = (data.message_set && !field.repeated(), field.ty) {
            let own = *self.schema.message(ty).full_name == *work.scope;
            if own {
                self.schema.messages[parent as usize].members.insert(ty, index);
            }
        }
        self.schema.extensions.push(field);
        Ok(())
    }

    /// The common parts of fields and extensions.
    fn field(
        &self,
        full: &str,
        scope: &str,
        parent: u32,
        proto: &FieldDescriptorProto,
        outer: Features,
    ) -> Result<FieldData, PoolError> {
        let options = proto.options.as_ref();
        let features = outer.with(options.and_then(|options| options.features.as_ref()));
        let signed = proto.number.unwrap_or(0);
        // Extension numbers of a message set are type ids of 31 bits.
        let max =
            if self.schema.message(parent).message_set { i32::MAX as u32 } else { NUMBER_MAX };
        let number = u32::try_from(signed).ok().filter(|n| (1..=max).contains(n));
        let number = number.filter(|n| !(19_000..20_000).contains(n));
        let number = number.ok_or_else(|| self.error(full, Why::Number(signed)))?;
        let (ty, group) = self.ty(full, scope, proto)?;
        let label = match proto.label {
            None | Some(1) if features.required && proto.oneof_index.is_none() => Label::Required,
            None | Some(1) => Label::Optional,
            Some(2) => Label::Required,
            Some(3) => Label::Repeated,
            Some(_) => return Err(self.error(full, Why::Label)),
        };
        let repeated = label == Label::Repeated;
        let mut map = false;
        let mut delimited = group;
        if let Type::Message(index) = ty {
            map = self.schema.message(index).map_entry;
            if map && (!repeated || group) {
                return Err(self.error(full, Why::MapEntry));
            }
            let in_entry = self.schema.message(parent).map_entry;
            delimited |= features.delimited && !map && !in_entry;
        }
        let like = delimited
            && matches!(ty, Type::Message(index)
                if is_proto2_group(short(full), scope, &self.schema.message(index).full_name));
        let packed = options.and_then(|options| options.packed).unwrap_or(features.packed);
        let json = proto.json_name.as_deref().map_or_else(|| json_name(short(full)), Box::from);
        Ok(FieldData {
            name: short(full).into(),
            json_name: json,
            number,
            ty,
            label,
            presence: !repeated && (!features.implicit || matches!(ty, Type::Message(_))),
            packed: repeated && packed && ty.packable(),
            delimited,
            utf8: features.utf8 && ty == Type::String,
            map,
            extension: false,
            oneof: None,
            parent,
            is_proto2_group: like,
            default: self.default_of(full, proto, ty)?,
        })
    }

    /// The type, and whether it is declared as a group.
    fn ty(
        &self,
        full: &str,
        scope: &str,
        proto: &FieldDescriptorProto,
    ) -> Result<(Type, bool), PoolError> {
        let scalar = match proto.r#type {
            Some(1) => Type::Double,
            Some(2) => Type::Float,
            Some(3) => Type::Int64,
            Some(4) => Type::Uint64,
            Some(5) => Type::Int32,
            Some(6) => Type::Fixed64,
            Some(7) => Type::Fixed32,
            Some(8) => Type::Bool,
            Some(9) => Type::String,
            Some(12) => Type::Bytes,
            Some(13) => Type::Uint32,
            Some(15) => Type::Sfixed32,
            Some(16) => Type::Sfixed64,
            Some(17) => Type::Sint32,
            Some(18) => Type::Sint64,
            None | Some(10 | 11 | 14) => {
                let name = proto.type_name.as_deref();
                let name = name.ok_or_else(|| self.error(full, Why::Type))?;
                return match (self.resolve(scope, name), proto.r#type) {
                    (Some(Symbol::Enum(index)), None | Some(14)) => Ok((Type::Enum(index), false)),
                    (Some(Symbol::Message(index)), None | Some(10 | 11)) => {
                        Ok((Type::Message(index), proto.r#type == Some(10)))
                    }
                    (Some(_), _) => Err(self.error(full, Why::WrongType(name.to_string()))),
                    (None, _) => Err(self.error(full, Why::UnknownType(name.to_string()))),
                };
            }
            Some(_) => return Err(self.error(full, Why::Type)),
        };
        Ok((scalar, false))
    }

    /// A full name begins with a dot. Another name is looked up from the inner to the outer scopes.
    fn resolve(&self, scope: &str, name: &str) -> Option<Symbol> {
        if let Some(full) = name.strip_prefix('.') {
            return self.schema.symbols.get(full).copied();
        }
        if name.len() > NAME_MAX {
            return None;
        }
        let mut scope = scope;
        while !scope.is_empty() {
            if let Some(symbol) = self.schema.symbols.get(&format!("{scope}.{name}")) {
                return Some(*symbol);
            }
            scope = scope.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
        self.schema.symbols.get(name).copied()
    }

    fn default_of(
        &self,
        full: &str,
        proto: &FieldDescriptorProto,
        ty: Type,
    ) -> Result<Option<Value>, PoolError> {
        let Some(text) = proto.default_value.as_deref() else { return Ok(None) };
        let value = Value::parse_default(&self.schema, ty, text);
        let wrong = || self.error(full, Why::Default(text.chars().take(80).collect()));
        value.map(Some).ok_or_else(wrong)
    }

    /// A valid entry has a key of a legal type as field 1, a value as field 2, and no other fields.
    fn is_entry(&self, data: &MessageData) -> bool {
        let [1, 2] = [0, 1].map(|at: usize| data.fields.get(at).map_or(0, |f| f.number)) else {
            return false;
        };
        let key = &data.fields[0];
        let no_key = matches!(
            key.ty,
            Type::Float | Type::Double | Type::Bytes | Type::Enum(_) | Type::Message(_)
        );
        data.fields.len() == 2
            && !no_key
            && data.fields.iter().all(|field| !field.repeated() && field.oneof.is_none())
    }
}

/// Removes oneofs without members, which proto3 uses for `optional`.
fn drop_synthetic(oneofs: &mut Vec<OneofData>, fields: &mut [FieldData]) {
    let mut kept = 0;
    oneofs.retain(|oneof| {
        for index in &oneof.fields {
            fields[*index as usize].oneof = Some(kept);
        }
        kept += u32::from(!oneof.fields.is_empty());
        !oneof.fields.is_empty()
    });
}

fn is_identifier(name: &str) -> bool {
    let mut letters = name.bytes();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
}
