//! Options: those that concern the encoding are understood, all others are kept as they were written.

use protobuf::descriptor::field_descriptor_proto::Type;
use protobuf::descriptor::{
    EnumOptions, EnumValueOptions, ExtensionRangeOptions, FieldDescriptorProto, FileOptions,
    MessageOptions, MethodOptions, OneofOptions, ServiceOptions,
};
use protobuf::{Message, MessageField, UnknownValue};

use super::grammar::{Done, Grammar, Speech};
use super::lexer::Token;
use crate::notes::{Place, join};

/// What an option is of.
pub(super) enum On<'d> {
    File(&'d mut MessageField<FileOptions>),
    Message(&'d mut MessageField<MessageOptions>),
    Field(&'d mut FieldDescriptorProto),
    Oneof(&'d mut MessageField<OneofOptions>),
    Enum(&'d mut MessageField<EnumOptions>),
    Value(&'d mut MessageField<EnumValueOptions>),
    Service(&'d mut MessageField<ServiceOptions>),
    Method(&'d mut MessageField<MethodOptions>),
    Range(&'d mut MessageField<ExtensionRangeOptions>),
}

/// Field of options that holds the index of a [`Written`]: that of options not interpreted.
pub(crate) const WRITTEN: u32 = 999;

/// An option as it was written, that changes nothing in the bytes.
pub(crate) struct Written {
    /// What it is an option of, as the message that has it: `FieldOptions`.
    pub of: &'static str,
    /// Where its names are looked for first, below the package.
    pub scope: String,
    /// Path of the declaration it is at.
    pub element: String,
    /// Its name; true for what stands in parentheses.
    pub name: Vec<(String, bool)>,
    pub value: Constant,
    pub at: Place,
    pub value_at: Place,
}

impl Written {
    /// Whether what it is at, a field of options, is for compilers alone.
    pub fn hides(&self) -> bool {
        let source = matches!(&self.value, Constant::Word(word) if word == "RETENTION_SOURCE");
        source && matches!(&self.name[..], [(name, false)] if name == "retention")
    }

    /// Its name as it was written.
    pub fn shown(&self) -> String {
        let part = |(name, custom): &(String, bool)| match custom {
            true => format!("({name})"),
            false => name.clone(),
        };
        self.name.iter().map(part).collect::<Vec<_>>().join(".")
    }
}

/// The value of an option.
pub(crate) enum Constant {
    /// A name, or a signed `inf` or `nan`.
    Word(String),
    Int(bool, u64),
    Float(f64),
    Text(Vec<u8>),
    /// Fields by name; extensions, and types with what stands before them, in brackets.
    Message(Vec<(String, Constant)>),
    List(Vec<Constant>),
}

/// Options that change nothing in the bytes, by what they are of.
const FILE: &[&str] = &[
    "java_package",
    "java_outer_classname",
    "java_multiple_files",
    "java_generate_equals_and_hash",
    "java_string_check_utf8",
    "optimize_for",
    "go_package",
    "cc_generic_services",
    "java_generic_services",
    "py_generic_services",
    "cc_enable_arenas",
    "objc_class_prefix",
    "csharp_namespace",
    "swift_prefix",
    "php_class_prefix",
    "php_namespace",
    "php_metadata_namespace",
    "ruby_package",
    "deprecated",
];
const MESSAGE: &[&str] =
    &["no_standard_descriptor_accessor", "deprecated_legacy_json_field_conflicts"];
const FIELD: &[&str] = &[
    "ctype",
    "jstype",
    "lazy",
    "unverified_lazy",
    "weak",
    "debug_redact",
    "retention",
    "targets",
    "edition_defaults",
    "feature_support",
];
const ENUM: &[&str] = &["deprecated_legacy_json_field_conflicts"];
const VALUE: &[&str] = &["debug_redact", "feature_support"];
const METHOD: &[&str] = &["idempotency_level"];

/// An option of files that is no more.
const GONE: &str = "php_generic_services";

impl On<'_> {
    /// The message of its options.
    fn options(&self) -> &'static str {
        match self {
            Self::File(_) => "FileOptions",
            Self::Message(_) => "MessageOptions",
            Self::Field(_) => "FieldOptions",
            Self::Oneof(_) => "OneofOptions",
            Self::Enum(_) => "EnumOptions",
            Self::Value(_) => "EnumValueOptions",
            Self::Service(_) => "ServiceOptions",
            Self::Method(_) => "MethodOptions",
            Self::Range(_) => "ExtensionRangeOptions",
        }
    }

    /// What it is called, what of its options changes no bytes, and where its features go in its options.
    fn facts(&self) -> (&'static str, &'static [&'static str], u32) {
        match self {
            Self::File(_) => ("file", FILE, 50),
            Self::Message(_) => ("message", MESSAGE, 12),
            Self::Field(_) => ("field", FIELD, 21),
            Self::Oneof(_) => ("oneof", &[], 1),
            Self::Enum(_) => ("enum", ENUM, 7),
            Self::Value(_) => ("enum value", VALUE, 2),
            Self::Service(_) => ("service", &[], 34),
            Self::Method(_) => ("method", METHOD, 35),
            Self::Range(_) => ("extension range", &["declaration", "verification"], 50),
        }
    }

    /// Adds a field to the options.
    fn add(&mut self, number: u32, value: UnknownValue) {
        fn add<O: Message>(options: &mut MessageField<O>, number: u32, value: UnknownValue) {
            let options = options.mut_or_insert_default();
            options.mut_special_fields().mut_unknown_fields().add_value(number, value);
        }
        match self {
            Self::File(o) => add(o, number, value),
            Self::Message(o) => add(o, number, value),
            Self::Field(d) => add(&mut d.options, number, value),
            Self::Oneof(o) => add(o, number, value),
            Self::Enum(o) => add(o, number, value),
            Self::Value(o) => add(o, number, value),
            Self::Service(o) => add(o, number, value),
            Self::Method(o) => add(o, number, value),
            Self::Range(o) => add(o, number, value),
        }
    }
}

/// Number of a feature and of its value (`descriptor.proto`, `FeatureSet`); a number of 0 says that
/// it changes nothing in the bytes.
fn feature(name: &str, value: &str) -> Result<(u8, u8), String> {
    let values: &[&str] = match name {
        "field_presence" => &["EXPLICIT", "IMPLICIT", "LEGACY_REQUIRED"],
        "enum_type" => &["OPEN", "CLOSED"],
        "repeated_field_encoding" => &["PACKED", "EXPANDED"],
        "utf8_validation" => &["", "VERIFY", "NONE"],
        "message_encoding" => &["LENGTH_PREFIXED", "DELIMITED"],
        "json_format" => &["ALLOW", "LEGACY_BEST_EFFORT"],
        _ => return Err(format!("feature {name} is not known in edition 2023")),
    };
    let number = match name {
        "field_presence" => 1,
        "enum_type" => 2,
        "repeated_field_encoding" => 3,
        "utf8_validation" => 4,
        "message_encoding" => 5,
        _ => 6,
    };
    match (1..).zip(values).find(|(_, v)| **v == value && !value.is_empty()) {
        Some((at, _)) => Ok((number, at)),
        None => Err(format!("{value} is no value of feature {name}")),
    }
}

impl Grammar<'_> {
    /// `option name = value;`
    pub(super) fn option_statement(&mut self, mut on: On<'_>) -> Done {
        self.bump();
        self.option(&mut on)?;
        self.expect(';')?;
        self.end(None);
        Ok(())
    }

    /// `[name = value, ...]`
    pub(super) fn options(&mut self, on: &mut On<'_>) -> Done {
        self.expect('[')?;
        loop {
            self.option(on)?;
            if !self.eat(',') {
                return self.expect(']');
            }
        }
    }

    fn option(&mut self, on: &mut On<'_>) -> Done {
        let at = self.place();
        let mut path = Vec::new();
        let mut custom = false;
        loop {
            if self.eat('(') {
                custom = true;
                path.push((self.dotted("an option's name")?, true));
                self.expect(')')?;
            } else {
                path.push((self.word("an option's name")?.to_owned(), false));
            }
            if !self.eat('.') {
                break;
            }
        }
        self.expect('=')?;
        let value_at = self.place();
        let value = self.constant()?;
        if custom {
            self.keep(on, path, value, at, value_at);
            return Ok(());
        }
        let parts: Vec<&str> = path.iter().map(|(part, _)| part.as_str()).collect();
        match (parts.as_slice(), value) {
            (["features", ..], _) if self.speech != Speech::Edition => {
                Err((at, "features need an edition".into()))
            }
            (["features"], Constant::Message(fields)) => {
                let set = fields.iter().map(|(name, value)| (name.as_str(), value));
                Self::features(on, at, set)?;
                // Of another language, such as `[pb.cpp]`.
                let others = |(name, _): &(String, Constant)| name.starts_with('[');
                let others: Vec<_> = fields.into_iter().filter(others).collect();
                if !others.is_empty() {
                    self.keep(on, path, Constant::Message(others), at, value_at);
                }
                Ok(())
            }
            (["features", name], value) => Self::features(on, at, [(*name, &value)].into_iter()),
            ([GONE], _) if matches!(on, On::File(_)) => Ok(()),
            ([name], value) => self.plain(on, name, value, at, value_at),
            _ => Err((at, format!("option {} is not known", parts.join(".")))),
        }
    }

    /// Keeps an option for those who make descriptors.
    fn keep(
        &mut self,
        on: &mut On<'_>,
        name: Vec<(String, bool)>,
        value: Constant,
        at: Place,
        value_at: Place,
    ) {
        let index = self.options.len() as u64;
        let (scope, element) = match on {
            On::Field(d) => (self.scope.clone(), join(&self.scope, d.name())),
            _ => {
                let outer = self.scope.rsplit_once('.').map_or("", |(outer, _)| outer);
                (outer.to_owned(), self.scope.clone())
            }
        };
        self.options.push(Written { of: on.options(), scope, element, name, value, at, value_at });
        on.add(WRITTEN, UnknownValue::Varint(index));
    }

    fn features<'f>(
        on: &mut On<'_>,
        at: Place,
        set: impl Iterator<Item = (&'f str, &'f Constant)>,
    ) -> Done {
        let mut bytes = Vec::new();
        let of = on.facts().0;
        for (name, value) in set {
            let Constant::Word(value) = value else {
                if name.starts_with('[') {
                    continue;
                }
                return Err((at, format!("feature {name} wants a name")));
            };
            let (number, value) = feature(name, value).map_err(|message| (at, message))?;
            let places: &[&str] = match number {
                2 => &["enum"],
                6 => &["message", "enum"],
                _ => &["field"],
            };
            if of != "file" && !places.contains(&of) {
                let places = places.join(" or ");
                return Err((
                    at,
                    format!("feature {name} is of a file or {places}, not of a {of}"),
                ));
            }
            if of == "file" && (number, value) == (1, 3) {
                return Err((at, "fields are required one by one, not all of a file".into()));
            }
            bytes.extend([number << 3, value]);
        }
        on.add(on.facts().2, UnknownValue::LengthDelimited(bytes));
        Ok(())
    }

    fn plain(
        &mut self,
        on: &mut On<'_>,
        name: &str,
        value: Constant,
        at: Place,
        value_at: Place,
    ) -> Done {
        let (of, ignored, _) = on.facts();
        if ignored.contains(&name) {
            self.keep(on, vec![(name.to_owned(), false)], value, at, value_at);
            return Ok(());
        }
        let flag = match &value {
            Constant::Word(w) if w == "true" => Some(true),
            Constant::Word(w) if w == "false" => Some(false),
            _ => None,
        };
        let bool = || flag.ok_or_else(|| (value_at, format!("{name} is true or false")));
        match (on, name) {
            (On::Message(o), "message_set_wire_format") => {
                o.mut_or_insert_default().set_message_set_wire_format(bool()?);
            }
            (On::Message(_), "map_entry") => return Err((at, "write map<Key, Value>".into())),
            (On::Message(o), "deprecated") => o.mut_or_insert_default().set_deprecated(bool()?),
            (On::Enum(o), "allow_alias") => o.mut_or_insert_default().set_allow_alias(bool()?),
            (On::Enum(o), "deprecated") => o.mut_or_insert_default().set_deprecated(bool()?),
            (On::Value(o), "deprecated") => o.mut_or_insert_default().set_deprecated(bool()?),
            (On::Service(o), "deprecated") => o.mut_or_insert_default().set_deprecated(bool()?),
            (On::Method(o), "deprecated") => o.mut_or_insert_default().set_deprecated(bool()?),
            (On::Field(d), "deprecated") => {
                d.options.mut_or_insert_default().set_deprecated(bool()?);
            }
            (On::Field(d), "packed") => {
                if self.speech == Speech::Edition {
                    let use_that = "features.repeated_field_encoding";
                    return Err((at, format!("editions have no `packed`: it is {use_that}")));
                }
                d.options.mut_or_insert_default().set_packed(bool()?);
            }
            (On::Field(d), "json_name") => match value {
                Constant::Text(text) if d.extendee.is_none() => {
                    let text = String::from_utf8(text);
                    d.set_json_name(
                        text.map_err(|_| (value_at, "a JSON name is UTF-8".to_owned()))?,
                    );
                }
                _ => return Err((value_at, "json_name wants a string".into())),
            },
            (On::Field(d), "default") => {
                if d.has_default_value() {
                    return Err((at, "a second default".into()));
                }
                if let (Constant::Text(text), Some(Type::TYPE_STRING)) =
                    (&value, d.type_.map(|t| t.enum_value_or_default()))
                    && core::str::from_utf8(text).is_err()
                {
                    return Err((value_at, "a string's default is UTF-8".into()));
                }
                let Some(text) = default(d, value) else {
                    return Err((value_at, "this default is not of the field's type".into()));
                };
                d.set_default_value(text);
            }
            _ => return Err((at, format!("option {name} of a {of} is not known"))),
        }
        Ok(())
    }

    fn constant(&mut self) -> Done<Constant> {
        if matches!(self.peek(), Token::Text(_)) {
            return self.text().map(Constant::Text);
        }
        if self.eat('{') {
            return self.literal('}').map(Constant::Message);
        }
        if self.eat('[') {
            return self.list().map(Constant::List);
        }
        let minus = self.eat('-');
        if !minus {
            self.eat('+');
        }
        let value = match *self.peek() {
            Token::Int(value) => Constant::Int(minus, value),
            Token::Float(value) => Constant::Float(if minus { -value } else { value }),
            Token::Word(word @ ("inf" | "nan")) if minus => Constant::Word(format!("-{word}")),
            Token::Word(_) if !minus => return self.dotted("a value").map(Constant::Word),
            _ => return self.fail("a value"),
        };
        self.bump();
        Ok(value)
    }

    /// `[a, b]`, behind its opening bracket.
    fn list(&mut self) -> Done<Vec<Constant>> {
        self.deeper()?;
        let mut values = Vec::new();
        while !self.eat(']') {
            values.push(match self.eat('<') {
                true => Constant::Message(self.literal('>')?),
                false => self.constant()?,
            });
            if !self.eat(',') && !self.is(']') {
                return self.fail("`]`");
            }
        }
        self.depth -= 1;
        Ok(values)
    }

    /// A message in text format, behind its opening bracket.
    fn literal(&mut self, close: char) -> Done<Vec<(String, Constant)>> {
        self.deeper()?;
        let mut fields = Vec::new();
        while !self.eat(close) {
            let name = if self.eat('[') {
                let mut name = self.dotted("a name")?;
                if self.eat('/') {
                    name = format!("{name}/{}", self.dotted("a name")?);
                }
                self.expect(']')?;
                format!("[{name}]")
            } else {
                self.word("a name")?.to_owned()
            };
            let colon = self.eat(':');
            let value = if self.eat('<') {
                Constant::Message(self.literal('>')?)
            } else if colon || self.is('{') {
                self.constant()?
            } else {
                return self.fail("`:`");
            };
            fields.push((name, value));
            if !self.eat(',') {
                self.eat(';');
            }
        }
        self.depth -= 1;
        Ok(fields)
    }
}

/// A default as descriptors keep it: text.
fn default(d: &FieldDescriptorProto, value: Constant) -> Option<String> {
    let kind = d.type_.map(|t| t.enum_value_or_default());
    Some(match (kind, value) {
        (None, Constant::Word(word)) => word,
        (Some(Type::TYPE_STRING), Constant::Text(text)) => String::from_utf8(text).ok()?,
        (Some(Type::TYPE_BYTES), Constant::Text(text)) => {
            text.iter().flat_map(|b| core::ascii::escape_default(*b)).map(char::from).collect()
        }
        (Some(Type::TYPE_BOOL), Constant::Word(word)) => word,
        (Some(Type::TYPE_FLOAT | Type::TYPE_DOUBLE), value) => match value {
            Constant::Word(word) => {
                matches!(word.as_str(), "inf" | "-inf" | "nan" | "-nan").then_some(word)?
            }
            Constant::Int(minus, i) => format!("{}{i}", if minus { "-" } else { "" }),
            Constant::Float(x) => x.to_string(),
            _ => return None,
        },
        (None | Some(Type::TYPE_STRING | Type::TYPE_BYTES | Type::TYPE_BOOL), _) => return None,
        (Some(_), Constant::Int(minus, i)) => format!("{}{i}", if minus { "-" } else { "" }),
        _ => return None,
    })
}
