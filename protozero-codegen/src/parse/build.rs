//! Builds the model from descriptors: resolves names, applies the features of the syntax, keeps places for errors.

use std::collections::BTreeMap;

use protobuf::descriptor::field_descriptor_proto::{Label as PbLabel, Type as PbType};
use protobuf::descriptor::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    ServiceDescriptorProto,
};

use super::default;
use super::features::{Features, Presence};
use super::parsed::Parsed;
use crate::comments;
use crate::error::Error;
use crate::model::{
    EnumId, EnumValue, Enumeration, Extension, Field, File, Kind, Label, Message, MessageId,
    Method, Oneof, Path, Schema, Service, cycles,
};
use crate::names;
use crate::notes::{self, Note};

/// Builds one schema from all files, in their order.
pub(super) fn schema(files: &[Parsed], open_enums: bool) -> Result<Schema, Error> {
    let mut schema = whole(files, open_enums)?;
    cycles::mark(&mut schema, |_, _| false);
    Ok(schema)
}

/// As [`schema`], but complete: nothing is left out, and no fields are boxed.
pub(super) fn whole(files: &[Parsed], open_enums: bool) -> Result<Schema, Error> {
    let mut builder =
        Builder { files, open_enums, kinds: BTreeMap::new(), schema: Schema::default() };
    let mut features = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let of_file = Features::of_file(&file.descriptor)
            .map_err(|message| builder.error(at, "", message))?;
        builder.declare_file(at, &of_file, &file.descriptor);
        features.push(of_file);
    }
    for ((at, file), features) in files.iter().enumerate().zip(features) {
        builder.fill_file(at, features, &file.descriptor)?;
    }
    Ok(builder.schema)
}

#[derive(Clone, Copy)]
enum Named {
    Message(MessageId),
    Enum(EnumId),
}

struct Builder<'a> {
    files: &'a [Parsed],
    open_enums: bool,
    /// Absolute name with a leading dot.
    kinds: BTreeMap<String, Named>,
    schema: Schema,
}

impl Builder<'_> {
    fn note(&self, file: usize, path: &str) -> Note {
        let mut note = self.files[file].notes.get(path).cloned().unwrap_or_default();
        note.lines = comments::safe(&note.lines);
        note
    }

    fn error(&self, file: usize, path: &str, message: String) -> Error {
        self.files[file].error(path, |n| n.at, message)
    }

    /// First pass: every message and enum gets its id.
    fn declare_file(&mut self, file: usize, features: &Features, d: &FileDescriptorProto) {
        self.schema.files.push(File {
            path: self.files[file].path.clone(),
            package: d.package().to_owned(),
            comment: self.note(file, "").lines,
            emitted: self.files[file].emitted,
            extern_module: None,
            messages: Vec::new(),
            enums: Vec::new(),
            extensions: Vec::new(),
            services: Vec::new(),
        });
        for e in &d.enum_type {
            self.declare_enum(file, features, d.package(), &[], e);
        }
        for m in &d.message_type {
            self.declare_message(file, features, d.package(), &[], m);
        }
    }

    fn declare_message(
        &mut self,
        file: usize,
        features: &Features,
        package: &str,
        outer: &[String],
        d: &DescriptorProto,
    ) {
        let features = features.of_message(d);
        let path = path(package, outer, d.name());
        let id = MessageId(self.schema.messages.len());
        let parts = path.parts.clone();
        self.kinds.insert(format!(".{}", path.full()), Named::Message(id));
        self.schema.messages.push(Message {
            comment: self.note(file, &parts.join(".")).lines,
            path,
            file,
            fields: Vec::new(),
            oneofs: Vec::new(),
            deprecated: d.options.deprecated(),
            map_entry: d.options.map_entry(),
            extension_ranges: d.extension_range.iter().filter_map(range).collect(),
            reserved_names: d.reserved_name.clone(),
            message_set: d.options.message_set_wire_format(),
            extensions: Vec::new(),
        });
        self.schema.files[file].messages.push(id);
        for e in &d.enum_type {
            self.declare_enum(file, &features, package, &parts, e);
        }
        for m in &d.nested_type {
            self.declare_message(file, &features, package, &parts, m);
        }
    }

    fn declare_enum(
        &mut self,
        file: usize,
        features: &Features,
        package: &str,
        outer: &[String],
        d: &EnumDescriptorProto,
    ) {
        let path = path(package, outer, d.name());
        let local = path.parts.join(".");
        let id = EnumId(self.schema.enums.len());
        self.kinds.insert(format!(".{}", path.full()), Named::Enum(id));
        let values = d
            .value
            .iter()
            .map(|v| EnumValue {
                name: v.name().to_owned(),
                number: v.number(),
                comment: self.note(file, &format!("{local}.{}", v.name())).lines,
                deprecated: v.options.deprecated(),
            })
            .collect();
        let comment = self.note(file, &local).lines;
        let deprecated = d.options.deprecated();
        let closed = !self.open_enums && features.of_enum(d).closed;
        self.schema.enums.push(Enumeration { path, file, comment, values, closed, deprecated });
        self.schema.files[file].enums.push(id);
    }

    /// Second pass: fields, extensions and services, with every name resolved.
    fn fill_file(
        &mut self,
        file: usize,
        features: Features,
        d: &FileDescriptorProto,
    ) -> Result<(), Error> {
        let mut ids = self.schema.files[file].messages.clone().into_iter();
        for m in &d.message_type {
            self.fill_message(file, &features, m, &mut ids)?;
        }
        self.schema.files[file].extensions =
            self.extensions(file, &features, d.package(), &[], &d.extension)?;
        for s in &d.service {
            let service = self.service(file, d.package(), s)?;
            self.schema.files[file].services.push(service);
        }
        Ok(())
    }

    /// `ids` are those of [`Self::declare_message`], in the same order.
    fn fill_message(
        &mut self,
        file: usize,
        features: &Features,
        d: &DescriptorProto,
        ids: &mut impl Iterator<Item = MessageId>,
    ) -> Result<(), Error> {
        let Some(id) = ids.next() else { return Ok(()) };
        let features = features.of_message(d);
        let path = self.schema.messages[id.0].path.clone();
        let local = path.parts.join(".");
        // proto3's `optional` adds a oneof with one field, which the model leaves out.
        let synthetic: Vec<bool> = (0..)
            .zip(&d.oneof_decl)
            .map(|(at, _)| d.field.iter().any(|f| f.proto3_optional() && f.oneof_index == Some(at)))
            .collect();
        let mut place = Vec::new();
        let mut oneofs = Vec::new();
        for (oneof, synthetic) in d.oneof_decl.iter().zip(&synthetic) {
            place.push((!synthetic).then_some(oneofs.len()));
            if !synthetic {
                let comment = self.note(file, &format!("{local}.{}", oneof.name())).lines;
                oneofs.push(Oneof { name: oneof.name().to_owned(), comment });
            }
        }
        let mut fields = Vec::new();
        for f in &d.field {
            let at = f.oneof_index.and_then(|at| usize::try_from(at).ok());
            let features = match at.and_then(|at| d.oneof_decl.get(at)) {
                Some(oneof) => features.of_oneof(oneof),
                None => features,
            };
            let mut field = self.field(file, &features, &local, f)?;
            field.oneof = at.and_then(|at| place.get(at).copied().flatten());
            if field.oneof.is_some() {
                field.label = Label::Optional;
            }
            field.delimited &= !d.options.map_entry();
            fields.push(field);
        }
        self.schema.messages[id.0].fields = fields;
        self.schema.messages[id.0].oneofs = oneofs;
        self.schema.messages[id.0].extensions =
            self.extensions(file, &features, &path.package, &path.parts, &d.extension)?;
        for m in &d.nested_type {
            self.fill_message(file, &features, m, ids)?;
        }
        Ok(())
    }

    /// Leaves out extensions of messages that are not among the files, usually options.
    fn extensions(
        &self,
        file: usize,
        features: &Features,
        package: &str,
        scope: &[String],
        all: &[FieldDescriptorProto],
    ) -> Result<Vec<Extension>, Error> {
        let mut out = Vec::new();
        for d in all {
            let Some(Named::Message(extendee)) = self.kinds.get(d.extendee()) else { continue };
            let mut field = self.field(file, features, &scope.join("."), d)?;
            if field.label == Label::Implicit {
                field.label = Label::Optional;
            }
            out.push(Extension {
                path: path(package, scope, d.name()),
                extendee: *extendee,
                field,
            });
        }
        Ok(out)
    }

    fn field(
        &self,
        file: usize,
        features: &Features,
        scope: &str,
        d: &FieldDescriptorProto,
    ) -> Result<Field, Error> {
        let features = features.of_field(d);
        let place = notes::join(scope, d.name());
        let fail = |message: String| Err(self.error(file, &place, message));
        let kind = self.kind(d).map_err(|message| self.error(file, &place, message))?;
        // Numbers of a message set's extensions may use all 31 bits; the checks have verified them.
        let max = if d.has_extendee() { i32::MAX.cast_unsigned() } else { 0x1FFF_FFFF };
        let number = match u32::try_from(d.number()) {
            Ok(n) if (1..=max).contains(&n) => n,
            _ => return fail(format!("field number {} is out of range", d.number())),
        };
        let map = match kind {
            Kind::Message(id) => Some(self.schema.messages[id.0].map_entry),
            _ => None,
        };
        let label = match (d.label(), features.presence) {
            (PbLabel::LABEL_REPEATED, _) => Label::Repeated,
            (PbLabel::LABEL_REQUIRED, _) | (_, Presence::Required) => Label::Required,
            (_, Presence::Implicit) if map.is_none() && !d.proto3_optional() => Label::Implicit,
            _ => Label::Optional,
        };
        let packed = label == Label::Repeated
            && kind.packable()
            && d.options.packed.unwrap_or(features.packed);
        let delimited =
            d.type_() == PbType::TYPE_GROUP || (map == Some(false) && features.delimited);
        let default = match d.default_value.as_deref() {
            None => None,
            Some(text) => match default::value(kind, text) {
                Some(value) => Some(value),
                None => return fail(format!("default {text} does not fit the type")),
            },
        };
        Ok(Field {
            name: d.name().to_owned(),
            number,
            label,
            kind,
            packed,
            delimited,
            utf8: kind == Kind::String && features.utf8,
            json_name: match d.json_name() {
                "" => names::json(d.name()),
                given => given.to_owned(),
            },
            deprecated: d.options.deprecated(),
            oneof: None,
            default,
            comment: self.note(file, &place).lines,
            boxed: false,
        })
    }

    fn kind(&self, d: &FieldDescriptorProto) -> Result<Kind, String> {
        Ok(match d.type_() {
            PbType::TYPE_INT32 => Kind::Int32,
            PbType::TYPE_INT64 => Kind::Int64,
            PbType::TYPE_UINT32 => Kind::Uint32,
            PbType::TYPE_UINT64 => Kind::Uint64,
            PbType::TYPE_SINT32 => Kind::Sint32,
            PbType::TYPE_SINT64 => Kind::Sint64,
            PbType::TYPE_FIXED32 => Kind::Fixed32,
            PbType::TYPE_FIXED64 => Kind::Fixed64,
            PbType::TYPE_SFIXED32 => Kind::Sfixed32,
            PbType::TYPE_SFIXED64 => Kind::Sfixed64,
            PbType::TYPE_FLOAT => Kind::Float,
            PbType::TYPE_DOUBLE => Kind::Double,
            PbType::TYPE_BOOL => Kind::Bool,
            PbType::TYPE_STRING => Kind::String,
            PbType::TYPE_BYTES => Kind::Bytes,
            PbType::TYPE_ENUM | PbType::TYPE_MESSAGE | PbType::TYPE_GROUP => {
                match self.kinds.get(d.type_name()) {
                    Some(Named::Enum(id)) => Kind::Enum(*id),
                    Some(Named::Message(id)) => Kind::Message(*id),
                    None => {
                        return Err(format!("type {} is not among the sources", d.type_name()));
                    }
                }
            }
        })
    }

    fn service(
        &self,
        file: usize,
        package: &str,
        d: &ServiceDescriptorProto,
    ) -> Result<Service, Error> {
        let mut methods = Vec::new();
        for m in &d.method {
            let place = format!("{}.{}", d.name(), m.name());
            let message = |name: &str| match self.kinds.get(name) {
                Some(Named::Message(id)) => Ok(*id),
                _ => {
                    Err(self.error(file, &place, format!("{name} is not a message of the sources")))
                }
            };
            methods.push(Method {
                name: m.name().to_owned(),
                request: message(m.input_type())?,
                response: message(m.output_type())?,
                streaming: m.server_streaming(),
                client_streaming: m.client_streaming(),
                deprecated: m.options.deprecated(),
                comment: self.note(file, &place).lines,
            });
        }
        let comment = self.note(file, d.name()).lines;
        let deprecated = d.options.deprecated();
        Ok(Service { path: path(package, &[], d.name()), comment, deprecated, methods })
    }
}

fn path(package: &str, outer: &[String], name: &str) -> Path {
    let mut parts = outer.to_vec();
    parts.push(name.to_owned());
    Path { package: package.to_owned(), parts }
}

fn range(
    r: &protobuf::descriptor::descriptor_proto::ExtensionRange,
) -> Option<core::ops::Range<u32>> {
    Some(u32::try_from(r.start()).ok()?..u32::try_from(r.end()).ok()?)
}
