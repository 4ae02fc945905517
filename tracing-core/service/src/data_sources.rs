//! Which producer offers which data source.
//!
//! Registrations are kept by name and then in the order they came: a name may be registered many times, by many
//! producers or by one, and each registration is set up for each data source of a config that has its name.

use protos::DataSourceDescriptor;
use protozero::Message as _;

use super::outbox::Outbox;
use super::producers::Producer;
use crate::limits;
use abi::ids::ProducerId;
use abi::map::BlockMap;

/// Names one registration: its producer, and a running number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SourceKey(ProducerId, u64);

impl SourceKey {
    pub(crate) fn producer(self) -> ProducerId {
        self.0
    }
}

/// One registration.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) producer: ProducerId,
    pub(crate) descriptor: DataSourceDescriptor,
    bytes: usize,
}

impl Source {
    pub(crate) fn name(&self) -> &str {
        self.descriptor.name.as_deref().unwrap_or_default()
    }
}

/// All registrations.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    by_key: BlockMap<SourceKey, Source>,
    by_name: BlockMap<String, Vec<SourceKey>>,
    last: u64,
}

impl Sources {
    /// Registrations of exactly that name, oldest first.
    pub(crate) fn of_name(&self, name: &str) -> Vec<SourceKey> {
        self.by_name.get(name).cloned().unwrap_or_default()
    }

    pub(crate) fn get(&self, key: SourceKey) -> Option<&Source> {
        self.by_key.get(&key)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// By name, then oldest first: the order of queries. With `after` only those behind that one, which need not
    /// be there any more.
    pub(crate) fn iter_after(
        &self,
        after: Option<(String, SourceKey)>,
    ) -> impl Iterator<Item = (SourceKey, &Source)> {
        let from = after.as_ref().map_or(String::new(), |(name, _)| name.clone());
        let keys =
            self.by_name.range(from..).flat_map(|(name, keys)| keys.iter().map(move |k| (name, k)));
        keys.filter(move |(name, key)| {
            after.as_ref().is_none_or(|(last, seen)| *name != last || key.1 > seen.1)
        })
        .filter_map(|(_, key)| Some((*key, self.by_key.get(key)?)))
    }

    /// Registers a data source. None, with an error in the log, if that is refused.
    pub(crate) fn register(
        &mut self,
        producer: &mut Producer,
        out: &mut Outbox,
        descriptor: DataSourceDescriptor,
    ) -> Option<SourceKey> {
        let name = descriptor.name.as_deref().unwrap_or_default();
        if name.is_empty() {
            producer.log_error(out, format_args!("data source without a name"));
            return None;
        }
        let own_id = descriptor.id.unwrap_or(0);
        let id = producer.id;
        if own_id != 0 && self.of_producer(id).any(|(_, s)| s.descriptor.id == Some(own_id)) {
            let text = format_args!("data source {name} with id {own_id} is registered already");
            producer.log_error(out, text);
            return None;
        }
        let bytes = descriptor.encode_to_vec().len();
        let sum = producer.source_bytes.saturating_add(bytes);
        if producer.sources >= limits::DATA_SOURCES_PER_PRODUCER_MAX
            || sum > limits::DESCRIPTORS_BYTES_PER_PRODUCER_MAX
        {
            producer.log_error(out, format_args!("too many data sources"));
            return None;
        }
        producer.sources = producer.sources.saturating_add(1);
        producer.source_bytes = sum;
        Some(self.insert(Source { producer: id, descriptor, bytes }))
    }

    /// Replaces a descriptor. Running instances keep what they were set up with.
    pub(crate) fn update(
        &mut self,
        producer: &mut Producer,
        out: &mut Outbox,
        descriptor: DataSourceDescriptor,
    ) {
        let own_id = descriptor.id.unwrap_or(0);
        let name = descriptor.name.as_deref().unwrap_or_default();
        let all = SourceKey(producer.id, 0)..=SourceKey(producer.id, u64::MAX);
        let is_it = |s: &Source| s.descriptor.id == Some(own_id) && s.name() == name;
        let found = self.by_key.range(all).find(|(_, s)| own_id != 0 && is_it(s));
        let key = found.map(|(key, _)| *key);
        let Some(source) = key.and_then(|key| self.by_key.get_mut(&key)) else {
            let text =
                format_args!("update of data source {name} with id {own_id}: not registered");
            return producer.log_error(out, text);
        };
        let bytes = descriptor.encode_to_vec().len();
        let sum = producer.source_bytes.saturating_sub(source.bytes).saturating_add(bytes);
        if sum > limits::DESCRIPTORS_BYTES_PER_PRODUCER_MAX {
            return producer.log_error(out, format_args!("descriptor too large"));
        }
        producer.source_bytes = sum;
        source.bytes = bytes;
        source.descriptor = descriptor;
    }

    /// The oldest registration of that name by that producer.
    pub(crate) fn find(&self, producer: ProducerId, name: &str) -> Option<SourceKey> {
        self.of_producer(producer).find(|(_, s)| s.name() == name).map(|(key, _)| key)
    }

    /// Removes one registration of a producer.
    pub(crate) fn unregister(&mut self, producer: &mut Producer, key: SourceKey) {
        if let Some(source) = self.remove(key) {
            producer.sources = producer.sources.saturating_sub(1);
            producer.source_bytes = producer.source_bytes.saturating_sub(source.bytes);
        }
    }

    /// Removes all registrations of a producer.
    pub(crate) fn unregister_all(&mut self, producer: &mut Producer) {
        let keys: Vec<SourceKey> = self.of_producer(producer.id).map(|(key, _)| key).collect();
        for key in keys {
            self.unregister(producer, key);
        }
    }

    fn insert(&mut self, source: Source) -> SourceKey {
        self.last = self.last.saturating_add(1);
        let key = SourceKey(source.producer, self.last);
        self.by_name.get_or_insert_with(source.name().to_owned(), Vec::new).push(key);
        self.by_key.insert(key, source);
        key
    }

    fn remove(&mut self, key: SourceKey) -> Option<Source> {
        let source = self.by_key.remove(&key)?;
        if let Some(keys) = self.by_name.get_mut(source.name()) {
            keys.retain(|k| *k != key);
            if keys.is_empty() {
                self.by_name.remove(source.name());
            }
        }
        Some(source)
    }

    fn of_producer(&self, producer: ProducerId) -> impl Iterator<Item = (SourceKey, &Source)> {
        let all = SourceKey(producer, 0)..=SourceKey(producer, u64::MAX);
        self.by_key.range(all).map(|(key, source)| (*key, source))
    }
}
