//! The thread that calls the data sources.

use std::collections::VecDeque;
use std::time::Duration;

use protos::producer_port::Request;
use protos::{NotifyDataSourceStartedRequest, NotifyDataSourceStoppedRequest};

use super::event::{Setup, SharedSource, SourceEvent};
use super::startup::{StartupAbort, StartupInstance, StartupInstances};
use crate::data_source::{Ack, FlushRequest, Instance};
use crate::write::Arbiter;
use abi::flush_flags::FlushFlags;
use abi::ids::{FlushId, InstanceId, ReservationId};
use abi::map::SortedMap;
use abi::sync::{Arc, Mutex, lock};
use os::queue::Receiver;

struct Running {
    instance: Instance,
    source: SharedSource,
    arbiter: Option<Arbiter>,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    SetUp,
    /// A startup instance, which records, but the session has not started it.
    Adopted(ReservationId),
    Started,
}

impl Running {
    /// Tells the service, when it is dropped, that the instance has stopped.
    fn stop_ack(&self, id: InstanceId) -> Ack {
        let arbiter = self.arbiter.clone();
        Ack::new(move || {
            if let Some(arbiter) = arbiter {
                arbiter.send(Request::NotifyDataSourceStopped(NotifyDataSourceStoppedRequest {
                    data_source_id: Some(id.get()),
                    ..Default::default()
                }));
            }
        })
    }

    /// Stops the data source, which acknowledges it when its data is written.
    fn stop(self, id: InstanceId) {
        let done = self.stop_ack(id);
        if self.phase != Phase::SetUp {
            lock(&self.source).stop(&self.instance, done);
        }
    }

    /// The reservation and the parts of an adopted instance that the session has not started.
    fn unbound(&self) -> Option<StartupInstance> {
        let Phase::Adopted(reservation) = self.phase else { return None };
        let (instance, source) = (self.instance.clone(), self.source.clone());
        Some(StartupInstance { instance, source, reservation })
    }
}

pub(super) struct Dispatcher {
    inbox: Receiver<SourceEvent>,
    instances: SortedMap<InstanceId, Running>,
    flushes: Arc<Mutex<Flushes>>,
    startup: Option<Box<dyn StartupInstances>>,
}

impl Dispatcher {
    pub(super) fn new(
        inbox: Receiver<SourceEvent>,
        startup: Option<Box<dyn StartupInstances>>,
    ) -> Self {
        Self { inbox, instances: SortedMap::new(), flushes: Arc::default(), startup }
    }

    pub(super) fn run(mut self) {
        loop {
            let event = match &self.startup {
                None => self.inbox.recv(),
                Some(startup) => self.inbox.recv_timeout(startup.left()),
            };
            let goes_on = match event {
                Some(event) => self.handle_event(event),
                None => !self.inbox.is_closed(),
            };
            if !goes_on {
                break;
            }
            if let Some(startup) = &self.startup {
                self.check_timeout(startup.left());
            }
        }
        self.abort_startup(StartupAbort::Ended);
        self.stop_all();
    }

    /// Ends startup tracing if no time is left.
    pub(super) fn check_timeout(&mut self, left: Duration) {
        if left.is_zero() {
            self.abort_startup(StartupAbort::Timeout);
        }
    }

    /// Handles the events that wait, without waiting for more; false if there were none.
    pub(super) fn process_events(&mut self) -> bool {
        let mut any = false;
        while let Some(event) = self.inbox.try_recv() {
            any = true;
            self.handle_event(event);
        }
        any
    }

    /// Handles one event; false if it was the last.
    fn handle_event(&mut self, event: SourceEvent) -> bool {
        match event {
            SourceEvent::Registered(name, source) => {
                if let Some(startup) = &mut self.startup {
                    startup.start(&name, &source);
                }
            }
            SourceEvent::StartupRefused => self.abort_startup(StartupAbort::Refused),
            SourceEvent::Fence(done) => {
                done.send(());
            }
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
                if let Some(startup) = &mut self.startup {
                    startup.unregister(&name);
                }
            }
            SourceEvent::Disconnected => self.handle_disconnected(),
            SourceEvent::End => return false,
        }
        true
    }

    fn setup(&mut self, setup: Setup) {
        let Setup { id, config, source, arbiter } = setup;
        let startup = self.startup.as_mut();
        if let Some(adopted) = startup.and_then(|it| it.adopt(id, &config)) {
            let StartupInstance { instance, source, reservation } = adopted;
            let phase = Phase::Adopted(reservation);
            self.instances.insert(id, Running { instance, source, arbiter, phase });
            return;
        }
        // The source was unregistered while the command was on its way. The service knows that already.
        let Some(source) = source else { return };
        let instance = Instance::new(id, config, arbiter.clone());
        lock(&source).setup(&instance);
        self.instances.insert(id, Running { instance, source, arbiter, phase: Phase::SetUp });
    }

    fn start(&mut self, setup: Setup) {
        let id = setup.id;
        if !self.instances.contains_key(&id) {
            // An old service sends no setup command.
            self.setup(setup);
        }
        let Some(running) = self.instances.get_mut(&id) else { return };
        match core::mem::replace(&mut running.phase, Phase::Started) {
            Phase::Started => return,
            Phase::SetUp => lock(&running.source).start(&running.instance),
            Phase::Adopted(reservation) => {
                if let Some(startup) = &self.startup {
                    startup.bind(&running.instance, reservation);
                }
            }
        }
        if let Some(arbiter) = &running.arbiter {
            arbiter.send(Request::NotifyDataSourceStarted(NotifyDataSourceStartedRequest {
                data_source_id: Some(id.get()),
                refused: running.instance.is_refused().then_some(true),
                ..Default::default()
            }));
        }
    }

    fn stop(&mut self, id: InstanceId) {
        let Some(running) = self.instances.remove(&id) else { return };
        if let (Some(startup), Some(unbound)) = (&self.startup, running.unbound()) {
            startup.abort(&unbound, StartupAbort::Ended, running.stop_ack(id));
        } else {
            running.stop(id);
        }
    }

    fn handle_disconnected(&mut self) {
        if self.startup.as_ref().is_some_and(|startup| startup.is_disconnected()) {
            self.abort_startup(StartupAbort::Disconnected);
        }
        // The next service counts its flushes anew, and does not wait for those of this one.
        self.flushes = Arc::default();
        self.stop_all();
    }

    /// Ends startup tracing. A session that starts after the timeout starts its instances as any other.
    fn abort_startup(&mut self, reason: StartupAbort) {
        let Some(mut startup) = self.startup.take() else { return };
        startup.abort_all(reason);
        let adopted = self.instances.iter().filter_map(|(id, it)| Some((*id, it.unbound()?)));
        let adopted: Vec<_> = adopted.collect();
        for (id, unbound) in adopted {
            startup.abort(&unbound, reason, Ack::ignored());
            let arbiter = self.instances.remove(&id).and_then(|running| running.arbiter);
            if reason == StartupAbort::Timeout {
                let config = unbound.instance.shared_config();
                self.setup(Setup { id, config, source: Some(unbound.source), arbiter });
            }
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

    fn flush(
        &mut self,
        arbiter: Arbiter,
        id: FlushId,
        instances: &[InstanceId],
        flags: FlushFlags,
    ) {
        lock(&self.flushes).add(id);
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
            if running.phase == Phase::Started {
                let all = all.clone();
                let done = Ack::new(move || drop(all));
                lock(&running.source).flush(&running.instance, &request, done);
            }
        }
    }
}

/// Flushes that are not acknowledged, in order. An acknowledgement covers all older flushes, so a flush that is done
/// waits for an older one that is not. Of several in a row that are done the newest stands for all, so that their
/// number does not matter.
#[derive(Debug, Default)]
pub(super) struct Flushes {
    waiting: VecDeque<(FlushId, bool)>,
}

impl Flushes {
    pub(super) fn add(&mut self, id: FlushId) {
        self.waiting.push_back((id, false));
    }

    /// How many are remembered.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Marks flush `id` as done. Returns the newest flush that can be acknowledged now.
    pub(super) fn complete(&mut self, id: FlushId) -> Option<FlushId> {
        if let Some(at) = self.waiting.iter().position(|entry| entry.0 == id) {
            let is_done = |at: Option<usize>| {
                at.and_then(|at| self.waiting.get(at)).is_some_and(|entry| entry.1)
            };
            let (before, after) = (is_done(at.checked_sub(1)), is_done(at.checked_add(1)));
            if let Some(entry) = self.waiting.get_mut(at) {
                entry.1 = true;
            }
            if after {
                self.waiting.remove(at);
            }
            if before {
                self.waiting.remove(at - 1);
            }
        }
        let mut newest = None;
        while self.waiting.front().is_some_and(|entry| entry.1) {
            newest = self.waiting.pop_front().map(|entry| entry.0);
        }
        newest
    }
}
