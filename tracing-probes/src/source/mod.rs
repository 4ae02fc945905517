//! A kind of probe as a data source of the producer: it admits instances, and one thread serves all of them.
//!
//! One thread for each kind, and not one for all: a file that does not answer stops its own kind alone. Not one for
//! each instance: a config may ask for thousands. The thread begins with the first instance and lives as long as the
//! data source.

use std::io;
use std::time::Duration;

use abi::ids::InstanceId;
use abi::map::SortedMap;
use abi::sync::Arc;
use client::data_source::{Ack, DataSource, FlushRequest, Instance};
use client::write::{BufferExhaustedPolicy, TraceWriter};
use os::clock;
use protos::DataSourceConfigBufferExhaustedPolicy as ConfiguredPolicy;

use crate::Root;
use crate::inbox::{Inbox, Key, Refused, Taken};
use crate::output::Output;
use crate::probe::Probe;
use crate::scheduler::Scheduler;

/// Starts a thread with a name.
pub(crate) type Spawn = dyn Fn(&str, Box<dyn FnOnce() + Send>) -> io::Result<()> + Send + Sync;

/// The data source of a kind of probe.
pub(crate) struct Source<P> {
    root: Root,
    spawn: Arc<Spawn>,
    /// That of the thread, once there is one.
    inbox: Option<Arc<Inbox<TraceWriter>>>,
    instances: SortedMap<InstanceId, Key>,
    probe: core::marker::PhantomData<fn() -> P>,
}

impl<P: Probe> Source<P> {
    /// With threads of the system.
    pub(crate) fn new(root: &Root) -> Self {
        Self::with_threads(root, Arc::new(|name, run| os::thread::spawn(name, run).map(drop)))
    }

    /// With threads that `spawn` starts.
    pub(crate) fn with_threads(root: &Root, spawn: Arc<Spawn>) -> Self {
        Self {
            root: root.clone(),
            spawn,
            inbox: None,
            instances: SortedMap::new(),
            probe: core::marker::PhantomData,
        }
    }

    /// Takes an instance in. It starts the thread if there is none.
    fn admit(&mut self, instance: &Instance) -> Result<(Arc<Inbox<TraceWriter>>, Key), String> {
        let session = instance.config().tracing_session_id.unwrap_or(0);
        if let Some(inbox) = &self.inbox {
            match inbox.admit(session) {
                Ok(key) => return Ok((Arc::clone(inbox), key)),
                Err(refused @ (Refused::Session | Refused::All)) => return Err(refused.to_string()),
                Err(Refused::Gone) => {}
            }
        }
        let inbox: Arc<Inbox<TraceWriter>> = Arc::default();
        let key = inbox.admit(session).map_err(|refused| refused.to_string())?;
        let (root, served) = (self.root.clone(), Arc::clone(&inbox));
        let name = P::NAME.trim_start_matches("linux.");
        (self.spawn)(name, Box::new(move || serve::<P, _>(&root, &served)))
            .map_err(|error| format!("no thread: {error}"))?;
        self.inbox = Some(Arc::clone(&inbox));
        Ok((inbox, key))
    }

    fn of(&self, instance: &Instance) -> Option<(&Inbox<TraceWriter>, Key)> {
        Some((self.inbox.as_deref()?, *self.instances.get(&instance.id())?))
    }
}

/// What the writer of an instance does when shared memory is full. Stalling loses nothing while the service keeps up;
/// dropping frees the thread if it hangs. A config may choose to drop at once. It may not choose to end the program,
/// which has other sessions.
fn policy(instance: &Instance) -> BufferExhaustedPolicy {
    match instance.config().buffer_exhausted_policy {
        Some(ConfiguredPolicy::BUFFER_EXHAUSTED_DROP) => BufferExhaustedPolicy::Drop,
        _ => BufferExhaustedPolicy::StallThenDrop,
    }
}

impl<P: Probe> DataSource for Source<P> {
    fn start(&mut self, instance: &Instance) {
        match self.admit(instance) {
            Ok((inbox, key)) => {
                self.instances.insert(instance.id(), key);
                let writer = instance.trace_writer(policy(instance));
                inbox.start(key, instance.clone(), writer);
            }
            Err(why) => {
                self.root.warn_once(&format!("{}: an instance records nothing: {why}", P::NAME));
                instance.refuse();
            }
        }
    }

    // The acknowledgement of an instance that was refused is dropped, which acknowledges.

    fn flush(&mut self, instance: &Instance, _: &FlushRequest, done: Ack) {
        if let Some((inbox, key)) = self.of(instance) {
            inbox.flush(key, done);
        }
    }

    fn clear_incremental_state(&mut self, instance: &Instance) {
        if let Some((inbox, key)) = self.of(instance) {
            inbox.clear(key);
        }
    }

    fn stop(&mut self, instance: &Instance, done: Ack) {
        if let Some((inbox, key)) = self.of(instance) {
            inbox.stop(key, done);
            self.instances.remove(&instance.id());
        }
    }
}

impl<P> Drop for Source<P> {
    fn drop(&mut self) {
        if let Some(inbox) = &self.inbox {
            inbox.finish();
        }
    }
}

impl<P: Probe> core::fmt::Debug for Source<P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Source").field("name", &P::NAME).finish_non_exhaustive()
    }
}

/// Abandons an inbox when its thread ends, also by a panic: nobody then waits for an acknowledgement.
struct Served<'a, W>(&'a Inbox<W>);

impl<W> Drop for Served<'_, W> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// The thread of a kind.
fn serve<P: Probe, W: Output>(root: &Root, inbox: &Inbox<W>) {
    let _served = Served(inbox);
    let mut scheduler = Scheduler::<P, W>::new(root);
    let clock = || clock::now().mono_ns;
    loop {
        let due = scheduler.due_ns();
        let wait = due.map(|due_ns| Duration::from_nanos(due_ns.saturating_sub(clock())));
        let Taken::Orders(orders) = inbox.take(wait) else { return };
        for (key, order) in orders {
            if let Some(stopped) = scheduler.carry_out(key, order, &clock) {
                inbox.release(key);
                drop(stopped);
            }
            // In between, so that a flood of orders does not hold the ticks of other sessions back.
            scheduler.tick(&clock);
        }
        scheduler.tick(&clock);
    }
}

#[cfg(test)]
mod tests;
