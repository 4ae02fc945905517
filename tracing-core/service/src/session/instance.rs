//! One data source of one producer, set up for one session.

use bytes::Bytes;

use super::quota::{Full, Owner, Quota};
use crate::accounts::User;
use crate::data_sources::{Behaviour, Source};
use abi::ids::{InstanceId, ProducerId};
use abi::map::BlockMap;
use abi::sync::Arc;

/// By producer, then in the order of set-up: the order of starts, stops and flushes.
pub(crate) type InstanceKey = (ProducerId, InstanceId);

/// Where a data source instance is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InstanceState {
    Configured,
    Starting,
    Started,
    Stopping,
    Stopped,
}

impl InstanceState {
    const COUNT: usize = Self::Stopped as usize + 1;
}

/// A data source of a producer in one session, from its set-up until the session or the producer is gone.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) id: InstanceId,
    pub(crate) producer: ProducerId,
    pub(crate) producer_name: Arc<str>,
    pub(crate) source: Arc<str>,
    state: InstanceState,
    pub(crate) behaviour: Behaviour,
    /// Index of its data source in the config, and of the buffer that this one writes to.
    pub(crate) source_index: usize,
    pub(crate) buffer_index: usize,
    /// Whose quota it takes.
    owner: Owner,
    /// The `DataSourceConfig` as it was sent with the set-up, for the start.
    pub(crate) config: Bytes,
}

impl Instance {
    /// An instance that is set up. `source_index` and `buffer_index` are those of the config.
    pub(crate) fn new(
        id: InstanceId,
        source: &Source,
        producer_name: Arc<str>,
        source_index: usize,
        buffer_index: usize,
        owner: Owner,
        config: Bytes,
    ) -> Self {
        Self {
            id,
            producer: source.producer,
            producer_name,
            source: source.name.clone(),
            state: InstanceState::Configured,
            behaviour: source.behaviour,
            source_index,
            buffer_index,
            owner,
            config,
        }
    }

    pub(crate) fn key(&self) -> InstanceKey {
        (self.producer, self.id)
    }

    pub(crate) fn state(&self) -> InstanceState {
        self.state
    }
}

/// The instances of a session. It counts them by state: whether all have started or stopped is asked after each change
/// of one.
#[derive(Debug)]
pub(crate) struct Instances {
    by_key: BlockMap<InstanceKey, Instance>,
    in_state: [usize; InstanceState::COUNT],
    quota: Quota,
}

impl Instances {
    /// Of a session with at most so many.
    pub(crate) fn new(instances_per_session_max: usize) -> Self {
        Self {
            by_key: BlockMap::new(),
            in_state: [0; InstanceState::COUNT],
            quota: Quota::new(instances_per_session_max),
        }
    }

    /// Whether there may be one more, with a config of so many bytes.
    pub(crate) fn check_quota(&self, owner: Owner, bytes: usize) -> Result<(), Full> {
        self.quota.check(owner, bytes)
    }

    /// Bytes of all configs, counted, and as the quota has them.
    pub(crate) fn config_bytes(&self) -> (usize, usize) {
        let counted = self.by_key.values().map(|instance| instance.config.len()).sum();
        (counted, self.quota.bytes())
    }

    /// The users whose producers have instances, and how many.
    pub(crate) fn users(&self) -> impl Iterator<Item = (User, usize)> + '_ {
        self.quota.users()
    }

    /// How many instances the producers of one user may have.
    pub(crate) fn max_of_user(&self, is_unlimited: bool) -> usize {
        self.quota.instances_max(is_unlimited)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_key.len()
    }

    pub(crate) fn contains(&self, key: &InstanceKey) -> bool {
        self.by_key.contains_key(key)
    }

    pub(crate) fn get(&self, key: &InstanceKey) -> Option<&Instance> {
        self.by_key.get(key)
    }

    /// The one behind another, or the first one.
    pub(crate) fn next_after(&self, key: Option<InstanceKey>) -> Option<&Instance> {
        use std::ops::Bound::{Excluded, Unbounded};
        self.by_key.range((key.map_or(Unbounded, Excluded), Unbounded)).next().map(|(_, i)| i)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Instance> + Clone {
        self.by_key.values()
    }

    /// The instances of one producer.
    pub(crate) fn of_producer(&self, producer: ProducerId) -> impl Iterator<Item = &Instance> {
        let all = (producer, InstanceId::new(0))..=(producer, InstanceId::new(u64::MAX));
        self.by_key.range(all).map(|(_, instance)| instance)
    }

    /// Whether all are in that state; true if there are none.
    pub(crate) fn are_all(&self, state: InstanceState) -> bool {
        self.count_in(state) == self.by_key.len()
    }

    /// How many are in that state.
    pub(crate) fn count_in(&self, state: InstanceState) -> usize {
        self.in_state.get(state as usize).copied().unwrap_or(0)
    }

    pub(crate) fn insert(&mut self, instance: Instance) {
        self.count(instance.state, true);
        self.quota.add(instance.owner, instance.config.len());
        if let Some(older) = self.by_key.insert(instance.key(), instance) {
            self.count(older.state, false);
            self.quota.remove(older.owner, older.config.len());
        }
    }

    /// Takes one out, as it was, and the same as stopped.
    pub(crate) fn remove(&mut self, key: InstanceKey) -> Option<(InstanceState, Instance)> {
        let mut instance = self.by_key.remove(&key)?;
        self.count(instance.state, false);
        self.quota.remove(instance.owner, instance.config.len());
        let was = std::mem::replace(&mut instance.state, InstanceState::Stopped);
        Some((was, instance))
    }

    /// Changes the state of one.
    pub(crate) fn set_state(
        &mut self,
        key: InstanceKey,
        to: impl FnOnce(&Instance) -> InstanceState,
    ) -> Option<&Instance> {
        let instance = self.by_key.get_mut(&key)?;
        let to = to(instance);
        let was = std::mem::replace(&mut instance.state, to);
        self.count(was, false);
        self.count(to, true);
        self.by_key.get(&key)
    }

    /// Takes any of them out.
    pub(crate) fn pop(&mut self) -> Option<Instance> {
        let (key, _) = self.by_key.first_key_value()?;
        let key = *key;
        Some(self.remove(key)?.1)
    }

    fn count(&mut self, state: InstanceState, more: bool) {
        if let Some(n) = self.in_state.get_mut(state as usize) {
            *n = if more { n.saturating_add(1) } else { n.saturating_sub(1) };
        }
    }
}
