//! Which messages and oneofs derive `Eq` and `Hash`: see [`Config::eq_and_hash`].

use crate::model::{Field, Kind, Message, MessageId, Schema};
use crate::{Config, attributes, wellknown};

/// For each message, whether it derives them.
pub(crate) struct Hashable(Vec<bool>);

impl Hashable {
    pub fn new(config: &Config, schema: &Schema) -> Self {
        let wanted = schema.messages.iter().map(|message| {
            let file = &schema.files[message.file];
            match &file.extern_module {
                // The crate of the well-known types has them where it can. Of others it is not known.
                Some(_) => wellknown::is_in_types_crate(config, &file.path),
                None => is_wanted(config, &message.path.full()),
            }
        });
        let mut all = Self(if config.eq_and_hash.is_empty() {
            Vec::new()
        } else {
            // The entry of a map has no struct. What it holds decides.
            wanted
                .zip(&schema.messages)
                .map(|(wanted, message)| wanted || message.map_entry)
                .collect()
        });
        // What a message holds that has no `Hash` takes it away from the message, and from those around it.
        loop {
            let wrong = all.wrong(config, schema);
            if wrong.is_empty() {
                return all;
            }
            wrong.into_iter().for_each(|at| all.0[at] = false);
        }
    }

    /// The messages that cannot have them, because of a field.
    fn wrong(&self, config: &Config, schema: &Schema) -> Vec<usize> {
        let fits = |message: &Message| {
            let outer = message.path.full();
            message.fields.iter().all(|f| self.field(config, schema, &outer, f))
        };
        (0..self.0.len()).filter(|at| self.0[*at] && !fits(&schema.messages[*at])).collect()
    }

    /// Whether the message has them.
    pub fn message(&self, id: MessageId) -> bool {
        self.0.get(id.0).copied().unwrap_or(false)
    }

    /// Whether the oneof of the message `outer` has them.
    pub fn oneof(&self, config: &Config, schema: &Schema, message: &Message, at: usize) -> bool {
        let outer = message.path.full();
        let mut members = message.fields.iter().filter(|f| f.oneof == Some(at));
        // A name of prost may match the message alone, which needs both for its oneofs, too.
        let is_wanted = is_wanted(config, &outer)
            || is_wanted(config, &format!("{outer}.{}", message.oneofs[at].name));
        is_wanted && members.all(|f| self.field(config, schema, &outer, f))
    }

    /// Whether the values of a field of the message `outer` have them.
    fn field(&self, config: &Config, schema: &Schema, outer: &str, field: &Field) -> bool {
        match field.kind {
            Kind::Float | Kind::Double => false,
            Kind::Message(id) => {
                let is_hash_map = schema.messages[id.0].map_entry
                    && hash_map(config, &format!("{outer}.{}", field.name));
                self.message(id) && !is_hash_map
            }
            _ => true,
        }
    }
}

/// Whether the configuration asks for them.
fn is_wanted(config: &Config, full: &str) -> bool {
    config.eq_and_hash.iter().any(|name| attributes::matches(config, name, full))
}

/// Whether the configuration asks for a `HashMap` as the type of this field.
pub(super) fn hash_map(config: &Config, full: &str) -> bool {
    config.hash_map.iter().any(|name| attributes::matches(config, name, full))
}

#[cfg(test)]
mod tests;
