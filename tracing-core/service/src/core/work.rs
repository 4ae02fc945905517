//! Work in pieces: takes turns between the owners in the work queue, and does what each of them has to do.

use super::Service;
use crate::accounts::User;
use crate::effect_queue::Caller;
use crate::limits;
use crate::scrape::Uncommitted;
use crate::session::admission::RequestFile;
use crate::session::end_report::EndError;
use crate::session::flush_request::FlushedGroup;
use crate::session::instance::InstanceKey;
use crate::session::life::SetUpWait;
use crate::session::{flush, set_up, start, stop};
use crate::step::Step;
use crate::work::{Piece, Scrape, ScrapeThen, SetUp, Todo, Work, WorkOwner};
use abi::ids::{ClientId, ProducerId, SessionId};

impl Service {
    /// Whether requests of a peer wait. Its next ones should stay with the shell meanwhile: the service keeps them,
    /// however many there are.
    #[must_use]
    pub fn is_busy(&self, client: ClientId) -> bool {
        if self.work_queue.is_empty() {
            return false;
        }
        let producer = self.producers.id_of(client).and_then(|id| self.producers.get(id));
        producer.is_some_and(|p| p.work.is_queued) || self.is_consumer_busy(client)
    }

    /// Whether requests of a consumer wait, for earlier ones or for its session.
    pub(super) fn is_consumer_busy(&self, client: ClientId) -> bool {
        let Some(consumer) = self.consumers.get(client) else { return false };
        let session = || self.sessions.get(consumer.session?);
        consumer.work.is_queued || session().is_some_and(|session| session.work.is_queued)
    }

    /// Whether work of any peer or session, what is to be compressed, or memory that is to be freed, waits for the next
    /// [`handle_timeout`](Self::handle_timeout).
    #[must_use]
    pub fn has_work(&self) -> bool {
        !self.work_queue.is_empty()
            || !self.compression_queue.is_empty()
            || self.buffers.has_retired()
    }

    pub(super) fn work_of(&mut self, owner: WorkOwner) -> Option<&mut Work> {
        match owner {
            WorkOwner::Producer(id) => {
                self.producers.get_mut(id).map(|producer| &mut producer.work)
            }
            WorkOwner::Consumer(client) => {
                self.consumers.get_mut(client).map(|consumer| &mut consumer.work)
            }
            WorkOwner::Session(id) => self.sessions.get_mut(id).map(|session| &mut session.work),
        }
    }

    /// Charges a peer what its event has cost.
    pub(super) fn charge(&mut self, owner: WorkOwner, work: u64) {
        let Some(of) = self.work_of(owner) else { return };
        of.spend(work);
        self.queue_if_exhausted(owner);
    }

    /// Charges a peer for what the transport decoded, and for frames that it answered by itself: these cost what
    /// requests do.
    pub(super) fn handle_frames_decoded(&mut self, client: ClientId, refused: u64, bytes: usize) {
        let owner = match self.producers.id_of(client) {
            Some(id) => WorkOwner::Producer(id),
            None => WorkOwner::Consumer(client),
        };
        let (now_ns, per_peer) = (self.cx.now.boot_ns, self.work_queue.per_peer);
        let Some(work) = self.work_of(owner) else { return };
        work.budget(now_ns, per_peer);
        work.decoded = work.decoded.saturating_add(bytes);
        let decoding = limits::WORK_PER_DECODED_BYTE.saturating_mul(bytes as u64);
        let cost = refused.saturating_mul(limits::WORK_PER_REQUEST).saturating_add(decoding);
        self.cx.spend(cost);
        self.charge(owner, cost);
    }

    /// Queues the work of a peer or session if it has used up its allowance.
    pub(super) fn queue_if_exhausted(&mut self, owner: WorkOwner) {
        let per_peer = self.work_queue.per_peer;
        let Some(work) = self.work_of(owner) else { return };
        if work.must_wait(per_peer) && !work.is_queued {
            work.is_queued = true;
            self.enqueue(owner);
        }
    }

    fn enqueue(&mut self, owner: WorkOwner) {
        let Some(user) = self.user_of(owner) else { return };
        let more = self.work_of(owner).map_or(0, Work::take_uncounted);
        self.work_queue.count(user, more);
        self.work_queue.push(user, owner);
    }

    fn user_of(&self, owner: WorkOwner) -> Option<User> {
        match owner {
            WorkOwner::Producer(id) => {
                self.producers.get(id).map(|producer| User::of(&producer.peer))
            }
            WorkOwner::Consumer(client) => {
                self.consumers.get(client).map(|consumer| User::of(&consumer.peer))
            }
            WorkOwner::Session(id) => self.sessions.get(id).map(|session| User::local(session.uid)),
        }
    }

    /// Charges a peer what its request has cost. Nothing that was decoded is kept for it, unless it waits.
    pub(super) fn end_request(&mut self, owner: WorkOwner, work: u64) {
        let per_peer = self.work_queue.per_peer;
        let Some(of) = self.work_of(owner) else { return };
        of.spend(work);
        if of.decoded > 0 || of.must_wait(per_peer) {
            self.queue_if_exhausted(owner);
            self.forget_decoded(owner);
        }
    }

    /// Nothing that was decoded is kept for a peer, unless it waits.
    fn forget_decoded(&mut self, owner: WorkOwner) {
        let done = self.work_of(owner).filter(|work| !work.is_queued && work.decoded > 0);
        let Some(less) = done.map(Work::take_counted) else { return };
        if let Some(user) = self.user_of(owner) {
            self.work_queue.release(user, less);
        }
    }

    /// Whether a request of a peer may be decoded: a struct takes many times as much as its frame, and may have to wait
    /// here. Bounded are those of each user together, and those of all.
    #[must_use]
    pub fn may_decode(&self, client: ClientId) -> bool {
        if self.work_queue.is_empty() {
            return true;
        }
        let producer = self.producers.id_of(client).map(WorkOwner::Producer);
        let user = self.user_of(producer.unwrap_or(WorkOwner::Consumer(client)));
        user.is_none_or(|user| self.work_queue.may_decode(user))
    }

    /// Does a turn's share of the work that waits.
    pub(super) fn run_queued(&mut self) {
        let end = self.cx.work.saturating_add(self.work_queue.per_turn);
        let mut blocked = 0usize;
        while self.cx.work < end
            && blocked < self.work_queue.len()
            && let Some(owner) = self.work_queue.pop()
        {
            if self.is_blocked(owner) {
                blocked = blocked.saturating_add(1);
                self.cx.spend(limits::WORK_PER_ENTRY);
            } else {
                blocked = 0;
            }
            self.cx.out.about = self.user_of(owner).and_then(User::uid_here);
            self.run_queued_of(owner, end);
        }
    }

    /// Does as much of the work of one peer or session as its allowance lets it, until the work of all is `end`.
    fn run_queued_of(&mut self, owner: WorkOwner, end: u64) {
        let per_peer = self.work_queue.per_peer;
        let Some(work) = self.work_of(owner) else { return };
        let mut left = work.next_allowance(per_peer);
        while left > 0
            && self.cx.work < end
            && !self.is_blocked(owner)
            && let Some(todo) = self.work_of(owner).and_then(|work| work.todo.pop_front())
        {
            let (before, before_of_peer) = (self.cx.work, self.cx.peer_work());
            self.run_todo(owner, todo, left.min(end.saturating_sub(before)));
            self.run_steps();
            let cost = self.cx.work.saturating_sub(before).max(limits::WORK_PER_ENTRY);
            left = left.saturating_sub(cost);
            let charge = match owner {
                WorkOwner::Session(_) => cost,
                _ => self.cx.peer_work().saturating_sub(before_of_peer),
            };
            if let Some(work) = self.work_of(owner) {
                work.spend(charge.max(limits::WORK_PER_ENTRY));
            }
        }
        if let Some(work) = self.work_of(owner) {
            work.is_queued = work.must_wait(per_peer);
            if work.is_queued {
                self.enqueue(owner);
            } else {
                self.forget_decoded(owner);
            }
        }
    }

    /// Whether it is a consumer that cannot go on: its session has work to do first, or it wants one, and memory of
    /// former sessions of its user is not freed yet.
    fn is_blocked(&self, owner: WorkOwner) -> bool {
        let WorkOwner::Consumer(client) = owner else { return false };
        let next = self.consumers.get(client).and_then(|consumer| consumer.work.todo.front());
        if let Some(Todo::Check(job)) = next
            && self.waits_for_memory(client, job)
        {
            return true;
        }
        let session = self.consumers.session_of(client).and_then(|id| self.sessions.get(id));
        session.is_some_and(|session| session.work.is_queued)
    }

    /// # Panics
    /// On work that is not of that owner: an error of the service, whatever peers did.
    fn run_todo(&mut self, owner: WorkOwner, todo: Todo, left: u64) {
        match (owner, todo) {
            (WorkOwner::Producer(id), Todo::ProducerRequest(call, request)) => {
                self.run_request(id, call, *request, left);
            }
            (WorkOwner::Producer(id), Todo::Commit(call, request, from)) => {
                self.commit(id, call, *request, from, left);
            }
            (WorkOwner::Producer(id), Todo::ProducerLeft(found)) => self.leave(id, found, left),
            (WorkOwner::Consumer(client), Todo::ConsumerRequest(call, request, file)) => {
                let caller = Caller { client, call };
                self.run_consumer_request(caller, *request, RequestFile::new(file), left);
            }
            (WorkOwner::Consumer(client), Todo::ChangeConfig(call, job)) => {
                self.go_on_changing(Caller { client, call }, job, left);
            }
            (WorkOwner::Consumer(client), Todo::Check(job)) => self.check_config(client, job, left),
            (WorkOwner::Consumer(client), Todo::ConsumerLeft) => self.forget_consumer(client),
            (WorkOwner::Consumer(client), Todo::ContinueReplies) => self.continue_streams(client),
            (WorkOwner::Session(id), Todo::Scrape(scrape)) => self.scrape(id, scrape, left),
            (WorkOwner::Session(id), Todo::SetUp(job)) => self.continue_set_up(id, job, left),
            (WorkOwner::Session(id), Todo::Start(after)) => self.start_instances(id, after, left),
            (WorkOwner::Session(id), Todo::Stop(after)) => self.stop_instances(id, after, left),
            (WorkOwner::Session(id), Todo::CloneGroup(flushed, from)) => {
                self.take_for_clone(id, flushed, from, left);
            }
            (WorkOwner::Session(id), Todo::Release(reason)) => self.release(id, reason, left),
            (WorkOwner::Producer(id), Todo::SetUpNewSource(call, at)) => {
                self.set_up_new_source(id, call, at, left);
            }
            (WorkOwner::Producer(id), Todo::Remove(call, name)) => {
                self.remove(id, call, name, left)
            }
            (WorkOwner::Producer(id), Todo::Triggers(call, names, from, matches)) => {
                self.activate(id, call, names, (from, matches), left);
            }
            (owner, todo) => unreachable!("{todo:?} is no work of {owner:?}"),
        }
    }

    /// Adds work of a session, and does as much of it as the session may at once.
    pub(super) fn add_session_work(&mut self, id: SessionId, todo: Todo) {
        let (now_ns, per_peer) = (self.cx.now.boot_ns, self.work_queue.per_peer);
        let Some(session) = self.sessions.get_mut(id) else { return };
        if session.work.is_queued {
            return session.work.todo.push_back(todo);
        }
        let left = session.work.budget(now_ns, per_peer);
        if left == 0 {
            session.work.todo.push_back(todo);
        } else {
            let before = self.cx.work;
            self.run_todo(WorkOwner::Session(id), todo, left);
            let cost = self.cx.work.saturating_sub(before);
            self.cx.session_work = self.cx.session_work.saturating_add(cost);
            return self.charge(WorkOwner::Session(id), cost);
        }
        self.queue_if_exhausted(WorkOwner::Session(id));
    }

    /// Does all work of a session at once.
    pub(super) fn finish_work(&mut self, id: SessionId) {
        while let Some(todo) = self.sessions.get_mut(id).and_then(|s| s.work.todo.pop_front()) {
            self.run_todo(WorkOwner::Session(id), todo, u64::MAX);
            self.run_steps();
        }
    }

    /// Begins to scrape the memory of the producers of a session.
    pub(super) fn begin_scrape(&mut self, id: SessionId, then: ScrapeThen) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if let Some(Todo::Scrape(last)) = session.work.todo.back_mut()
            && !last.has_begun()
        {
            // One scrape is enough for both.
            return last.then.push(then);
        }
        self.add_session_work(id, Todo::Scrape(Scrape::new(then)));
    }

    /// Scrapes as far as `left` allows. What follows from it comes when all is scraped.
    fn scrape(&mut self, id: SessionId, mut scrape: Scrape, left: u64) {
        let end = self.cx.work.saturating_add(left);
        let (cx, buffers) = (&mut self.cx, &mut self.buffers);
        let Some(session) = self.sessions.get_mut(id) else { return };
        // Nobody reads what is in the buffers of a session that is freed, but for its file.
        let is_read = session.life.is_reachable() || session.file.is_some();
        let (commits, producers) = (&mut self.commits, &mut self.producers);
        if is_read && !commits.scrape_all(session, &mut scrape, end, producers, buffers, cx) {
            return session.work.todo.push_front(Todo::Scrape(scrape));
        }
        for then in scrape.then {
            match then {
                ScrapeThen::Flush(then, success) => {
                    flush::handle_scrape_end(session, then, success, cx)
                }
                ScrapeThen::End => stop::handle_scrape_end(session, cx),
            }
        }
    }

    /// Sets up data sources for a session, as far as `left` allows.
    fn continue_set_up(&mut self, id: SessionId, mut job: SetUp, left: u64) {
        let end = self.cx.work.saturating_add(left);
        let Some(session) = self.sessions.get_mut(id).filter(|s| s.life.is_reachable()) else {
            return;
        };
        let (producers, consumers) = (&mut self.producers, &mut self.consumers);
        let (sources, cx) = (&self.sources, &mut self.cx);
        if !set_up::continue_set_up(session, &mut job, end, sources, producers, consumers, cx) {
            return session.work.todo.push_front(Todo::SetUp(job));
        }
        if session.life.waits_for(SetUpWait::Sources) {
            set_up::note_unregistered(session, sources, producers, cx);
            session.life.end_wait();
            cx.then(Step::Configured(id));
        }
    }

    /// Starts the instances of a session, as far as `left` allows.
    fn start_instances(&mut self, id: SessionId, after: Option<InstanceKey>, left: u64) {
        let end = self.cx.work.saturating_add(left);
        let Some(session) = self.sessions.get_mut(id).filter(|s| s.life.is_reachable()) else {
            return;
        };
        let (producers, consumers) = (&mut self.producers, &mut self.consumers);
        let next = start::start_instances(session, after, end, producers, consumers, &mut self.cx);
        if next.is_some() {
            session.work.todo.push_front(Todo::Start(next));
        }
    }

    /// Takes the buffers of a group for a clone of a session, as far as `left` allows.
    fn take_for_clone(&mut self, id: SessionId, flushed: FlushedGroup, from: usize, left: u64) {
        let piece = Piece { from, work_end: self.cx.work.saturating_add(left) };
        let (clones, buffers) = (&mut self.clones, &mut self.buffers);
        let (sessions, consumers) = (&mut self.sessions, &self.consumers);
        let next = clones.take_group(flushed, piece, sessions, consumers, buffers, &mut self.cx);
        if let Some(next) = next
            && let Some(session) = self.sessions.get_mut(id)
        {
            session.work.todo.push_front(Todo::CloneGroup(flushed, next));
        }
    }

    /// Stops the instances of a session, as far as `left` allows.
    fn stop_instances(&mut self, id: SessionId, after: Option<InstanceKey>, left: u64) {
        let end = self.cx.work.saturating_add(left);
        let Some(session) = self.sessions.get_mut(id) else { return };
        let (producers, consumers) = (&mut self.producers, &mut self.consumers);
        let next = stop::stop_instances(session, after, end, producers, consumers, &mut self.cx);
        if next.is_some() {
            session.work.todo.push_front(Todo::Stop(next));
        }
    }

    /// Destroys a session. The stop of its instances, and what its file still gets, are done in pieces.
    pub(super) fn free(&mut self, id: SessionId, reason: EndError) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if session.life.begin_end() {
            session.work.todo.retain(|todo| !matches!(todo, Todo::SetUp(_)));
            stop::free(session, reason, &mut self.cx);
        }
    }

    /// Separates a session that is freed from all others, once its instances are stopped; as far as `left` allows.
    fn release(&mut self, id: SessionId, reason: EndError, left: u64) {
        let end = self.cx.work.saturating_add(left);
        let Some(session) = self.sessions.get_mut(id) else { return };
        let (producers, consumers) = (&mut self.producers, &mut self.consumers);
        if session.work.todo.is_empty() {
            session.buffers.iter().for_each(|buffer| self.buffers.close(*buffer));
        }
        if !session.work.todo.is_empty()
            || !stop::release(session, &reason, end, producers, consumers, &mut self.cx)
        {
            session.work.todo.push_back(Todo::Release(reason));
            self.queue_if_exhausted(WorkOwner::Session(id));
        }
    }

    /// Removes what a producer leaves behind, as far as `left` allows.
    pub(super) fn leave(&mut self, id: ProducerId, found: Option<Uncommitted>, left: u64) {
        let end = self.cx.work.saturating_add(left);
        let live = self.sessions.buffers_recorded_by(id);
        let Some(producer) = self.producers.get_mut(id) else { return };
        let (cx, buffers) = (&mut self.cx, &mut self.buffers);
        if let Some(mut found) = found
            && !self.commits.scrape_leaving(producer, &live, &mut found, end, buffers, cx)
        {
            return producer.work.todo.push_front(Todo::ProducerLeft(Some(found)));
        }
        if !self.commits.end_sequences(producer, &live, end, buffers, cx)
            || !self.sources.unregister_all(producer, end, cx)
        {
            return producer.work.todo.push_front(Todo::ProducerLeft(None));
        }
        self.sessions.note_leftovers(producer, cx);
        if !self.remove_instances(id, None, end)
            && let Some(producer) = self.producers.get_mut(id)
        {
            return producer.work.todo.push_front(Todo::ProducerLeft(None));
        }
        if let Some(producer) = self.producers.get_mut(id) {
            producer.release_memory(&mut self.cx);
        }
        self.cx.then(Step::ForgetProducer(id));
    }

    /// Removes instances of a producer, of all its data sources or of one name, until the work of `cx` is `end`.
    /// Returns whether these were all.
    pub(super) fn remove_instances(
        &mut self,
        id: ProducerId,
        name: Option<&str>,
        end: u64,
    ) -> bool {
        const PIECE: usize = 16;
        loop {
            let all = stop::remove_instances(id, name, PIECE, &self.sessions, &mut self.cx);
            self.run_steps();
            if all || self.cx.work >= end {
                return all;
            }
        }
    }
}
