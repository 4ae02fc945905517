//! Text to [`Schema`]: the only file that names protobuf-parse. Its descriptors stop here.

mod default;
mod imports;
mod place;

use std::collections::BTreeMap;

use protobuf::descriptor::field_descriptor_proto::{Label as PbLabel, Type as PbType};
use protobuf::descriptor::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    ServiceDescriptorProto,
};
use protobuf_parse::Parser;

use crate::Source;
use crate::comments::{self, Note, Notes};
use crate::error::Error;
use crate::model::{
    EnumId, EnumValue, Enumeration, Field, File, Kind, Label, Message, MessageId, Method, Oneof,
    Path, Schema, Service, cycles,
};

/// Parses and resolves all sources; files keep their order.
pub(crate) fn parse(sources: &[Source]) -> Result<Schema, Error> {
    let notes: Vec<Notes> = sources.iter().map(|s| comments::scan(&s.text)).collect();
    imports::check(sources)?;
    let descriptors = descriptors(sources)?;
    let mut builder =
        Builder { sources, notes: &notes, kinds: BTreeMap::new(), schema: Schema::default() };
    for (file, descriptor) in descriptors.iter().enumerate() {
        builder.declare_file(file, descriptor);
    }
    for (file, descriptor) in descriptors.iter().enumerate() {
        builder.fill_file(file, descriptor)?;
    }
    cycles::mark(&mut builder.schema);
    Ok(builder.schema)
}

/// One descriptor per source, in the order of the sources.
///
/// The parser can read from memory, but the trait that would let us is not exported; so the sources
/// make a short trip through a private temporary folder, which is gone when this returns.
fn descriptors(sources: &[Source]) -> Result<Vec<FileDescriptorProto>, Error> {
    let whole = |source: &Source, message: String| Error {
        file: source.path.clone(),
        line: 0,
        column: 0,
        message,
    };
    let Some(any) = sources.first() else { return Ok(Vec::new()) };
    let folder =
        tempfile::tempdir().map_err(|e| whole(any, format!("no temporary folder: {e}")))?;
    let mut parser = Parser::new();
    parser.pure().include(folder.path());
    for source in sources {
        let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\\');
        if !source.path.split('/').all(plain) {
            return Err(whole(source, "a source's path must be relative and plain".into()));
        }
        let file = folder.path().join(&source.path);
        let written = match file.parent() {
            Some(parent) => std::fs::create_dir_all(parent),
            None => Ok(()),
        };
        written
            .and_then(|()| std::fs::write(&file, &source.text))
            .map_err(|e| whole(source, format!("no temporary file: {e}")))?;
        parser.input(file);
    }
    let parsed = parser
        .parse_and_typecheck()
        .map_err(|e| place::located(sources, &folder.path().display().to_string(), &e))?
        .file_descriptors;
    sources
        .iter()
        .map(|source| {
            parsed
                .iter()
                .find(|d| d.name() == source.path)
                .cloned()
                .ok_or_else(|| whole(source, "the parser lost this file".into()))
        })
        .collect()
}

#[derive(Clone, Copy)]
enum Named {
    Message(MessageId),
    Enum(EnumId),
}

struct Builder<'a> {
    sources: &'a [Source],
    notes: &'a [Notes],
    /// Absolute name with a leading dot.
    kinds: BTreeMap<String, Named>,
    schema: Schema,
}

impl Builder<'_> {
    fn note(&self, file: usize, path: &str) -> Note {
        self.notes[file].get(path).cloned().unwrap_or_default()
    }

    fn error(&self, file: usize, path: &str, message: String) -> Error {
        // A group's field has the group's name in small letters.
        let known = self.notes[file].iter().find(|(p, _)| p.eq_ignore_ascii_case(path));
        let note = known.map(|(_, note)| note.clone()).unwrap_or_default();
        Error {
            file: self.sources[file].path.clone(),
            line: note.line,
            column: note.column,
            message,
        }
    }

    /// First pass: every message and enum gets its id.
    fn declare_file(&mut self, file: usize, d: &FileDescriptorProto) {
        self.schema.files.push(File {
            path: self.sources[file].path.clone(),
            comment: self.note(file, "").lines,
            messages: Vec::new(),
            enums: Vec::new(),
            services: Vec::new(),
        });
        for e in &d.enum_type {
            self.declare_enum(file, d.package(), &[], e);
        }
        for m in &d.message_type {
            self.declare_message(file, d.package(), &[], m);
        }
    }

    fn declare_message(
        &mut self,
        file: usize,
        package: &str,
        outer: &[String],
        d: &DescriptorProto,
    ) {
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
        });
        self.schema.files[file].messages.push(id);
        for e in &d.enum_type {
            self.declare_enum(file, package, &parts, e);
        }
        for m in &d.nested_type {
            self.declare_message(file, package, &parts, m);
        }
    }

    fn declare_enum(
        &mut self,
        file: usize,
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
        self.schema.enums.push(Enumeration { path, file, comment, values, deprecated });
        self.schema.files[file].enums.push(id);
    }

    /// Second pass: fields and services, with every name resolved.
    fn fill_file(&mut self, file: usize, d: &FileDescriptorProto) -> Result<(), Error> {
        let proto3 = d.syntax() == "proto3";
        let mut ids = self.schema.files[file].messages.clone().into_iter();
        for m in &d.message_type {
            self.fill_message(file, proto3, m, &mut ids)?;
        }
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
        proto3: bool,
        d: &DescriptorProto,
        ids: &mut impl Iterator<Item = MessageId>,
    ) -> Result<(), Error> {
        let Some(id) = ids.next() else { return Ok(()) };
        let local = self.schema.messages[id.0].path.parts.join(".");
        // proto3's `optional` comes with a oneof around the single field, which is no choice.
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
            let mut field = self.field(file, proto3, &local, f)?;
            let at = f.oneof_index.and_then(|at| usize::try_from(at).ok());
            field.oneof = at.and_then(|at| place.get(at).copied().flatten());
            if field.oneof.is_some() {
                field.label = Label::Optional;
            }
            fields.push(field);
        }
        self.schema.messages[id.0].fields = fields;
        self.schema.messages[id.0].oneofs = oneofs;
        for m in &d.nested_type {
            self.fill_message(file, proto3, m, ids)?;
        }
        Ok(())
    }

    fn field(
        &self,
        file: usize,
        proto3: bool,
        message: &str,
        d: &FieldDescriptorProto,
    ) -> Result<Field, Error> {
        let place = format!("{message}.{}", d.name());
        let fail = |message: String| Err(self.error(file, &place, message));
        let kind = match d.type_() {
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
            PbType::TYPE_GROUP => return fail(format!("groups are not supported ({})", d.name())),
            PbType::TYPE_ENUM | PbType::TYPE_MESSAGE => match self.kinds.get(d.type_name()) {
                Some(Named::Enum(id)) => Kind::Enum(*id),
                Some(Named::Message(id)) => Kind::Message(*id),
                None => {
                    return fail(format!("type {} is not among the sources", d.type_name()));
                }
            },
        };
        let number = match u32::try_from(d.number()) {
            Ok(n @ 1..=0x1FFF_FFFF) => n,
            _ => return fail(format!("field number {} is out of range", d.number())),
        };
        let message_kind = matches!(kind, Kind::Message(_));
        let label = match d.label() {
            PbLabel::LABEL_REPEATED => Label::Repeated,
            PbLabel::LABEL_REQUIRED => Label::Required,
            PbLabel::LABEL_OPTIONAL if proto3 && !d.proto3_optional() && !message_kind => {
                Label::Implicit
            }
            PbLabel::LABEL_OPTIONAL => Label::Optional,
        };
        let packed =
            label == Label::Repeated && kind.packable() && d.options.packed.unwrap_or(proto3);
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
            deprecated: d.options.deprecated(),
            oneof: None,
            default,
            comment: self.note(file, &place).lines,
            boxed: false,
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
            if m.client_streaming() {
                return Err(self.error(
                    file,
                    &place,
                    "streaming requests are not supported".into(),
                ));
            }
            methods.push(Method {
                name: m.name().to_owned(),
                request: message(m.input_type())?,
                response: message(m.output_type())?,
                streaming: m.server_streaming(),
                comment: self.note(file, &place).lines,
            });
        }
        let comment = self.note(file, d.name()).lines;
        Ok(Service { path: path(package, &[], d.name()), comment, methods })
    }
}

fn path(package: &str, outer: &[String], name: &str) -> Path {
    let mut parts = outer.to_vec();
    parts.push(name.to_owned());
    Path { package: package.to_owned(), parts }
}

#[cfg(test)]
mod tests;
