//! Files, messages, enums and services.

use protobuf::MessageField;
use protobuf::descriptor::descriptor_proto::{ExtensionRange, ReservedRange};
use protobuf::descriptor::enum_descriptor_proto::EnumReservedRange;
use protobuf::descriptor::{
    DescriptorProto, EnumDescriptorProto, EnumValueDescriptorProto, FileDescriptorProto,
    MethodDescriptorProto, ServiceDescriptorProto,
};

use super::cursor::{Grammar, ParseResult, SyntaxVersion};
use super::import::{not_plain, plain};
use super::lexer::Token;
use super::option::On;
use super::output::Syntax;
use crate::notes::{Note, PACKAGE, Place};

/// The largest number of a field.
const FIELD_MAX: i32 = 0x1FFF_FFFF;

impl Grammar<'_> {
    pub fn file(mut self) -> ParseResult<Syntax> {
        let mut d = FileDescriptorProto::new();
        d.set_name(self.path.to_owned());
        self.begin();
        if self.is_word("syntax") || self.is_word("edition") {
            self.version(&mut d)?;
        }
        loop {
            self.begin();
            if *self.peek() == Token::End {
                break;
            }
            self.file_statement(&mut d)?;
        }
        let Self { notes, options, option_imports, visibility, beyond, .. } = self;
        let local = visibility.local();
        Ok(Syntax { descriptor: d, notes, options, option_imports, local, beyond })
    }

    fn version(&mut self, d: &mut FileDescriptorProto) -> ParseResult {
        let edition = self.word("`syntax`")? == "edition";
        self.expect('=')?;
        let at = self.place();
        let value = self.utf8()?;
        self.version = match (edition, value.as_str()) {
            (false, "proto2") => SyntaxVersion::Proto2,
            (false, "proto3") => SyntaxVersion::Proto3,
            (true, "2023") => SyntaxVersion::Edition2023,
            (true, "2024") => SyntaxVersion::Edition2024,
            (false, _) => return Err((at, format!("syntax {value} is not known"))),
            (true, _) => {
                let known = "proto2, proto3, edition 2023 and edition 2024 are";
                return Err((at, format!("edition {value} is not known: {known}")));
            }
        };
        if edition {
            self.beyond = true;
            d.set_syntax("editions".into());
            let year = if self.version == SyntaxVersion::Edition2023 { 1000 } else { 1001 };
            d.special_fields.mut_unknown_fields().add_varint(14, year);
        } else {
            d.set_syntax(value);
        }
        self.expect(';')?;
        self.end(None);
        Ok(())
    }

    fn file_statement(&mut self, d: &mut FileDescriptorProto) -> ParseResult {
        let at = self.place();
        let exported = self.exported()?;
        match *self.peek() {
            Token::Symbol(';') => {
                self.bump();
            }
            Token::Word("import") => self.import(d)?,
            Token::Word("package") => {
                self.bump();
                if d.has_package() {
                    return Err((at, "a second package".into()));
                }
                let note = Note { at: self.place(), ..Note::default() };
                self.notes.insert(PACKAGE.to_owned(), note);
                d.set_package(self.dotted("a package")?);
                self.expect(';')?;
                self.end(None);
            }
            Token::Word("option") => self.option_statement(On::File(&mut d.options))?,
            Token::Word("message") => d.message_type.push(self.message(exported)?),
            Token::Word("enum") => d.enum_type.push(self.enumeration(exported)?),
            Token::Word("extend") => self.extend(&mut d.extension, &mut d.message_type)?,
            Token::Word("service") => d.service.push(self.service()?),
            Token::Word("syntax" | "edition") => {
                return Err((at, "this must be the first statement".into()));
            }
            _ => return self.fail("a declaration"),
        }
        Ok(())
    }

    fn import(&mut self, d: &mut FileDescriptorProto) -> ParseResult {
        self.bump();
        let edition_2024 = self.version == SyntaxVersion::Edition2024;
        let (kind_at, index) = (self.place(), d.dependency.len());
        let count = i32::try_from(index).unwrap_or(i32::MAX);
        let option = edition_2024 && self.eat_word("option");
        if self.eat_word("public") {
            d.public_dependency.push(count);
        } else if self.eat_word("weak") {
            if edition_2024 {
                return Err((kind_at, "edition 2024 has no weak imports".into()));
            }
            d.weak_dependency.push(count);
        }
        if !option && !self.option_imports.is_empty() {
            return Err((kind_at, "this must stand before each `import option`".into()));
        }
        let at = self.place();
        self.counted("import", index + self.option_imports.len(), at);
        let import = self.utf8()?;
        if !plain(&import) {
            return Err((at, not_plain(&import)));
        }
        if option {
            d.special_fields.mut_unknown_fields().add_length_delimited(15, import.clone().into());
            self.option_imports.push(import);
        } else {
            d.dependency.push(import);
        }
        self.expect(';')?;
        self.end(None);
        Ok(())
    }

    /// Reads `keyword Name` and notes its place. Returns name and path.
    fn named(&mut self, wanted: &str) -> ParseResult<(String, String)> {
        self.bump();
        let at = self.place();
        let name = self.word(wanted)?;
        let path = self.note(name, Note { at, ..Note::default() });
        Ok((name.to_owned(), path))
    }

    fn message(&mut self, exported: Option<bool>) -> ParseResult<DescriptorProto> {
        let mut d = DescriptorProto::new();
        let (name, path) = self.named("a message's name")?;
        self.visible(&path, exported, (11, &mut d.special_fields));
        d.set_name(name);
        self.message_body(path, &mut d)?;
        Ok(d)
    }

    pub fn message_body(&mut self, path: String, d: &mut DescriptorProto) -> ParseResult {
        self.block(path, |g| g.message_statement(d))?;
        if d.options.message_set_wire_format() {
            // The numbers of a message set have a larger range, and so has its `max`.
            let open = d.extension_range.iter_mut().filter(|r| r.end() == FIELD_MAX + 1);
            open.for_each(|r| r.set_end(i32::MAX));
        }
        super::field::synthetic_oneofs(d);
        Ok(())
    }

    fn message_statement(&mut self, d: &mut DescriptorProto) -> ParseResult {
        let exported = self.exported()?;
        match *self.peek() {
            Token::Word("message") => d.nested_type.push(self.message(exported)?),
            Token::Word("enum") => d.enum_type.push(self.enumeration(exported)?),
            Token::Word("extend") => {
                // The scope for types inside would be wrong.
                self.beyond = true;
                self.extend(&mut d.extension, &mut d.nested_type)?;
            }
            Token::Word("option") => self.option_statement(On::Message(&mut d.options))?,
            Token::Word("oneof") => self.oneof(d)?,
            Token::Word("extensions") => self.extension_ranges(d)?,
            Token::Word("reserved") => {
                let max = i64::from(i32::MAX - 1);
                let ranges = self.reserved(&mut d.reserved_name, d.reserved_range.len(), max)?;
                for (start, end) in ranges {
                    let mut r = ReservedRange::new();
                    r.set_start(start);
                    r.set_end(end + 1);
                    d.reserved_range.push(r);
                }
            }
            _ => self.message_field(d)?,
        }
        Ok(())
    }

    fn extension_ranges(&mut self, d: &mut DescriptorProto) -> ParseResult {
        self.bump();
        let first = d.extension_range.len();
        loop {
            self.counted("extensions", d.extension_range.len(), self.place());
            let (start, end) = self.range(i64::from(i32::MAX - 1))?;
            let mut r = ExtensionRange::new();
            r.set_start(start);
            r.set_end(end + 1);
            d.extension_range.push(r);
            if !self.eat(',') {
                break;
            }
        }
        if self.is('[') {
            self.beyond = true;
            let mut options = MessageField::none();
            self.options(&mut On::Range(&mut options))?;
            d.extension_range[first..].iter_mut().for_each(|r| r.options = options.clone());
        }
        self.expect(';')?;
        self.end(None);
        Ok(())
    }

    /// `5`, `5 to 7`, `5 to max`; both ends are included.
    fn range(&mut self, max: i64) -> ParseResult<(i32, i32)> {
        let at = self.place();
        let start = self.int("a number")?;
        let end = match self.eat_word("to") {
            true if self.eat_word("max") => {
                // `max` of a message is the largest field number.
                if max == i64::from(i32::MAX) { max } else { i64::from(FIELD_MAX) }
            }
            true => self.int("a number")?,
            false => start,
        };
        if end < start {
            return Err((at, "a range must not end before it starts".into()));
        }
        let fit = |v| i32::try_from(v).ok().filter(|_| v <= max);
        match (fit(start), fit(end)) {
            (Some(start), Some(end)) => Ok((start, end)),
            _ => Err((at, "this number is out of range".into())),
        }
    }

    /// `reserved` names or numbers. Returns the numbers.
    fn reserved(
        &mut self,
        names: &mut Vec<String>,
        count: usize,
        max: i64,
    ) -> ParseResult<Vec<(i32, i32)>> {
        self.bump();
        let mut ranges = Vec::new();
        // A statement holds either names or numbers.
        let named = matches!(self.peek(), Token::Text(_) | Token::Word(_));
        loop {
            if named != matches!(self.peek(), Token::Text(_) | Token::Word(_)) {
                return self.fail(if named { "a name" } else { "a number" });
            }
            match *self.peek() {
                Token::Text(_) if !self.version.is_edition() => names.push(self.utf8()?),
                Token::Word(name) if self.version.is_edition() => {
                    self.bump();
                    names.push(name.to_owned());
                }
                Token::Text(_) => return self.fail("a name without quotes"),
                Token::Word(_) => return self.fail("a name in quotes"),
                _ => {
                    self.counted("reserved", count + ranges.len(), self.place());
                    ranges.push(self.range(max)?);
                }
            }
            if !self.eat(',') {
                break;
            }
        }
        self.expect(';')?;
        self.end(None);
        Ok(ranges)
    }

    fn enumeration(&mut self, exported: Option<bool>) -> ParseResult<EnumDescriptorProto> {
        let mut d = EnumDescriptorProto::new();
        let (name, path) = self.named("an enum's name")?;
        self.visible(&path, exported, (6, &mut d.special_fields));
        d.set_name(name);
        self.block(path, |g| g.enum_statement(&mut d))?;
        Ok(d)
    }

    fn enum_statement(&mut self, d: &mut EnumDescriptorProto) -> ParseResult {
        let named = *self.ahead(1) == Token::Symbol('=');
        if self.is_word("option") && !named {
            return self.option_statement(On::Enum(&mut d.options));
        }
        if self.is_word("reserved") && !named {
            let max = i64::from(i32::MAX);
            let ranges = self.reserved(&mut d.reserved_name, d.reserved_range.len(), max)?;
            for (start, end) in ranges {
                let mut r = EnumReservedRange::new();
                r.set_start(start);
                r.set_end(end);
                d.reserved_range.push(r);
            }
            return Ok(());
        }
        let mut value = EnumValueDescriptorProto::new();
        let at = self.place();
        let name = self.word("a value's name")?;
        self.expect('=')?;
        let number_at = self.place();
        let number = self.int("the value's number")?;
        let Ok(number) = i32::try_from(number) else {
            return Err((number_at, format!("enum value {number} is out of range")));
        };
        value.set_name(name.to_owned());
        value.set_number(number);
        let path = self.note(name, Note { at, number_at, ..Note::default() });
        if self.is('[') {
            self.options(&mut On::Value(&mut value.options))?;
        }
        self.expect(';')?;
        self.end(Some(path));
        d.value.push(value);
        Ok(())
    }

    fn service(&mut self) -> ParseResult<ServiceDescriptorProto> {
        let mut d = ServiceDescriptorProto::new();
        let (name, path) = self.named("a service's name")?;
        d.set_name(name);
        self.block(path, |g| {
            if g.is_word("option") {
                return g.option_statement(On::Service(&mut d.options));
            }
            if !g.is_word("rpc") {
                return g.fail("`rpc`");
            }
            let method = g.method()?;
            d.method.push(method);
            Ok(())
        })?;
        Ok(d)
    }

    fn method(&mut self) -> ParseResult<MethodDescriptorProto> {
        let mut d = MethodDescriptorProto::new();
        self.bump();
        let at = self.place();
        let name = self.word("a method's name")?;
        d.set_name(name.to_owned());
        let (client, type_at, input) = self.argument()?;
        if !self.eat_word("returns") {
            return self.fail("`returns`");
        }
        let (server, number_at, output) = self.argument()?;
        d.set_input_type(input);
        d.set_output_type(output);
        if client {
            d.set_client_streaming(true);
        }
        if server {
            d.set_server_streaming(true);
        }
        let path = self.note(name, Note { at, type_at, number_at, ..Note::default() });
        if self.is('{') {
            // A method may end with braces for options, even empty ones.
            d.options.mut_or_insert_default();
            self.block(path, |g| match g.is_word("option") {
                true => g.option_statement(On::Method(&mut d.options)),
                false => g.fail("`option`"),
            })?;
        } else {
            self.expect(';')?;
            self.end(Some(path));
        }
        Ok(d)
    }

    /// `(stream Type)`
    fn argument(&mut self) -> ParseResult<(bool, Place, String)> {
        self.expect('(')?;
        let stream = self.is_word("stream")
            && match self.ahead(1) {
                Token::Word(_) => true,
                Token::Symbol('.') => self.leading_dot(),
                _ => false,
            };
        if stream {
            self.bump();
        }
        let at = self.place();
        let name = self.dotted("a message")?;
        self.expect(')')?;
        Ok((stream, at, name))
    }

    /// Whether the dot after this word begins another name: then there is space before it.
    fn leading_dot(&self) -> bool {
        let [word, dot, ..] = &self.tokens[self.at..] else { return false };
        let Token::Word(text) = word.token else { return false };
        let len = u32::try_from(text.len()).unwrap_or(u32::MAX);
        dot.at != Place { line: word.at.line, column: word.at.column.saturating_add(len) }
    }
}
