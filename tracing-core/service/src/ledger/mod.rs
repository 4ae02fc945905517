//! What a session lost, whose it was, why and when: one entry for each producer and reason.
//!
//! ```text
//!   producers that leave, are cut or refused ──┐                    ┌──> TraceStats, in the trace and on request
//!   chunks and patches that are refused ───────┼──> Ledger ─────────┼──> the state of the service
//!   instances not set up, or not recorded ─────┤    (of a session)  └──> clones of the session
//!   packets that are left out ─────────────────┤
//!   packets that writers dropped, as they tell ┤
//!   triggers that are not kept or not told ────┤
//!   buffers that a clone took in vain ─────────┘
//! ```
//!
//! The contract: what a producer of a running session wrote is in the trace, in a counter of a buffer (`TraceStats`:
//! overwritten, discarded, dropped by the writer itself), or here. "How much" may be a lower bound, and then says so;
//! that something was lost is never left out. A session that is over loses nothing more, but for
//! what writers tell when they end, and triggers that come later. It is over when what its
//! producers held was taken; what a writer drops until then may be known only by a count of its producer, which is that
//! of all sessions: then the entry says "perhaps", if the count has risen since the session has that producer.
//!
//! Trust: what producers cause cannot grow it beyond [`LEDGER_ENTRIES_MAX`]. Losses of one producer for one reason are
//! one entry. No entry is removed for another one: when the entries of a user, or those of all users, are used up,
//! further losses of them are added up in one entry without a name. Root and the users of the service and of the
//! session have what is left.
//!
//! The ledger logs nothing: a caller that finds a loss adds it with `note_loss` of the session, or of all sessions, and
//! writes the line of the log itself. The words that users see are in `tracing-file/src/losses/entry.rs`.

use protos::{LossLedger, LossLedgerEntry, LossLedgerReason, LossLedgerUnit};

use crate::accounts::User;
use crate::input::{Cut, Peer};
use crate::limits::{
    LEDGER_ENTRIES_MAX, LEDGER_ENTRIES_OF_USERS, LEDGER_ENTRIES_PER_USER, LEDGER_NAME_BYTES_MAX,
};
use crate::matching::clip_to;
use abi::ids::{ClientId, ProducerId};
use abi::map::BlockMap;
use abi::sync::Arc;

/// Why a producer lost something. `REASON_OTHERS`, for losses that have no entry of their own, is none of these, and
/// the reasons of [`OfSession`] are of no producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    /// A producer was gone, and left packets that it had not handed over or not finished.
    LeftUnfinished,
    /// The service disconnected a producer that broke the protocol.
    CutProtocol,
    /// The service disconnected a producer that did not take what the service sent, whose user kept too much, or on
    /// whose socket calls took long.
    CutNotReading,
    /// The service disconnected a producer whose descriptors could not be taken or closed.
    CutDescriptors,
    /// An instance was not set up: the session has as many as there may be.
    SessionFull,
    /// An instance was not set up: producers of its user, or of all users, have as many as they may have.
    UserFull,
    /// An instance was not set up: there was no shared memory for its producer.
    NoMemory,
    /// An instance was not set up: to match the name of its producer took too long.
    NameNotMatched,
    /// A producer does not record an instance: it cannot, or it has as many of the data source as there may be.
    InstanceRefused,
    /// A producer was refused: the service has as many as it can have.
    ProducerRefused,
    /// Chunks were refused: they were for a buffer that is not their producer's, or in memory that its user may not
    /// have.
    ChunksRefused,
    /// Patches were refused: they were not as the protocol wants them.
    PatchesRefused,
    /// A session ended when writers of a producer had begun to drop packets, and it had not told of it yet.
    DroppedAtEnd,
    /// Packets were left out when they were read: readers could not use them, or must not.
    PacketsInvalid,
    /// A producer or an instance was refused: only those of the user of the service are wanted.
    LockedOut,
    /// A producer activated a trigger, and no consumer was told to take the snapshot that the trigger asks for.
    SnapshotNotTaken,
    /// A producer activated a trigger, and the session kept as many as it may until it is read.
    TriggersDropped,
    /// Writers of a producer dropped packets, and it told how many.
    Dropped,
    /// An instance of a producer had not told that it stopped when the session ended.
    StoppedLate,
    /// A producer activated a trigger, and matching its name took too long.
    TriggerNotMatched,
}

/// Why a session lost something that is of no producer: each has one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OfSession {
    /// The file is full: nobody counts what does not get into it.
    FileFull,
    /// A clone took buffers, was not made, and could not put them back; or its file failed, or nobody read it.
    CloneFailed,
    /// State changes of other sessions, or snapshots of the clocks, were not kept until they are read.
    EventsDropped,
}

impl OfSession {
    fn to_proto(self) -> (LossLedgerReason, LossLedgerUnit) {
        use {LossLedgerReason as R, LossLedgerUnit as U};
        match self {
            Self::FileFull => (R::REASON_FILE_FULL, U::UNIT_PACKETS),
            Self::CloneFailed => (R::REASON_CLONE_FAILED, U::UNIT_PACKETS),
            Self::EventsDropped => (R::REASON_EVENTS_DROPPED, U::UNIT_EVENTS),
        }
    }
}

impl From<Cut> for Reason {
    fn from(cut: Cut) -> Self {
        match cut {
            Cut::Protocol => Self::CutProtocol,
            Cut::NotReading => Self::CutNotReading,
            Cut::Descriptors => Self::CutDescriptors,
        }
    }
}

impl Reason {
    /// The reason in the schema, and what its losses count.
    fn to_proto(self) -> (LossLedgerReason, LossLedgerUnit) {
        use {LossLedgerReason as R, LossLedgerUnit as U};
        match self {
            Self::LeftUnfinished => (R::REASON_LEFT_UNFINISHED, U::UNIT_PACKETS),
            Self::CutProtocol => (R::REASON_CUT_PROTOCOL, U::UNIT_PRODUCERS),
            Self::CutNotReading => (R::REASON_CUT_NOT_READING, U::UNIT_PRODUCERS),
            Self::CutDescriptors => (R::REASON_CUT_DESCRIPTORS, U::UNIT_PRODUCERS),
            Self::SessionFull => (R::REASON_SESSION_FULL, U::UNIT_INSTANCES),
            Self::UserFull => (R::REASON_USER_FULL, U::UNIT_INSTANCES),
            Self::NoMemory => (R::REASON_NO_MEMORY, U::UNIT_INSTANCES),
            Self::NameNotMatched => (R::REASON_NAME_NOT_MATCHED, U::UNIT_INSTANCES),
            Self::InstanceRefused => (R::REASON_INSTANCE_REFUSED, U::UNIT_INSTANCES),
            Self::ProducerRefused => (R::REASON_PRODUCER_REFUSED, U::UNIT_PRODUCERS),
            Self::ChunksRefused => (R::REASON_CHUNKS_REFUSED, U::UNIT_CHUNKS),
            Self::PatchesRefused => (R::REASON_PATCHES_REFUSED, U::UNIT_PATCHES),
            Self::DroppedAtEnd => (R::REASON_DROPPED_AT_END, U::UNIT_PACKETS),
            Self::PacketsInvalid => (R::REASON_PACKETS_INVALID, U::UNIT_PACKETS),
            // Whole producers, and instances of those that were connected before.
            Self::LockedOut => (R::REASON_LOCKED_OUT, U::UNIT_LOSSES),
            Self::SnapshotNotTaken => (R::REASON_SNAPSHOT_NOT_TAKEN, U::UNIT_SNAPSHOTS),
            Self::Dropped => (R::REASON_DROPPED, U::UNIT_PACKETS),
            Self::TriggersDropped => (R::REASON_TRIGGERS_DROPPED, U::UNIT_TRIGGERS),
            Self::StoppedLate => (R::REASON_STOPPED_LATE, U::UNIT_PACKETS),
            Self::TriggerNotMatched => (R::REASON_TRIGGER_NOT_MATCHED, U::UNIT_TRIGGERS),
        }
    }
}

/// How much was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    /// In the unit of the reason.
    pub(crate) count: u64,
    /// There may be more.
    pub(crate) at_least: bool,
}

impl Amount {
    /// Nobody knows whether anything was lost.
    pub(crate) const PERHAPS: Self = Self { count: 0, at_least: true };

    pub(crate) fn exactly(count: u64) -> Self {
        Self { count, at_least: false }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.at_least |= other.at_least;
    }
}

/// The producer whose loss it is.
#[derive(Clone, Debug)]
pub(crate) struct LossOwner {
    client: ClientId,
    id: ProducerId,
    name: Arc<str>,
    pid: Option<i32>,
    user: User,
}

impl LossOwner {
    /// A connection; its id is zero if it did not become a producer.
    pub(crate) fn new(client: ClientId, id: ProducerId, name: Arc<str>, peer: &Peer) -> Self {
        Self { client, id, name, pid: peer.pid, user: User::of(peer) }
    }

    pub(crate) fn user(&self) -> User {
        self.user
    }
}

/// One loss.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    pub(crate) who: LossOwner,
    pub(crate) reason: Reason,
    pub(crate) amount: Amount,
    /// The data source that it is about, if it is about one.
    pub(crate) source: Option<Arc<str>>,
}

impl Loss {
    /// A loss of one unit of the reason.
    pub(crate) fn new(who: LossOwner, reason: Reason) -> Self {
        Self { who, reason, amount: Amount::exactly(1), source: None }
    }
}

/// Losses of one producer for one reason.
#[derive(Clone, Debug)]
struct Entry {
    /// None for the sum of those without an entry.
    who: Option<LossOwner>,
    source: Option<Arc<str>>,
    amount: Amount,
    first_ns: u64,
    last_ns: u64,
}

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    entries: BlockMap<(ClientId, Reason), Entry>,
    /// How many of them limited users have.
    by_user: BlockMap<User, usize>,
    of_users: usize,
    others: Option<Entry>,
    of_session: BlockMap<OfSession, Entry>,
}

impl Ledger {
    /// Adds a loss at `at_ns`, boot time, to the entry of its producer and reason. A producer that is `is_unlimited`
    /// may use up all entries.
    pub(crate) fn add(&mut self, loss: Loss, is_unlimited: bool, at_ns: u64) {
        let Loss { who, reason, amount, source } = loss;
        let key = (who.client, reason);
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.amount.add(amount);
            entry.last_ns = at_ns;
            return;
        }
        let (first_ns, last_ns) = (at_ns, at_ns);
        if self.has_room(who.user, is_unlimited) {
            if !is_unlimited {
                self.of_users = self.of_users.saturating_add(1);
                let held = self.by_user.get_or_insert_with(who.user, usize::default);
                *held = held.saturating_add(1);
            }
            // A name may be as long as a frame.
            let source = source.map(|name| clip_to(&name, LEDGER_NAME_BYTES_MAX).into());
            let who = Some(who);
            self.entries.insert(key, Entry { who, source, amount, first_ns, last_ns });
            return;
        }
        let none = Entry { who: None, source: None, amount: Amount::default(), first_ns, last_ns };
        let others = self.others.get_or_insert(none);
        others.amount.add(amount);
        others.last_ns = last_ns;
    }

    /// Adds a loss at `at_ns`, boot time, that is of no producer.
    pub(crate) fn add_of_session(&mut self, reason: OfSession, amount: Amount, at_ns: u64) {
        let (first_ns, last_ns) = (at_ns, at_ns);
        let none =
            || Entry { who: None, source: None, amount: Amount::default(), first_ns, last_ns };
        let entry = self.of_session.get_or_insert_with(reason, none);
        entry.amount.add(amount);
        entry.last_ns = at_ns;
    }

    /// Whether it has a loss that is of no producer.
    pub(crate) fn has_of_session(&self, reason: OfSession) -> bool {
        self.of_session.contains_key(&reason)
    }

    fn has_room(&self, user: User, is_unlimited: bool) -> bool {
        let held = self.by_user.get(&user).copied().unwrap_or(0);
        let fits = held < LEDGER_ENTRIES_PER_USER && self.of_users < LEDGER_ENTRIES_OF_USERS;
        self.entries.len() < LEDGER_ENTRIES_MAX && (is_unlimited || fits)
    }

    /// How many entries it has.
    pub(crate) fn len(&self) -> usize {
        let more = self.of_session.len().saturating_add(self.others.iter().count());
        self.entries.len().saturating_add(more)
    }

    /// As a message. None if nothing was lost.
    pub(crate) fn to_proto(&self) -> Option<LossLedger> {
        if self.len() == 0 {
            return None;
        }
        let own = self.entries.iter().map(|((_, reason), entry)| entry.to_proto(reason.to_proto()));
        let others = (LossLedgerReason::REASON_OTHERS, LossLedgerUnit::UNIT_LOSSES);
        let others = self.others.iter().map(|entry| entry.to_proto(others));
        let of_session =
            self.of_session.iter().map(|(reason, entry)| entry.to_proto(reason.to_proto()));
        let mut entries: Vec<LossLedgerEntry> = own.chain(others).chain(of_session).collect();
        entries.sort_by_key(|entry| entry.first_timestamp);
        Some(LossLedger { entries, ..Default::default() })
    }
}

impl Entry {
    fn to_proto(&self, (reason, unit): (LossLedgerReason, LossLedgerUnit)) -> LossLedgerEntry {
        let name = |name: &Arc<str>| clip_to(name, LEDGER_NAME_BYTES_MAX).to_owned();
        let who = self.who.as_ref();
        let user = who.map(|who| who.user.ids());
        LossLedgerEntry {
            reason: Some(reason),
            producer_name: who.map(|who| name(&who.name)),
            producer_id: who.filter(|who| !who.id.is_none()).map(|who| who.id.get().into()),
            uid: user.map(|(uid, _)| uid.cast_signed()),
            pid: who.and_then(|who| who.pid),
            machine_id: user.map(|(_, machine)| machine).filter(|id| *id != 0),
            data_source_name: self.source.as_ref().map(name),
            first_timestamp: Some(self.first_ns),
            last_timestamp: Some(self.last_ns),
            count: Some(self.amount.count),
            unit: Some(unit),
            at_least: self.amount.at_least.then_some(true),
            ..Default::default()
        }
    }
}

#[cfg(test)]
mod tests;
