//! What a trace point of a data source writes with.

use core::fmt;

use protos::{DataSourceConfig, TracePacketWriter};

use super::instances::Running;
use super::source::DataSource;
use super::thread::Local;
use crate::clock;
use crate::source::settings::{CLEARED, NEEDS_STATE, TRACE_CLOCK};

/// One instance, on the calling thread.
pub struct Context<'c, S: DataSource> {
    running: &'c Running<S>,
    local: &'c mut Local<S>,
}

impl<'c, S: DataSource> Context<'c, S> {
    pub(super) fn new(running: &'c Running<S>, local: &'c mut Local<S>) -> Self {
        Self { running, local }
    }

    /// The value of the instance, which all threads share.
    #[must_use]
    pub fn instance(&self) -> &'c S {
        &self.running.value
    }

    /// The config of the session for this data source.
    #[must_use]
    pub fn config(&self) -> &'c DataSourceConfig {
        self.running.instance.config()
    }

    /// The incremental state of the calling thread.
    pub fn incremental(&mut self) -> &mut S::Incremental {
        &mut self.local.values().incremental
    }

    /// A value of the calling thread in this session. It begins as the default, and stays as it is when the incremental
    /// state begins anew: for what the program needs, such as the last value that was written. There is one for each
    /// type.
    ///
    /// ```
    /// # use tracing_sdk::data_source::{DataSource, Registered};
    /// # struct Load;
    /// # impl DataSource for Load {
    /// #     type Incremental = ();
    /// #     fn setup(_: &tracing_sdk::protos::DataSourceConfig) -> Self { Self }
    /// # }
    /// # static LOAD: Registered<Load> = Registered::new("com.example.load");
    /// /// What this thread has written last.
    /// #[derive(Default)]
    /// struct Last(u64);
    ///
    /// fn report(load: u64) {
    ///     LOAD.trace(|context| {
    ///         let last = context.thread_state::<Last>();
    ///         if core::mem::replace(&mut last.0, load) != load {
    ///             context.packet(|packet| {
    ///                 packet.for_testing().str(&format!("{load}"));
    ///             });
    ///         }
    ///     });
    /// }
    /// # report(1);
    /// ```
    #[allow(clippy::missing_panics_doc, reason = "it is there")]
    pub fn thread_state<T: Default + 'static>(&mut self) -> &mut T {
        let states = &mut self.local.values().states;
        if !states.iter().any(|state| state.is::<T>()) {
            states.push(Box::new(T::default()));
        }
        states.iter_mut().find_map(|state| state.downcast_mut()).expect("it was added above")
    }

    /// Writes a packet. Its time is now, unless `fill` sets another timestamp, in ns since boot.
    pub fn packet(&mut self, fill: impl FnOnce(&mut TracePacketWriter<'_>)) {
        self.packet_with(|packet, _| fill(packet));
    }

    /// As [`packet`](Self::packet), for packets with names that are defined in them: `fill` also gets the incremental
    /// state.
    ///
    /// The library sets `sequence_flags`, if there is incremental state: readers skip packets whose state was lost.
    pub fn packet_with(
        &mut self,
        fill: impl FnOnce(&mut TracePacketWriter<'_>, &mut S::Incremental),
    ) {
        let local = &mut *self.local;
        let Some(values) = &mut local.values else { return };
        let mut packet = local.writer.new_packet();
        packet.timestamp(clock::now_ns()).timestamp_clock_id(TRACE_CLOCK);
        if size_of::<S::Incremental>() != 0 {
            packet.sequence_flags(if local.is_cleared { CLEARED } else { NEEDS_STATE });
        }
        // If `fill` panics, the packet may lack what the incremental state says that it defines.
        let had_lost = core::mem::replace(&mut local.has_lost, true);
        fill(&mut packet, &mut values.incremental);
        drop(packet);
        // After a loss the next trace point begins anew. Packets before that need the state, so readers skip them.
        local.is_cleared = false;
        local.has_lost = had_lost || local.writer.is_dropping();
        local.end_packet();
    }

    /// Hands what this thread has written over to the service at once.
    pub fn flush(&mut self) {
        self.local.writer.flush();
    }
}

impl<S: DataSource> fmt::Debug for Context<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("instance", &self.running.instance.id()).finish()
    }
}
