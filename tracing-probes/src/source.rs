//! A probe as a data source: a thread per instance, which waits for its next tick or for a message.

use std::marker::PhantomData;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use abi::ids::InstanceId;
use abi::map::SortedMap;
use client::data_source::{Ack, DataSource, FlushRequest, Instance};
use client::write::{BufferExhaustedPolicy, TraceWriter};
use os::clock;
use protos::{DataSourceConfig, DataSourceDescriptor};

use crate::Root;
use crate::output::Output;

/// Reads files and fills packets.
pub(crate) trait Probe: Send + Sized + 'static {
    /// Name of the data source.
    const NAME: &'static str;
    /// Whether a reader must remember its earlier packets to understand a later one.
    const HAS_INCREMENTAL_STATE: bool;

    /// A probe for one instance.
    fn new(root: &Root, config: &DataSourceConfig) -> Self;

    /// Called once, when recording starts.
    fn start(&mut self, out: &mut dyn Output);

    /// Time between ticks. `None`: there are no ticks.
    fn period(&self) -> Option<Duration>;

    /// Called right after the start, then at each multiple of the period.
    fn tick(&mut self, out: &mut dyn Output);

    /// A reader may have lost the packets so far: write again what it must remember.
    fn clear_incremental_state(&mut self, out: &mut dyn Output) {
        let _ = out;
    }
}

/// The descriptor that a probe registers.
pub(crate) fn descriptor<P: Probe>() -> DataSourceDescriptor {
    DataSourceDescriptor {
        name: Some(P::NAME.to_owned()),
        handles_incremental_state_clear: P::HAS_INCREMENTAL_STATE.then_some(true),
        ..Default::default()
    }
}

/// A message to an instance's thread.
enum Message {
    Flush(Ack),
    Clear,
    Stop(Ack),
}

/// The data source of a kind of probe.
#[derive(Debug)]
pub(crate) struct Source<P> {
    root: Root,
    threads: SortedMap<InstanceId, Sender<Message>>,
    probe: PhantomData<fn() -> P>,
}

impl<P: Probe> Source<P> {
    pub(crate) fn new(root: &Root) -> Self {
        Self { root: root.clone(), threads: SortedMap::new(), probe: PhantomData }
    }
}

impl<P: Probe> DataSource for Source<P> {
    fn start(&mut self, instance: &Instance) {
        // Stalling loses nothing while the service keeps up; dropping frees the thread if it hangs.
        let policy = instance.policy_or(BufferExhaustedPolicy::StallThenDrop);
        let writer = instance.trace_writer(policy);
        let probe = P::new(&self.root, instance.config());
        let (sender, inbox) = channel();
        let name = P::NAME.trim_start_matches("linux.").to_owned();
        match thread::Builder::new().name(name).spawn(move || run(probe, writer, &inbox)) {
            Ok(_) => {
                self.threads.insert(instance.id(), sender);
            }
            Err(error) => self.root.warn_once(&format!("{}: no thread: {error}", P::NAME)),
        }
    }

    // An ack that cannot be sent is dropped with its message, which acknowledges.

    fn flush(&mut self, instance: &Instance, _: &FlushRequest, done: Ack) {
        if let Some(thread) = self.threads.get(&instance.id()) {
            let _ = thread.send(Message::Flush(done));
        }
    }

    fn clear_incremental_state(&mut self, instance: &Instance) {
        if let Some(thread) = self.threads.get(&instance.id()) {
            let _ = thread.send(Message::Clear);
        }
    }

    fn stop(&mut self, instance: &Instance, done: Ack) {
        if let Some(thread) = self.threads.remove(&instance.id()) {
            let _ = thread.send(Message::Stop(done));
        }
    }
}

/// Time until the next multiple of `period` on the monotonic clock. Instances with the same period tick at the
/// same time, which wakes the processor once.
pub(crate) fn until_tick(mono_ns: u64, period: Duration) -> Duration {
    let period = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1);
    Duration::from_nanos(period - mono_ns % period)
}

fn run<P: Probe>(mut probe: P, mut writer: TraceWriter, inbox: &Receiver<Message>) {
    probe.start(&mut writer);
    let period = probe.period();
    let mut due_ns = period.map(|_| 0);
    loop {
        let now_ns = clock::now().mono_ns;
        if let (Some(period), Some(due)) = (period, due_ns)
            && now_ns >= due
        {
            probe.tick(&mut writer);
            // Ticks that were missed because this one took long are skipped.
            let now_ns = clock::now().mono_ns;
            let wait = u64::try_from(until_tick(now_ns, period).as_nanos()).unwrap_or(u64::MAX);
            due_ns = Some(now_ns.saturating_add(wait));
            continue;
        }
        let message = match due_ns {
            Some(due) => inbox.recv_timeout(Duration::from_nanos(due.saturating_sub(now_ns))),
            None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match message {
            Ok(Message::Flush(done)) => {
                writer.flush();
                drop(done);
            }
            Ok(Message::Clear) => probe.clear_incremental_state(&mut writer),
            Ok(Message::Stop(done)) => {
                // The writer commits what it holds before the service gets the ack.
                drop(writer);
                drop(done);
                return;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
