//! Paths to values in a message: `config.buffers[0].size_kb`.

use super::DynamicMessage;
use super::value::{MapKey, Value};

impl DynamicMessage {
    /// The value at `path`; `None` if a part of the path is not set.
    ///
    /// A path consists of field names, separated by points. An extension is `[its.full.name]`. A
    /// repeated field is followed by an index, a map by a key: `names[0]`, `sizes["a"].kb`,
    /// `by_id[-7]`. A key in quotes ends at the next `"]`.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<&Value> {
        let mut message = self;
        let mut rest = path;
        loop {
            let name_len = if rest.starts_with('[') {
                rest.find(']')? + 1
            } else {
                rest.find(['.', '[']).unwrap_or(rest.len())
            };
            let (name, mut after) = rest.split_at(name_len);
            let mut value = message.get(name)?;
            if let Some(inner) = after.strip_prefix('[') {
                let (index, tail) = match inner.strip_prefix('"') {
                    Some(quoted) => quoted.split_once("\"]")?,
                    None => inner.split_once(']')?,
                };
                value = match value {
                    Value::List(values) => values.get(index.parse::<usize>().ok()?)?,
                    Value::Map(entries) => entries.get(&key(entries.keys().next()?, index)?)?,
                    _ => return None,
                };
                after = tail;
            }
            if after.is_empty() {
                return Some(value);
            }
            rest = after.strip_prefix('.')?;
            message = value.as_message()?;
        }
    }
}

/// Parses `text` as a key of the same type as `other`.
fn key(other: &MapKey, text: &str) -> Option<MapKey> {
    Some(match other {
        MapKey::Bool(_) => MapKey::Bool(text.parse().ok()?),
        MapKey::I32(_) => MapKey::I32(text.parse().ok()?),
        MapKey::I64(_) => MapKey::I64(text.parse().ok()?),
        MapKey::U32(_) => MapKey::U32(text.parse().ok()?),
        MapKey::U64(_) => MapKey::U64(text.parse().ok()?),
        MapKey::String(_) => MapKey::String(text.into()),
    })
}
