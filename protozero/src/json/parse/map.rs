//! Maps, whose entries are written in the order of their keys.

use alloc::collections::BTreeSet;
use alloc::format;

use super::number::not_in_range;
use super::order::{self, Key};
use super::{Parser, Put};
use crate::dynamic::schema::Type;
use crate::json::lexer::{Parsed, number_len};
use crate::json::scan;
use crate::json::table::Field;
use crate::text::error::quote;

/// Where a key was written. Of a number only the place of its entry is known, as it is decoded from there.
#[derive(Clone, Copy)]
struct Place {
    begin: usize,
    len: usize,
}

impl<'t> Parser<'t> {
    pub(super) fn map(&mut self, field: &'t Field, of: u32, level: u32) -> Parsed<()> {
        let entry = &self.schema.json[of as usize];
        let part = |number| entry.find(number).map(|at| &entry.fields[at]);
        let (Some(key_field), Some(value_field)) = (part(1), part(2)) else {
            return self.fault("the schema has a map without keys or values");
        };
        let entries = self.out.len();
        self.lexer.peek();
        let begin = self.lexer.position();
        if !self.begin_object()? {
            return Ok(());
        }
        // Decoders count an entry as a message.
        let level = level + 1;
        self.check_level(level)?;
        let (mut last, mut is_sorted) = (None, true);
        loop {
            let entry = self.out.len();
            self.out.varint(field.tag.into());
            let content = self.out.begin();
            let len = self.entry_key(key_field)?;
            let key_end = self.out.len();
            if self.element(value_field, level)? == Put::Nothing {
                self.out.truncate(entry);
            } else {
                let end = self.out.len();
                self.out.end(content);
                let moved = self.out.len() - end;
                let key = match key_field.ty {
                    Type::String => Place { begin: key_end - len + moved, len },
                    _ => Place { begin: content + moved, len: 0 },
                };
                if let Some(before) = last.replace(key) {
                    is_sorted &= self.is_below(key_field.ty, before, key);
                }
            }
            if !self.next_member()? {
                break;
            }
        }
        if !is_sorted && !order::sort_entries(self.out.since(entries), key_field.ty) {
            return self.key_again(key_field, begin);
        }
        Ok(())
    }

    /// The fault of the object at `begin`, which was parsed, and in which a key occurs twice.
    #[cold]
    #[inline(never)]
    fn key_again(&mut self, field: &Field, begin: usize) -> Parsed<()> {
        self.lexer.go_to(begin);
        let (mut keys, mut depth) = (BTreeSet::new(), 0u32);
        while let Some(byte) = self.lexer.peek() {
            let at = self.lexer.position();
            if byte != b'"' {
                self.lexer.take(byte);
                match byte {
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                continue;
            }
            let key = self.lexer.string("a name")?;
            let end = self.lexer.position();
            if depth != 1 || self.lexer.peek() != Some(b':') {
                continue;
            }
            // Two texts can be one key: 1 and 1.0.
            let written = self.out.len();
            self.key(field, &key, at)?;
            let is_new = keys.insert(self.out.get(written).to_vec());
            self.out.truncate(written);
            if !is_new {
                self.lexer.go_to(end);
                let key = quote(key.as_bytes());
                return self.lexer.fault(at, format!("the key `{key}` is set twice"));
            }
        }
        self.lexer.fault(begin, "a key is set twice")
    }

    /// Takes the key of an entry and its colon, and writes it. Returns the length of its text.
    #[inline]
    fn entry_key(&mut self, field: &Field) -> Parsed<usize> {
        if field.ty == Type::String
            && let Some((text, len)) = self.lexer.plain_string()
        {
            self.out.text_field(field.tag, text, len);
            self.lexer.expect(b':', "behind the name")?;
            return Ok(len);
        }
        self.lexer.peek();
        let begin = self.lexer.position();
        let key = self.lexer.string("a name")?;
        self.lexer.expect(b':', "behind the name")?;
        self.key(field, &key, begin)?;
        Ok(key.len())
    }

    /// Whether the key at `first` comes before the one at `second`.
    fn is_below(&self, ty: Type, first: Place, second: Place) -> bool {
        let text = |of: Place| self.out.get(of.begin).get(..of.len).unwrap_or_default();
        let number = |of: Place| Key::of(ty, self.out.get(of.begin));
        match ty {
            Type::String => scan::is_below(text(first), text(second)),
            _ => number(first) < number(second),
        }
    }

    /// Writes the key of an entry, which is text for all types.
    fn key(&mut self, field: &Field, key: &str, begin: usize) -> Parsed<()> {
        self.out.tag(field.number, field.wire_type());
        match field.ty {
            Type::String => self.out.text(key.as_bytes(), key.len()),
            Type::Bool => {
                let value = match key {
                    "true" => 1,
                    "false" => 0,
                    _ => return self.lexer.fault(begin, "expected the key \"true\" or \"false\""),
                };
                self.out.put(&[value]);
            }
            ty => {
                let is_number = number_len(key.as_bytes()) == Some(key.len());
                if !is_number || self.integer(ty, key).is_none() {
                    return self.lexer.fault(begin, not_in_range(ty, key));
                }
            }
        }
        Ok(())
    }
}
