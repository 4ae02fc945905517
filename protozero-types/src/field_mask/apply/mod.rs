//! Masks that are applied to messages, by way of dynamic messages.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use core::fmt;

use protozero::dynamic::{
    DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, SetError, Value,
};
use protozero::{Named, Reflect, ReflectError};

use crate::google::protobuf::FieldMask;

/// Parts of a path. No message has more levels.
const PARTS_MAX: usize = 100;

/// How [`FieldMask::merge`] treats fields with content.
#[derive(Clone, Copy, Debug, Default)]
pub struct MergeOptions {
    /// A message that a path names is replaced, and cleared if the source has none. Otherwise the fields of the
    /// source's message are merged into it.
    pub replace_messages: bool,
    /// A list or map that a path names is replaced. Otherwise elements are appended, and entries added.
    pub replace_repeated: bool,
}

/// Why a mask cannot be applied.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MaskError {
    /// A part of a path is not a field of its message.
    NoField {
        /// The path, up to the part.
        path: String,
        /// Full name of the message.
        message: String,
    },
    /// A path leads into a field that is not a singular message.
    NoMessage {
        /// The path, up to the field.
        path: String,
    },
    /// A path has more than 100 parts.
    TooDeep,
    /// The messages have different types, or one of them cannot be encoded or decoded.
    Message(ReflectError),
    /// The merged message would be invalid.
    Set(SetError),
}

impl fmt::Display for MaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoField { path, message } => {
                write!(f, "the mask has the path `{path}`, but {message} has no such field")
            }
            Self::NoMessage { path } => {
                write!(f, "the mask leads into `{path}`, which is not a singular message")
            }
            Self::TooDeep => write!(f, "the mask has a path of more than {PARTS_MAX} parts"),
            Self::Message(error) => error.fmt(f),
            Self::Set(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for MaskError {}

impl From<ReflectError> for MaskError {
    fn from(error: ReflectError) -> Self {
        Self::Message(error)
    }
}

impl From<SetError> for MaskError {
    fn from(error: SetError) -> Self {
        Self::Set(error)
    }
}

impl FieldMask {
    /// Checks that every path names a field of `M`.
    ///
    /// # Errors
    /// The first path that does not.
    pub fn check<M: Named + 'static>(&self) -> Result<(), MaskError> {
        Tree::of(self, &M::descriptor()).map(drop)
    }

    /// Removes all fields of `message` that the mask does not contain, and the unknown fields of the messages that the
    /// mask leads into: of `message`, and with the path `a.b` of `a`. What a path names whole stays as it is: a message
    /// `a.b` keeps its unknown fields. An empty mask leaves nothing.
    ///
    /// # Errors
    /// [`MaskError`]; nothing changes.
    pub fn apply(&self, message: &mut dyn Reflect) -> Result<(), MaskError> {
        let tree = Tree::of(self, &message.message_type())?;
        let mut dynamic = message.to_dynamic()?;
        tree.trim(&mut dynamic)?;
        Ok(message.assign(&dynamic)?)
    }

    /// Copies the fields that the mask contains from `source` to `target`, which has the same type. A number or text
    /// that the source does not have is cleared. Unknown fields are copied only inside of what a path names whole: with
    /// the path `a.b` those of `a.b`, not those of `a`. An empty mask copies nothing.
    ///
    /// # Errors
    /// [`MaskError`]; nothing changes.
    pub fn merge(
        &self,
        source: &dyn Reflect,
        target: &mut dyn Reflect,
        options: MergeOptions,
    ) -> Result<(), MaskError> {
        let mut into = target.to_dynamic()?;
        let of = into.descriptor().clone();
        let tree = Tree::of(self, &of)?;
        // In the pool of `into`, because only messages of one pool can be put into each other. The target may name
        // another one at the next call.
        let mut from = DynamicMessage::new(of);
        from.assign(source)?;
        tree.merge(&from, &mut into, options)?;
        Ok(target.assign(&into)?)
    }
}

/// The paths of a mask by their first part.
#[derive(Default)]
struct Tree<'p> {
    /// A path ends here: all fields are meant.
    is_whole: bool,
    fields: BTreeMap<&'p str, Self>,
}

impl<'p> Tree<'p> {
    fn of(mask: &'p FieldMask, of: &MessageDescriptor) -> Result<Self, MaskError> {
        let mut root = Self::default();
        for path in &mask.paths {
            if path.split('.').nth(PARTS_MAX).is_some() {
                return Err(MaskError::TooDeep);
            }
            let (mut tree, mut of, mut end) = (&mut root, Some(of.clone()), 0);
            for part in path.split('.') {
                let Some(message) = of else {
                    return Err(MaskError::NoMessage { path: path[..end - 1].to_owned() });
                };
                end += part.len();
                let Some(field) = message.field(part) else {
                    let (path, message) = (path[..end].to_owned(), message.full_name().to_owned());
                    return Err(MaskError::NoField { path, message });
                };
                of = message_of(&field);
                end += 1;
                tree = tree.fields.entry(part).or_default();
            }
            tree.is_whole = true;
        }
        Ok(root)
    }

    fn trim(&self, message: &mut DynamicMessage) -> Result<(), SetError> {
        message.unknown_fields_mut().clear();
        let set: alloc::vec::Vec<_> = message.fields().map(|(field, _)| field).collect();
        for field in set {
            match self.fields.get(field.name()).filter(|_| !field.is_extension()) {
                None => drop(message.clear(&field)),
                Some(tree) if tree.is_whole => {}
                Some(tree) => tree.trim(message.message_mut(&field)?)?,
            }
        }
        Ok(())
    }

    fn merge(
        &self,
        from: &DynamicMessage,
        into: &mut DynamicMessage,
        options: MergeOptions,
    ) -> Result<(), MaskError> {
        for (name, tree) in &self.fields {
            let Some(field) = into.descriptor().field(name) else { continue };
            let theirs = from.get(&field);
            if tree.is_whole {
                merge_field(&field, theirs, into, options)?;
                continue;
            }
            match theirs {
                Some(Value::Message(theirs)) => {
                    tree.merge(theirs, into.message_mut(&field)?, options)?;
                }
                // As if it were there and empty, if there is anything to clear.
                _ if into.has(&field) => {
                    let inner = into.message_mut(&field)?;
                    let empty = DynamicMessage::new(inner.descriptor().clone());
                    tree.merge(&empty, inner, options)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The message that a path can lead into.
fn message_of(field: &FieldDescriptor) -> Option<MessageDescriptor> {
    match field.kind() {
        Kind::Message(message) if !field.is_repeated() => Some(message),
        _ => None,
    }
}

/// Merges one field whole.
fn merge_field(
    field: &FieldDescriptor,
    theirs: Option<&Value>,
    into: &mut DynamicMessage,
    options: MergeOptions,
) -> Result<(), MaskError> {
    let replace = match (field.is_repeated(), message_of(field)) {
        (true, _) => options.replace_repeated,
        (false, Some(_)) => options.replace_messages,
        (false, None) => true,
    };
    match (theirs, into.get(field)) {
        (None, _) if replace => drop(into.clear(field)),
        (None, _) => {}
        (Some(Value::List(more)), Some(Value::List(ours))) if !replace => {
            let all: alloc::vec::Vec<_> = ours.iter().chain(more).cloned().collect();
            into.set(field, all)?;
        }
        (Some(Value::Map(more)), Some(Value::Map(ours))) if !replace => {
            let mut all = ours.clone();
            all.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
            into.set(field, all)?;
        }
        (Some(Value::Message(theirs)), Some(_)) if !replace => {
            let bytes = theirs.try_encode().map_err(ReflectError::Encode)?;
            into.message_mut(field)?.merge(&bytes).map_err(ReflectError::Decode)?;
        }
        (Some(theirs), _) => into.set(field, theirs.clone())?,
    }
    Ok(())
}

#[cfg(test)]
mod tests;
