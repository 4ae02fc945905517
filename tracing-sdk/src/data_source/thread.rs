//! What the calling thread has for each instance of each data source: a writer, and the incremental state.
//!
//! It is taken out of the list while a trace point uses it. So a trace point inside another one of the same data source
//! finds nothing, and is left out; one of another data source is written.

use core::sync::atomic::{AtomicU32, Ordering};
use std::any::Any;
use std::cell::RefCell;
use std::sync::{Arc, Weak};

use client::write::TraceWriter;

use super::instances::{Instances, Running};
use super::source::DataSource;
use crate::callback;
use crate::fork;
use crate::interceptor::Intercepted;
use crate::slots::COUNT;
use crate::stall;

/// What the program keeps on a thread. Its code runs on threads of the library, too, which a panic must not end.
pub(super) struct Values<S: DataSource> {
    pub(super) incremental: S::Incremental,
    /// See [`thread_state`](super::Context::thread_state).
    pub(super) states: Vec<Box<dyn Any>>,
}

/// Runs code of the program that belongs to the incremental state of a data source.
fn contained<R>(what: &str, name: &str, work: impl FnOnce() -> R) -> Option<R> {
    callback::run(format_args!("{what} the incremental state of the data source {name}"), work)
}

/// One thread in one instance.
pub(super) struct Local<S: DataSource> {
    serial: u32,
    /// That of the data source.
    name: &'static str,
    /// Does not keep the value of the program: it is dropped when its instance ends, whatever threads do.
    running: Weak<Running<S>>,
    pub(super) writer: TraceWriter,
    /// After the writer, which gives it its last chunk when it is dropped.
    intercepted: Option<Box<dyn Intercepted>>,
    /// None after a panic.
    pub(super) values: Option<Values<S>>,
    clears_seen: u32,
    /// No packet since the incremental state began.
    pub(super) is_cleared: bool,
    /// A packet was lost, so the incremental state must begin anew.
    pub(super) has_lost: bool,
}

impl<S: DataSource> Local<S> {
    /// If the program panics, there are no values: then this thread writes nothing into the instance.
    fn new(running: &Arc<Running<S>>, name: &'static str) -> Self {
        let incremental = contained("making", name, S::Incremental::default);
        let (writer, intercepted) = match &running.interceptor {
            Some(interceptor) => interceptor.writer(),
            None => (running.instance.trace_writer(stall::policy(&running.instance)), None),
        };
        Self {
            serial: running.serial,
            name,
            running: Arc::downgrade(running),
            writer,
            intercepted,
            values: incremental.map(|incremental| Values { incremental, states: Vec::new() }),
            clears_seen: running.clears.load(Ordering::Relaxed),
            is_cleared: true,
            has_lost: false,
        }
    }

    /// What a trace point finds, which does not run without it.
    pub(super) fn values(&mut self) -> &mut Values<S> {
        self.values.as_mut().expect("it is there while a trace point runs")
    }

    /// A packet is complete.
    pub(super) fn end_packet(&mut self) {
        if let Some(intercepted) = &mut self.intercepted {
            intercepted.deliver(&mut self.writer);
        }
    }

    fn prepare(&mut self, running: &Running<S>) {
        let clears = running.clears.load(Ordering::Relaxed);
        if self.has_lost || clears != self.clears_seen {
            self.clears_seen = clears;
            self.has_lost = false;
            self.is_cleared = true;
            self.begin_anew();
        }
    }

    fn begin_anew(&mut self) {
        let Some(Values { incremental, states }) = self.values.take() else { return };
        let dropped = contained("dropping", self.name, || drop(incremental));
        let made = dropped.and_then(|()| contained("making", self.name, S::Incremental::default));
        match made {
            Some(incremental) => self.values = Some(Values { incremental, states }),
            // They are of the program, too.
            None => {
                contained("dropping", self.name, || drop(states));
            }
        }
    }
}

impl<S: DataSource> Drop for Local<S> {
    fn drop(&mut self) {
        let values = self.values.take();
        contained("dropping", self.name, || drop(values));
    }
}

/// One thread in one data source.
struct Locals<S: DataSource> {
    /// The value of [`fork::count`] in the process that they belong to.
    forks: u32,
    generation: u32,
    slots: [Option<Local<S>>; COUNT],
}

impl<S: DataSource> Locals<S> {
    fn new() -> Self {
        Self { forks: fork::count(), generation: 0, slots: [const { None }; COUNT] }
    }

    /// Forgets writers of a parent process: their destructors would write into its memory.
    fn forget_after_fork(&mut self) {
        let forks = fork::count();
        if core::mem::replace(&mut self.forks, forks) != forks {
            self.slots.iter_mut().for_each(|local| core::mem::forget(local.take()));
        }
    }

    #[cold]
    fn refresh(&mut self, instances: &Instances<S>) {
        let (generation, all) = instances.all();
        self.generation = generation;
        for (local, running) in self.slots.iter_mut().zip(&all) {
            let serial = local.as_ref().map(|local| local.serial);
            if serial != running.as_ref().map(|running| running.serial) {
                *local = running.as_ref().map(|running| Local::new(running, instances.name));
            }
        }
    }
}

impl<S: DataSource> Drop for Locals<S> {
    fn drop(&mut self) {
        self.forget_after_fork();
    }
}

enum Entry {
    Empty,
    InUse,
    /// A `Locals` of the data source.
    Idle(Box<dyn Any>),
}

thread_local! {
    /// At the number of each data source.
    static ENTRIES: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
}

/// The number of a data source, from 1 in the order of first use; 0 is none yet.
pub(super) struct Number(AtomicU32);

impl Number {
    pub(super) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    fn get(&self) -> usize {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let mut number = self.0.load(Ordering::Relaxed);
        if number == 0 {
            let new = LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
            let order = Ordering::Relaxed;
            number = match self.0.compare_exchange(0, new, order, order) {
                Ok(_) => new,
                Err(other) => other,
            };
        }
        number as usize
    }
}

/// Puts the locals back, also when the trace point panics.
struct TakenOut<S: DataSource> {
    number: usize,
    locals: Option<Box<Locals<S>>>,
}

impl<S: DataSource> TakenOut<S> {
    /// None if the thread uses them or is ending.
    fn new(number: usize) -> Option<Self> {
        let entry = ENTRIES.try_with(|entries| {
            let mut entries = entries.borrow_mut();
            if entries.len() <= number {
                entries.resize_with(number + 1, || Entry::Empty);
            }
            entries.get_mut(number).map(|entry| core::mem::replace(entry, Entry::InUse))
        });
        let locals = match entry.ok()?? {
            Entry::InUse => return None,
            Entry::Empty => Box::new(Locals::new()),
            Entry::Idle(locals) => locals.downcast().ok()?,
        };
        Some(Self { number, locals: Some(locals) })
    }
}

impl<S: DataSource> Drop for TakenOut<S> {
    fn drop(&mut self) {
        let Some(locals) = self.locals.take() else { return };
        let _ = ENTRIES.try_with(|entries| {
            if let Some(entry) = entries.borrow_mut().get_mut(self.number) {
                *entry = Entry::Idle(locals);
            }
        });
    }
}

/// Calls `run` for each running instance.
pub(super) fn for_each<S: DataSource>(
    instances: &Instances<S>,
    number: &Number,
    mut run: impl FnMut(&Running<S>, &mut Local<S>),
) {
    let Some(mut taken) = TakenOut::new(number.get()) else { return };
    let Some(locals) = &mut taken.locals else { return };
    locals.forget_after_fork();
    let (bits, generation) = instances.current();
    if locals.generation != generation {
        locals.refresh(instances);
    }
    for (slot, local) in locals.slots.iter_mut().enumerate() {
        if bits & (1 << slot) == 0 {
            continue;
        }
        // None: it stops at this moment.
        let Some(local) = local else { continue };
        let Some(running) = local.running.upgrade() else { continue };
        local.prepare(&running);
        run(&running, local);
    }
}
