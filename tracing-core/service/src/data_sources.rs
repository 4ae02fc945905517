//! Which producer offers which data source.
//!
//! Registrations are kept by name and then in the order they came: a name may be registered many times, by many
//! producers or by one, and each registration is set up for each data source of a config that has its name.
//!
//! A descriptor is kept as encoded bytes, because its struct may take hundreds of times as much memory. All that the
//! service asks of it is taken out when it comes. Each producer has an index of its own registrations: what it
//! registers, removes, or leaves behind costs in proportion to the logarithm of what all others have.

use bytes::Bytes;
use protos::DataSourceDescriptor;
use protozero::Message as _;

use super::accounts::{Resource, User};
use super::context::Context;
use super::ids::SourceId;
use super::producers::{ByName, Producer};
use crate::limits;
use crate::matching::clip_to;
use abi::ids::ProducerId;
use abi::map::BlockMap;
use abi::sync::Arc;

/// A registration is in three maps, or four.
const ENTRIES: u64 = 4 * limits::WORK_PER_ENTRY;

/// What a descriptor says of the life of its instances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Behaviour {
    pub(crate) notifies_start: bool,
    pub(crate) notifies_stop: bool,
    pub(crate) clears_state: bool,
    pub(crate) no_flush: bool,
}

impl Behaviour {
    fn of(descriptor: &DataSourceDescriptor) -> Self {
        Self {
            notifies_start: descriptor.will_notify_on_start.unwrap_or(false),
            notifies_stop: descriptor.will_notify_on_stop.unwrap_or(false),
            clears_state: descriptor.handles_incremental_state_clear.unwrap_or(false),
            no_flush: descriptor.no_flush.unwrap_or(false),
        }
    }
}

/// Why a data source was not registered.
#[derive(Debug)]
pub(crate) enum Unregistered {
    /// The data source has no name, or the number of another one.
    Invalid,
    /// The producer, its user or all users have as many as there may be. Contains the name of the data source.
    Full(Arc<str>),
}

/// One registration.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) producer: ProducerId,
    pub(crate) name: Arc<str>,
    /// The number that its producer gave it, zero for none.
    pub(crate) own_id: u64,
    pub(crate) behaviour: Behaviour,
    /// The encoded `DataSourceDescriptor`.
    pub(crate) descriptor: Bytes,
}

impl Source {
    fn new(producer: ProducerId, name: Arc<str>, descriptor: &DataSourceDescriptor) -> Self {
        Self {
            producer,
            name,
            own_id: descriptor.id.unwrap_or(0),
            behaviour: Behaviour::of(descriptor),
            descriptor: descriptor.encode_to_vec().into(),
        }
    }

    /// What it takes, bytes.
    fn bytes(&self) -> usize {
        let names = self.name.len().saturating_add(limits::SOURCE_BYTES);
        self.descriptor.len().saturating_add(names)
    }
}

/// All registrations.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    by_id: BlockMap<SourceId, Source>,
    by_name: ByName,
    last: SourceId,
}

impl Sources {
    /// Registrations of exactly that name, oldest first, behind `after`.
    pub(crate) fn of_name_after(
        &self,
        name: &str,
        after: SourceId,
    ) -> impl Iterator<Item = SourceId> + use<'_> {
        let name: Arc<str> = name.into();
        let range = (name.clone(), after.next())..=(name, SourceId::MAX);
        self.by_name.range(range).map(|((_, id), ())| *id)
    }

    /// The newest registration.
    pub(crate) fn last(&self) -> SourceId {
        self.last
    }

    pub(crate) fn get(&self, id: SourceId) -> Option<&Source> {
        self.by_id.get(&id)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// What all of them take, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.by_id.values().map(Source::bytes).sum()
    }

    /// By name, then oldest first: the order of queries. With `after` only those behind that one, which need not
    /// be there any more.
    pub(crate) fn iter_after(
        &self,
        after: Option<(Arc<str>, SourceId)>,
    ) -> impl Iterator<Item = (SourceId, &Source)> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = after.map_or(Unbounded, Excluded);
        let all = self.by_name.range((from, Unbounded));
        all.filter_map(|((_, id), ())| Some((*id, self.by_id.get(id)?)))
    }

    /// Registers a data source.
    ///
    /// # Errors
    /// Why the data source is refused, which the log has, too.
    pub(crate) fn register(
        &mut self,
        producer: &mut Producer,
        cx: &mut Context,
        descriptor: &DataSourceDescriptor,
    ) -> Result<SourceId, Unregistered> {
        let out = &mut cx.out;
        let name = descriptor.name.as_deref().unwrap_or_default();
        if name.is_empty() {
            producer.log_error(out, format_args!("data source without a name"));
            return Err(Unregistered::Invalid);
        }
        // A name may be as long as a frame.
        let shown = clip_to(name, limits::LEDGER_NAME_BYTES_MAX);
        let own_id = descriptor.id.unwrap_or(0);
        if own_id != 0 && producer.own_ids.contains_key(&own_id) {
            let text = format_args!("data source {shown} with id {own_id} is registered already");
            producer.log_error(out, text);
            return Err(Unregistered::Invalid);
        }
        let source = Source::new(producer.id, name.into(), descriptor);
        let bytes = source.bytes();
        // Also if it is refused: it was encoded.
        cx.spend(ENTRIES.saturating_add(bytes as u64));
        let Context { accounts, out, config, .. } = cx;
        if producer.sources.len() >= config.limits.data_sources_per_producer_max {
            producer.log_error(out, format_args!("too many data sources"));
            return Err(Unregistered::Full(source.name));
        }
        let user = User::of(&producer.peer);
        if let Err(no_room) = accounts.charge(user, Resource::SourcesAndWriters, bytes) {
            let text = format_args!("data source {shown} is not registered: {no_room}");
            producer.log_error(out, text);
            return Err(Unregistered::Full(source.name));
        }
        // Their number has no limit of its own: the account only counts them.
        let _ = accounts.charge(user, Resource::Registrations, 1);
        self.last = self.last.next();
        let id = self.last;
        if own_id != 0 {
            producer.own_ids.insert(own_id, id);
        }
        producer.sources.insert((source.name.clone(), id), ());
        self.by_name.insert((source.name.clone(), id), ());
        self.by_id.insert(id, source);
        Ok(id)
    }

    /// Replaces a descriptor. Running instances keep what they were set up with.
    pub(crate) fn update(
        &mut self,
        producer: &mut Producer,
        cx: &mut Context,
        descriptor: &DataSourceDescriptor,
    ) {
        let Context { accounts, out, .. } = cx;
        let own_id = descriptor.id.unwrap_or(0);
        let name = descriptor.name.as_deref().unwrap_or_default();
        let source = producer.own_ids.get(&own_id).and_then(|id| self.by_id.get_mut(id));
        let Some(source) = source.filter(|source| *source.name == *name) else {
            let shown = clip_to(name, limits::LEDGER_NAME_BYTES_MAX);
            let text =
                format_args!("update of data source {shown} with id {own_id}: not registered");
            return producer.log_error(out, text);
        };
        let new = Source::new(producer.id, source.name.clone(), descriptor);
        let user = User::of(&producer.peer);
        cx.work = cx.work.saturating_add(new.bytes() as u64);
        accounts.release(user, Resource::SourcesAndWriters, source.bytes());
        if accounts.charge(user, Resource::SourcesAndWriters, new.bytes()).is_ok() {
            *source = new;
        } else {
            // It had this much before.
            let _ = accounts.charge(user, Resource::SourcesAndWriters, source.bytes());
            let shown = clip_to(name, limits::LEDGER_NAME_BYTES_MAX);
            producer.log_error(out, format_args!("the new descriptor of {shown} is too large"));
        }
    }

    /// The oldest registration of that name by that producer.
    pub(crate) fn find(&self, producer: &Producer, name: &str) -> Option<SourceId> {
        let name: Arc<str> = name.into();
        let range = (name.clone(), SourceId::NONE)..=(name, SourceId::MAX);
        producer.sources.range(range).next().map(|((_, id), ())| *id)
    }

    /// Removes one registration of a producer.
    pub(crate) fn unregister(&mut self, producer: &mut Producer, cx: &mut Context, id: SourceId) {
        cx.spend(ENTRIES);
        let Some(source) = self.by_id.remove(&id) else { return };
        let user = User::of(&producer.peer);
        cx.accounts.release(user, Resource::SourcesAndWriters, source.bytes());
        cx.accounts.release(user, Resource::Registrations, 1);
        producer.own_ids.remove(&source.own_id);
        let by_name = (source.name, id);
        self.by_name.remove(&by_name);
        producer.sources.remove(&by_name);
    }

    /// Removes registrations of a producer until the work of `cx` is `end`. Returns whether these were all.
    pub(crate) fn unregister_all(
        &mut self,
        producer: &mut Producer,
        end: u64,
        cx: &mut Context,
    ) -> bool {
        while let Some(((_, id), ())) = producer.sources.pop_first() {
            self.unregister(producer, cx, id);
            if cx.work >= end {
                return producer.sources.is_empty();
            }
        }
        true
    }
}
