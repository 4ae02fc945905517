//! A kind of probe as a data source of the producer: it admits instances, and one thread serves all of them.
//!
//! One thread for each kind, and not one for all: a file that does not answer stops its own kind alone. Not one for
//! each instance: a config may ask for thousands. The thread begins with the first instance and lives as long as the
//! data source.

use std::io;
use std::time::Duration;

use abi::sync::Arc;
use client::data_source::{Ack, DataSource, FlushRequest, Instance};
use client::write::TraceWriter;
use os::clock;

use crate::Root;
use crate::boost::Boosts;
use crate::facts::{Exchange, Listener};
use crate::inbox::{Inbox, Taken};
use crate::instances::{Instances, Served, policy, session};
use crate::output::Output;
use crate::probe::Probe;
use crate::scheduler::Scheduler;

/// Starts a thread with a name.
pub(crate) type Spawn = dyn Fn(&str, Box<dyn FnOnce() + Send>) -> io::Result<()> + Send + Sync;

/// The data source of a kind of probe.
pub(crate) struct Source<P> {
    root: Root,
    spawn: Arc<Spawn>,
    /// Where facts of ftrace come from.
    exchange: Arc<Exchange>,
    boosts: Arc<Boosts>,
    instances: Instances<TraceWriter>,
    probe: core::marker::PhantomData<fn() -> P>,
}

impl<P: Probe> Source<P> {
    /// With threads of the system, which `boosts` raises.
    pub(crate) fn new(root: &Root, boosts: &Arc<Boosts>) -> Self {
        let spawn = |name: &str, run| os::thread::spawn(name, run).map(drop);
        Self::with_threads(root, boosts, Arc::new(spawn))
    }

    /// With the facts that come through `exchange`.
    pub(crate) fn with_facts(mut self, exchange: &Arc<Exchange>) -> Self {
        self.exchange = Arc::clone(exchange);
        self
    }

    /// With threads that `spawn` starts.
    pub(crate) fn with_threads(root: &Root, boosts: &Arc<Boosts>, spawn: Arc<Spawn>) -> Self {
        Self {
            root: root.clone(),
            spawn,
            exchange: Arc::default(),
            boosts: Arc::clone(boosts),
            instances: Instances::new(Arc::clone(boosts)),
            probe: core::marker::PhantomData,
        }
    }
}

impl<P: Probe> DataSource for Source<P> {
    fn start(&mut self, instance: &Instance) {
        let Self { root, spawn, exchange, boosts, instances, .. } = self;
        if let Err(why) = P::check(instance.config()) {
            return refuse::<P>(root, instance, &why);
        }
        let wanted = P::wanted(instance.config());
        let admitted = instances.admit(instance, |inbox| {
            let listener: Arc<dyn Listener> = Arc::<Inbox<_>>::clone(&inbox);
            exchange.add(Arc::downgrade(&listener));
            let (root, boosts) = (root.clone(), Arc::clone(boosts));
            let name = P::NAME.trim_start_matches("linux.");
            let run = move || {
                let _joined = boosts.join();
                serve::<P, _>(&root, &inbox);
            };
            spawn(name, Box::new(run))
        });
        match admitted {
            Ok((inbox, key)) => {
                if wanted.any() {
                    inbox.listen(key, wanted);
                }
                inbox.start(key, instance.clone(), instance.trace_writer(policy(instance)));
            }
            Err(why) => refuse::<P>(root, instance, &why),
        }
    }

    fn flush(&mut self, instance: &Instance, _: &FlushRequest, done: Ack) {
        if !P::wanted(instance.config()).any() {
            return self.instances.flush(instance, done);
        }
        // What ftrace has recorded until now tells facts, which are a part of what is flushed.
        if let Some((inbox, key)) = self.instances.find(instance) {
            let inbox = Arc::clone(inbox);
            let flush = Box::new(move || inbox.flush(key, done));
            self.exchange.after_pass(session(instance), (P::NAME, key.number()), flush);
        }
    }

    fn clear_incremental_state(&mut self, instance: &Instance) {
        self.instances.clear(instance);
    }

    fn stop(&mut self, instance: &Instance, done: Ack) {
        self.instances.stop(instance, done);
    }
}

impl<P: Probe> core::fmt::Debug for Source<P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Source").field("name", &P::NAME).finish_non_exhaustive()
    }
}

/// The log and the ledger of the session tell it.
fn refuse<P: Probe>(root: &Root, instance: &Instance, why: &str) {
    root.warn(&format!("{}: an instance records nothing: {why}", P::NAME));
    instance.refuse();
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
