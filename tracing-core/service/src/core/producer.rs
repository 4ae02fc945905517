//! Requests of producers.

use super::Service;
use crate::buffer::TraceBuffer;
use crate::commit::Refused;
use crate::data_sources::Unregistered;
use crate::effect_queue::Caller;
use crate::ids::SourceId;
use crate::ledger::{Amount, Loss, Reason};
use crate::limits;
use crate::matching::Matches;
use crate::name_sketch::NameBit;
use crate::port::ProducerRequest as Request;
use crate::producers::Producer;
use crate::scrape::Uncommitted;
use crate::session::{clear, set_up, start, stop};
use crate::step::Step;
use crate::triggers;
use crate::work::{NewSource, Piece, Todo, WorkOwner};
use abi::ids::{CallId, ClientId, FlushId, InstanceId, ProducerId};
use abi::shm::Region;
use protos::{CommitDataRequest, DataSourceDescriptor};

impl Service {
    pub(super) fn handle_producer_request(
        &mut self,
        caller: Caller,
        request: Request,
        region: Option<Region>,
    ) {
        let Caller { client, call } = caller;
        let cx = &mut self.cx;
        if let Request::InitializeConnection(request) = request {
            let brought = region.clone();
            let refused = self.producers.initialize(cx, caller, &request, region);
            if let Some((who, reason)) = refused {
                let loss = Loss::new(who, reason);
                self.sessions.note_loss(None, &loss, cx);
            }
            if let Some(mut region) = brought
                && region.is_alone()
                && let Some(uid) = self.producers.uid_of(client)
            {
                // It was refused.
                cx.out.release_memory(client, uid, region);
            }
            if let Some(id) = self.producers.id_of(client) {
                self.cx.spend(limits::WORK_PER_REQUEST);
                self.charge(WorkOwner::Producer(id), limits::WORK_PER_REQUEST);
            }
            return;
        }
        let Some(id) = self.producers.id_of(client) else { return cx.out.reject(caller) };
        let Some(producer) = self.producers.get_mut(id) else { return };
        if producer.work.is_queued {
            return producer.work.todo.push_back(Todo::ProducerRequest(call, Box::new(request)));
        }
        let left = producer.work.budget(cx.now.boot_ns, self.work_queue.per_peer);
        let before = cx.peer_work();
        self.run_request(id, call, request, left);
        self.run_steps();
        self.end_request(WorkOwner::Producer(id), self.cx.peer_work().saturating_sub(before));
    }

    /// Does what a producer asks for, as far as `left` allows.
    pub(super) fn run_request(
        &mut self,
        id: ProducerId,
        call: Option<CallId>,
        request: Request,
        left: u64,
    ) {
        let cx = &mut self.cx;
        let Some(producer) = self.producers.get_mut(id) else { return };
        let caller = Caller { client: producer.client, call };
        cx.spend(limits::WORK_PER_REQUEST);
        let left = left.saturating_sub(limits::WORK_PER_REQUEST);
        match request {
            Request::RegisterDataSource(r) => {
                let descriptor = r.data_source_descriptor.unwrap_or_default();
                let registered = self.sources.register(producer, cx, &descriptor);
                if let Some(at) = note_registered(registered, &descriptor, producer) {
                    return self.set_up_new_source(id, call, at, left);
                }
            }
            Request::UpdateDataSource(r) => {
                let descriptor = r.data_source_descriptor.unwrap_or_default();
                self.sources.update(producer, cx, &descriptor);
            }
            Request::UnregisterDataSource(r) => {
                let name = r.data_source_name.unwrap_or_default();
                if let Some(source) = self.sources.find(producer, &name) {
                    self.sources.unregister(producer, cx, source);
                    return self.remove(id, call, name, left);
                }
            }
            Request::CommitData(r) => {
                if !producer.set_up {
                    return cx.out.reject(caller);
                }
                return self.commit(id, call, r, 0, left);
            }
            Request::GetAsyncCommand(_) => {
                let Some(call) = call else { return };
                return producer.open_command_stream(&mut cx.out, call);
            }
            Request::RegisterTraceWriter(r) => {
                let writer = r.trace_writer_id.unwrap_or(0);
                let buffer = r.target_buffer.unwrap_or(0);
                let max = cx.config.limits.writers_per_producer_max;
                producer.register_writer(writer, buffer, max, &mut cx.accounts);
            }
            Request::UnregisterTraceWriter(r) => {
                let writer = r.trace_writer_id.unwrap_or(0);
                producer.unregister_writer(writer, &mut cx.accounts);
            }
            Request::NotifyDataSourceStarted(r) => {
                let id = InstanceId::new(r.data_source_id.unwrap_or(0));
                let refused = r.refused == Some(true);
                let (sessions, consumers) = (&mut self.sessions, &mut self.consumers);
                start::handle_instance_started(producer, id, refused, sessions, consumers, cx);
            }
            Request::NotifyDataSourceStopped(r) => {
                let key = (id, InstanceId::new(r.data_source_id.unwrap_or(0)));
                stop::handle_instance_stopped(key, &mut self.sessions, &mut self.consumers, cx);
            }
            Request::ActivateTriggers(r) => {
                return self.activate(id, call, r.trigger_names, (0, Matches::default()), left);
            }
            // The reply comes after all effects of earlier requests.
            Request::Sync(_) | Request::InitializeConnection(_) => {}
        }
        cx.succeed(caller);
    }

    /// Sets a new registration up for the sessions that want it, as far as `left` allows. One that was refused is put
    /// into their ledgers.
    pub(super) fn set_up_new_source(
        &mut self,
        id: ProducerId,
        call: Option<CallId>,
        mut at: NewSource,
        left: u64,
    ) {
        let end = self.cx.work.saturating_add(left);
        let (sources, cx) = (&self.sources, &mut self.cx);
        let (producers, consumers) = (&mut self.producers, &mut self.consumers);
        for session in self.sessions.values_mut().filter(|s| s.id >= at.session) {
            let from = if session.id == at.session { at.index } else { 0 };
            let piece = Piece { from, work_end: end };
            let next = match &at.refused {
                Some(loss) => set_up::note_refused_registration(session, loss, piece, cx),
                None => set_up::set_up_registration(
                    session, at.id, piece, sources, producers, consumers, cx,
                ),
            };
            if let Some(index) = next {
                (at.session, at.index) = (session.id, index);
                let Some(producer) = producers.get_mut(id) else { return };
                return producer.work.todo.push_front(Todo::SetUpNewSource(call, at));
            }
        }
        let Some(producer) = producers.get_mut(id) else { return };
        cx.succeed(Caller { client: producer.client, call });
    }

    /// Removes the instances of a data source that a producer does not offer any more, as far as `left` allows.
    pub(super) fn remove(&mut self, id: ProducerId, call: Option<CallId>, name: String, left: u64) {
        let end = self.cx.work.saturating_add(left);
        let all = self.remove_instances(id, Some(&name), end);
        let Some(producer) = self.producers.get_mut(id) else { return };
        if !all {
            return producer.work.todo.push_front(Todo::Remove(call, name));
        }
        self.cx.succeed(Caller { client: producer.client, call });
    }

    /// Activates triggers from the one at `from` on, with what is matched of that, as far as `left` allows.
    pub(super) fn activate(
        &mut self,
        id: ProducerId,
        call: Option<CallId>,
        names: Vec<String>,
        (from, mut matches): (usize, Matches),
        left: u64,
    ) {
        let cx = &mut self.cx;
        let piece = Piece { from, work_end: cx.work.saturating_add(left) };
        let Some(producer) = self.producers.get_mut(id) else { return };
        let (history, sessions) = (&mut self.trigger_history, &mut self.sessions);
        let next = triggers::activate(history, producer, &names, &mut matches, piece, sessions, cx);
        if let Some(next) = next {
            return producer.work.todo.push_front(Todo::Triggers(call, names, next, matches));
        }
        cx.succeed(Caller { client: producer.client, call });
    }

    /// The connection of a producer is closed; by us, if there is a reason.
    pub(super) fn handle_producer_disconnected(&mut self, client: ClientId, cut: Option<Reason>) {
        let Some(id) = self.producers.remove_connection(client) else { return };
        let Some(producer) = self.producers.get_mut(id) else { return };
        if let Some(reason) = cut {
            let amount = Amount { count: 1, at_least: true };
            let loss = Loss { amount, ..producer.loss(reason) };
            self.sessions.note_loss(Some(id), &loss, &self.cx);
        }
        let leave = Some(Uncommitted::default());
        if producer.work.is_queued {
            // What it sent before its end is done first.
            producer.work.todo.push_back(Todo::ProducerLeft(leave));
        } else {
            let left = producer.work.budget(self.cx.now.boot_ns, self.work_queue.per_peer);
            self.leave(id, leave, left);
            self.queue_if_exhausted(WorkOwner::Producer(id));
        }
        if let Some(producer) = self.producers.get_mut(id).filter(|p| !p.work.todo.is_empty()) {
            self.sessions.note_unseen(producer, &mut self.cx);
        }
        if let Some(producer) = self.producers.get(id).filter(|producer| producer.smb.is_some()) {
            self.cx.out.count_memory(client, producer.peer.uid);
        }
    }

    /// Takes a commit from entry `from` on, as far as `left` allows. What follows from it comes when all is taken.
    pub(super) fn commit(
        &mut self,
        id: ProducerId,
        call: Option<CallId>,
        request: CommitDataRequest,
        from: usize,
        left: u64,
    ) {
        let cx = &mut self.cx;
        let Some(producer) = self.producers.get_mut(id) else { return };
        let client = producer.client;
        let piece = Piece { from, work_end: cx.work.saturating_add(left) };
        let before = self.commits.refused_counts();
        let next = self.commits.commit(producer, &request, piece, &mut self.buffers, cx);
        let producer = match self.commits.has_losses_or_quarters(before) {
            false => producer,
            true => {
                self.note_losses_and_quarters(id, before);
                let Some(producer) = self.producers.get_mut(id) else { return };
                producer
            }
        };
        let cx = &mut self.cx;
        if let Some(next) = next {
            return producer.work.todo.push_front(Todo::Commit(call, Box::new(request), next));
        }
        if let Some(flush) = request.flush_request_id.filter(|flush| *flush != 0) {
            producer.gaps.note_told();
            cx.then(Step::FlushAcked { producer: id, upto: FlushId::new(flush) });
        }
        cx.succeed(Caller { client, call });
    }

    /// Puts into ledgers what a commit lost. Producers may be asked to clear their incremental state if it wrote a
    /// quarter of a ring. `before`: what had been refused before the commit.
    fn note_losses_and_quarters(&mut self, id: ProducerId, before: Refused) {
        let cx = &mut self.cx;
        let Some(producer) = self.producers.get_mut(id) else { return };
        for ((reason, count), (_, before)) in self.commits.refused_counts().into_iter().zip(before)
        {
            if count > before {
                let amount = Amount::exactly(count.saturating_sub(before));
                let loss = Loss { amount, ..producer.loss(reason) };
                self.sessions.note_loss(Some(id), &loss, cx);
            }
        }
        for (buffer, packets) in self.commits.take_dropped() {
            if let Some(session) = self.sessions.of_buffer(buffer) {
                let amount = Amount::exactly(packets);
                session.add_loss(Loss { amount, ..producer.loss(Reason::Dropped) }, cx);
            }
        }
        for ring in self.commits.take_rings_written() {
            let quarters = self.buffers.get_mut(ring).map_or(0, TraceBuffer::take_quarters);
            if let Some(session) = self.sessions.of_buffer(ring) {
                clear::handle_ring_written(session, (ring, quarters), &mut self.producers, cx);
            }
        }
    }
}

/// Notes for the producer whether there was a place for a registration. Returns where its set-up begins, also if there
/// was none.
fn note_registered(
    registered: Result<SourceId, Unregistered>,
    descriptor: &DataSourceDescriptor,
    producer: &mut Producer,
) -> Option<NewSource> {
    match registered {
        Ok(id) => {
            // There was no place for it before.
            producer.unregistered.remove(descriptor.name.as_deref().unwrap_or_default());
            Some(NewSource::new(id))
        }
        Err(Unregistered::Full(name)) => {
            let is_short = name.len() <= limits::LEDGER_NAME_BYTES_MAX;
            if is_short && producer.unregistered.len() < limits::UNREGISTERED_PER_PRODUCER_MAX {
                producer.unregistered.insert(name.clone());
            } else if !producer.unregistered.contains(&*name) {
                producer.more_unregistered.add(NameBit::of(&name));
            }
            let loss = producer.loss(Reason::UserFull);
            Some(NewSource::refused(Loss { source: Some(name), ..loss }))
        }
        Err(Unregistered::Invalid) => None,
    }
}
