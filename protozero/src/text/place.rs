//! Which field a place in a text belongs to: `shop.Order.lines[3].price`. The tokens before the place are read again,
//! after an error only.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::error::quote;
use super::lexer::{Kind, Lexer, Token};
use crate::dynamic::schema::{FieldData, Schema, Type};

/// An open message.
struct Level<'s> {
    /// Its type, if that is known.
    message: Option<u32>,
    /// How many values each name had.
    counts: BTreeMap<String, usize>,
    /// The field that is read.
    field: Option<Open<'s>>,
}

struct Open<'s> {
    name: String,
    data: Option<&'s FieldData>,
    /// Between `[` and `]`.
    in_list: bool,
    /// A value was read: the next name is another field.
    is_read: bool,
}

impl Level<'_> {
    const fn new(message: Option<u32>) -> Self {
        Self { message, counts: BTreeMap::new(), field: None }
    }

    /// Another value of the field begins.
    fn count(&mut self) {
        if let Some(field) = &self.field {
            *self.counts.entry(field.name.clone()).or_default() += 1;
        }
    }
}

/// The path at the position `end`, from the message with the index `root` on. Empty if no field is there.
pub(super) fn path(schema: &Schema, root: u32, text: &[u8], end: usize, multiline: bool) -> String {
    let mut lexer = Lexer::new(text, multiline);
    let mut levels = Vec::from([Level::new(Some(root))]);
    let mut last = None;
    while let Ok(token) = lexer.next() {
        last = Some(token.kind);
        if token.kind == Kind::End || token.end > end {
            break;
        }
        step(schema, &mut levels, &mut lexer, (text, token));
    }
    // A name after a value is another field; a string goes on.
    if last != Some(Kind::String)
        && let Some(level) = levels.last_mut()
        && level.field.as_ref().is_some_and(|field| field.is_read && !field.in_list)
    {
        level.field = None;
    }
    print(schema, root, &levels)
}

fn step<'s>(
    schema: &'s Schema,
    levels: &mut Vec<Level<'s>>,
    lexer: &mut Lexer<'_>,
    (text, token): (&[u8], Token),
) {
    let Some(level) = levels.last_mut() else { return };
    let word = || String::from_utf8_lossy(&text[token.span()]).into_owned();
    let begins = level.field.as_ref().is_none_or(|field| field.is_read && !field.in_list);
    match token.kind {
        Kind::Word | Kind::Number if begins => {
            let name = word();
            let data = level.message.and_then(|message| {
                let message = schema.message(message);
                message.by_name(&name).map(|at| &message.fields[at as usize])
            });
            level.field = Some(Open { name, data, in_list: false, is_read: false });
            level.count();
        }
        Kind::Sign(b'[') if begins => {
            let mut name = String::from("[");
            while let Ok(part) = lexer.next() {
                name.push_str(&quote(&text[part.span()]));
                if matches!(part.kind, Kind::Sign(b']') | Kind::End) {
                    break;
                }
            }
            level.field = Some(Open { name, data: None, in_list: false, is_read: false });
            level.count();
        }
        Kind::Sign(b'}' | b'>') => {
            if levels.len() > 1 {
                levels.pop();
            }
            if let Some(field) = levels.last_mut().and_then(|level| level.field.as_mut()) {
                field.is_read = true;
            }
        }
        Kind::Sign(sign) => match (sign, &mut level.field) {
            (b'{' | b'<', Some(field)) => {
                let message = match field.data.map(|data| data.ty) {
                    Some(Type::Message(index)) => Some(index),
                    _ => None,
                };
                levels.push(Level::new(message));
            }
            (b'[', Some(field)) => field.in_list = true,
            (b']', Some(field)) => (field.in_list, field.is_read) = (false, true),
            (b',', Some(field)) if field.in_list => level.count(),
            (b',' | b';', field) => *field = None,
            _ => {}
        },
        _ => {
            if let Some(field) = &mut level.field {
                field.is_read = true;
            }
        }
    }
}

fn print(schema: &Schema, root: u32, levels: &[Level<'_>]) -> String {
    let name = &schema.message(root).full_name;
    let mut path = String::from(&**name);
    for level in levels {
        let Some(field) = &level.field else { break };
        path.push('.');
        path.push_str(&quote(field.name.as_bytes()));
        if field.data.is_some_and(FieldData::repeated) || field.in_list {
            let count = level.counts.get(&field.name).copied().unwrap_or(1);
            path.push_str(&format!("[{}]", count.saturating_sub(1)));
        }
    }
    if path.len() == name.len() { String::new() } else { path }
}
