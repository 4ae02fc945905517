//! Rules beyond the syntax: numbers, ranges, labels, defaults.

mod context;
mod editions;
mod enums;
mod extensions;
mod names;

use std::collections::{BTreeMap, BTreeSet};

use protobuf::descriptor::field_descriptor_proto::{Label, Type};
use protobuf::descriptor::{DescriptorProto, FieldDescriptorProto};
use protobuf::{Message, MessageField, UnknownValueRef};

use self::context::{Cx, NUMBER_MAX, SchemaFacts};
use super::features::{Features, Presence};
use super::parsed::Parsed;
use crate::error::Error;
use crate::notes::{Place, join};
use crate::syntax::{Constant, WRITTEN};

/// `MessageOptions.deprecated_legacy_json_field_conflicts` in `descriptor.proto`.
const LEGACY_JSON_CONFLICTS: u32 = 11;

/// Checks all files; their names are resolved.
///
/// # Errors
/// The first violation, with its place.
pub(super) fn check(files: &[Parsed]) -> Result<(), Error> {
    let mut facts = SchemaFacts::default();
    let mut all = Vec::new();
    for file in files {
        let features = Features::of_file(&file.descriptor)
            .map_err(|message| file.error("", |_| Place::default(), message))?;
        facts.learn(file, features);
        all.push(features);
    }
    for (file, features) in files.iter().zip(all) {
        let d = &file.descriptor;
        let cx = Cx { file, proto3: d.syntax() == "proto3" };
        names::check(&cx)?;
        for e in &d.enum_type {
            enums::check(&cx, "", features, e)?;
        }
        for m in &d.message_type {
            cx.message(&mut facts, "", features, m)?;
        }
        for x in &d.extension {
            extensions::check(&cx, &mut facts, "", features, x)?;
        }
    }
    Ok(())
}

impl Cx<'_> {
    fn message(
        &self,
        facts: &mut SchemaFacts,
        scope: &str,
        features: Features,
        d: &DescriptorProto,
    ) -> Result<(), Error> {
        let local = join(scope, d.name());
        let features = features.of_message(d);
        self.ranges(&local, d)?;
        let mut numbers = BTreeMap::new();
        let mut json = BTreeMap::new();
        let json_names =
            features.json_names && !self.allows_json_conflicts(&d.options, LEGACY_JSON_CONFLICTS);
        for f in &d.field {
            let path = join(&local, f.name());
            self.number(&path, f)?;
            if let Some(first) = numbers.insert(f.number(), f.name()) {
                let message = format!("number {} is already that of {first}", f.number());
                return self.fail(&path, |n| n.number_at, message);
            }
            self.reserved(&path, d, f)?;
            let explicit = f.json_name() != crate::names::json(f.name());
            if let Some((first, other)) = json.insert(f.json_name(), (f.name(), explicit))
                && (json_names || explicit && other)
            {
                let message = format!("{} and {first} have the same name in JSON", f.name());
                return self.fail(&path, |n| n.at, message);
            }
            if f.json_name().starts_with('[') && f.json_name().ends_with(']') {
                let message = "a name in brackets is reserved for extensions in JSON".into();
                return self.fail(&path, |n| n.at, message);
            }
            let oneof = f.oneof_index.and_then(|at| d.oneof_decl.get(usize::try_from(at).ok()?));
            if f.oneof_index.is_some() && oneof.is_none() {
                return self.fail(&path, |n| n.at, "its oneof does not exist".into());
            }
            let features = oneof.map_or(features, |o| features.of_oneof(o));
            self.field(facts, &path, features, f)?;
        }
        let value = d.field.get(1).filter(|_| d.options.map_entry());
        if let Some(first) = value.and_then(|v| facts.enums.get(v.type_name())?.1.first())
            && first.1 != 0
        {
            let message = "the first value of an enum in a map is 0".into();
            return self.fail(&local, |n| n.at, message);
        }
        if d.options.message_set_wire_format() && !d.field.is_empty() {
            return self.fail(&local, |n| n.at, "a message set has no fields".into());
        }
        if d.options.message_set_wire_format() && self.proto3 {
            return self.fail(&local, |n| n.at, "proto3 has no message sets".into());
        }
        for x in &d.extension {
            extensions::check(self, facts, &local, features, x)?;
        }
        for e in &d.enum_type {
            enums::check(self, &local, features, e)?;
        }
        d.nested_type.iter().try_for_each(|m| self.message(facts, &local, features, m))
    }

    /// Whether a message says that two of its fields may have the same name in JSON, or an enum that of its values, by
    /// the option `legacy`. Old descriptor types do not have it: it is an unknown field, or one that was written in the
    /// schema and is not encoded yet.
    fn allows_json_conflicts<O: Message>(&self, options: &MessageField<O>, legacy: u32) -> bool {
        let Some(options) = options.as_ref() else { return false };
        let mut unknown = options.special_fields().unknown_fields().iter();
        unknown.any(|(number, value)| match (number, value) {
            (number, UnknownValueRef::Varint(value)) if number == legacy => value != 0,
            (WRITTEN, UnknownValueRef::Varint(at)) => {
                let written = usize::try_from(at).ok().and_then(|at| self.file.options.get(at));
                written.is_some_and(|option| {
                    option.shown() == "deprecated_legacy_json_field_conflicts"
                        && matches!(&option.value, Constant::Word(word) if word == "true")
                })
            }
            _ => false,
        })
    }

    fn number(&self, path: &str, f: &FieldDescriptorProto) -> Result<(), Error> {
        let number = f.number();
        let message = match number {
            1..19_000 | 20_000..=NUMBER_MAX => return Ok(()),
            19_000..20_000 => format!("numbers 19000 to 19999 are reserved by protobuf: {number}"),
            _ => format!("field number {number} is out of range: 1 to {NUMBER_MAX}"),
        };
        self.fail(path, |n| n.number_at, message)
    }

    fn reserved(
        &self,
        path: &str,
        d: &DescriptorProto,
        f: &FieldDescriptorProto,
    ) -> Result<(), Error> {
        let number = f.number();
        let inside = |start: i32, end: i32| (start..end).contains(&number);
        if d.reserved_range.iter().any(|r| inside(r.start(), r.end())) {
            return self.fail(path, |n| n.number_at, format!("number {number} is reserved"));
        }
        if d.extension_range.iter().any(|r| inside(r.start(), r.end())) {
            let message = format!("number {number} is for extensions");
            return self.fail(path, |n| n.number_at, message);
        }
        if d.reserved_name.iter().any(|name| name == f.name()) {
            return self.fail(path, |n| n.at, format!("name {} is reserved", f.name()));
        }
        Ok(())
    }

    /// Reserved and extension ranges must be valid and must not overlap.
    fn ranges(&self, local: &str, d: &DescriptorProto) -> Result<(), Error> {
        let max = if d.options.message_set_wire_format() { i32::MAX } else { NUMBER_MAX + 1 };
        let reserved = (0usize..).zip(&d.reserved_range);
        let reserved = reserved.map(|(at, r)| (r.start(), r.end(), format!("#reserved{at}")));
        let extensions = (0usize..).zip(&d.extension_range);
        let extensions = extensions.map(|(at, r)| (r.start(), r.end(), format!("#extensions{at}")));
        if self.proto3 && !d.extension_range.is_empty() {
            let message = "proto3 has no extension ranges".into();
            return self.fail(&format!("{local}#extensions0"), |n| n.at, message);
        }
        let mut all: Vec<_> = reserved.chain(extensions).collect();
        for (start, end, note) in &all {
            if *start < 1 || *end > max || start >= end {
                let message = format!("a range must lie within 1 to {}", max - 1);
                return self.fail(&format!("{local}{note}"), |n| n.at, message);
            }
        }
        all.sort();
        for pair in all.windows(2) {
            if let [(_, end, _), (start, _, note)] = pair
                && start < end
            {
                let message = format!("number {start} is in another range too");
                return self.fail(&format!("{local}{note}"), |n| n.at, message);
            }
        }
        let mut names = BTreeSet::new();
        for name in &d.reserved_name {
            if !names.insert(name) {
                return self.fail(local, |n| n.at, format!("name {name} is reserved twice"));
            }
        }
        Ok(())
    }

    fn field(
        &self,
        facts: &SchemaFacts,
        path: &str,
        features: Features,
        f: &FieldDescriptorProto,
    ) -> Result<(), Error> {
        let features = features.of_field(f);
        let at_name = |message: &str| self.fail(path, |n| n.at, message.into());
        let kind = f.type_();
        let repeated = f.label() == Label::LABEL_REPEATED;
        let message = matches!(kind, Type::TYPE_MESSAGE | Type::TYPE_GROUP);
        if f.has_extendee() && f.has_oneof_index() {
            return at_name("an extension is in no oneof");
        }
        editions::check(self, facts, path, f)?;
        if f.options.packed() {
            let number = !message && !matches!(kind, Type::TYPE_STRING | Type::TYPE_BYTES);
            if !repeated || !number {
                return at_name("only repeated numbers, bools and enums can be packed");
            }
        }
        let implicit = features.presence == Presence::Implicit
            && !f.proto3_optional()
            && f.oneof_index.is_none()
            && !f.has_extendee();
        if kind == Type::TYPE_ENUM
            && (self.proto3 || implicit && !repeated)
            && facts.enums.get(f.type_name()).is_some_and(|(closed, _)| *closed)
        {
            let name = f.type_name().trim_start_matches('.');
            let message =
                format!("enum {name} is closed; a field without presence needs an open one");
            return self.fail(path, |n| n.type_at, message);
        }
        if f.has_default_value() {
            if self.proto3 {
                return at_name("proto3 has no explicit defaults");
            }
            if repeated || message {
                return at_name("only singular scalars have defaults");
            }
            if implicit {
                return at_name("a field without presence has no explicit default");
            }
            if let Some((_, values)) = facts.enums.get(f.type_name())
                && !values.iter().any(|(name, _)| name == f.default_value())
            {
                let message = format!("default {} is no value of its enum", f.default_value());
                return self.fail(path, |n| n.at, message);
            }
        }
        Ok(())
    }
}
