//! The types that a program knows at run time, by name.
//!
//! ```text
//!  add::<M>() ──▶ types ──┐
//!                         ├──▶ Pool of M: what M uses first, then the added types ──▶ MessageDescriptor
//!  descriptor::<M>() ─────┘      built at the first call, kept until a type is added
//! ```

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::any::TypeId;
use core::fmt;
use std::sync::{PoisonError, RwLock};

use crate::descriptor as fixed;
use crate::dynamic::{MessageDescriptor, Pool};

/// Message types by name. JSON, text and reflection find a message's descriptor here, and the types of what is in a
/// `google.protobuf.Any`.
///
/// A type that is used is known with all types that its fields use; nothing must be added for them. Only what is
/// inside an `Any` must be [added](Self::add), once, at the start of the program.
///
/// Each type has a pool, in which its own types come first, so two schemas with equal names do not mix: one of them
/// can be added, and both can be used. Types of different pools differ: two messages of them are not equal, and a
/// message that is set in one of another pool is decoded again, as the type with its name there. After
/// [`add`](Self::add) a type has a new pool. The descriptor of a field selects the field also in messages of the other
/// pool.
pub struct Registry {
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    /// What was added, by full name.
    added: BTreeMap<&'static str, (TypeId, &'static fixed::MessageDescriptor)>,
    /// The descriptors that were asked for.
    built: BTreeMap<TypeId, MessageDescriptor>,
    /// All added types.
    pool: Option<Pool>,
}

impl State {
    fn roots(&self) -> impl Iterator<Item = &'static fixed::MessageDescriptor> {
        self.added.values().map(|(_, schema)| *schema)
    }
}

/// Another type with this full name was added before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NameTaken {
    /// The full name.
    pub full_name: &'static str,
}

impl fmt::Display for NameTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { full_name } = self;
        write!(f, "the registry has another type named {full_name}: add only one of them")
    }
}

impl core::error::Error for NameTaken {}

impl Registry {
    /// An empty registry.
    #[must_use]
    pub const fn new() -> Self {
        let state = State { added: BTreeMap::new(), built: BTreeMap::new(), pool: None };
        Self { state: RwLock::new(state) }
    }

    /// The default registry: that of the functions that take none.
    #[must_use]
    pub fn global() -> &'static Self {
        static GLOBAL: Registry = Registry::new();
        &GLOBAL
    }

    /// Adds the type `this` with this schema.
    pub(crate) fn add_schema(
        &self,
        this: TypeId,
        schema: &'static fixed::MessageDescriptor,
    ) -> Result<(), NameTaken> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        match state.added.get(schema.name) {
            Some((known, _)) if *known == this => return Ok(()),
            Some(_) => return Err(NameTaken { full_name: schema.name }),
            None => {}
        }
        state.added.insert(schema.name, (this, schema));
        // These pools do not contain the new type.
        state.built.clear();
        state.pool = None;
        Ok(())
    }

    /// The descriptor of the type `this` with this schema.
    pub(crate) fn descriptor_of(
        &self,
        this: TypeId,
        schema: &'static fixed::MessageDescriptor,
    ) -> MessageDescriptor {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = state.built.get(&this) {
            return found.clone();
        }
        drop(state);
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let roots: Vec<_> = core::iter::once(schema).chain(state.roots()).collect();
        // The first root is the first message.
        let build = || Pool::from_generated(&roots).message_at(0);
        state.built.entry(this).or_insert_with(build).clone()
    }

    /// The message with this full name: one that was added, or that an added one uses.
    #[must_use]
    pub fn message(&self, full_name: &str) -> Option<MessageDescriptor> {
        if let Some(pool) = &self.state.read().unwrap_or_else(PoisonError::into_inner).pool {
            return pool.message(full_name);
        }
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let roots: Vec<_> = state.roots().collect();
        state.pool.get_or_insert_with(|| Pool::from_generated(&roots)).message(full_name)
    }

    /// The message of a type URL: the part behind the last slash is its full name.
    #[must_use]
    pub fn message_of_url(&self, type_url: &str) -> Option<MessageDescriptor> {
        self.message(type_url.rsplit_once('/')?.1)
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

/// Shows the names of the added types.
impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(state.added.keys()).finish()
    }
}

#[cfg(test)]
mod tests;
