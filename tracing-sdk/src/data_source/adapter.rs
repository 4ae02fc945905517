//! A data source as a producer calls it.

use core::sync::atomic::Ordering;
use std::sync::Arc;

use client::data_source::{Ack, DataSource as Source, FlushRequest, Instance};

use super::guard::{FlushGuard, StopGuard};
use super::instances::{Instances, Running};
use super::source::DataSource;
use super::thread::{self, Number};
use crate::callback;
use crate::interceptor::{self, Interception};
use crate::slots;

/// The data source in one producer.
pub(super) struct Adapter<S: DataSource> {
    instances: &'static Instances<S>,
    number: &'static Number,
    known: Vec<(Instance, Known<S>)>,
}

enum Known<S> {
    SetUp(S),
    Started(Started<S>),
}

struct Started<S> {
    slot: usize,
    running: Arc<Running<S>>,
    interception: Option<Interception>,
}

impl<S: DataSource> Adapter<S> {
    pub(super) fn new(instances: &'static Instances<S>, number: &'static Number) -> Self {
        Self { instances, number, known: Vec::new() }
    }

    fn take(&mut self, instance: &Instance) -> Option<Known<S>> {
        let at = self.known.iter().position(|(known, _)| known == instance)?;
        Some(self.known.swap_remove(at).1)
    }

    fn started(&self, instance: &Instance) -> Option<&Started<S>> {
        self.known.iter().find_map(|(of, known)| match known {
            Known::Started(started) if of == instance => Some(started),
            _ => None,
        })
    }

    fn call<R>(&self, method: &str, work: impl FnOnce() -> R) -> Option<R> {
        callback::run(format_args!("`{method}` of the data source {}", self.instances.name), work)
    }

    /// Hands over what this thread has written, and drops its writers of instances that have stopped.
    fn flush_thread(&self) {
        thread::for_each(self.instances, self.number, |_, local| local.writer.flush());
    }
}

impl<S: DataSource> Source for Adapter<S> {
    fn setup(&mut self, instance: &Instance) {
        if let Some(value) = self.call("setup", || S::setup(instance.config())) {
            self.known.push((instance.clone(), Known::SetUp(value)));
        }
    }

    fn start(&mut self, instance: &Instance) {
        let Some(Known::SetUp(value)) = self.take(instance) else { return };
        let interception = interceptor::start(instance.config());
        let for_threads = interception.as_ref().map(Interception::for_threads);
        if let Some(ended) = self.instances.make_room() {
            self.call("drop", || drop(ended));
        }
        let started = self.instances.start(instance.clone(), value, for_threads);
        let (slot, running) = match started {
            Ok(started) => started,
            Err(value) => {
                slots::refuse(instance, self.instances.name);
                self.call("drop", || drop(value));
                return;
            }
        };
        self.call("start", || running.value.start());
        let started = Started { slot, running, interception };
        self.known.push((instance.clone(), Known::Started(started)));
    }

    fn flush(&mut self, instance: &Instance, request: &FlushRequest, done: Ack) {
        if let Some(Started { running, .. }) = self.started(instance) {
            let guard = FlushGuard::new(done);
            self.call("flush", || running.value.flush(request.flags.reason(), guard));
        }
        // The service reads the chunks of other threads by itself, because the producer allows scraping.
        self.flush_thread();
    }

    fn clear_incremental_state(&mut self, instance: &Instance) {
        if let Some(Started { slot, running, .. }) = self.started(instance) {
            self.call("clear", || running.value.clear());
            self.instances.clear(*slot);
        }
    }

    fn stop(&mut self, instance: &Instance, done: Ack) {
        match self.take(instance) {
            Some(Known::Started(Started { slot, running, interception })) => {
                let (instances, number) = (self.instances, self.number);
                let serial = running.serial;
                running.is_stopping.store(true, Ordering::Relaxed);
                let guard = StopGuard::new(move || {
                    let name = instances.name;
                    callback::run(format_args!("`drop` of the data source {name}"), || {
                        instances.stop(slot, serial)
                    });
                    // This thread's writers; other threads drop theirs with their next packet.
                    thread::for_each(instances, number, |_, _| {});
                    drop(interception);
                    drop(done);
                });
                self.call("stop", || running.value.stop(guard));
                self.call("drop", || drop(running));
                self.flush_thread();
            }
            Some(Known::SetUp(value)) => {
                self.call("drop", || drop(value));
            }
            None => {}
        }
    }
}
