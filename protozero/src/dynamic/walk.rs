//! What goes over a whole message: without recursion, since who swaps messages around can stack more
//! of them than a thread has stack for.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::DynamicMessage;
use super::schema::Label;
use super::value::{MapKey, Value};

impl Clone for DynamicMessage {
    fn clone(&self) -> Self {
        let mut copy = self.husk();
        let mut todo = Vec::from([(self, &mut copy)]);
        while let Some((from, to)) = todo.pop() {
            to.fields = from.fields.iter().map(|(number, value)| (*number, shell(value))).collect();
            for (from, to) in from.fields.values().zip(to.fields.values_mut()) {
                match (from, to) {
                    (Value::Message(from), Value::Message(to)) => todo.push((from, to)),
                    (Value::List(from), Value::List(to)) => {
                        todo.extend(from.iter().zip(to).map_while(both));
                    }
                    (Value::Map(from), Value::Map(to)) => {
                        todo.extend(from.values().zip(to.values_mut()).map_while(both));
                    }
                    _ => {}
                }
            }
        }
        copy
    }
}

/// `value` without what is in the messages in it.
fn shell(value: &Value) -> Value {
    let element = |value: &Value| match value {
        Value::Message(message) => Value::Message(Box::new(message.husk())),
        value => value.clone(),
    };
    match value {
        Value::List(values) => Value::List(values.iter().map(element).collect()),
        Value::Map(entries) => {
            Value::Map(entries.iter().map(|(key, value)| (key.clone(), element(value))).collect())
        }
        value => element(value),
    }
}

/// Two values that are messages: where one element is none, none is.
fn both<'a>(
    (from, to): (&'a Value, &'a mut Value),
) -> Option<(&'a DynamicMessage, &'a mut DynamicMessage)> {
    match (from, to) {
        (Value::Message(from), Value::Message(to)) => Some((from, to)),
        _ => None,
    }
}

impl PartialEq for DynamicMessage {
    fn eq(&self, other: &Self) -> bool {
        let mut todo = Vec::from([(self, other)]);
        while let Some((one, other)) = todo.pop() {
            let same = one.descriptor == other.descriptor
                && one.unknown == other.unknown
                && one.fields.len() == other.fields.len()
                && one.fields.iter().zip(&other.fields).all(|((number, one), (others, other))| {
                    number == others && equal(one, other, &mut todo)
                });
            if !same {
                return false;
            }
        }
        true
    }
}

type Pairs<'a> = Vec<(&'a DynamicMessage, &'a DynamicMessage)>;

/// Whether two values are the same but for the messages in them, which go to `todo`.
fn equal<'a>(one: &'a Value, other: &'a Value, todo: &mut Pairs<'a>) -> bool {
    let mut element = |one: &'a Value, other: &'a Value| match (one, other) {
        (Value::Message(one), Value::Message(other)) => {
            todo.push((one, other));
            true
        }
        (one, other) => one == other,
    };
    match (one, other) {
        (Value::List(one), Value::List(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| element(one, other))
        }
        (Value::Map(one), Value::Map(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|((key, one), (others, other))| key == others && element(one, other))
        }
        (one, other) => element(one, other),
    }
}

impl Drop for DynamicMessage {
    fn drop(&mut self) {
        let mut todo: Vec<BTreeMap<u32, Value>> = Vec::new();
        let mut fields = core::mem::take(&mut self.fields);
        loop {
            for value in fields.values_mut() {
                value.for_messages(|message| {
                    if !message.fields.is_empty() {
                        todo.push(core::mem::take(&mut message.fields));
                    }
                });
            }
            match todo.pop() {
                Some(next) => fields = next,
                None => return,
            }
        }
    }
}

/// How one gets from a message to one in it.
#[derive(Clone, Copy)]
struct Step<'a> {
    from: &'a DynamicMessage,
    number: u32,
    place: Place<'a>,
}

#[derive(Clone, Copy)]
enum Place<'a> {
    Single,
    Index(usize),
    Key(&'a MapKey),
}

impl DynamicMessage {
    /// An empty message in the place of this one.
    fn husk(&self) -> Self {
        Self {
            descriptor: self.descriptor.clone(),
            level: self.level,
            fields: BTreeMap::new(),
            unknown: self.unknown.clone(),
            chosen: self.chosen.clone(),
        }
    }

    /// Levels of messages in it, those of map entries included: none is 0.
    pub(crate) fn depth(&self) -> u32 {
        let mut deepest = 0;
        let mut todo = Vec::from([(self, 0)]);
        while let Some((message, level)) = todo.pop() {
            deepest = level.max(deepest);
            for value in message.fields.values() {
                let below = match value {
                    Value::Map(_) => level + 2,
                    _ => level + 1,
                };
                if let Value::Map(_) = value {
                    deepest = deepest.max(level + 1);
                }
                value.each_message(|_, message| todo.push((message, below)));
            }
        }
        deepest
    }

    /// The first required field that is absent, in this message or one in it: its path, as
    /// [`DynamicMessage::at`] takes it.
    #[must_use]
    pub fn missing_required(&self) -> Option<String> {
        let mut trail: Vec<Step<'_>> = Vec::new();
        // A message, how many steps lead to the one that it is in, and the last step.
        let mut todo: Vec<(&Self, usize, Option<Step<'_>>)> = Vec::from([(self, 0, None)]);
        while let Some((message, steps, last)) = todo.pop() {
            trail.truncate(steps);
            trail.extend(last);
            let missing = message.descriptor.data().fields.iter().find(|field| {
                field.label == Label::Required && !message.fields.contains_key(&field.number)
            });
            if let Some(field) = missing {
                let mut path: String = trail.iter().map(|step| step.text() + ".").collect();
                path.push_str(&field.name);
                return Some(path);
            }
            let first = todo.len();
            for (number, value) in &message.fields {
                value.each_message(|place, inner| {
                    let step = Step { from: message, number: *number, place };
                    todo.push((inner, trail.len(), Some(step)));
                });
            }
            // What is pushed first would come last.
            todo[first..].reverse();
        }
        None
    }
}

impl Step<'_> {
    fn text(&self) -> String {
        let field = self.from.descriptor.field_by_number(self.number);
        let name = match &field {
            Some(field) if field.is_extension() => format!("[{}]", field.full_name()),
            Some(field) => field.name().into(),
            None => format!("{}", self.number),
        };
        match self.place {
            Place::Single => name,
            Place::Index(index) => format!("{name}[{index}]"),
            Place::Key(MapKey::Bool(key)) => format!("{name}[{key}]"),
            Place::Key(MapKey::I32(key)) => format!("{name}[{key}]"),
            Place::Key(MapKey::I64(key)) => format!("{name}[{key}]"),
            Place::Key(MapKey::U32(key)) => format!("{name}[{key}]"),
            Place::Key(MapKey::U64(key)) => format!("{name}[{key}]"),
            Place::Key(MapKey::String(key)) => format!("{name}[\"{key}\"]"),
        }
    }
}

impl Value {
    /// The messages directly in it, and where.
    fn each_message<'a>(&'a self, mut each: impl FnMut(Place<'a>, &'a DynamicMessage)) {
        match self {
            Self::Message(message) => each(Place::Single, message),
            Self::List(values) => {
                let messages = values.iter().map_while(Self::as_message).enumerate();
                messages.for_each(|(index, message)| each(Place::Index(index), message));
            }
            Self::Map(entries) => {
                let messages = entries.iter().map_while(|(k, v)| Some((k, v.as_message()?)));
                messages.for_each(|(key, message)| each(Place::Key(key), message));
            }
            _ => {}
        }
    }
}
