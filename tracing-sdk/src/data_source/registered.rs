//! The static of a data source.

use core::fmt;

use client::producer::Producer;
use protos::DataSourceDescriptor;

use super::adapter::Adapter;
use super::context::Context;
use super::instances::Instances;
use super::source::DataSource;
use super::thread::{self, Number};
use crate::callback;
use crate::on::ON;
use crate::runtime::{self, ForkLock, Offer};

/// A data source that all services know, those that the program connects to later, too. It is a static, because
/// trace points of all threads use it.
pub struct Registered<S: DataSource> {
    instances: Instances<S>,
    number: Number,
}

impl<S: DataSource> Registered<S> {
    /// A data source with the name that configs use, such as `com.example.requests`. Each name once: services refuse a
    /// second one.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { instances: Instances::new(name), number: Number::new() }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.instances.name
    }

    /// Tells services of the data source, now and whenever the program connects to one. The first
    /// [`trace`](Self::trace) does it, too. A data source that writes only while a session runs (on a thread that
    /// `start` makes, for example) needs this call; it may come before [`init`](crate::init).
    ///
    /// With startup tracing of this data source ([`Startup`](crate::Startup)) it records when this returns, so this
    /// waits for its `setup` and `start`.
    pub fn register(&'static self) {
        self.offer();
        runtime::wait_startup();
    }

    fn offer(&'static self) {
        if !ON || !self.instances.set_registered() {
            return;
        }
        // Code of the program, so before the lock of the runtime.
        let mut descriptor = DataSourceDescriptor::default();
        callback::run(format_args!("`describe` of the data source {}", self.name()), || {
            S::describe(&mut descriptor)
        });
        descriptor.name = Some(self.name().to_owned());
        descriptor.handles_incremental_state_clear = Some(true);
        let register = move |producer: &Producer| {
            producer.register(descriptor.clone(), Adapter::new(&self.instances, &self.number))
        };
        let lock = || -> Box<dyn ForkLock> { Box::new(Some(self.instances.lock_for_fork())) };
        runtime::add_source(Offer { register: Box::new(register), lock: Box::new(lock) });
    }

    /// Whether a session records.
    #[inline]
    #[must_use]
    pub fn is_enabled(&'static self) -> bool {
        let bits = self.instances.load();
        ON && bits != 0 && self.is_enabled_slow()
    }

    #[cold]
    fn is_enabled_slow(&'static self) -> bool {
        self.offer();
        self.instances.current().0 != 0
    }

    /// Calls `write` for each session that records this data source: usually none, and then this costs one load and one
    /// branch.
    ///
    /// A call of it inside `write` is left out.
    #[inline]
    pub fn trace(&'static self, mut write: impl FnMut(&mut Context<'_, S>)) {
        if ON && self.instances.load() != 0 {
            self.trace_slow(&mut write);
        }
    }

    #[inline(never)]
    fn trace_slow(&'static self, write: &mut dyn FnMut(&mut Context<'_, S>)) {
        if self.instances.is_new() {
            self.offer();
            if self.instances.load() == 0 {
                return;
            }
        }
        thread::for_each(&self.instances, &self.number, |running, local| {
            if local.values.is_some() {
                write(&mut Context::new(running, local));
            }
        });
    }
}

impl<S: DataSource> fmt::Debug for Registered<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered").field("name", &self.name()).finish_non_exhaustive()
    }
}
