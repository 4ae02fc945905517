//! The thread that calls the data sources.

use std::collections::VecDeque;

use protos::producer_port::Request;
use protos::{NotifyDataSourceStartedRequest, NotifyDataSourceStoppedRequest};

use super::event::{Setup, SharedSource, SourceEvent};
use super::queue::Receiver;
use crate::data_source::{Ack, FlushRequest, Instance};
use crate::write::Arbiter;
use abi::ids::{FlushId, InstanceId};
use abi::map::SortedMap;
use abi::sync::{Arc, Mutex, lock};

struct Running {
    instance: Instance,
    source: SharedSource,
    arbiter: Option<Arbiter>,
    started: bool,
}

impl Running {
    /// Stops the data source, which acknowledges it when its data is written.
    fn stop(self, id: InstanceId) {
        let arbiter = self.arbiter.clone();
        let done = Ack::new(move || {
            if let Some(arbiter) = arbiter {
                arbiter.send(Request::NotifyDataSourceStopped(NotifyDataSourceStoppedRequest {
                    data_source_id: Some(id.get()),
                    ..Default::default()
                }));
            }
        });
        if self.started {
            lock(&self.source).stop(&self.instance, done);
        }
    }
}

pub(super) struct Dispatcher {
    inbox: Receiver<SourceEvent>,
    instances: SortedMap<InstanceId, Running>,
    flushes: Arc<Mutex<Flushes>>,
}

impl Dispatcher {
    pub(super) fn new(inbox: Receiver<SourceEvent>) -> Self {
        Self { inbox, instances: SortedMap::new(), flushes: Arc::default() }
    }

    pub(super) fn run(mut self) {
        while let Some(event) = self.inbox.recv() {
            if !self.take(event) {
                break;
            }
        }
        self.stop_all();
    }

    /// Handles the events that wait, without waiting for more; false if there were none.
    pub(super) fn poll(&mut self) -> bool {
        let mut any = false;
        while let Some(event) = self.inbox.try_recv() {
            any = true;
            self.take(event);
        }
        any
    }

    /// Handles one event; false if it was the last.
    fn take(&mut self, event: SourceEvent) -> bool {
        match event {
            SourceEvent::Setup(setup) => self.setup(setup),
            SourceEvent::Start(setup) => self.start(setup),
            SourceEvent::Stop(id) => self.stop(id),
            SourceEvent::Flush { arbiter, id, instances, flags } => {
                self.flush(arbiter, id, &instances, flags);
            }
            SourceEvent::Clear(ids) => {
                for running in ids.iter().filter_map(|id| self.instances.get(id)) {
                    lock(&running.source).clear_incremental_state(&running.instance);
                }
            }
            SourceEvent::Unregister(name) => {
                while let Some(id) = self.instance_of(&name) {
                    self.stop(id);
                }
            }
            SourceEvent::Disconnected => self.stop_all(),
            SourceEvent::End => return false,
        }
        true
    }

    fn setup(&mut self, setup: Setup) {
        let Setup { id, config, source, arbiter } = setup;
        // The source was unregistered while the command was on its way. The service knows that already.
        let Some(source) = source else { return };
        let instance = Instance::new(id, config, arbiter.clone());
        lock(&source).setup(&instance);
        self.instances.insert(id, Running { instance, source, arbiter, started: false });
    }

    fn start(&mut self, setup: Setup) {
        let id = setup.id;
        if !self.instances.contains_key(&id) {
            // An old service sends no setup command.
            self.setup(setup);
        }
        let Some(running) = self.instances.get_mut(&id) else { return };
        if core::mem::replace(&mut running.started, true) {
            return;
        }
        lock(&running.source).start(&running.instance);
        if let Some(arbiter) = &running.arbiter {
            arbiter.send(Request::NotifyDataSourceStarted(NotifyDataSourceStartedRequest {
                data_source_id: Some(id.get()),
                ..Default::default()
            }));
        }
    }

    fn stop(&mut self, id: InstanceId) {
        if let Some(running) = self.instances.remove(&id) {
            running.stop(id);
        }
    }

    /// An instance of the data source `name`.
    fn instance_of(&self, name: &str) -> Option<InstanceId> {
        let mut instances = self.instances.iter();
        let found =
            instances.find(|(_, running)| running.instance.config().name.as_deref() == Some(name));
        found.map(|(id, _)| *id)
    }

    pub(super) fn stop_all(&mut self) {
        for (id, running) in std::mem::take(&mut self.instances) {
            running.stop(id);
        }
    }

    fn flush(&mut self, arbiter: Arbiter, id: FlushId, instances: &[InstanceId], flags: u64) {
        lock(&self.flushes).waiting.push_back((id, false));
        let flushes = self.flushes.clone();
        // All instances share it, and the last one to finish drops it. Unknown instances are acknowledged, too, or the
        // service would wait for them until its timeout.
        let all = Arc::new(Ack::new(move || {
            let done = lock(&flushes).complete(id);
            if let Some(done) = done {
                arbiter.notify_flush_complete(done);
            }
        }));
        let request = FlushRequest { flags };
        for running in instances.iter().filter_map(|id| self.instances.get(id)) {
            if running.started {
                let all = all.clone();
                let done = Ack::new(move || drop(all));
                lock(&running.source).flush(&running.instance, &request, done);
            }
        }
    }
}

/// Flushes that are not acknowledged, in order. An acknowledgement covers all older flushes, so a flush that is done
/// waits for an older one that is not.
#[derive(Default)]
struct Flushes {
    waiting: VecDeque<(FlushId, bool)>,
}

impl Flushes {
    /// Marks flush `id` as done. Returns the newest flush that can be acknowledged now.
    fn complete(&mut self, id: FlushId) -> Option<FlushId> {
        if let Some(entry) = self.waiting.iter_mut().find(|entry| entry.0 == id) {
            entry.1 = true;
        }
        let mut newest = None;
        while self.waiting.front().is_some_and(|entry| entry.1) {
            newest = self.waiting.pop_front().map(|entry| entry.0);
        }
        newest
    }
}
