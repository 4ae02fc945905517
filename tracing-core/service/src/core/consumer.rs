//! Requests of consumers.

use super::Service;
use crate::accounts::User;
use crate::effect_queue::Caller;
use crate::error::SessionError;
use crate::port::ConsumerRequest as Request;
use crate::session::admission::RequestFile;
use crate::session::changing::Changing;
use crate::session::checking::Checking;
use crate::session::clone_request::CloneCall;
use crate::session::flush_request::FlushThen;
use crate::session::{detach, enable, read, set_up, start};
use crate::step::Step;
use crate::work::{Todo, WorkOwner};
use crate::{limits, query, stats, triggers};
use abi::flush_flags::FlushFlags;
use abi::ids::{ClientId, SessionId};

/// The method, for its errors.
const CHANGE: &str = "ChangeTraceConfig";

impl Service {
    pub(super) fn handle_consumer_request(
        &mut self,
        caller: Caller,
        request: Request,
        mut file: RequestFile,
    ) {
        let client = caller.client;
        let owner = WorkOwner::Consumer(client);
        if self.is_consumer_busy(client)
            && let Some(consumer) = self.consumers.get_mut(client)
        {
            let (call, request) = (caller.call, Box::new(request));
            consumer.work.todo.push_back(Todo::ConsumerRequest(call, request, file.take()));
            return self.queue_if_exhausted(owner);
        }
        let (now_ns, per_peer) = (self.cx.now.boot_ns, self.work_queue.per_peer);
        // Most requests take all at once, whatever is left: it waits afterwards.
        let left = self.consumers.get_mut(client).map_or(0, |c| c.work.budget(now_ns, per_peer));
        let before = self.cx.peer_work();
        self.run_consumer_request(caller, request, file, left);
        self.run_steps();
        self.end_request(owner, self.cx.peer_work().saturating_sub(before));
    }

    /// A consumer has received what was sent to it. Its answers go on behind its requests that wait.
    pub(super) fn handle_consumer_drained(&mut self, client: ClientId) {
        let (now_ns, per_peer) = (self.cx.now.boot_ns, self.work_queue.per_peer);
        let Some(consumer) = self.consumers.get_mut(client) else { return };
        if let Some(session) = consumer.session.and_then(|id| self.sessions.get_mut(id)) {
            session.note_sent();
        }
        let work = &mut consumer.work;
        if work.is_queued {
            if !work.todo.iter().any(|todo| matches!(todo, Todo::ContinueReplies)) {
                work.todo.push_back(Todo::ContinueReplies);
            }
            return;
        }
        work.budget(now_ns, per_peer);
        let before = self.cx.peer_work();
        self.continue_streams(client);
        self.run_steps();
        self.charge(WorkOwner::Consumer(client), self.cx.peer_work().saturating_sub(before));
    }

    /// Goes on with answers and packets that were not sent because enough was in flight.
    pub(super) fn continue_streams(&mut self, client: ClientId) {
        let Some(consumer) = self.consumers.get_mut(client) else { return };
        consumer.in_flight_bytes = 0;
        self.continue_queries(client);
        self.continue_read(client);
    }

    /// The connection of a consumer is closed.
    pub(super) fn handle_consumer_disconnected(&mut self, client: ClientId) {
        let mut consumer = self.consumers.get_mut(client);
        if let Some(consumer) = &mut consumer {
            let out = &mut self.cx.out;
            // Nobody takes it any more. A session that is not made yet is not made: else those who come and go at once
            // would leave configs behind faster than they are checked.
            consumer.work.todo.retain_mut(|todo| match todo {
                Todo::ContinueReplies => false,
                Todo::Check(job) => {
                    RequestFile::new(job.file.take()).close(out);
                    false
                }
                _ => true,
            });
        }
        match consumer {
            // What it sent before its end is done first.
            Some(consumer) if !consumer.work.todo.is_empty() => {
                consumer.work.todo.push_back(Todo::ConsumerLeft);
            }
            _ => self.forget_consumer(client),
        }
    }

    /// Forgets a consumer and ends its session.
    pub(super) fn forget_consumer(&mut self, client: ClientId) {
        if let Some(consumer) = self.consumers.get_mut(client) {
            let less = consumer.work.take_counted();
            self.work_queue.release(User::of(&consumer.peer), less);
        }
        let cx = &mut self.cx;
        let session = self.consumers.remove_connection(client, &mut cx.out);
        self.clones.abandon_of(client, cx);
        if let Some(session) = session {
            cx.then(Step::Free { session, reason: None });
        }
    }

    /// Does what a consumer asks for.
    pub(super) fn run_consumer_request(
        &mut self,
        caller: Caller,
        request: Request,
        file: RequestFile,
        left: u64,
    ) {
        let cx = &mut self.cx;
        cx.spend(limits::WORK_PER_REQUEST);
        let client = caller.client;
        let Some(consumer) = self.consumers.get(client) else {
            file.close(&mut cx.out);
            return cx.out.reject(caller);
        };
        let session = consumer.session;
        match request {
            Request::EnableTracing(r) => {
                let (consumers, producers) = (&mut self.consumers, &mut self.producers);
                let job = enable::handle_request(caller, r, file, cx, consumers, producers);
                if let Some(job) = job {
                    self.check_config(client, job, left);
                }
                return;
            }
            Request::CloneSession(r) => {
                let (sessions, consumers) = (&mut self.sessions, &mut self.consumers);
                let (buffers, call) = (&mut self.buffers, CloneCall { caller, request: &r, file });
                return self.clones.handle_request(call, sessions, consumers, buffers, cx);
            }
            _ => file.close(&mut cx.out),
        }
        match request {
            Request::EnableTracing(_) | Request::CloneSession(_) => {}
            Request::DisableTracing(_) => {
                let disable = |session| Step::Disable { session, immediate: false, error: None };
                self.reply_after(caller, session, disable);
            }
            Request::StartTracing(_) => self.reply_after(caller, session, Step::Start),
            Request::FreeBuffers(_) => {
                let free = |session| Step::Free { session, reason: None };
                self.reply_after(caller, session, free);
            }
            Request::ReadBuffers(_) => {
                let (consumers, out) = (&mut self.consumers, &mut cx.out);
                if read::handle_request(caller, consumers, &self.sessions, out) {
                    self.continue_read(client);
                }
            }
            Request::Flush(r) => self.handle_flush_request(caller, session, &r),
            Request::GetTraceStats(_) => self.handle_stats_request(caller, session),
            Request::ObserveEvents(r) => {
                self.handle_observe_request(caller, session, &r.events_to_observe)
            }
            Request::QueryServiceState(r) => {
                let sessions_only = r.sessions_only.unwrap_or(false);
                query::ask(caller, sessions_only, &mut self.consumers);
                self.continue_queries(client);
            }
            Request::QueryCapabilities(_) => query::capabilities(caller, &mut cx.out),
            Request::SaveTraceForBugreport(_) => {
                query::refuse_save_for_bugreport(caller, &mut cx.out)
            }
            Request::Detach(r) => {
                self.handle_detach_request(caller, session, r.key.unwrap_or_default());
            }
            Request::Attach(r) => self.handle_attach_request(caller, &r.key.unwrap_or_default()),
            Request::ChangeTraceConfig(r) => self.handle_change_request(caller, session, r, left),
        }
    }

    /// Checks the config of a session that a consumer asked for, as far as `left` allows.
    pub(super) fn check_config(&mut self, client: ClientId, mut job: Box<Checking>, left: u64) {
        if self.waits_for_memory(client, &job)
            && let Some(consumer) = self.consumers.get_mut(client)
        {
            return consumer.work.todo.push_front(Todo::Check(job));
        }
        let cx = &mut self.cx;
        let checked = job.go_on(left, cx.config.codecs, &mut cx.work);
        if let Ok(None) = checked
            && let Some(consumer) = self.consumers.get_mut(client)
        {
            return consumer.work.todo.push_front(Todo::Check(job));
        }
        enable::handle_check_result(client, *job, checked, &self.sessions, &mut self.consumers, cx);
    }

    /// Whether memory of former sessions of a user has to go before the next one begins. It is on the account of the
    /// user until then, so the next one may have no room.
    pub(super) fn waits_for_memory(&self, client: ClientId, job: &Checking) -> bool {
        let consumer = self.consumers.get(client);
        let is_there = |uid| self.buffers.has_left_over(User::local(uid));
        !job.is_exclusive() && consumer.is_some_and(|consumer| is_there(consumer.peer.uid))
    }

    fn handle_flush_request(
        &mut self,
        caller: Caller,
        session: Option<SessionId>,
        request: &protos::FlushRequest,
    ) {
        // Without a session upstream never answers, and its caller waits for ever.
        let Some(session) = session else { return self.cx.out.reject(caller) };
        let flags = FlushFlags::new(request.flags.unwrap_or(0));
        let timeout_ms = request.timeout_ms.unwrap_or(0).into();
        let then = FlushThen::Reply(caller);
        self.cx.then(Step::Flush { session, timeout_ms, flags, then });
    }

    fn handle_stats_request(&mut self, caller: Caller, session: Option<SessionId>) {
        let totals = self.totals();
        let Some(session) = session.and_then(|id| self.sessions.get_mut(id)) else {
            return self.cx.out.reject(caller);
        };
        let stats = stats::of(session, &self.buffers, &mut self.cx.accounts, &totals);
        let moved =
            session.sequences.take_moved().saturating_mul(limits::MOVED_SEQUENCE_BYTES_READ);
        let writers = stats.writer_stats.len() as u64;
        let response = stats::response(stats);
        self.cx.spend_on_reading(writers, limits::WORK_PER_WRITER_STATS);
        self.cx.spend_on_reading(moved as u64, limits::WORK_PER_READ_BYTE);
        self.cx.spend_on_reading(response.len() as u64, limits::WORK_PER_ENCODED_BYTE);
        self.cx.out.reply(caller, response.into());
    }

    /// A session that is not set up is left when it is: a consumer that attaches then finds one that records.
    fn handle_detach_request(&mut self, caller: Caller, session: Option<SessionId>, key: String) {
        let session = session.and_then(|id| self.sessions.get_mut(id));
        match session.filter(|session| session.is_being_made()) {
            Some(session) => {
                // Only one call can be answered at the end.
                if let Some((older, _)) = session.pending_detach.replace((caller.call, key)) {
                    self.cx.out.reject(Caller { call: older, ..caller });
                }
            }
            None => self.detach(caller, &key),
        }
    }

    pub(super) fn detach(&mut self, caller: Caller, key: &str) {
        let (sessions, consumers) = (&mut self.sessions, &mut self.consumers);
        let result = detach::detach(caller.client, key, sessions, consumers, &mut self.cx);
        self.reply_result(caller, "Detach", result);
    }

    fn handle_attach_request(&mut self, caller: Caller, key: &str) {
        let (sessions, consumers) = (&mut self.sessions, &mut self.consumers);
        match detach::attach(caller.client, key, sessions, consumers, &mut self.cx) {
            Ok(session) => {
                let response = detach::attach_response(session);
                self.cx.out.reply(caller, response.into());
            }
            Err(error) => self.reply_result(caller, "Attach", Err(error)),
        }
    }

    fn handle_change_request(
        &mut self,
        caller: Caller,
        session: Option<SessionId>,
        request: protos::ChangeTraceConfigRequest,
        left: u64,
    ) {
        let session = session.and_then(|id| self.sessions.get(id)).ok_or(SessionError::NoSession);
        match session.and_then(|session| set_up::check_open(session).map(|()| session)) {
            Ok(session) => {
                let asked = request.trace_config.unwrap_or_default();
                let work = &mut self.cx.work;
                let before = *work;
                let job = match Changing::new(session.id, &session.config, &asked, work) {
                    Ok(job) => Box::new(job),
                    Err(error) => {
                        return self.reply_result(caller, CHANGE, Err(error.into()));
                    }
                };
                let left = left.saturating_sub(work.saturating_sub(before));
                self.go_on_changing(caller, job, left);
            }
            Err(error) => self.reply_result(caller, CHANGE, Err(error)),
        }
    }

    /// Compiles the filters that a session gets, as far as `left` allows.
    pub(super) fn go_on_changing(&mut self, caller: Caller, mut job: Box<Changing>, left: u64) {
        let end = self.cx.work.saturating_add(left);
        let (consumers, cx) = (&mut self.consumers, &mut self.cx);
        let compiled = job.go_on(end, &mut cx.work);
        if let Ok(false) = compiled
            && let Some(consumer) = consumers.get_mut(caller.client)
        {
            return consumer.work.todo.push_front(Todo::ChangeConfig(caller.call, job));
        }
        let session = self.sessions.get_mut(job.session).ok_or(SessionError::NoSession);
        let result = compiled.map_err(SessionError::from).and(session).and_then(|session| {
            let offered = (&self.sources, &self.producers);
            set_up::change(session, *job, offered, consumers, cx)
        });
        self.reply_result(caller, CHANGE, result);
    }

    /// Does something with the session of a consumer, if it has one, and answers the call after that.
    fn reply_after(
        &mut self,
        caller: Caller,
        session: Option<SessionId>,
        step: impl FnOnce(SessionId) -> Step,
    ) {
        if let Some(session) = session {
            self.cx.then(step(session));
        }
        self.cx.succeed(caller);
    }

    /// Answers a call. The reply to these methods has no room for the error: the log has.
    fn reply_result(&mut self, caller: Caller, method: &str, result: Result<(), SessionError>) {
        let out = &mut self.cx.out;
        match result {
            Ok(()) => out.reply_empty(caller),
            Err(error) => {
                self.consumers.log_error(caller.client, out, format_args!("{method}: {error}"));
                out.reject(caller);
            }
        }
    }

    fn handle_observe_request(
        &mut self,
        caller: Caller,
        session: Option<SessionId>,
        types: &[protos::ObservableEventsType],
    ) {
        let session = session.and_then(|id| self.sessions.get_mut(id));
        let instances = session.iter().flat_map(|session| session.instances.values());
        let count = session.as_ref().map_or(0, |session| session.instances.len());
        let out = &mut self.cx.out;
        let all_started = self.consumers.observe(caller, types, instances, out);
        if self.consumers.observes_instances(caller.client) {
            self.cx.spend(limits::WORK_PER_OBSERVED_INSTANCE.saturating_mul(count as u64));
        }
        let Some(session) = session else { return };
        if all_started {
            start::check_all_started(session, &mut self.consumers, &mut self.cx);
        }
        triggers::tell_hits(session, &mut self.consumers, &mut self.cx);
    }
}
