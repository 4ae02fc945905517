//! Encodes options as `protoc` writes them, standard and custom ones, once all names are known.
//!
//! ```text
//!  [(unit).si = "ms"]  --syntax-->  WrittenOption, and its index in the options' field 999
//!  FileDescriptorProto, encoded  --fill-->  the same, the options' bytes instead of the indices
//! ```
//!
//! `descriptor.proto` declares the options messages; custom options are extensions of them. The encoded options do not
//! pass through the descriptor types, which are older, drop groups, and reorder unknown fields.

use std::collections::{BTreeMap, BTreeSet};

use super::link;
use super::parsed::Parsed;
use crate::error::Error;
use crate::model::{EnumId, Extension, Field, Kind, Label, Message, MessageId, Schema};
use crate::notes::{Place, join};
use crate::syntax::{Constant, WrittenOption};

/// An error message with its place.
type PlacedMessage = (Place, String);

/// The file that declares the options.
pub(super) const DESCRIPTOR: &str = "google/protobuf/descriptor.proto";

/// Options that are only for compilers, even if the file does not say so.
const SOURCE_ONLY: &[&str] = &[
    "google.protobuf.ExtensionRangeOptions.declaration",
    "google.protobuf.ExtensionRangeOptions.verification",
];

const LEN: u32 = 2;
const BEGIN_GROUP: u32 = 3;
const END_GROUP: u32 = 4;

/// The names that options use.
pub(super) struct Options<'a> {
    files: &'a [Parsed],
    schema: &'a Schema,
    /// Full name to extension and its file.
    extensions: BTreeMap<String, (&'a Extension, usize)>,
    messages: BTreeMap<String, MessageId>,
    /// Per file, the files whose names it may use.
    visible: Vec<BTreeSet<usize>>,
    /// Full names of the fields that are only for compilers: `retention = RETENTION_SOURCE`.
    source_only: BTreeSet<String>,
}

impl<'a> Options<'a> {
    /// `schema` is built from `files`, in the same order.
    pub fn new(files: &'a [Parsed], schema: &'a Schema) -> Self {
        let mut extensions = BTreeMap::new();
        for (at, file) in schema.files.iter().enumerate() {
            let nested = file.messages.iter().flat_map(|id| &schema.messages[id.0].extensions);
            for extension in file.extensions.iter().chain(nested) {
                extensions.insert(extension.path.full(), (extension, at));
            }
        }
        let messages = schema.messages.iter().enumerate();
        let messages = messages.map(|(at, m)| (m.path.full(), MessageId(at))).collect();
        let hidden = |file: &'a Parsed| {
            let package = file.descriptor.package();
            let hidden = file.options.iter().filter(|o| o.hides());
            hidden.map(move |o| join(package, &o.element))
        };
        let known = SOURCE_ONLY.iter().map(|name| (*name).to_owned());
        let source_only = files.iter().flat_map(hidden).chain(known).collect();
        let visible = link::visible(files, true);
        Self { files, schema, extensions, messages, visible, source_only }
    }

    /// Every option of `file`, encoded, by its index.
    ///
    /// # Errors
    /// The first option that is not known, or whose value does not fit.
    pub fn of_file(&self, file: usize) -> Result<Vec<Vec<u8>>, Error> {
        let fail = |(at, message): PlacedMessage| {
            let file = self.files[file].path.clone();
            Error { file, line: at.line, column: at.column, message }
        };
        self.files[file].options.iter().map(|o| self.option(file, o).map_err(fail)).collect()
    }

    fn option(&self, file: usize, written: &WrittenOption) -> Result<Vec<u8>, PlacedMessage> {
        let of = format!("google.protobuf.{}", written.of);
        let scope = join(self.files[file].descriptor.package(), &written.scope);
        let mut message = self.messages.get(&of).copied();
        let mut path: Vec<&Field> = Vec::new();
        for (name, custom) in &written.name {
            let wrong = |what: &str| (written.at, format!("option {}{what}", written.shown()));
            let Some(id) = message else {
                return Err(wrong(" has more parts than there are message fields"));
            };
            let found = match custom {
                true => self.extension(file, &scope, name, id),
                false => self.field(id, name),
            };
            let Some((field, full)) = found else { return Err(wrong(" is not known")) };
            if self.source_only.contains(&full) {
                return Ok(Vec::new());
            }
            message = match field.kind {
                Kind::Message(id) => Some(id),
                _ => None,
            };
            path.push(field);
        }
        let Some((last, outer)) = path.split_last() else { return Ok(Vec::new()) };
        let mut bytes = Vec::new();
        self.value(file, last, &written.value, &mut bytes)
            .map_err(|message| (written.value_at, message))?;
        for field in outer.iter().rev() {
            if field.label == Label::Repeated {
                return Err((
                    written.at,
                    format!("{} is repeated: give it as a whole", field.name),
                ));
            }
            bytes = framed(field, &bytes);
        }
        Ok(bytes)
    }

    /// A field of `message`; a group is also found by its type's name, as in the text format.
    fn field(&self, message: MessageId, name: &str) -> Option<(&'a Field, String)> {
        let message = &self.schema.messages[message.0];
        let group = |f: &&Field| match f.kind {
            Kind::Message(id) if f.delimited => {
                self.schema.messages[id.0].path.parts.last().is_some_and(|last| last == name)
            }
            _ => false,
        };
        let fields = &message.fields;
        let found = fields.iter().find(|f| f.name == name).or_else(|| fields.iter().find(group))?;
        Some((found, format!("{}.{}", message.path.full(), found.name)))
    }

    /// The extension of `message` that is called `name`, searched from `scope` outwards.
    fn extension(
        &self,
        file: usize,
        scope: &str,
        name: &str,
        message: MessageId,
    ) -> Option<(&'a Field, String)> {
        let see = |full: String| {
            let (extension, from) = self.extensions.get(&full)?;
            let fits = extension.extendee == message && self.visible[file].contains(from);
            fits.then_some((&extension.field, full))
        };
        if let Some(full) = name.strip_prefix('.') {
            return see(full.to_owned());
        }
        let mut scope = scope;
        loop {
            match see(join(scope, name)) {
                None if scope.is_empty() => return None,
                None => scope = scope.rsplit_once('.').map_or("", |(outer, _)| outer),
                found => return found,
            }
        }
    }

    /// Appends `value` as `field`, with its tag.
    fn value(
        &self,
        file: usize,
        field: &Field,
        value: &Constant,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        if let (Constant::List(values), Label::Repeated) = (value, field.label) {
            return values.iter().try_for_each(|value| self.value(file, field, value, out));
        }
        let Kind::Message(id) = field.kind else {
            let bytes = scalar(self.schema, field.kind, value);
            let bytes = bytes.ok_or_else(|| format!("this is not a value of {}", field.name))?;
            tag(out, field.number, field.kind.wire_type());
            if field.kind.wire_type() == LEN {
                varint(out, bytes.len() as u64);
            }
            out.extend(bytes);
            return Ok(());
        };
        let Constant::Message(fields) = value else {
            return Err(format!("{} is a message: give its fields in braces", field.name));
        };
        let body = self.body(file, id, fields)?;
        out.extend(framed(field, &body));
        Ok(())
    }

    fn body(
        &self,
        file: usize,
        id: MessageId,
        fields: &[(String, Constant)],
    ) -> Result<Vec<u8>, String> {
        let message = &self.schema.messages[id.0];
        let full = message.path.full();
        let mut out = Vec::new();
        for (name, value) in fields {
            let custom = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
            if let Some((_, of)) = custom.and_then(|name| name.rsplit_once('/')) {
                self.any(file, message, custom.unwrap_or(name), of, value, &mut out)?;
                continue;
            }
            let found = match custom {
                Some(name) => self.extension(file, &full, name, id),
                None => self.field(id, name),
            };
            let Some((field, full)) = found else { return Err(format!("{full} has no {name}")) };
            if !self.source_only.contains(&full) {
                self.value(file, field, value, &mut out)?;
            }
        }
        Ok(out)
    }

    /// `[type.googleapis.com/pkg.Type] { ... }` in an `Any`.
    fn any(
        &self,
        file: usize,
        message: &Message,
        url: &str,
        of: &str,
        value: &Constant,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        let id = self.messages.get(of).filter(|_| message.path.full() == "google.protobuf.Any");
        let (Some(id), Constant::Message(fields)) = (id, value) else {
            return Err(format!("{url} is not a message that could stand here"));
        };
        let body = self.body(file, *id, fields)?;
        for (number, bytes) in [(1, url.as_bytes()), (2, &body[..])] {
            tag(out, number, LEN);
            varint(out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        }
        Ok(())
    }
}

/// The bytes of a scalar value, without tag and length.
fn scalar(schema: &Schema, kind: Kind, value: &Constant) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    match kind {
        Kind::String | Kind::Bytes => {
            let Constant::Text(text) = value else { return None };
            let fits = kind == Kind::Bytes || core::str::from_utf8(text).is_ok();
            return fits.then(|| text.clone());
        }
        Kind::Bool => varint(&mut out, bool(value)?.into()),
        Kind::Enum(id) => varint(&mut out, number(schema, id, value)? as u64),
        #[expect(clippy::cast_possible_truncation, reason = "a float is what is wanted")]
        Kind::Float => out.extend((float(value)? as f32).to_le_bytes()),
        Kind::Double => out.extend(float(value)?.to_le_bytes()),
        Kind::Int32 => varint(&mut out, i64::from(int::<i32>(value)?) as u64),
        Kind::Int64 => varint(&mut out, int::<i64>(value)? as u64),
        Kind::Uint32 => varint(&mut out, int::<u32>(value)?.into()),
        Kind::Uint64 => varint(&mut out, int::<u64>(value)?),
        Kind::Sint32 => {
            let value = int::<i32>(value)?;
            varint(&mut out, (value << 1 ^ value >> 31).cast_unsigned().into());
        }
        Kind::Sint64 => {
            let value = int::<i64>(value)?;
            varint(&mut out, (value << 1 ^ value >> 63).cast_unsigned());
        }
        Kind::Fixed32 => out.extend(int::<u32>(value)?.to_le_bytes()),
        Kind::Sfixed32 => out.extend(int::<i32>(value)?.to_le_bytes()),
        Kind::Fixed64 => out.extend(int::<u64>(value)?.to_le_bytes()),
        Kind::Sfixed64 => out.extend(int::<i64>(value)?.to_le_bytes()),
        Kind::Message(_) => return None,
    }
    Some(out)
}

fn int<T: TryFrom<i128>>(value: &Constant) -> Option<T> {
    let Constant::Int(minus, value) = *value else { return None };
    let value = i128::from(value);
    T::try_from(if minus { -value } else { value }).ok()
}

fn bool(value: &Constant) -> Option<bool> {
    match value {
        Constant::Word(word) if matches!(word.as_str(), "true" | "True" | "t") => Some(true),
        Constant::Word(word) if matches!(word.as_str(), "false" | "False" | "f") => Some(false),
        Constant::Int(false, value @ (0 | 1)) => Some(*value == 1),
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "what a float does to an integer")]
fn float(value: &Constant) -> Option<f64> {
    Some(match value {
        Constant::Float(value) => *value,
        Constant::Int(true, value) => -(*value as f64),
        Constant::Int(false, value) => *value as f64,
        Constant::Word(word) => match word.to_ascii_lowercase().as_str() {
            "inf" | "infinity" => f64::INFINITY,
            "-inf" | "-infinity" => f64::NEG_INFINITY,
            "nan" => f64::NAN,
            "-nan" => -f64::NAN,
            _ => return None,
        },
        _ => return None,
    })
}

fn number(schema: &Schema, id: EnumId, value: &Constant) -> Option<i64> {
    let found = match value {
        Constant::Word(word) => schema.enums[id.0].values.iter().find(|v| v.name == *word)?.number,
        value => int::<i32>(value)?,
    };
    Some(found.into())
}

/// A message as a field: with its length, or between group tags.
fn framed(field: &Field, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    if field.delimited {
        tag(&mut out, field.number, BEGIN_GROUP);
        out.extend_from_slice(body);
        tag(&mut out, field.number, END_GROUP);
    } else {
        tag(&mut out, field.number, LEN);
        varint(&mut out, body.len() as u64);
        out.extend_from_slice(body);
    }
    out
}

fn tag(out: &mut Vec<u8>, number: u32, wire_type: u32) {
    varint(out, u64::from(number) << 3 | u64::from(wire_type));
}

pub(super) fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
