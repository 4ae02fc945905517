//! The types that a program knows at run time, by name.
//!
//! ```text
//!  add::<M>() ──▶ types ──▶ Pool of all added types ◀── a type that is in it
//!                   │
//!                   └──▶ Pool of M: what M uses first, then the added types ◀── another type M
//!                        built at the first call, kept until a type is added
//! ```
//!
//! A pool has a copy of what its types say, so a type takes one that is there, if that pool says the same of the type
//! and all that it uses.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::TypeId;
use core::fmt;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::descriptor as fixed;
use crate::dynamic::origins::{Origins, used_by};
use crate::dynamic::{MessageDescriptor, Pool};
use crate::text::any::ANY;

/// Message types by name. JSON, text and reflection find a message's descriptor here, and the types of what is in a
/// `google.protobuf.Any`.
///
/// A type that is used is known with all types that its fields use; nothing must be added for them. Only what is
/// inside an `Any` must be [added](Self::add), once, at the start of the program.
///
/// Each type has a pool in which its names mean what they mean to it, so two schemas with equal names do not mix: one
/// of them can be added, and both can be used. All added types have one pool, with the types that they use, unless
/// there are such names among them. Another type may have the pool of one that uses it. Any other has a pool of its
/// own, with all that it uses and all added types, and each message in it takes some kilobytes. So if a program uses
/// many types of a large schema, add them.
///
/// Types of different pools differ: two messages of them are not equal, and a message that is set in one of another
/// pool is decoded again, as the type with its name there. After [`add`](Self::add) a type has a new pool. The
/// descriptor of a field selects the field also in messages of the other pool.
pub struct Registry {
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    /// What was added, by full name.
    added: BTreeMap<&'static str, (TypeId, &'static fixed::MessageDescriptor)>,
    /// How often a type was added.
    adds: u64,
    /// The descriptors that were asked for.
    built: BTreeMap<TypeId, MessageDescriptor>,
    /// Their pools that other types can have, too.
    shared: Vec<Made>,
    /// All added types.
    all: Option<Made>,
}

/// A pool, and what it was made of, if no name has two meanings in it.
#[derive(Clone)]
struct Made {
    pool: Pool,
    origins: Option<Arc<Origins>>,
}

impl Made {
    fn new(roots: &[&'static fixed::MessageDescriptor]) -> Self {
        let (pool, origins) = Pool::with_origins(roots);
        Self { pool, origins: origins.map(Arc::new) }
    }

    /// The message of this schema, if the pool says the same of it and of all that it uses.
    fn find(&self, schema: &'static fixed::MessageDescriptor) -> Option<MessageDescriptor> {
        let origins = self.origins.as_ref()?;
        let index = origins.index(schema.name)?;
        origins.cover(&[schema]).then(|| self.pool.message_at(index))
    }
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
        let state = State {
            added: BTreeMap::new(),
            adds: 0,
            built: BTreeMap::new(),
            shared: Vec::new(),
            all: None,
        };
        Self { state: RwLock::new(state) }
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
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
        let mut state = self.write();
        match state.added.get(schema.name) {
            Some((known, _)) if *known == this => return Ok(()),
            Some(_) => return Err(NameTaken { full_name: schema.name }),
            None => {}
        }
        state.added.insert(schema.name, (this, schema));
        // These pools do not contain the new type.
        state.adds += 1;
        state.built.clear();
        state.shared.clear();
        state.all = None;
        Ok(())
    }

    /// The descriptor of the type `this` with this schema.
    pub(crate) fn descriptor_of(
        &self,
        this: TypeId,
        schema: &'static fixed::MessageDescriptor,
    ) -> MessageDescriptor {
        if let Some(found) = self.read().built.get(&this) {
            return found.clone();
        }
        let (all, adds) = self.all();
        let state = self.read();
        let roots: Vec<_> = core::iter::once(schema).chain(state.roots()).collect();
        let is_current = state.adds == adds;
        let shared = state.shared.clone();
        drop(state);
        // Nobody waits while the pool is built. Two threads may build the same one, of which one is kept.
        let mut new = None;
        let found = all.find(schema).or_else(|| {
            // What the text of an `Any` may name must not depend on which type was used first.
            let has_any = !used_by(&[schema], |message| message.name != ANY);
            shared.iter().filter(|_| !has_any).find_map(|made| made.find(schema))
        });
        let found = found.unwrap_or_else(|| {
            let made = new.insert(Made::new(&roots));
            // The first root is the first message.
            made.pool.message_at(0)
        });
        let mut state = self.write();
        if !is_current || state.adds != adds {
            // A type was added meanwhile: the next call builds a pool with it.
            return found;
        }
        if let Some(found) = state.built.get(&this) {
            return found.clone();
        }
        state.shared.extend(new.filter(|made| made.origins.is_some()));
        state.built.insert(this, found.clone());
        found
    }

    /// The pool of all added types, and how often one was added before.
    fn all(&self) -> (Made, u64) {
        let state = self.read();
        let adds = state.adds;
        if let Some(all) = &state.all {
            return (all.clone(), adds);
        }
        let roots: Vec<_> = state.roots().collect();
        drop(state);
        let made = Made::new(&roots);
        let mut state = self.write();
        if state.adds != adds {
            return (made, adds);
        }
        (state.all.get_or_insert(made).clone(), adds)
    }

    /// The message with this full name: one that was added, or that an added one uses.
    #[must_use]
    pub fn message(&self, full_name: &str) -> Option<MessageDescriptor> {
        self.all().0.pool.message(full_name)
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
        let state = self.read();
        f.debug_set().entries(state.added.keys()).finish()
    }
}

#[cfg(test)]
mod tests;
