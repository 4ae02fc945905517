//! Operations on a whole tree of messages. They do not recurse, because `mem::swap` can create more
//! levels than fit the stack.

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
        let mut copy = self.empty_copy();
        let mut todo = Vec::from([(self, &mut copy)]);
        while let Some((from, to)) = todo.pop() {
            to.fields =
                from.fields.iter().map(|(number, value)| (*number, shallow_copy(value))).collect();
            for (from, to) in from.fields.values().zip(to.fields.values_mut()) {
                match (from, to) {
                    (Value::Message(from), Value::Message(to)) => todo.push((from, to)),
                    (Value::List(from), Value::List(to)) => {
                        todo.extend(from.iter().zip(to).map_while(message_pair));
                    }
                    (Value::Map(from), Value::Map(to)) => {
                        todo.extend(from.values().zip(to.values_mut()).map_while(message_pair));
                    }
                    _ => {}
                }
            }
        }
        copy
    }
}

/// Copies `value`; messages in it are empty.
fn shallow_copy(value: &Value) -> Value {
    let element = |value: &Value| match value {
        Value::Message(message) => Value::Message(Box::new(message.empty_copy())),
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

/// Pairs two messages; `None` if the values are not messages.
fn message_pair<'a>(
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
                    number == others && equal_except_messages(one, other, &mut todo)
                });
            if !same {
                return false;
            }
        }
        true
    }
}

type Pairs<'a> = Vec<(&'a DynamicMessage, &'a DynamicMessage)>;

/// Compares two values; pairs of messages in them are added to `todo`.
fn equal_except_messages<'a>(one: &'a Value, other: &'a Value, todo: &mut Pairs<'a>) -> bool {
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

/// The way from a message to a message in it.
#[derive(Clone, Copy)]
struct PathStep<'a> {
    from: &'a DynamicMessage,
    number: u32,
    place: PathIndex<'a>,
}

#[derive(Clone, Copy)]
enum PathIndex<'a> {
    Single,
    Index(usize),
    Key(&'a MapKey),
}

impl DynamicMessage {
    /// An empty message of the same type and level, with the same unknown fields.
    fn empty_copy(&self) -> Self {
        Self {
            descriptor: self.descriptor.clone(),
            level: self.level,
            fields: BTreeMap::new(),
            unknown: self.unknown.clone(),
            chosen: self.chosen.clone(),
        }
    }

    /// Number of levels below this message, including map entries; 0 if there are none.
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

    /// Whether this message or one below it has unknown fields.
    pub(crate) fn has_unknown(&self) -> bool {
        let mut todo = Vec::from([self]);
        while let Some(message) = todo.pop() {
            if !message.unknown.is_empty() {
                return true;
            }
            for value in message.fields.values() {
                value.each_message(|_, message| todo.push(message));
            }
        }
        false
    }

    /// The path of the first required field that is not set, in this message or one below it.
    /// [`DynamicMessage::at`] accepts this path.
    #[must_use]
    pub fn missing_required(&self) -> Option<String> {
        let mut path: Vec<PathStep<'_>> = Vec::new();
        // Each item: a message, the length of the path of its parent, and the step from its parent.
        let mut todo: Vec<(&Self, usize, Option<PathStep<'_>>)> = Vec::from([(self, 0, None)]);
        while let Some((message, steps, last)) = todo.pop() {
            path.truncate(steps);
            path.extend(last);
            let missing = message.descriptor.data().fields.iter().find(|field| {
                field.label == Label::Required && !message.fields.contains_key(&field.number)
            });
            if let Some(field) = missing {
                let mut path: String = path.iter().map(|step| step.text() + ".").collect();
                path.push_str(&field.name);
                return Some(path);
            }
            let first = todo.len();
            for (number, value) in &message.fields {
                value.each_message(|place, inner| {
                    let step = PathStep { from: message, number: *number, place };
                    todo.push((inner, path.len(), Some(step)));
                });
            }
            // The stack returns the last item first.
            todo[first..].reverse();
        }
        None
    }
}

impl PathStep<'_> {
    fn text(&self) -> String {
        let field = self.from.descriptor.field_by_number(self.number);
        let name = match &field {
            Some(field) if field.is_extension() => format!("[{}]", field.full_name()),
            Some(field) => field.name().into(),
            None => format!("{}", self.number),
        };
        match self.place {
            PathIndex::Single => name,
            PathIndex::Index(index) => format!("{name}[{index}]"),
            PathIndex::Key(MapKey::Bool(key)) => format!("{name}[{key}]"),
            PathIndex::Key(MapKey::I32(key)) => format!("{name}[{key}]"),
            PathIndex::Key(MapKey::I64(key)) => format!("{name}[{key}]"),
            PathIndex::Key(MapKey::U32(key)) => format!("{name}[{key}]"),
            PathIndex::Key(MapKey::U64(key)) => format!("{name}[{key}]"),
            PathIndex::Key(MapKey::String(key)) => format!("{name}[\"{key}\"]"),
        }
    }
}

impl Value {
    /// Calls `each` for the messages directly in this value, with their places.
    fn each_message<'a>(&'a self, mut each: impl FnMut(PathIndex<'a>, &'a DynamicMessage)) {
        match self {
            Self::Message(message) => each(PathIndex::Single, message),
            Self::List(values) => {
                let messages = values.iter().map_while(Self::as_message).enumerate();
                messages.for_each(|(index, message)| each(PathIndex::Index(index), message));
            }
            Self::Map(entries) => {
                let messages = entries.iter().map_while(|(k, v)| Some((k, v.as_message()?)));
                messages.for_each(|(key, message)| each(PathIndex::Key(key), message));
            }
            _ => {}
        }
    }
}
