//! Which sequence a packet belongs to, and the trusted fields that say so.
//!
//! ```text
//!   a new sequence ──> Numbering ─┬─> room for it ───────────────────────────> the next number
//!                                 ├─> a piece more on the account of the user ─> the next number
//!                                 └─> no room there: half of them are forgotten ─> the next number
//! ```

use protozero::wire::write::Prefix;

use crate::accounts::{Accounts, BufferCharge};
use crate::buffer::{Identity, SequenceKey, loss};
use crate::limits::{self, Limits};
use abi::ids::{ProducerId, WriterId};
use abi::map::BlockMap;
use abi::sync::Arc;

/// The numbers of the sequences of one session, from 2 in the order they are first met; 1 is the service.
///
/// ```text
///   session   [ 80,000, shared ] [ 3,000, shared ] [ 20 of its own ]
///   clone     [ the same       ] [ the same      ] [ none yet      ]
/// ```
///
/// A clone shares what its source knows. Each shared part is more than twice as large as the next one, so there are few
/// of them, and a source that gets a few sequences between its clones shares all but these.
#[derive(Debug)]
pub(crate) struct SequenceIds {
    shared: Vec<Arc<Known>>,
    own: Known,
    next: u32,
    sequences_per_session_max: usize,
    /// By owner and writer: what the next packet of a sequence is to tell, as packets before it were left out. At most
    /// [`limits::LEFT_OUT_PER_SESSION_MAX`].
    left_out: BlockMap<(u32, WriterId), u32>,
    /// What is on an account for them, bytes.
    charged: usize,
    /// Sequences that were copied between maps since the last [`take_moved`](Self::take_moved).
    moved: usize,
}

/// In place of the number of a sequence: its next packet gets a new one.
const NO_NUMBER: u32 = 0;

/// Some sequences.
#[derive(Clone, Debug, Default)]
struct Known {
    /// By owner and writer; [`NO_NUMBER`] if it has none any more.
    ids: BlockMap<(u32, WriterId), u32>,
    /// By id and identity: an id is given out again. An owner has the number of its first sequence.
    owners: BlockMap<(ProducerId, Identity), u32>,
}

impl Known {
    /// About what it takes, bytes.
    fn memory_bytes(&self) -> usize {
        let owners = self.owners.len().saturating_mul(limits::SEQUENCE_OWNER_BYTES);
        self.ids.len().saturating_mul(limits::SEQUENCE_BYTES).saturating_add(owners)
    }

    fn add(&mut self, other: &Self) {
        for (key, id) in &other.ids {
            self.ids.insert(*key, *id);
        }
        for (key, owner) in &other.owners {
            self.owners.insert(*key, *owner);
        }
    }
}

impl SequenceIds {
    pub(crate) fn new(limits: &Limits) -> Self {
        let sequences_per_session_max = limits.sequences_per_session_max;
        let (shared, own, left_out) = (Vec::new(), Known::default(), BlockMap::new());
        Self { shared, own, next: 2, sequences_per_session_max, left_out, charged: 0, moved: 0 }
    }

    /// A copy for a clone. The account of the clone is charged for what the sequences take now.
    pub(crate) fn of_clone(&self) -> Self {
        let (shared, own) = (self.shared.clone(), self.own.clone());
        let left_out = self.left_out.clone();
        Self { shared, own, left_out, charged: self.memory_bytes(), moved: 0, ..*self }
    }

    /// How many are known.
    pub(crate) fn len(&self) -> usize {
        self.parts().map(|part| part.ids.len()).sum()
    }

    /// The largest last.
    fn parts(&self) -> impl Iterator<Item = &Known> {
        [&self.own].into_iter().chain(self.shared.iter().rev().map(Arc::as_ref))
    }

    /// Makes a clone of it cheap: all that is known is shared then, but for what is to be told of packets that were
    /// left out. Returns how many sequences are copied for that.
    pub(crate) fn share(&mut self) -> usize {
        let mut copied = self.left_out.len();
        let mut last = std::mem::take(&mut self.own);
        if last.ids.is_empty() {
            return copied;
        }
        while let Some(older) = self.shared.pop_if(|part| part.ids.len() / 2 <= last.ids.len()) {
            let mut both = Arc::unwrap_or_clone(older);
            both.add(&last);
            last = both;
            copied = copied.saturating_add(last.ids.len());
        }
        self.shared.push(Arc::new(last));
        copied
    }

    /// About what they take, bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let left_out = self.left_out.len().saturating_mul(limits::SEQUENCE_BYTES);
        self.parts().map(Known::memory_bytes).fold(left_out, usize::saturating_add)
    }

    /// How many sequences were copied between maps since the last call. That took time, for which the caller charges.
    pub(crate) fn take_moved(&mut self) -> usize {
        std::mem::take(&mut self.moved)
    }

    /// Whether there is room for one sequence more. `charge` is that of [`has_memory`](Self::has_memory).
    fn has_room(&mut self, charge: impl FnOnce(usize) -> bool) -> bool {
        const ONE: usize = limits::SEQUENCE_BYTES + limits::SEQUENCE_OWNER_BYTES;
        self.len() < self.sequences_per_session_max && self.has_memory(ONE, charge)
    }

    /// Whether there is memory for `more` bytes. `charge` puts so many bytes on the account of a user, unless that is
    /// full.
    fn has_memory(&mut self, more: usize, charge: impl FnOnce(usize) -> bool) -> bool {
        let bytes_max = self.charged.saturating_add(limits::SEQUENCES_PIECE_BYTES);
        if self.memory_bytes().saturating_add(more) <= bytes_max {
            return true;
        }
        let is_charged = charge(limits::SEQUENCES_PIECE_BYTES);
        if is_charged {
            self.charged = bytes_max;
        }
        is_charged
    }

    /// Gives a sequence that is not known the next number.
    fn add(&mut self, sequence: SequenceKey) -> u32 {
        let id = self.next;
        self.next = self.next.checked_add(1).unwrap_or(2);
        let owner = (sequence.producer, sequence.identity);
        let known = self.owner(owner);
        let owner = known.unwrap_or_else(|| *self.own.owners.get_or_insert_with(owner, || id));
        self.own.ids.insert((owner, sequence.writer), id);
        id
    }

    fn owner(&self, owner: (ProducerId, Identity)) -> Option<u32> {
        self.parts().find_map(|part| part.owners.get(&owner)).copied()
    }

    /// What the next packet of a sequence is to tell of packets that were left out.
    fn take_left_out(&mut self, sequence: SequenceKey) -> u32 {
        if self.left_out.is_empty() {
            return 0;
        }
        let owner = self.owner((sequence.producer, sequence.identity));
        owner.and_then(|owner| self.left_out.remove(&(owner, sequence.writer))).unwrap_or(0)
    }

    fn known(&self, sequence: SequenceKey) -> Option<u32> {
        self.entry(sequence).filter(|id| *id != NO_NUMBER)
    }

    /// Its number, or [`NO_NUMBER`]. The newest part tells.
    fn entry(&self, sequence: SequenceKey) -> Option<u32> {
        let owner = self.owner((sequence.producer, sequence.identity))?;
        self.parts().find_map(|part| part.ids.get(&(owner, sequence.writer))).copied()
    }

    /// Forgets half of them at least: those of the users that have the most, and of these the producers that have the
    /// most. A reader knows no names of a sequence with a new number, so a user who makes more and more of them, with
    /// however many producers, must not cost others theirs.
    fn forget(&mut self) {
        let mut parts = std::mem::take(&mut self.shared).into_iter();
        if let Some(largest) = parts.next() {
            // If a clone has it, too, it is copied here.
            let own = std::mem::replace(&mut self.own, Arc::unwrap_or_clone(largest));
            parts.for_each(|part| self.own.add(&part));
            self.own.add(&own);
        }
        let Known { ids, owners } = &mut self.own;
        self.moved = self.moved.saturating_add(ids.len());
        let mut counts = BlockMap::<u32, usize>::new();
        // Those of one owner follow each other.
        let mut keys = ids.keys().peekable();
        while let Some((owner, _)) = keys.next() {
            let more = std::iter::from_fn(|| keys.next_if(|(next, _)| next == owner)).count();
            counts.insert(*owner, more.saturating_add(1));
        }
        drop(keys);
        let user_of = |identity: &Identity| (identity.machine_id, identity.uid);
        let mut of_users = BlockMap::<(u32, u32), usize>::new();
        for ((_, identity), owner) in owners.iter() {
            let of_user = of_users.get_or_insert_with(user_of(identity), || 0);
            *of_user = of_user.saturating_add(counts.get(owner).copied().unwrap_or(0));
        }
        let mut by_count = Vec::with_capacity(counts.len());
        for ((_, identity), owner) in owners.iter() {
            let of_user = of_users.get(&user_of(identity)).copied().unwrap_or(0);
            let count = counts.get(owner).copied().unwrap_or(0);
            by_count.push((of_user, count, *owner));
        }
        by_count.sort_unstable();
        let mut left = ids.len();
        let half = left / 2;
        while left > half
            && let Some((_, count, owner)) = by_count.pop()
        {
            counts.remove(&owner);
            left = left.saturating_sub(count);
        }
        let mut last = None;
        ids.retain(|(owner, _), _| match last {
            Some((known, stays)) if known == *owner => stays,
            _ => last.insert((*owner, counts.contains_key(owner))).1,
        });
        owners.retain(|_, owner| counts.contains_key(owner));
        // A reader knows nothing of a sequence with a new number.
        self.left_out.retain(|(owner, _), _| counts.contains_key(owner));
    }
}

/// Gives the sequences of a session their numbers, on the account of its user.
pub(crate) struct Numbering<'a> {
    pub(crate) ids: &'a mut SequenceIds,
    pub(crate) charge: &'a mut BufferCharge,
    pub(crate) accounts: &'a mut Accounts,
}

impl Numbering<'_> {
    /// The number of a sequence.
    pub(crate) fn id(&mut self, sequence: SequenceKey) -> u32 {
        let Self { ids, charge, accounts } = self;
        if let Some(id) = ids.known(sequence) {
            return id;
        }
        if !ids.has_room(|bytes| charge.add(bytes, accounts).is_ok()) {
            ids.forget();
        }
        ids.add(sequence)
    }

    /// A packet of a sequence is left out, before which `dropped` was lost: the next one is to tell both. If there is
    /// no place for this sequence among those that are to tell such a thing, it gets a new number then, of which a
    /// reader knows nothing that is stale.
    #[cold]
    pub(crate) fn leave_out(&mut self, sequence: SequenceKey, dropped: u32) {
        self.enter(sequence);
        let Self { ids, charge, accounts } = self;
        if !ids.has_memory(limits::SEQUENCE_BYTES, |bytes| charge.add(bytes, accounts).is_ok()) {
            ids.forget();
            self.enter(sequence);
        }
        let Some(owner) = self.ids.owner((sequence.producer, sequence.identity)) else { return };
        let place = (owner, sequence.writer);
        let is_full = self.ids.left_out.len() >= limits::LEFT_OUT_PER_SESSION_MAX;
        if is_full && !self.ids.left_out.contains_key(&place) {
            // Not a new number now: packets that are left out must not use up the numbers.
            self.ids.own.ids.insert(place, NO_NUMBER);
            return;
        }
        let told = self.ids.left_out.get_or_insert_with(place, || 0);
        *told |= dropped | loss::PRESENT;
    }

    /// Has an entry for the sequence, if only without a number.
    fn enter(&mut self, sequence: SequenceKey) {
        if self.ids.entry(sequence).is_none() {
            self.id(sequence);
        }
    }
}

/// Bytes that fit behind a packet in any case: five fields of at most 2 + 10 bytes, rounded up.
pub(crate) const SUFFIX_BYTES: usize = 64;

/// Bytes of a short suffix, at most.
pub(crate) const SUFFIX_SHORT_BYTES: usize = 32;

/// Fields that are put behind those of a packet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Suffix(Prefix<SUFFIX_BYTES>);

impl Suffix {
    pub(crate) const EMPTY: Self = Self(Prefix::new());

    /// The whole array, so that a copy of it has a fixed length.
    #[inline]
    pub(crate) fn padded(&self) -> &[u8; SUFFIX_BYTES] {
        self.0.as_array()
    }

    /// The array of a short suffix, as nearly all are: only users and machines with very large numbers have longer
    /// ones.
    #[inline(always)]
    pub(crate) fn short(&self) -> Option<&[u8; SUFFIX_SHORT_BYTES]> {
        if self.0.len() > SUFFIX_SHORT_BYTES { None } else { self.0.as_array().first_chunk() }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// The trusted fields of a packet, appended so that they win over what a producer may have written. They are encoded
/// once for all packets of a sequence that follow each other.
pub(crate) struct TrustedFields {
    sequence: Option<SequenceKey>,
    plain: Suffix,
    after_loss: Suffix,
}

impl TrustedFields {
    pub(crate) const fn new() -> Self {
        Self { sequence: None, plain: Suffix::EMPTY, after_loss: Suffix::EMPTY }
    }

    /// The fields for a packet of `sequence`; `dropped` says what was lost before it, if not zero.
    #[inline(always)]
    pub(crate) fn of(
        &mut self,
        ids: &mut Numbering<'_>,
        sequence: SequenceKey,
        dropped: u32,
    ) -> &Suffix {
        let mut dropped = dropped;
        if self.sequence != Some(sequence) {
            dropped |= self.encode(ids, sequence);
        }
        if dropped == 0 { &self.plain } else { self.after_loss(dropped) }
    }

    #[cold]
    fn after_loss(&mut self, dropped: u32) -> &Suffix {
        self.after_loss = self.plain.clone();
        // previous_packet_dropped
        self.after_loss.0.uint(42, dropped.into());
        &self.after_loss
    }

    /// A packet is left out: its sequence is looked up again for the next one.
    #[cold]
    pub(crate) fn leave_out(
        &mut self,
        ids: &mut Numbering<'_>,
        sequence: SequenceKey,
        dropped: u32,
    ) {
        self.sequence = None;
        ids.leave_out(sequence, dropped);
    }

    /// Returns what is to be told of packets of the sequence that were left out.
    #[cold]
    fn encode(&mut self, ids: &mut Numbering<'_>, sequence: SequenceKey) -> u32 {
        let Identity { uid, pid, machine_id } = sequence.identity;
        self.sequence = Some(sequence);
        let mut fields = Prefix::new();
        // trusted_uid; negative int32 take ten bytes, as the wire format sign-extends them.
        fields.uint(3, i64::from(uid as i32) as u64);
        // trusted_packet_sequence_id
        fields.uint(10, ids.id(sequence).into());
        if let Some(pid) = pid {
            // trusted_pid
            fields.uint(79, i64::from(pid) as u64);
        }
        if machine_id != 0 {
            // machine_id
            fields.uint(98, machine_id.into());
        }
        self.plain = Suffix(fields);
        ids.ids.take_left_out(sequence)
    }
}

#[cfg(test)]
mod tests;
