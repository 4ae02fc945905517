//! Options: those that concern the encoding are kept, custom ones only read over.

use protobuf::descriptor::field_descriptor_proto::Type;
use protobuf::descriptor::{
    EnumOptions, EnumValueOptions, FieldDescriptorProto, FileOptions, MessageOptions,
    MethodOptions, OneofOptions, ServiceOptions,
};
use protobuf::{Message, MessageField};

use super::grammar::{Done, Grammar, Speech};
use super::lexer::Token;
use crate::notes::Place;

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
    /// Of an extension range: nothing of it is ours.
    Nothing,
}

/// The value of an option.
enum Constant {
    /// A name, or a signed `inf` or `nan`.
    Word(String),
    Int(bool, u64),
    Float(f64),
    Text(Vec<u8>),
    Message(Vec<(String, Constant)>),
    List,
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
    "php_generic_services",
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

impl On<'_> {
    /// What it is called, what it ignores, and where its features go in its options.
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
            Self::Nothing => ("extension range", &["declaration", "verification"], 50),
        }
    }

    /// Adds one `FeatureSet` to the options.
    fn add_features(&mut self, set: Vec<u8>) {
        let number = self.facts().2;
        fn add<O: Message>(options: &mut MessageField<O>, number: u32, set: Vec<u8>) {
            let options = options.mut_or_insert_default();
            options.mut_special_fields().mut_unknown_fields().add_length_delimited(number, set);
        }
        match self {
            Self::File(o) => add(o, number, set),
            Self::Message(o) => add(o, number, set),
            Self::Field(d) => add(&mut d.options, number, set),
            Self::Oneof(o) => add(o, number, set),
            Self::Enum(o) => add(o, number, set),
            Self::Value(o) => add(o, number, set),
            Self::Service(o) => add(o, number, set),
            Self::Method(o) => add(o, number, set),
            Self::Nothing => {}
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
                self.dotted("an option's name")?;
                self.expect(')')?;
            } else {
                path.push(self.word("an option's name")?.to_owned());
            }
            if !self.eat('.') {
                break;
            }
        }
        self.expect('=')?;
        let value_at = self.place();
        let value = self.constant()?;
        if custom {
            return Ok(());
        }
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        match (path.as_slice(), value) {
            (["features", ..], _) if self.speech != Speech::Edition => {
                Err((at, "features need an edition".into()))
            }
            (["features"], Constant::Message(fields)) => {
                let set = fields.iter().map(|(name, value)| (name.as_str(), value));
                Self::features(on, at, set)
            }
            (["features", name], value) => Self::features(on, at, [(*name, &value)].into_iter()),
            ([name], value) => self.plain(on, name, value, at, value_at),
            _ => Err((at, format!("option {} is not known", path.join(".")))),
        }
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
                // Of another language, such as `[pb.cpp]`.
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
        on.add_features(bytes);
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
            return self.list();
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

    /// `[a, b]`, of which only the syntax counts.
    fn list(&mut self) -> Done<Constant> {
        self.deeper()?;
        while !self.eat(']') {
            if self.eat('<') {
                self.literal('>')?;
            } else {
                self.constant()?;
            }
            if !self.eat(',') && !self.is(']') {
                return self.fail("`]`");
            }
        }
        self.depth -= 1;
        Ok(Constant::List)
    }

    /// A message in text format, behind its opening bracket.
    fn literal(&mut self, close: char) -> Done<Vec<(String, Constant)>> {
        self.deeper()?;
        let mut fields = Vec::new();
        while !self.eat(close) {
            let name = if self.eat('[') {
                let mut name = self.dotted("a name")?;
                if self.eat('/') {
                    name = self.dotted("a name")?;
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
