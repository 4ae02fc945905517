//! Fields: labels, types, maps, groups, oneofs and extensions.

use protobuf::descriptor::field_descriptor_proto::{Label, Type};
use protobuf::descriptor::{DescriptorProto, FieldDescriptorProto, OneofDescriptorProto};

use super::cursor::{Grammar, ParseResult, SyntaxVersion, known};
use super::lexer::Token;
use super::option::On;
use crate::notes::{Note, Place};

/// Where a field stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    Message,
    Oneof,
    Extend,
}

/// A field, and the message declared with it: the group's, or the entry of a map.
struct FieldWithMessage {
    field: FieldDescriptorProto,
    message: Option<DescriptorProto>,
}

/// The scalar types by name.
fn scalar(name: &str) -> Option<Type> {
    Some(match name {
        "double" => Type::TYPE_DOUBLE,
        "float" => Type::TYPE_FLOAT,
        "int64" => Type::TYPE_INT64,
        "uint64" => Type::TYPE_UINT64,
        "int32" => Type::TYPE_INT32,
        "fixed64" => Type::TYPE_FIXED64,
        "fixed32" => Type::TYPE_FIXED32,
        "bool" => Type::TYPE_BOOL,
        "string" => Type::TYPE_STRING,
        "bytes" => Type::TYPE_BYTES,
        "uint32" => Type::TYPE_UINT32,
        "sfixed32" => Type::TYPE_SFIXED32,
        "sfixed64" => Type::TYPE_SFIXED64,
        "sint32" => Type::TYPE_SINT32,
        "sint64" => Type::TYPE_SINT64,
        _ => return None,
    })
}

impl Grammar<'_> {
    pub(super) fn message_field(&mut self, d: &mut DescriptorProto) -> ParseResult {
        let both = self.field(Where::Message, Place::default())?;
        d.field.push(both.field);
        d.nested_type.extend(both.message);
        Ok(())
    }

    pub(super) fn oneof(&mut self, d: &mut DescriptorProto) -> ParseResult {
        self.bump();
        let at = self.place();
        let name = self.word("a oneof's name")?;
        let path = self.note(name, Note { at, ..Note::default() });
        let index = i32::try_from(d.oneof_decl.len()).unwrap_or(i32::MAX);
        let mut oneof = OneofDescriptorProto::new();
        oneof.set_name(name.to_owned());
        let before = d.field.len();
        // Members of a oneof belong to the message, so the scope does not change.
        let scope = self.scope.clone();
        self.block(path, |g| {
            if g.is_word("option") {
                return g.option_statement(On::Oneof(&mut oneof.options));
            }
            let inner = core::mem::replace(&mut g.scope, scope.clone());
            let mut both = g.field(Where::Oneof, Place::default())?;
            g.scope = inner;
            both.field.set_oneof_index(index);
            d.field.push(both.field);
            d.nested_type.extend(both.message);
            Ok(())
        })?;
        d.oneof_decl.push(oneof);
        if d.field.len() == before {
            return Err((at, format!("oneof {name} has no field")));
        }
        Ok(())
    }

    pub(super) fn extend(
        &mut self,
        fields: &mut Vec<FieldDescriptorProto>,
        messages: &mut Vec<DescriptorProto>,
    ) -> ParseResult {
        self.bump();
        let at = self.place();
        let extendee = self.dotted("a message")?;
        let scope = self.scope.clone();
        let before = fields.len();
        self.block(scope, |g| {
            let mut both = g.field(Where::Extend, at)?;
            both.field.set_extendee(extendee.clone());
            fields.push(both.field);
            messages.extend(both.message);
            Ok(())
        })?;
        if fields.len() == before {
            return Err((at, format!("the extend block is empty: {extendee}")));
        }
        Ok(())
    }

    fn field(&mut self, place: Where, extendee_at: Place) -> ParseResult<FieldWithMessage> {
        let mut d = FieldDescriptorProto::new();
        self.label(place, &mut d)?;
        let type_at = self.place();
        if self.is_word("map") && *self.ahead(1) == Token::Symbol('<') {
            return self.map(place, d);
        }
        let named = self.dotted("a type")?;
        if named == "group" && matches!(self.peek(), Token::Word(_)) {
            return self.group(d, extendee_at);
        }
        match scalar(&named) {
            Some(scalar) => d.type_ = known(scalar),
            None => d.set_type_name(named),
        }
        let (name, path) = self.name_and_number(&mut d, type_at, extendee_at)?;
        d.set_json_name(crate::names::json(&name));
        self.field_options(&mut d)?;
        self.expect(';')?;
        self.end(Some(path));
        Ok(FieldWithMessage { field: d, message: None })
    }

    /// `name = 5`
    fn name_and_number(
        &mut self,
        d: &mut FieldDescriptorProto,
        type_at: Place,
        extendee_at: Place,
    ) -> ParseResult<(String, String)> {
        let at = self.place();
        let name = self.word("a field's name")?;
        self.expect('=')?;
        let number_at = self.place();
        let number = self.int("the field's number")?;
        let Ok(number) = i32::try_from(number) else {
            return Err((number_at, format!("field number {number} is out of range")));
        };
        d.set_name(name.to_owned());
        d.set_number(number);
        let path = self.note(name, Note { at, type_at, number_at, extendee_at, lines: vec![] });
        Ok((name.to_owned(), path))
    }

    fn field_options(&mut self, d: &mut FieldDescriptorProto) -> ParseResult {
        if self.is('[') {
            self.options(&mut On::Field(d))?;
        }
        Ok(())
    }

    fn label(&mut self, place: Where, d: &mut FieldDescriptorProto) -> ParseResult {
        let at = self.place();
        let label = match *self.peek() {
            Token::Word("optional") => Some(Label::LABEL_OPTIONAL),
            Token::Word("required") => Some(Label::LABEL_REQUIRED),
            Token::Word("repeated") => Some(Label::LABEL_REPEATED),
            _ => None,
        };
        if label.is_some() {
            self.bump();
        }
        let map = self.is_word("map") && *self.ahead(1) == Token::Symbol('<');
        let wrong = match (self.version, place, label) {
            (_, Where::Oneof, Some(_)) => Some("a member of a oneof has no label"),
            (_, _, Some(_)) if map => Some("a map has no label"),
            (SyntaxVersion::Proto2, Where::Message | Where::Extend, None) if !map => {
                Some("expected `optional`, `required` or `repeated`")
            }
            (SyntaxVersion::Proto3, _, Some(Label::LABEL_REQUIRED)) => {
                Some("proto3 has no required fields")
            }
            (version, _, Some(Label::LABEL_OPTIONAL)) if version.is_edition() => {
                Some("editions have no `optional`: it is features.field_presence = EXPLICIT")
            }
            (version, _, Some(Label::LABEL_REQUIRED)) if version.is_edition() => {
                Some("editions have no `required`: it is features.field_presence = LEGACY_REQUIRED")
            }
            (_, Where::Extend, Some(Label::LABEL_REQUIRED)) => {
                Some("an extension is never required")
            }
            _ => None,
        };
        if let Some(wrong) = wrong {
            return Err((at, wrong.into()));
        }
        let optional =
            self.version == SyntaxVersion::Proto3 && label == Some(Label::LABEL_OPTIONAL);
        if optional && place == Where::Message {
            d.set_proto3_optional(true);
        }
        d.label = known(label.unwrap_or(Label::LABEL_OPTIONAL));
        Ok(())
    }

    /// `map<Key, Value> name = 5;`
    fn map(&mut self, place: Where, mut d: FieldDescriptorProto) -> ParseResult<FieldWithMessage> {
        let type_at = self.place();
        if place != Where::Message {
            return Err((type_at, "a map must be a field of a message".into()));
        }
        self.bump();
        self.expect('<')?;
        let key_at = self.place();
        let key = self.word("a key's type")?;
        let key = match scalar(key) {
            None | Some(Type::TYPE_FLOAT | Type::TYPE_DOUBLE | Type::TYPE_BYTES) => {
                return Err((key_at, format!("{key} cannot be the key of a map")));
            }
            Some(key) => key,
        };
        self.expect(',')?;
        let value_at = self.place();
        let value = self.dotted("a value's type")?;
        self.expect('>')?;
        let (name, path) = self.name_and_number(&mut d, value_at, Place::default())?;
        d.set_json_name(crate::names::json(&name));
        d.label = known(Label::LABEL_REPEATED);
        let entry = format!("{}Entry", crate::names::entry(&name));
        d.set_type_name(entry.clone());
        self.field_options(&mut d)?;
        self.expect(';')?;
        self.end(Some(path));
        let mut message = DescriptorProto::new();
        message.set_name(entry.clone());
        message.options.mut_or_insert_default().set_map_entry(true);
        for (name, number) in [("key", 1), ("value", 2)] {
            let mut f = FieldDescriptorProto::new();
            f.set_name(name.into());
            f.set_json_name(name.into());
            f.set_number(number);
            f.label = known(Label::LABEL_OPTIONAL);
            match scalar(&value) {
                _ if number == 1 => f.type_ = known(key),
                Some(scalar) => f.type_ = known(scalar),
                None => f.set_type_name(value.clone()),
            }
            // Errors about the value point at its type.
            let path = format!("{entry}.{name}");
            let note = Note { at: value_at, type_at: value_at, ..Note::default() };
            self.notes.insert(crate::notes::join(&self.scope, &path), note);
            message.field.push(f);
        }
        let note = Note { at: value_at, ..Note::default() };
        self.notes.insert(crate::notes::join(&self.scope, &entry), note);
        Ok(FieldWithMessage { field: d, message: Some(message) })
    }

    /// `group Name = 5 { ... }`; the field's name is in lower case.
    fn group(
        &mut self,
        mut d: FieldDescriptorProto,
        extendee_at: Place,
    ) -> ParseResult<FieldWithMessage> {
        let at = self.place();
        if self.version != SyntaxVersion::Proto2 {
            return Err((at, "groups are only allowed in proto2".into()));
        }
        let name = self.word("a group's name")?;
        if !name.starts_with(|c: char| c.is_ascii_uppercase()) {
            return Err((at, "a group's name starts with a capital letter".into()));
        }
        self.expect('=')?;
        let number_at = self.place();
        let number = self.int("the field's number")?;
        let Ok(number) = i32::try_from(number) else {
            return Err((number_at, format!("field number {number} is out of range")));
        };
        let small = name.to_ascii_lowercase();
        let path = self.note(name, Note { at, ..Note::default() });
        let lines = self.notes.get(&path).map(|n| n.lines.clone()).unwrap_or_default();
        let note = Note { lines, at, type_at: at, number_at, extendee_at };
        self.notes.insert(crate::notes::join(&self.scope, &small), note);
        d.set_json_name(crate::names::json(&small));
        d.set_name(small);
        d.set_number(number);
        d.type_ = known(Type::TYPE_GROUP);
        d.set_type_name(name.to_owned());
        self.field_options(&mut d)?;
        let mut message = DescriptorProto::new();
        message.set_name(name.to_owned());
        self.message_body(path, &mut message)?;
        Ok(FieldWithMessage { field: d, message: Some(message) })
    }
}

/// Adds a oneof for each field with proto3's `optional`; it follows all declared oneofs.
pub(super) fn synthetic_oneofs(d: &mut DescriptorProto) {
    for at in 0..d.field.len() {
        if !d.field[at].proto3_optional() {
            continue;
        }
        let mut name = format!("_{}", d.field[at].name());
        while d.field.iter().any(|f| f.name() == name)
            || d.oneof_decl.iter().any(|o| o.name() == name)
        {
            name.insert(0, 'X');
        }
        let index = i32::try_from(d.oneof_decl.len()).unwrap_or(i32::MAX);
        d.field[at].set_oneof_index(index);
        let mut oneof = OneofDescriptorProto::new();
        oneof.set_name(name);
        d.oneof_decl.push(oneof);
    }
}
