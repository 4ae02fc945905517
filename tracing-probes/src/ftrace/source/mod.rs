//! The data source `linux.ftrace`: one thread owns tracefs, for all instances.
//!
//! ```text
//! thread of the producer        thread of ftrace
//!   start ──────── Order ──────> Controller::start
//!     waits <───────────────────── the kernel records (or the session is refused)
//!   flush, stop ── Order ──────> Controller::flush, stop ──> acknowledged
//!                                due: Controller::pass ──> facts of the session, to other kinds (`crate::facts`)
//!                                a ring fills: Controller::pass_ready
//! ```

mod claim;
mod system;
#[cfg(test)]
mod tests;

use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use abi::map::SortedMap;
use abi::sync::Arc;
use client::data_source::{Ack, DataSource, FlushRequest, Instance};
use client::write::TraceWriter;
use os::clock;
use os::poll::Wake;
use os::thread::Thread;
use protos::{DataSourceConfig, DataSourceDescriptor, FtraceDescriptor};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub use self::claim::{FTRACE_LOCK, FtraceRecords, ftrace_records, ftrace_records_of_others};
use self::system::Linux;
use super::NAME;
use super::config::Refusal;
use super::controller::{Controller, write_refusal};
use super::facts::Facts;
use super::mux::SessionId;
use super::options::FtraceOptions;
use super::tracefs::find_root;
use crate::Root;
use crate::boost::Boosts;
use crate::facts::{Exchange, Reader, ReaderThread, Wanted};
use crate::inbox::{Inbox, Key, Order, Taken};
use crate::instances::{Instances, Served, policy, session};

/// Longest time that the producer waits until the kernel records: symbols are read before. A kernel that hangs must not
/// stop other data sources.
const START_WAIT: Duration = Duration::from_secs(10);

/// Time between two looks at rings, if there is no descriptor left to wake the thread.
const UNWOKEN: Duration = Duration::from_millis(100);

/// What the thread gets of an instance that starts.
struct Starting {
    writer: TraceWriter,
    /// Told whether it records.
    started: SyncSender<bool>,
}

/// The data source. Its end waits until tracefs is as it was found.
pub(crate) struct FtraceSource {
    root: Root,
    options: FtraceOptions,
    /// Where facts go to.
    exchange: Arc<Exchange>,
    boosts: Arc<Boosts>,
    /// Before the thread: its end is what the thread waits for.
    instances: Instances<Starting>,
    /// Since the first instance.
    thread: Option<Joined>,
}

/// A thread that is waited for.
struct Joined(Option<Thread>);

impl Drop for Joined {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            thread.join();
        }
    }
}

/// What is registered.
pub(crate) fn descriptor() -> DataSourceDescriptor {
    DataSourceDescriptor {
        name: Some(NAME.to_owned()),
        ftrace_descriptor: Some(FtraceDescriptor::default()),
        ..Default::default()
    }
}

/// Resets tracefs as if nobody recorded, whatever was set before. The texts tell what could not be.
pub(crate) fn hard_reset(root: &Root) -> Vec<String> {
    match find_root(root.path()) {
        Ok(tracefs) => {
            let in_use = claim::in_use(root).map(|why| format!("linux.ftrace: {why}"));
            // What a killed recording has changed beside: the clock, filters, options. Its record goes.
            claim::restore_left(root);
            in_use.into_iter().chain(super::mux::hard_reset(&tracefs)).collect()
        }
        Err(why) => vec![why],
    }
}

impl FtraceSource {
    /// Puts back what a daemon that was killed has left.
    pub(crate) fn new(
        root: &Root,
        options: FtraceOptions,
        exchange: &Arc<Exchange>,
        boosts: &Arc<Boosts>,
    ) -> Self {
        // If another program records now, a session that starts tells it.
        claim::restore_left(root);
        let (root, exchange) = (root.clone(), Arc::clone(exchange));
        let (boosts, instances) = (Arc::clone(boosts), Instances::new(Arc::clone(boosts)));
        Self { root, options, exchange, boosts, instances, thread: None }
    }
}

impl DataSource for FtraceSource {
    fn start(&mut self, instance: &Instance) {
        let Self { root, options, exchange, boosts, instances, thread } = self;
        let admitted = instances.admit(instance, |inbox| {
            let reader: Arc<dyn Reader> = Arc::<Inbox<_>>::clone(&inbox);
            exchange.set_reader(Arc::downgrade(&reader));
            let (root, exchange) = (root.clone(), Arc::clone(exchange));
            let (boosts, options) = (Arc::clone(boosts), *options);
            let run = move || {
                let _joined = boosts.join();
                serve(&root, options, &inbox, &exchange);
            };
            let run = os::thread::spawn("ftrace", Box::new(run))?;
            *thread = Some(Joined(Some(run)));
            Ok(())
        });
        let (inbox, key) = match admitted {
            Ok(admitted) => admitted,
            Err(why) => {
                root.warn(&format!("{NAME}: an instance records nothing: {why}"));
                return instance.refuse();
            }
        };
        // Events wait in the kernel's ring while a writer stalls.
        let writer = instance.trace_writer(policy(instance));
        let (started, has_started) = sync_channel(1);
        inbox.start(key, instance.clone(), Starting { writer, started });
        if !wait_started(root, &has_started, START_WAIT) {
            instance.refuse();
        }
    }

    fn flush(&mut self, instance: &Instance, _: &FlushRequest, done: Ack) {
        self.instances.flush(instance, done);
    }

    fn stop(&mut self, instance: &Instance, done: Ack) {
        self.instances.stop(instance, done);
    }
}

/// Whether the kernel records. One that has not answered in time counts as one that does not: events may be missing.
fn wait_started(root: &Root, has_started: &Receiver<bool>, wait: Duration) -> bool {
    has_started.recv_timeout(wait).unwrap_or_else(|_| {
        root.warn(&format!(
            "{NAME}: the kernel did not answer within {} s; an instance may record later, or nothing",
            wait.as_secs()
        ));
        false
    })
}

/// The thread.
fn serve(root: &Root, options: FtraceOptions, inbox: &Inbox<Starting>, exchange: &Exchange) {
    // The inbox is abandoned first: then no further flush waits.
    let _reader = ReaderThread(exchange);
    let _served = Served(inbox);
    let wake = Wake::new().ok();
    if let Some(wake) = &wake {
        inbox.wake_by(wake.clone());
    }
    let sessions = SortedMap::new();
    let mut thread = FtraceThread { root, options, controller: None, sessions, wake, exchange };
    loop {
        let wait = thread.wait();
        match inbox.take(wait) {
            Taken::Orders(orders) => thread.carry_out(orders, inbox),
            Taken::Finished => break,
        }
        thread.pass_if_due();
    }
    if let Some(controller) = &mut thread.controller {
        controller.reset();
    }
}

/// What the thread has.
struct FtraceThread<'a> {
    root: &'a Root,
    options: FtraceOptions,
    /// Since an instance has found tracefs.
    controller: Option<Controller<TraceWriter>>,
    /// The tracing sessions of its instances.
    sessions: SortedMap<SessionId, u64>,
    /// Ends the wait for rings. Without it, whether they fill is asked each [`UNWOKEN`].
    wake: Option<Wake>,
    exchange: &'a Exchange,
}

impl FtraceThread<'_> {
    /// Waits for rings, if sessions ask for that. Returns how long to wait for orders.
    fn wait(&self) -> Option<Duration> {
        let controller = self.controller.as_ref()?;
        let now_ns = clock::now().mono_ns;
        let until = |ns: u64| Duration::from_nanos(ns.saturating_sub(now_ns));
        let due = controller.due_ns().map(until);
        let polls = controller.polls_ns().map(until);
        match (&self.wake, polls, due) {
            (Some(wake), Some(Duration::ZERO), _) => {
                wait_for_rings(controller, wake, due);
                Some(Duration::ZERO)
            }
            (Some(_), Some(polls), due) => Some(due.map_or(polls, |due| due.min(polls))),
            (None, Some(_), due) => Some(due.map_or(UNWOKEN, |due| due.min(UNWOKEN))),
            (_, None, due) => due,
        }
    }

    fn pass_if_due(&mut self) {
        let Self { controller: Some(controller), sessions, exchange, .. } = self else { return };
        let now_ns = clock::now().mono_ns;
        let hand_on = &mut |id, facts: &Facts| tell(sessions, exchange, id, facts);
        if controller.due_ns().is_some_and(|due_ns| due_ns <= now_ns) {
            controller.pass(now_ns, hand_on);
        } else {
            controller.pass_ready(now_ns, hand_on);
        }
    }

    /// Does what the orders say, those of older instances first; and flushes those who wait for facts.
    fn carry_out(&mut self, orders: SortedMap<Key, Order<Starting>>, inbox: &Inbox<Starting>) {
        let waiting = self.exchange.take_waiting();
        let (mut flushed, mut stopped) = (Vec::new(), Vec::new());
        for (key, order) in orders {
            // It has no incremental state that a reader could miss for long: each pass clears its own.
            let Order { start, clear: _, facts: _, flush, stop } = order;
            if let Some((instance, Starting { writer, started })) = start {
                self.sessions.insert(key.number(), session(&instance));
                let is_started = self.start_one(key, instance.config(), writer);
                // The producer may have given up waiting.
                _ = started.send(is_started);
            }
            flushed.extend(flush.map(|done| (key, done)));
            stopped.extend(stop.map(|done| (key, done)));
        }
        let Self { controller, sessions, exchange, .. } = self;
        if let Some(controller) = controller {
            let hand_on = &mut |id, facts: &Facts| tell(sessions, exchange, id, facts);
            let is_waiting = |of: u64| waiting.iter().any(|waiting| waiting.session == of);
            let ids: Vec<_> = flushed.iter().map(|(key, _)| key.number()).collect();
            let others = sessions.iter().filter(|(id, of)| is_waiting(**of) && !ids.contains(id));
            let others: Vec<_> = others.map(|(id, _)| *id).collect();
            if !others.is_empty() {
                controller.drain(&others, hand_on);
            }
            if !ids.is_empty() {
                controller.flush(&ids, hand_on);
            }
            stopped.iter().for_each(|(key, _)| controller.stop(key.number()));
        }
        waiting.into_iter().for_each(|waiting| (waiting.flush)());
        for (key, _) in &stopped {
            sessions.remove(&key.number());
            inbox.release(*key);
        }
        // Their acknowledgements go here.
        drop((flushed, stopped));
    }

    /// True if the kernel records.
    fn start_one(&mut self, key: Key, config: &DataSourceConfig, mut writer: TraceWriter) -> bool {
        match self.controller() {
            Ok(controller) => {
                controller.start(key.number(), config, writer, clock::now().mono_ns).is_ok()
            }
            Err(why) => {
                self.root.warn(&why);
                write_refusal(&mut writer, NAME, &Refusal(why), false);
                false
            }
        }
    }

    /// The owner of tracefs. That may be mounted, or be opened to this user, after a session was refused.
    fn controller(&mut self) -> Result<&mut Controller<TraceWriter>, String> {
        let Self { root, options, controller, .. } = self;
        if let Some(controller) = controller {
            return Ok(controller);
        }
        let tracefs = find_root(root.path())?;
        let system = Linux::new(root, *options);
        Ok(controller.insert(Controller::new(Box::new(tracefs), Box::new(system))))
    }
}

/// Waits until a ring fills, an order comes, or the time has passed. It may return early.
fn wait_for_rings(controller: &Controller<TraceWriter>, wake: &Wake, timeout: Option<Duration>) {
    let woken = std::iter::once(wake.as_fd());
    let fds =
        controller.polled().chain(woken).map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    let mut fds: Vec<_> = fds.collect();
    // Longer than the kernel takes is for ever: then something else wakes.
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    // A failure reads the rings by time: those that are broken are left out of the next wait.
    _ = poll(&mut fds, timeout.as_ref());
    wake.clear();
}

/// Tells facts to the other kinds of the session.
fn tell(sessions: &SortedMap<SessionId, u64>, exchange: &Exchange, id: SessionId, facts: &Facts) {
    if let Some(session) = sessions.get(&id) {
        exchange.tell(*session, &|wanted: Wanted| facts.copy(wanted));
    }
}
