//! Requests of producers.

use super::Service;
use crate::limits;
use crate::port::ProducerRequest as Request;
use crate::session::{set_up, start, stop};
use crate::step::Step;
use crate::turn::Turn;
use abi::ids::{BufferId, CallId, ClientId, FlushId, InstanceId, ProducerId, WriterId};
use abi::shm::Region;

impl Service {
    pub(super) fn producer_request(
        &mut self,
        client: ClientId,
        call: Option<CallId>,
        request: Request,
        region: Option<Region>,
    ) {
        let turn = &mut self.turn;
        if let Request::InitializeConnection(request) = request {
            return self.producers.initialize(turn, client, call, &request, region);
        }
        let Some(id) = self.producers.id_of(client) else { return turn.out.reject(client, call) };
        let Some(producer) = self.producers.get_mut(id) else { return };
        match request {
            Request::RegisterDataSource(r) => {
                self.register(id, &r.data_source_descriptor.unwrap_or_default());
                return self.turn.then(Step::ReplySuccess { client, call });
            }
            Request::UpdateDataSource(r) => {
                let descriptor = r.data_source_descriptor.unwrap_or_default();
                self.sources.update(producer, turn, &descriptor);
            }
            Request::UnregisterDataSource(r) => {
                let name = r.data_source_name.unwrap_or_default();
                if let Some(key) = self.sources.find(producer, &name) {
                    self.sources.unregister(producer, turn, key);
                    stop::remove_instances(id, Some(&name), &self.sessions, turn);
                }
            }
            Request::CommitData(r) => {
                if !producer.set_up {
                    return turn.out.reject(client, call);
                }
                let Turn { accounts, out, .. } = turn;
                self.commits.commit(producer, &r, &mut self.buffers, (accounts, out));
                if let Some(flush) = r.flush_request_id.filter(|flush| *flush != 0) {
                    turn.then(Step::FlushAcked { producer: id, upto: FlushId::new(flush) });
                }
            }
            Request::GetAsyncCommand(_) => {
                let Some(call) = call else { return };
                return producer.open_command_stream(&mut turn.out, call);
            }
            Request::RegisterTraceWriter(r) => {
                // Both are u32 on the wire and 16 bits in the ABI; upstream truncates, and so does this.
                let writer = WriterId::new(r.trace_writer_id.unwrap_or(0) as u16);
                let buffer = BufferId::new(r.target_buffer.unwrap_or(0) as u16);
                if producer.writers.len() < limits::WRITERS_PER_PRODUCER_MAX {
                    producer.writers.insert(writer, buffer);
                }
            }
            Request::UnregisterTraceWriter(r) => {
                producer.writers.remove(&WriterId::new(r.trace_writer_id.unwrap_or(0) as u16));
            }
            Request::NotifyDataSourceStarted(r) => {
                let key = (id, InstanceId::new(r.data_source_id.unwrap_or(0)));
                start::instance_started(key, &mut self.sessions, &mut self.consumers, turn);
            }
            Request::NotifyDataSourceStopped(r) => {
                let key = (id, InstanceId::new(r.data_source_id.unwrap_or(0)));
                stop::instance_stopped(key, &mut self.sessions, &mut self.consumers, turn);
            }
            Request::ActivateTriggers(r) => {
                self.triggers.activate(producer, &r.trigger_names, &mut self.sessions, turn);
            }
            // The reply comes after all effects of earlier requests.
            Request::Sync(_) | Request::InitializeConnection(_) => {}
        }
        turn.then(Step::ReplySuccess { client, call });
    }

    /// Registers a data source, and sets it up for the sessions that want it.
    fn register(&mut self, id: ProducerId, descriptor: &protos::DataSourceDescriptor) {
        let turn = &mut self.turn;
        let Some(producer) = self.producers.get_mut(id) else { return };
        let Some(key) = self.sources.register(producer, turn, descriptor) else { return };
        let (producers, consumers) = (&mut self.producers, &mut self.consumers);
        for session in self.sessions.values_mut() {
            set_up::registered(session, key, &self.sources, producers, consumers, turn);
        }
    }

    pub(super) fn producer_disconnected(&mut self, client: ClientId) {
        let Some(id) = self.producers.disconnected(client) else { return };
        let Some(producer) = self.producers.get_mut(id) else { return };
        let turn = &mut self.turn;
        let (commits, buffers) = (&mut self.commits, &mut self.buffers);
        commits.scrape_leaving(producer, buffers, &mut turn.out);
        producer.release_memory(&mut turn.accounts);
        self.sources.unregister_all(producer, turn);
        stop::remove_instances(id, None, &self.sessions, turn);
        turn.then(Step::ForgetProducer(id));
    }
}
