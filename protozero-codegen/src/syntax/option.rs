//! Options: those that concern the encoding are interpreted, all others are kept as written.

use protobuf::descriptor::field_descriptor_proto::Type;
use protobuf::descriptor::{
    EnumOptions, EnumValueOptions, ExtensionRangeOptions, FieldDescriptorProto, FileOptions,
    MessageOptions, MethodOptions, OneofOptions, ServiceOptions,
};
use protobuf::{Message, MessageField, UnknownValue};

use super::cursor::{Grammar, ParseResult, SyntaxVersion};
use super::lexer::Token;
use super::output::{Constant, WRITTEN, WrittenOption};
use crate::notes::{Place, join};

/// The declaration that an option belongs to.
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

impl WrittenOption {
    /// Whether it marks its field, a custom option, as `RETENTION_SOURCE`: not for descriptor sets.
    pub fn hides(&self) -> bool {
        let source = matches!(&self.value, Constant::Word(word) if word == "RETENTION_SOURCE");
        source && matches!(&self.name[..], [(name, false)] if name == "retention")
    }

    /// Its name as written.
    pub fn shown(&self) -> String {
        let part = |(name, custom): &(String, bool)| match custom {
            true => format!("({name})"),
            false => name.clone(),
        };
        self.name.iter().map(part).collect::<Vec<_>>().join(".")
    }
}

/// Options that do not change the encoding, by declaration.
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

/// A file option that no longer exists.
const GONE: &str = "php_generic_services";

impl On<'_> {
    /// The name of its options message.
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

    /// Its name in errors, its options that do not change the encoding, and the number of `features` in its options.
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

/// `FeatureSet.enforce_naming_style`. Names are not checked for style here: each valid schema has code.
const STYLE: u8 = 7;
/// `FeatureSet.default_symbol_visibility`.
const VISIBILITY: u8 = 8;

/// Numbers of a feature and of its value (`descriptor.proto`, `FeatureSet`).
fn feature(version: SyntaxVersion, name: &str, value: &str) -> Result<(u8, u8), String> {
    let edition_2024 = version == SyntaxVersion::Edition2024;
    let values: &[&str] = match name {
        "field_presence" => &["EXPLICIT", "IMPLICIT", "LEGACY_REQUIRED"],
        "enum_type" => &["OPEN", "CLOSED"],
        "repeated_field_encoding" => &["PACKED", "EXPANDED"],
        "utf8_validation" => &["", "VERIFY", "NONE"],
        "message_encoding" => &["LENGTH_PREFIXED", "DELIMITED"],
        "json_format" => &["ALLOW", "LEGACY_BEST_EFFORT"],
        "enforce_naming_style" if edition_2024 => &["STYLE2024", "STYLE_LEGACY"],
        "default_symbol_visibility" if edition_2024 => {
            &["EXPORT_ALL", "EXPORT_TOP_LEVEL", "LOCAL_ALL", "STRICT"]
        }
        _ => {
            let year = if edition_2024 { 2024 } else { 2023 };
            return Err(format!("feature {name} is not known in edition {year}"));
        }
    };
    let number = match name {
        "field_presence" => 1,
        "enum_type" => 2,
        "repeated_field_encoding" => 3,
        "utf8_validation" => 4,
        "message_encoding" => 5,
        "json_format" => 6,
        "enforce_naming_style" => STYLE,
        _ => VISIBILITY,
    };
    match (1..).zip(values).find(|(_, v)| **v == value && !value.is_empty()) {
        Some((at, _)) => Ok((number, at)),
        None => Err(format!("{value} is no value of feature {name}")),
    }
}

impl Grammar<'_> {
    /// `option name = value;`
    pub(super) fn option_statement(&mut self, mut on: On<'_>) -> ParseResult {
        self.bump();
        self.option(&mut on)?;
        self.expect(';')?;
        self.end(None);
        Ok(())
    }

    /// `[name = value, ...]`
    pub(super) fn options(&mut self, on: &mut On<'_>) -> ParseResult {
        self.expect('[')?;
        loop {
            self.option(on)?;
            if !self.eat(',') {
                return self.expect(']');
            }
        }
    }

    fn option(&mut self, on: &mut On<'_>) -> ParseResult {
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
            (["features", ..], _) if !self.version.is_edition() => {
                Err((at, "features need an edition".into()))
            }
            (["features"], Constant::Message(fields)) => {
                let set = fields.iter().map(|(name, value)| (name.as_str(), value));
                self.features(on, at, set)?;
                // A feature of another language, such as `[pb.cpp]`.
                let others = |(name, _): &(String, Constant)| name.starts_with('[');
                let others: Vec<_> = fields.into_iter().filter(others).collect();
                if !others.is_empty() {
                    self.keep(on, path, Constant::Message(others), at, value_at);
                }
                Ok(())
            }
            (["features", name], value) => self.features(on, at, [(*name, &value)].into_iter()),
            ([GONE], _) if matches!(on, On::File(_)) => Ok(()),
            ([name @ ("ctype" | "java_multiple_files")], _)
                if self.version == SyntaxVersion::Edition2024 =>
            {
                Err((at, format!("edition 2024 has no {name}: a feature is in its place")))
            }
            ([name], value) => self.plain(on, name, value, at, value_at),
            _ => Err((at, format!("option {} is not known", parts.join(".")))),
        }
    }

    /// Keeps an option for descriptor sets.
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
        self.options.push(WrittenOption {
            of: on.options(),
            scope,
            element,
            name,
            value,
            at,
            value_at,
        });
        on.add(WRITTEN, UnknownValue::Varint(index));
    }

    fn features<'f>(
        &mut self,
        on: &mut On<'_>,
        at: Place,
        set: impl Iterator<Item = (&'f str, &'f Constant)>,
    ) -> ParseResult {
        let mut bytes = Vec::new();
        let of = on.facts().0;
        for (name, value) in set {
            let Constant::Word(value) = value else {
                if name.starts_with('[') {
                    continue;
                }
                return Err((at, format!("feature {name} wants a name")));
            };
            let (number, value) =
                feature(self.version, name, value).map_err(|message| (at, message))?;
            let places: &[&str] = match number {
                2 => &["enum"],
                6 => &["message", "enum"],
                STYLE => continue,
                VISIBILITY => &[],
                _ => &["field"],
            };
            if of != "file" && !places.contains(&of) {
                let places: String = places.iter().map(|place| format!(" or {place}")).collect();
                return Err((at, format!("feature {name} is of a file{places}, not of a {of}")));
            }
            // The compiler alone needs it, so descriptor sets do not have it.
            if number == VISIBILITY {
                self.visibility.set_unmarked(value);
                continue;
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
    ) -> ParseResult {
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
                if self.version.is_edition() {
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

    fn constant(&mut self) -> ParseResult<Constant> {
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

    /// `[a, b]`, after its opening bracket.
    fn list(&mut self) -> ParseResult<Vec<Constant>> {
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

    /// A message in text format, after its opening bracket.
    fn literal(&mut self, close: char) -> ParseResult<Vec<(String, Constant)>> {
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

/// A default as text, which is how descriptors store it.
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
