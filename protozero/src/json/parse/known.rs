//! The messages with a form of their own.

use alloc::format;
use alloc::string::String;

use super::Parser;
use crate::dynamic::schema::{Symbol, Type};
use crate::json::known::{ADD, Known};
use crate::json::lexer::Parsed;
use crate::json::table::{Field, Form};
use crate::json::time;
use crate::wire::tag::{FIXED64, LEN, VARINT};

impl<'t> Parser<'t> {
    /// The field with this number.
    fn field_of(&self, index: u32, number: u32) -> Option<&'t Field> {
        let table = &self.schema.json[index as usize];
        table.find(number).map(|at| &table.fields[at])
    }

    /// Parses the content of a message with a form of its own.
    pub(super) fn known(&mut self, known: Known, index: u32, level: u32) -> Parsed<()> {
        match known {
            Known::Any => self.any(level),
            Known::Timestamp => self.time(time::timestamp, "a time such as 2026-01-31T23:59:59.5Z"),
            Known::Duration => self.time(time::duration, "a duration such as 1.5s"),
            Known::FieldMask => self.field_mask(),
            Known::Struct | Known::ListValue | Known::Wrapper => self.only_field(index, level),
            Known::Value => self.any_value(index, level),
        }
    }

    /// Parses the value of field 1.
    fn only_field(&mut self, index: u32, level: u32) -> Parsed<()> {
        match self.field_of(index, 1) {
            Some(field) => self.field(field, level),
            None => self.fault("the schema has this message without field 1"),
        }
    }

    fn time(&mut self, parse: fn(&str) -> Option<(i64, i32)>, what: &str) -> Parsed<()> {
        self.lexer.peek();
        let at = self.lexer.position();
        let text = self.lexer.string(what)?;
        let Some((seconds, nanos)) = parse(&text) else {
            return self.lexer.fault(at, format!("expected {what}, in range"));
        };
        for (number, value) in [(1, seconds), (2, i64::from(nanos))] {
            if value != 0 {
                self.out.tag(number, VARINT);
                self.out.varint(value as u64);
            }
        }
        Ok(())
    }

    fn field_mask(&mut self) -> Parsed<()> {
        self.lexer.peek();
        let at = self.lexer.position();
        let text = self.lexer.string("paths with commas")?;
        for path in text.split(',').filter(|_| !text.is_empty()) {
            let Some(path) = snake_case(path) else {
                return self.lexer.fault(at, "expected paths such as `someField.other`");
            };
            self.out.tag(1, LEN);
            self.out.text(path.as_bytes(), path.len());
        }
        Ok(())
    }

    /// Parses any value as `google.protobuf.Value`.
    fn any_value(&mut self, index: u32, level: u32) -> Parsed<()> {
        let number = match self.lexer.peek() {
            Some(b'{') => 5,
            Some(b'[') => 6,
            Some(b'"') => 3,
            Some(b't' | b'f') => 4,
            Some(b'n') if self.lexer.take_word("null") => {
                self.out.tag(1, VARINT);
                self.out.put(&[0]);
                return Ok(());
            }
            _ => {
                self.out.tag(2, FIXED64);
                return self.float_without_quotes();
            }
        };
        match self.field_of(index, number) {
            Some(field) => self.element(field, level).map(drop),
            None => self.fault("the schema has another google.protobuf.Value"),
        }
    }

    fn float_without_quotes(&mut self) -> Parsed<()> {
        match self.lexer.peek() {
            Some(b'-' | b'0'..=b'9') => self.float(Type::Double).map(drop),
            _ => self.unexpected("a value"),
        }
    }

    fn any(&mut self, level: u32) -> Parsed<()> {
        // The type may come behind the fields, so it is looked for first.
        self.lexer.peek();
        let begin = self.lexer.position();
        let mut url: Option<String> = None;
        let mut is_empty = true;
        self.object(|this, key, at| {
            is_empty = false;
            if key != "@type" {
                return this.skip(level + 1);
            }
            if url.is_some() {
                return this.lexer.fault(at, "`@type` is set twice");
            }
            url = Some(this.lexer.string("the URL of a type")?.into_owned());
            Ok(())
        })?;
        if is_empty {
            return Ok(());
        }
        let Some(url) = url else {
            return self.lexer.fault(begin, "an `Any` needs `@type`, the URL of its message");
        };
        let Some((_, name)) = url.rsplit_once('/') else {
            let text =
                format!("`@type`: the URL `{url}` has no slash before the name of the message");
            return self.lexer.fault(begin, text);
        };
        let Some(&Symbol::Message(index)) = self.schema.symbols.get(name) else {
            let text = format!("`@type`: the pool has no message `{url}`{ADD}");
            return self.lexer.fault(begin, text);
        };
        self.lexer.go_to(begin);
        self.out.tag(1, LEN);
        self.out.text(url.as_bytes(), url.len());
        let before = self.out.len();
        self.out.tag(2, LEN);
        let content = self.out.begin();
        if let Form::Known(_) = self.schema.json[index as usize].form {
            self.known_in_any(index, level + 1, begin)?;
        } else {
            self.check_level(level + 1)?;
            self.fields(index, level + 1, true)?;
        }
        match self.out.len() == content {
            true => self.out.truncate(before),
            false => self.out.end(content),
        }
        Ok(())
    }

    /// Parses the value of `value`, next to `@type`.
    fn known_in_any(&mut self, index: u32, level: u32, begin: usize) -> Parsed<()> {
        let mut has_value = false;
        self.object(|this, key, at| match key {
            "@type" => this.skip(level),
            "value" if has_value => this.lexer.fault(at, "`value` is set twice"),
            "value" => {
                has_value = true;
                this.message(index, level)
            }
            _ if this.options.ignore_unknown => this.skip(level),
            _ => this.lexer.fault(at, "this type has only `value` next to `@type`"),
        })?;
        if !has_value {
            return self.lexer.fault(begin, "this type needs `value` next to `@type`");
        }
        Ok(())
    }
}

/// `aB.c` as `a_b.c`; none if the path has an underscore, or is empty.
fn snake_case(path: &str) -> Option<String> {
    if path.is_empty() {
        return None;
    }
    let mut snake = String::with_capacity(path.len() + 4);
    for letter in path.chars() {
        match letter {
            '_' => return None,
            'A'..='Z' => {
                snake.push('_');
                snake.push(letter.to_ascii_lowercase());
            }
            _ => snake.push(letter),
        }
    }
    Some(snake)
}
