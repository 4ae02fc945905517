//! The trace buffers of all sessions, by number.

use protos::{
    TraceConfigBufferConfig, TraceConfigBufferConfigExperimentalMode as Mode,
    TraceConfigBufferConfigFillPolicy as FillPolicy,
};

use super::error::{ConfigError, SessionError};
use super::ids::free_id;
use crate::accounts::{Accounts, BufferCharge, User};
use crate::buffer::{Policy, Remains, TraceBuffer, Version};
use crate::config::RegionFactory;
use crate::retired::Retired;
use abi::ids::BufferId;
use abi::map::{BlockSet, SortedMap};
use abi::sync::Arc;

/// Sizes are rounded up to 4 KiB, and offsets have 32 bits.
const V2_KB_MAX: u64 = u32::MAX as u64 / 4096 * 4;

/// The bytes of a buffer that a config asks for, if they are a size that it may have.
pub(crate) fn checked_bytes(config: &TraceConfigBufferConfig) -> Result<u64, SessionError> {
    let bytes = u64::from(config.size_kb.unwrap_or(0)).saturating_mul(1024);
    if bytes == 0 || bytes > u64::from(u32::MAX) {
        let max_kb = (u32::MAX / 1024).into();
        return Err(ConfigError::BufferSize { bytes, max_kb }.into());
    }
    if version(config) == Version::V2 && bytes > V2_KB_MAX * 1024 {
        return Err(ConfigError::BufferSizeV2 { bytes, max_kb: V2_KB_MAX }.into());
    }
    Ok(bytes)
}

fn version(config: &TraceConfigBufferConfig) -> Version {
    match config.experimental_mode {
        Some(Mode::TRACE_BUFFER_V2) => Version::V2,
        _ => Version::V1,
    }
}

/// Makes a buffer as a config asks for it.
fn make_buffer(config: &TraceConfigBufferConfig) -> Result<TraceBuffer, SessionError> {
    let (bytes, version) = (checked_bytes(config)?, version(config));
    let policy = match config.fill_policy {
        Some(FillPolicy::DISCARD) => Policy::Discard,
        _ => Policy::Ring,
    };
    TraceBuffer::new(bytes as usize, policy, version).ok_or(SessionError::NoBufferMemory { bytes })
}

/// What a clone is copied from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopySource {
    /// A buffer of the source session.
    Buffer(BufferId),
    /// A buffer that the source has no more, by number.
    Detached(u64),
}

/// All buffers.
pub(crate) struct Buffers {
    by_id: SortedMap<BufferId, TraceBuffer>,
    /// Those of sessions that are being released, or wait for their files only. What producers still write for them is
    /// late, and no breach of the protocol.
    closed: BlockSet<BufferId>,
    last_id: u16,
    /// Buffers that no session has any more, and that clones are still copied from; what they count for.
    detached_buffers: SortedMap<u64, (BufferCharge, TraceBuffer)>,
    last_detached: u64,
    /// Memory of buffers that are gone.
    retired: Retired,
    regions: Arc<dyn RegionFactory>,
}

impl std::fmt::Debug for Buffers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { by_id, detached_buffers, .. } = self;
        write!(f, "Buffers({by_id:?}, detached: {detached_buffers:?})")
    }
}

impl Buffers {
    pub(crate) fn new(regions: Arc<dyn RegionFactory>) -> Self {
        Self {
            by_id: SortedMap::new(),
            closed: BlockSet::new(),
            last_id: 0,
            detached_buffers: SortedMap::new(),
            last_detached: 0,
            retired: Retired::default(),
            regions,
        }
    }

    /// Makes buffer `id` as a config asks for it.
    pub(crate) fn fresh(
        &self,
        id: BufferId,
        config: &TraceConfigBufferConfig,
    ) -> Result<TraceBuffer, SessionError> {
        let mut buffer = make_buffer(config)?;
        if let Some(fault_in) = self.regions.fault_in() {
            buffer.set_fault_in(fault_in);
        }
        Ok(self.regions.wrap_buffer(id, buffer))
    }

    /// Makes a buffer, and adds it.
    pub(crate) fn add_fresh(
        &mut self,
        config: &TraceConfigBufferConfig,
    ) -> Result<BufferId, SessionError> {
        let id = self.next_id()?;
        let buffer = self.fresh(id, config)?;
        self.by_id.insert(id, buffer);
        Ok(id)
    }

    /// Adds a buffer that a clone took.
    pub(crate) fn add(&mut self, buffer: TraceBuffer) -> Result<BufferId, SessionError> {
        let id = self.next_id()?;
        self.by_id.insert(id, buffer);
        Ok(id)
    }

    /// Whether so many more can be added.
    pub(crate) fn has_numbers(&self, more: usize) -> bool {
        self.by_id.len().saturating_add(more) <= u16::MAX.into()
    }

    /// The next number after the last one given out that is free.
    fn next_id(&mut self) -> Result<BufferId, SessionError> {
        let is_free = |id| !self.by_id.contains_key(&BufferId::new(id));
        let id = free_id(self.last_id, is_free).ok_or(SessionError::TooManyServiceBuffers)?;
        self.last_id = id;
        Ok(BufferId::new(id))
    }

    pub(crate) fn get(&self, id: BufferId) -> Option<&TraceBuffer> {
        self.by_id.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: BufferId) -> Option<&mut TraceBuffer> {
        self.by_id.get_mut(&id)
    }

    /// Drops a buffer that nothing is copied from.
    pub(crate) fn remove(&mut self, id: BufferId) {
        self.closed.remove(&id);
        if let Some(old) = self.by_id.remove(&id) {
            self.retire(old);
        }
    }

    /// Drops a buffer, and frees its memory in pieces.
    pub(crate) fn retire(&mut self, old: TraceBuffer) {
        self.retired.add(old.into_remains());
    }

    /// A number for [`settle`](Self::settle): what is retired from now on.
    pub(crate) fn retired_so_far(&self) -> u64 {
        self.retired.added()
    }

    /// Takes `charge` off its account when all is freed that was retired since [`retired_so_far`](Self::retired_so_far)
    /// was `since`.
    pub(crate) fn settle(&mut self, mut charge: BufferCharge, since: u64, accounts: &mut Accounts) {
        if self.retired.added() == since {
            return charge.release(accounts);
        }
        self.retired.add_charge(charge);
    }

    /// Frees the memory of a buffer in pieces.
    pub(crate) fn retire_memory(&mut self, memory: Vec<u8>) {
        self.retired.add(Remains::of(memory));
    }

    /// Frees a piece of what is retired. Returns how many bytes and sequences it had.
    pub(crate) fn free_piece(&mut self, accounts: &mut Accounts) -> (usize, usize) {
        self.retired.free_piece(accounts)
    }

    pub(crate) fn has_retired(&self) -> bool {
        !self.retired.is_empty()
    }

    /// Whether memory of former sessions of this user is still there: it is not freed yet, or a clone is copied from
    /// it.
    pub(crate) fn has_left_over(&self, user: User) -> bool {
        let is_of = |charge: &BufferCharge| charge.user() == user;
        self.retired.has_of(user) || self.detached_buffers.values().any(|(charge, _)| is_of(charge))
    }

    /// What memory of former sessions is still on the accounts of users.
    pub(crate) fn charges(&self) -> impl Iterator<Item = &BufferCharge> {
        let detached = self.detached_buffers.values().map(|(charge, _)| charge);
        detached.chain(self.retired.charges())
    }

    /// Memory that is still to be freed, bytes.
    pub(crate) fn retired_bytes(&self) -> usize {
        self.retired.bytes()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// The session of a buffer is over: to producers the buffer is gone.
    pub(crate) fn close(&mut self, id: BufferId) {
        if self.by_id.contains_key(&id) {
            self.closed.insert(id);
        }
    }

    /// Whether there is such a buffer, of a session that is not over.
    pub(crate) fn is_open(&self, id: BufferId) -> bool {
        self.by_id.contains_key(&id) && !self.closed.contains(&id)
    }

    pub(crate) fn contains(&self, id: BufferId) -> bool {
        self.by_id.contains_key(&id)
    }

    /// Puts another buffer into the place of one, which is returned.
    pub(crate) fn replace(&mut self, id: BufferId, fresh: TraceBuffer) -> Option<TraceBuffer> {
        Some(std::mem::replace(self.by_id.get_mut(&id)?, fresh))
    }

    /// Empties a buffer that is not being copied: it becomes as `fresh`, in the memory that it has.
    pub(crate) fn empty(&mut self, id: BufferId, mut fresh: TraceBuffer) {
        let Some(place) = self.by_id.get_mut(&id) else { return };
        debug_assert_eq!(place.unfinished_clones(), 0, "clones are copied from it");
        std::mem::swap(place, &mut fresh);
        let mut remains = fresh.into_remains();
        place.use_memory(remains.take_bytes());
        self.retired.add(remains);
    }

    /// Takes a buffer away from its session, or replaces it by a fresh one. While it is being copied it is kept, with
    /// a part of `charge` for what it has; then its number as the source of copies is returned.
    pub(crate) fn detach(
        &mut self,
        id: BufferId,
        charge: &mut BufferCharge,
        fresh: Option<TraceBuffer>,
    ) -> Option<u64> {
        let old = match fresh {
            Some(fresh) => self.by_id.insert(id, fresh),
            None => {
                self.closed.remove(&id);
                self.by_id.remove(&id)
            }
        };
        let old = old?;
        if old.unfinished_clones() == 0 {
            self.retire(old);
            return None;
        }
        self.last_detached = self.last_detached.saturating_add(1);
        let charge = charge.split_off(old.bytes_left());
        self.detached_buffers.insert(self.last_detached, (charge, old));
        Some(self.last_detached)
    }

    pub(crate) fn copy_source(&mut self, source: CopySource) -> Option<&mut TraceBuffer> {
        match source {
            CopySource::Buffer(id) => self.by_id.get_mut(&id),
            CopySource::Detached(number) => self.detached_buffers.get_mut(&number).map(|(_, b)| b),
        }
    }

    /// Drops a detached buffer after the last copy of it.
    pub(crate) fn release_copy_source(&mut self, source: CopySource) {
        if let CopySource::Detached(number) = source
            && self.detached_buffers.get(&number).is_some_and(|(_, b)| b.unfinished_clones() == 0)
            && let Some((charge, old)) = self.detached_buffers.remove(&number)
        {
            self.retire(old);
            self.retired.add_charge(charge);
        }
    }

    pub(crate) fn detached_len(&self) -> usize {
        self.detached_buffers.len()
    }

    /// The buffers of sessions.
    pub(crate) fn in_sessions(&self) -> impl Iterator<Item = &TraceBuffer> {
        self.by_id.values()
    }

    /// All buffers, those included that are kept for copies.
    pub(crate) fn all(&self) -> impl Iterator<Item = &TraceBuffer> {
        self.by_id.values().chain(self.detached_buffers.values().map(|(_, buffer)| buffer))
    }
}
