//! A probe as a data source: one thread per instance, which waits for its tick or for a word.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use protos::{DataSourceConfig, DataSourceDescriptor};
use tracing_core::abi::ids::InstanceId;
use tracing_core::client::data_source::{Ack, DataSource, FlushRequest, Instance};
use tracing_core::client::write::{BufferExhaustedPolicy, TraceWriter};
use tracing_core::os::clock;

use crate::Root;
use crate::output::Output;

/// What reads files and fills packets.
pub(crate) trait Probe: Send + Sized + 'static {
    /// Name of the data source.
    const NAME: &'static str;
    /// Whether it tells things once that a reader must remember.
    const HAS_INCREMENTAL_STATE: bool;

    /// Made for one instance.
    fn new(root: &Root, config: &DataSourceConfig) -> Self;

    /// Once, when recording starts.
    fn start(&mut self, out: &mut dyn Output);

    /// Time between ticks; none: never.
    fn period(&self) -> Option<Duration>;

    /// Once after the start, then at each multiple of the period.
    fn tick(&mut self, out: &mut dyn Output);

    /// Everything is to be told again.
    fn clear_incremental_state(&mut self, out: &mut dyn Output) {
        let _ = out;
    }
}

/// How a probe registers.
pub(crate) fn descriptor<P: Probe>() -> DataSourceDescriptor {
    DataSourceDescriptor {
        name: Some(P::NAME.to_owned()),
        handles_incremental_state_clear: P::HAS_INCREMENTAL_STATE.then_some(true),
        ..Default::default()
    }
}

/// A word to an instance's thread.
enum Word {
    Flush(Ack),
    Clear,
    Stop(Ack),
}

/// The data source of a kind of probe.
#[derive(Debug)]
pub(crate) struct Source<P> {
    root: Root,
    threads: BTreeMap<InstanceId, Sender<Word>>,
    probe: PhantomData<fn() -> P>,
}

impl<P: Probe> Source<P> {
    pub(crate) fn new(root: &Root) -> Self {
        Self { root: root.clone(), threads: BTreeMap::new(), probe: PhantomData }
    }
}

impl<P: Probe> DataSource for Source<P> {
    fn start(&mut self, instance: &Instance) {
        // Nothing is lost while the service keeps up at all, and a hung service costs no thread.
        let policy = instance.policy_or(BufferExhaustedPolicy::StallThenDrop);
        let writer = instance.trace_writer(policy);
        let probe = P::new(&self.root, instance.config());
        let (words, inbox) = channel();
        let name = P::NAME.trim_start_matches("linux.").to_owned();
        match thread::Builder::new().name(name).spawn(move || work(probe, writer, &inbox)) {
            Ok(_) => {
                self.threads.insert(instance.id(), words);
            }
            Err(error) => self.root.complain(&format!("{}: no thread: {error}", P::NAME)),
        }
    }

    // An ack that cannot be sent is dropped with the word, and so given.

    fn flush(&mut self, instance: &Instance, _: &FlushRequest, done: Ack) {
        if let Some(thread) = self.threads.get(&instance.id()) {
            let _ = thread.send(Word::Flush(done));
        }
    }

    fn clear_incremental_state(&mut self, instance: &Instance) {
        if let Some(thread) = self.threads.get(&instance.id()) {
            let _ = thread.send(Word::Clear);
        }
    }

    fn stop(&mut self, instance: &Instance, done: Ack) {
        if let Some(thread) = self.threads.remove(&instance.id()) {
            let _ = thread.send(Word::Stop(done));
        }
    }
}

/// Time until the next multiple of `period`, counted on the monotonic clock: instances of one
/// period tick together, and wake the machine once.
pub(crate) fn until_tick(mono_ns: u64, period: Duration) -> Duration {
    let period = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1);
    Duration::from_nanos(period - mono_ns % period)
}

fn work<P: Probe>(mut probe: P, mut writer: TraceWriter, inbox: &Receiver<Word>) {
    probe.start(&mut writer);
    let period = probe.period();
    let mut due_ns = period.map(|_| 0);
    loop {
        let now_ns = clock::now().mono_ns;
        if let (Some(period), Some(due)) = (period, due_ns)
            && now_ns >= due
        {
            probe.tick(&mut writer);
            // Ticks that were missed because this one took long are gone.
            let now_ns = clock::now().mono_ns;
            let wait = u64::try_from(until_tick(now_ns, period).as_nanos()).unwrap_or(u64::MAX);
            due_ns = Some(now_ns.saturating_add(wait));
            continue;
        }
        let word = match due_ns {
            Some(due) => inbox.recv_timeout(Duration::from_nanos(due.saturating_sub(now_ns))),
            None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match word {
            Ok(Word::Flush(done)) => {
                writer.flush();
                drop(done);
            }
            Ok(Word::Clear) => probe.clear_incremental_state(&mut writer),
            Ok(Word::Stop(done)) => {
                // What the writer holds must be on its way before the service hears that we are done.
                drop(writer);
                drop(done);
                return;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
