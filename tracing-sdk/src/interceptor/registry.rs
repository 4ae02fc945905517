//! The interceptors that the program knows, by their names, and those of running instances.

use core::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use client::write::TraceWriter;
use protos::DataSourceConfig;

use super::writer::{self, Intercepted, Receive};
use crate::callback;
use crate::fork::Held;
use crate::on::ON;

/// Gets the packets of the data sources of a session. A value of it belongs to one running instance: one data source in
/// one session. All threads share it, and it is dropped when the instance has ended.
///
/// ```text
///   register ··· session starts ──> make ──> packet* ──> drop
/// ```
pub trait Interceptor: Send + Sync + 'static {
    /// What a reader must remember of earlier packets of a sequence, such as names that were written once. A sequence
    /// is the packets of one thread in one instance; it begins with the default, which is made before the first packet,
    /// and is dropped when the thread or the instance has ended. The thread then drops it with a later event, which is
    /// no span of `tracing`. `()` if each packet is read alone.
    type Sequence: Default + 'static;

    /// A packet is complete. This is called on the thread that wrote it, when its event has ended, and for the packets
    /// of one sequence in order.
    ///
    /// `packet` is an encoded `TracePacket`, with `trusted_packet_sequence_id`. A packet with bit 0 of
    /// `sequence_flags` says that all names of the sequence are defined anew from there on.
    ///
    /// The library holds no lock meanwhile, and none while it makes and drops `sequence`. Events that this method
    /// records are left out, and so are packets of the data source that it intercepts. A panic is reported on standard
    /// error, and later packets of that sequence are discarded.
    fn packet(&self, sequence: &mut Self::Sequence, packet: &[u8]);
}

/// An [`Interceptor`] of any type, in one running instance. What only its writers need is in no program without one:
/// nothing else names it.
pub(crate) trait Instance: Send + Sync {
    /// What its threads make writers with.
    fn writers(self: Arc<Self>) -> Arc<dyn Writers>;
}

/// Makes writers of sequences. The caller may hold a lock of the library, so no code of the program runs: this does not
/// keep the value of the program, not even for a moment, because it would be dropped then.
pub(crate) trait Writers: Send + Sync {
    /// The writer of a new sequence, and the way of its packets. None if the instance has ended.
    fn writer(&self, name: &Arc<str>) -> Option<(TraceWriter, Box<dyn Intercepted>)>;
}

impl<I: Interceptor> Instance for I {
    fn writers(self: Arc<Self>) -> Arc<dyn Writers> {
        Arc::new(Arc::downgrade(&self))
    }
}

impl<I: Interceptor> Writers for Weak<I> {
    fn writer(&self, name: &Arc<str>) -> Option<(TraceWriter, Box<dyn Intercepted>)> {
        let is_over = self.strong_count() == 0;
        if is_over { None } else { writer::new(name, receiver(self.clone(), name.clone())) }
    }
}

/// Hands the packets of one sequence to the interceptor. The value of the sequence is made with the first packet: then
/// no lock is held. If its default panics, there is none, and packets are discarded.
fn receiver<I: Interceptor>(interceptor: Weak<I>, name: Arc<str>) -> Receive {
    let (mut sequence, mut is_made) = (None, false);
    Box::new(move |packet| {
        let Some(interceptor) = interceptor.upgrade() else { return };
        if !core::mem::replace(&mut is_made, true) {
            sequence = callback::run(
                format_args!("the default of a sequence of the interceptor {name}"),
                I::Sequence::default,
            );
        }
        if let Some(sequence) = &mut sequence {
            interceptor.packet(sequence, packet);
        }
    })
}

type Make = Arc<dyn Fn(&DataSourceConfig) -> Arc<dyn Instance> + Send + Sync>;

pub(crate) type List = Vec<(String, Make)>;

static KNOWN: Mutex<List> = Mutex::new(Vec::new());

fn known() -> MutexGuard<'static, List> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The list, while the process forks.
pub(crate) fn lock_for_fork() -> Held<List> {
    known().into()
}

/// Makes an interceptor known under the name that configs use. Sessions that start later find it. A second one of the
/// name takes the place of the first.
///
/// `make` makes the value of an instance. It gets the config of the data source, is called on a thread of the library
/// before the instance records, and may block. If it panics, the instance is recorded as usual.
pub fn register<I: Interceptor>(
    name: impl Into<String>,
    make: impl Fn(&DataSourceConfig) -> I + Send + Sync + 'static,
) {
    if !ON {
        return;
    }
    let name = name.into();
    let make: Make = Arc::new(move |config| Arc::new(make(config)));
    let mut known = known();
    let old = known.iter().position(|(other, _)| *other == name);
    let old = old.map(|at| known.swap_remove(at));
    known.push((name, make));
    // It is of the program, so it is not dropped under the lock.
    drop(known);
    drop(old);
}

/// The interceptor of one running instance.
pub(crate) struct Interception {
    name: Arc<str>,
    instance: Option<Arc<dyn Instance>>,
}

impl Interception {
    /// For the threads of the instance.
    pub(crate) fn for_threads(&self) -> ForThreads {
        let writers = self.instance.clone().map(|instance| instance.writers());
        ForThreads { name: self.name.clone(), writers }
    }
}

impl Drop for Interception {
    fn drop(&mut self) {
        let instance = self.instance.take();
        callback::run(format_args!("`drop` of the interceptor {}", self.name), || drop(instance));
    }
}

/// The interceptor of an instance, as threads know it. Threads do not keep the value of the program: it is dropped when
/// its instance ends, whatever they do.
#[derive(Clone)]
pub(crate) struct ForThreads {
    name: Arc<str>,
    writers: Option<Arc<dyn Writers>>,
}

impl ForThreads {
    /// The writer of a new sequence. Without the second value it drops all packets. The caller may hold a lock of the
    /// library.
    pub(crate) fn writer(&self) -> (TraceWriter, Option<Box<dyn Intercepted>>) {
        match self.writers.as_ref().and_then(|writers| writers.writer(&self.name)) {
            Some((writer, intercepted)) => (writer, Some(intercepted)),
            None => (TraceWriter::null(), None),
        }
    }
}

impl fmt::Debug for ForThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ForThreads").field(&self.name).finish()
    }
}

/// The interceptor that `config` asks for. None, too, if the program does not know it.
pub(crate) fn start(config: &DataSourceConfig) -> Option<Interception> {
    let name = config.interceptor_config.as_ref()?.name.as_deref().unwrap_or_default();
    let make = known().iter().find(|(known, _)| known == name).map(|(_, make)| make.clone());
    let Some(make) = make else {
        crate::report::report!(
            "{:?} is recorded as usual, because the program has registered no interceptor {name:?}",
            config.name.as_deref().unwrap_or_default()
        );
        return None;
    };
    let instance = callback::run(format_args!("making the interceptor {name}"), || make(config))?;
    Some(Interception { name: name.into(), instance: Some(instance) })
}
