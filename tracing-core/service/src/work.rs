//! Work that is done in pieces, so that one peer does not make others wait.
//!
//! ```text
//!                        has an allowance left              uses it up
//!   request ──> handle ───────────────────────> done       ────────────> waits in the work queue
//!                                                                            │
//!   handle_timeout: each owner in the queue gets another allowance  <────────┘
//! ```
//!
//! Work is counted in bytes that are copied ([`limits::WORK_PER_ENTRY`]). A producer, a consumer or a session may cause
//! as much at once as its allowance, which grows with time. What exceeds it waits, and with it all that the peer sends
//! behind: its requests keep their order, and a flush is acknowledged after the chunks before it. The service is due
//! while the queue is not empty. One timeout does a bounded amount of the work, and takes turns between the users in
//! the queue, and between the work of each user. So each user gets the same share, however many connections it has,
//! and a peer that asks for little never waits for one that asks for much.
//!
//! A session owns work of its own, as its consumer may be gone: set-up, start, stop, and the scrape of its producers'
//! memory. Requests of the consumer wait for it.

use std::collections::VecDeque;

use protos::{CommitDataRequest, TraceConfigBufferConfig};

use crate::accounts::User;
use crate::error::SessionError;
use crate::ids::SourceId;
use crate::ledger::Loss;
use crate::limits;
use crate::matching::Matches;
use crate::port::{ConsumerRequest, ProducerRequest};
use crate::scrape::Uncommitted;
use crate::session::changing::Changing;
use crate::session::checking::Checking;
use crate::session::flush_request::{BufferGroup, FlushThen, FlushedGroup};
use crate::shares::Share;
use abi::ids::{CallId, ClientId, FileId, InstanceId, ProducerId, SessionId};
use abi::map::{BlockMap, BlockSet};

/// Something that is to be done, and that waits. Producers, consumers and sessions have work of their own: see
/// `Service::run_todo`.
#[derive(Debug)]
pub(crate) enum Todo {
    ProducerRequest(Option<CallId>, Box<ProducerRequest>),
    /// A commit, and how many of its entries are done.
    Commit(Option<CallId>, Box<CommitDataRequest>, usize),
    /// A producer left. What is in its memory, until that is scraped.
    ProducerLeft(Option<Uncommitted>),
    /// A request of a consumer, with its file.
    ConsumerRequest(Option<CallId>, Box<ConsumerRequest>, Option<FileId>),
    /// The config of a session that a consumer asked for is checked.
    Check(Box<Checking>),
    /// The filters of a session change, as its consumer asked.
    ChangeConfig(Option<CallId>, Box<Changing>),
    ConsumerLeft,
    /// A consumer has received what was sent to it: its answers and its packets go on.
    ContinueReplies,
    /// The memory of the producers of a session is scraped.
    Scrape(Scrape),
    /// Data sources are set up for a session.
    SetUp(SetUp),
    /// The instances of a session are started, from the one behind this one on.
    Start(Option<(ProducerId, InstanceId)>),
    /// The instances of a session are stopped, from the one behind this one on.
    Stop(Option<(ProducerId, InstanceId)>),
    /// A session whose instances stopped is separated from its consumer, for this reason.
    Release(Option<SessionError>),
    /// The buffers of a group are taken for a clone of a session, from the one at this index on.
    CloneGroup(FlushedGroup, usize),
    /// A new data source is set up for all sessions.
    SetUpNewSource(Option<CallId>, NewSource),
    /// A data source of that name is not offered any more: its instances are removed.
    Remove(Option<CallId>, String),
    /// Triggers are activated; the first ones, so many, are done, and the next one is matched so far.
    Triggers(Option<CallId>, Vec<String>, usize, Matches),
}

/// The set-up of the data sources that a config asks for.
#[derive(Debug, Default)]
pub(crate) struct SetUp {
    /// Where it goes on: the index in the config, and the registration that was done last.
    pub(crate) index: usize,
    pub(crate) after: SourceId,
    /// The last registration that it is for; later ones are set up when they come.
    pub(crate) last: SourceId,
    /// For a config that was changed: what is set up already, or will be.
    pub(crate) served: Option<Served>,
}

/// What the set-up for a changed config leaves alone.
#[derive(Debug, Default)]
pub(crate) struct Served {
    /// What is set up, by index in the config.
    pub(crate) instances: BlockSet<(usize, ProducerId)>,
    /// The registrations whose own set-up waited, and where they went on.
    pub(crate) waiting: BlockMap<SourceId, (SessionId, usize)>,
}

impl Served {
    /// Whether a registration of a producer is left alone, for one index in the config of a session.
    pub(crate) fn has(
        &self,
        session: SessionId,
        index: usize,
        source: SourceId,
        producer: ProducerId,
    ) -> bool {
        let is_to_come = |at: &(SessionId, usize)| *at <= (session, index);
        self.instances.contains(&(index, producer))
            || self.waiting.get(&source).is_some_and(is_to_come)
    }
}

/// Where the set-up of a new registration goes on.
#[derive(Debug)]
pub(crate) struct NewSource {
    pub(crate) id: SourceId,
    pub(crate) session: SessionId,
    /// In the config of the session.
    pub(crate) index: usize,
    /// The registration was refused: what is lost for sessions that want it.
    pub(crate) refused: Option<Box<Loss>>,
}

impl NewSource {
    /// The beginning of the set-up of a registration.
    pub(crate) fn new(id: SourceId) -> Self {
        Self { id, session: SessionId::new(0), index: 0, refused: None }
    }

    /// The beginning for a registration that was refused.
    pub(crate) fn refused(loss: Loss) -> Self {
        Self { refused: Some(Box::new(loss)), ..Self::new(SourceId::NONE) }
    }
}

/// A scrape of the memory of all producers of a session.
#[derive(Debug)]
pub(crate) struct Scrape {
    /// The producer it goes on with.
    pub(crate) at: ProducerId,
    /// What is in the memory of that producer.
    pub(crate) found: Uncommitted,
    /// What follows when all is scraped.
    pub(crate) then: Vec<ScrapeThen>,
}

impl Scrape {
    /// A scrape that has not begun.
    pub(crate) fn new(then: ScrapeThen) -> Self {
        Self { at: Self::BEGIN, found: Uncommitted::default(), then: vec![then] }
    }

    const BEGIN: ProducerId = ProducerId::new(0);

    pub(crate) fn has_begun(&self) -> bool {
        self.at != Self::BEGIN
    }

    /// Whether its session ends.
    pub(crate) fn is_for_end(&self) -> bool {
        self.then.iter().any(|then| matches!(then, ScrapeThen::End))
    }

    /// Whether it is for a buffer with this config: the flush of a clone is for those that are taken next. To others it
    /// must add nothing, as what was taken of them may go back to an empty place only.
    pub(crate) fn wants(&self, config: &TraceConfigBufferConfig) -> bool {
        self.then.iter().any(|then| match then {
            ScrapeThen::Flush(FlushThen::Clone(_, group), _) => *group == BufferGroup::of(config),
            ScrapeThen::Flush(..) | ScrapeThen::End => true,
        })
    }

    /// Goes on with this producer, from the beginning if it is another one.
    pub(crate) fn go_on_with(&mut self, id: ProducerId) {
        if id != self.at {
            (self.at, self.found) = (id, Uncommitted::default());
        }
    }
}

/// What follows a scrape.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ScrapeThen {
    /// The rest of a flush, and whether all producers acknowledged it.
    Flush(FlushThen, bool),
    /// The rest of the end of the session.
    End,
}

/// A piece of work on a list: where it begins, and when it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// The index of the first entry.
    pub(crate) from: usize,
    /// The piece is over when all work of the service so far (`Context::work`) is this.
    pub(crate) work_end: u64,
}

/// What has work that can wait in the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WorkOwner {
    Producer(ProducerId),
    Consumer(ClientId),
    Session(SessionId),
}

/// What a peer or a session may cause at once. It grows by one unit of work in a nanosecond. A unit is the copy of a
/// byte, which takes about a third of a nanosecond ([`limits::WORK_PER_ENTRY`]): so one peer alone may use about a
/// third of the time of the service before its work waits.
#[derive(Debug, Default)]
pub(crate) struct Allowance {
    used: u64,
    /// When that was, boot time, ns.
    at_ns: u64,
}

impl Allowance {
    /// What is left of `whole` now.
    pub(crate) fn left(&mut self, now_ns: u64, whole: u64) -> u64 {
        let elapsed = now_ns.saturating_sub(self.at_ns);
        self.at_ns = now_ns;
        self.used = self.used.saturating_sub(elapsed);
        whole.saturating_sub(self.used)
    }

    pub(crate) fn spend(&mut self, work: u64) {
        self.used = self.used.saturating_add(work);
    }
}

/// The work of one peer or session.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub(crate) todo: VecDeque<Todo>,
    allowance: Allowance,
    pub(crate) is_queued: bool,
    /// What was decoded of the requests that wait, bytes.
    pub(crate) decoded: usize,
    /// How many of these bytes the queue has counted for its user.
    counted: usize,
}

impl Work {
    /// The work that it may still cause now.
    pub(crate) fn budget(&mut self, now_ns: u64, allowance: u64) -> u64 {
        self.allowance.left(now_ns, allowance)
    }

    pub(crate) fn spend(&mut self, work: u64) {
        self.allowance.spend(work);
    }

    /// Gives it another allowance. Returns the work that it may do with it.
    pub(crate) fn next_allowance(&mut self, allowance: u64) -> u64 {
        let used = &mut self.allowance.used;
        *used = used.saturating_sub(allowance);
        allowance.saturating_sub(*used)
    }

    /// The registration whose set-up waits, and where it goes on.
    pub(crate) fn new_source(&self) -> Option<(SourceId, (SessionId, usize))> {
        // What has begun is first.
        let Some(Todo::SetUpNewSource(_, at)) = self.todo.front() else { return None };
        Some((at.id, (at.session, at.index)))
    }

    /// Whether the end of a session waits for its scrape.
    pub(crate) fn scrapes_for_end(&self) -> bool {
        let scrapes = |todo: &Todo| matches!(todo, Todo::Scrape(scrape) if scrape.is_for_end());
        self.todo.iter().any(scrapes)
    }

    /// Called when it begins to wait: the decoded bytes that are not counted yet.
    pub(crate) fn take_uncounted(&mut self) -> usize {
        let more = self.decoded.saturating_sub(self.counted);
        self.counted = self.decoded;
        more
    }

    /// Called when it waits no more: the bytes that were counted.
    pub(crate) fn take_counted(&mut self) -> usize {
        self.decoded = 0;
        std::mem::take(&mut self.counted)
    }

    /// Whether it has to wait.
    pub(crate) fn must_wait(&self, allowance: u64) -> bool {
        !self.todo.is_empty() || self.allowance.used >= allowance
    }
}

/// The owners of work that waits.
#[derive(Debug)]
pub(crate) struct WorkQueue {
    /// Users whose work waits, the next one first.
    users: VecDeque<User>,
    /// The owners of each user, the next one first.
    waiting: BlockMap<User, VecDeque<WorkOwner>>,
    len: usize,
    /// What was decoded of the requests of each user that wait, bytes; only of users with some.
    decoded: BlockMap<User, usize>,
    /// What was decoded of the requests of all users that wait, bytes.
    decoded_of_all: usize,
    /// What there may be of both before no further request is decoded.
    pub(crate) decoded_share: Share,
    /// The allowance of an owner, in units of work.
    pub(crate) per_peer: u64,
    /// What one timeout does, in units of work.
    pub(crate) per_turn: u64,
}

impl WorkQueue {
    /// An empty one. `decoded_share`: what requests that wait may take.
    pub(crate) fn new(decoded_share: Share) -> Self {
        Self {
            users: VecDeque::new(),
            waiting: BlockMap::new(),
            len: 0,
            decoded: BlockMap::new(),
            decoded_of_all: 0,
            decoded_share,
            // At least a request: with none at all nobody would ever get on.
            per_peer: limits::WORK_PER_PEER.max(limits::WORK_PER_REQUEST),
            per_turn: limits::WORK_PER_TURN,
        }
    }

    /// Adds an owner of `user` at the end.
    pub(crate) fn push(&mut self, user: User, owner: WorkOwner) {
        let of_user = self.waiting.get_or_insert_with(user, VecDeque::new);
        if of_user.is_empty() {
            self.users.push_back(user);
        }
        of_user.push_back(owner);
        self.len = self.len.saturating_add(1);
    }

    /// Removes the next one. After it comes an owner of another user.
    pub(crate) fn pop(&mut self) -> Option<WorkOwner> {
        let user = self.users.pop_front()?;
        let of_user = self.waiting.get_mut(&user)?;
        let owner = of_user.pop_front();
        if of_user.is_empty() {
            self.waiting.remove(&user);
        } else {
            self.users.push_back(user);
        }
        self.len = self.len.saturating_sub(1);
        owner
    }

    /// Counts so many bytes that were decoded of requests of `user` that wait.
    pub(crate) fn count(&mut self, user: User, more: usize) {
        if more > 0 {
            let of_user = self.decoded.get_or_insert_with(user, || 0);
            *of_user = of_user.saturating_add(more);
            self.decoded_of_all = self.decoded_of_all.saturating_add(more);
        }
    }

    /// The requests of so many decoded bytes are done, or their peer is gone.
    pub(crate) fn release(&mut self, user: User, less: usize) {
        self.decoded_of_all = self.decoded_of_all.saturating_sub(less);
        let Some(of_user) = self.decoded.get_mut(&user) else { return };
        *of_user = of_user.saturating_sub(less);
        if *of_user == 0 {
            self.decoded.remove(&user);
        }
    }

    /// Whether a request of `user` may be decoded, though it may have to wait. One may, of each user.
    pub(crate) fn may_decode(&self, user: User) -> bool {
        let Some(of_user) = self.decoded.get(&user) else { return true };
        let Share { of_one, of_all } = self.decoded_share;
        *of_user < of_one && self.decoded_of_all < of_all
    }

    /// What was decoded of the requests of one user that wait, bytes.
    pub(crate) fn decoded_of(&self, user: User) -> usize {
        self.decoded.get(&user).copied().unwrap_or(0)
    }

    /// What was decoded of all requests that wait, bytes.
    pub(crate) fn decoded(&self) -> usize {
        self.decoded_of_all
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }
}
