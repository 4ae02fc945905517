//! The trace writer: one thread of a data source writes its packets with it.

use core::fmt;

use protos::TracePacketWriter;
use protozero::encode::{Scope, StreamOf};
use protozero::rt::{self, Writer};

use crate::write::arbiter::Arbiter;
use crate::write::commit::FlushCallback;
use crate::write::policy::BufferExhaustedPolicy;
use crate::write::short::ShortPacket;
use crate::write::sink::{ChunkSink, SinkState};
use crate::write::writers::{DropCounter, Target};
use abi::ids::{BufferId, WriterId};

/// While packets are dropped, a chunk is asked for again after this many bytes, because each attempt locks
/// the arbiter and scans all pages. (Upstream writes into a scratch buffer of this size and tries again
/// when it is full.)
const RETRY_BYTES: u64 = 1024;

/// Writes packets straight into shared memory. One per thread: it can be sent to another but not
/// shared.
///
/// Packets are written through the generated writers and are committed when their chunk is full, at
/// [`flush`](Self::flush), and when the writer is dropped. They arrive in the order in which they were written.
///
/// ```
/// # fn example(writer: &mut tracing_core_client::write::TraceWriter) {
/// let mut packet = writer.new_packet();
/// packet.timestamp(123);
/// packet.for_testing().str("hello");
/// # }
/// ```
pub struct TraceWriter {
    stream: StreamOf<ChunkSink>,
    /// `first_packet_on_sequence` was not written yet.
    first: bool,
    /// `stream.written()` when packets began to be dropped, or when a chunk was last asked for; none while packets
    /// are written.
    dropped_since: Option<u64>,
    /// Bytes of packets that `stream` does not know.
    short_bytes: u64,
}

impl Arbiter {
    /// A writer whose packets go to `target`: a buffer, or a reservation.
    ///
    /// If all 32767 ids are in use, or the connection is gone, the writer drops all its packets.
    pub fn create_writer(
        &self,
        target: impl Into<Target>,
        policy: BufferExhaustedPolicy,
    ) -> TraceWriter {
        let target = target.into();
        let (home, dropped) = match self.register_writer(target) {
            Some((id, dropped)) => (Some((self.clone(), id)), dropped),
            None => (None, DropCounter::default()),
        };
        TraceWriter::new(home, dropped, target, policy)
    }
}

impl TraceWriter {
    fn new(
        home: Option<(Arbiter, WriterId)>,
        dropped: DropCounter,
        target: Target,
        policy: BufferExhaustedPolicy,
    ) -> Self {
        Self {
            stream: StreamOf::new(ChunkSink::new(home, dropped, target, policy)),
            first: true,
            dropped_since: None,
            short_bytes: 0,
        }
    }

    /// A writer without an arbiter, which drops all its packets. Its id is 0.
    pub fn null() -> Self {
        let target = BufferId::new(0).into();
        Self::new(None, DropCounter::default(), target, BufferExhaustedPolicy::Drop)
    }

    /// Begins a packet; it ends when the returned writer is dropped.
    ///
    /// Never fails. If there is no free chunk the packet is lost or, by the policy, this waits.
    #[inline]
    pub fn new_packet(&mut self) -> TracePacketWriter<'_> {
        self.new_packet_as()
    }

    /// Begins a packet through another view of `TracePacket`, such as one with extensions.
    #[inline]
    pub fn new_packet_as<'w, W: Writer<'w>>(&'w mut self) -> W {
        W::from_scope(self.begin())
    }

    /// One function for all views of a packet, so that it is compiled once.
    #[inline(never)]
    fn begin(&mut self) -> Scope<'_> {
        let sink = self.stream.sink();
        if self.first || sink.state != SinkState::Ready {
            return self.begin_rare();
        }
        self.stream.root()
    }

    /// Begins the first packet of the sequence, or one after a loss.
    #[cold]
    #[inline(never)]
    fn begin_rare(&mut self) -> Scope<'_> {
        if self.stream.sink().state == SinkState::InPacket {
            self.stream.end_forgotten();
        }
        if self.stream.sink().is_dropping() {
            self.begin_dropped();
        }
        let mut scope = self.stream.root();
        if scope.error().is_none() {
            self.dropped_since = None;
        }
        // Once, even if this packet is lost: the next one then says that packets are missing.
        if core::mem::take(&mut self.first) {
            rt::bool::<87>(&mut scope, true);
        }
        scope
    }

    /// Writes a packet that is already encoded: the fields of a `TracePacket`.
    pub fn write_raw(&mut self, fields: &[u8]) {
        self.new_packet().append_raw(fields);
    }

    /// Begins a packet that takes at most `bytes_max` bytes, its length included, and less than 128. Its fields are not
    /// checked against the end of the chunk one by one.
    ///
    /// `None` if this packet has to be one of [`new_packet`](Self::new_packet): the first of a chunk or after a loss,
    /// for example.
    #[inline(always)]
    pub fn new_short_packet(&mut self, bytes_max: usize) -> Option<ShortPacket<'_>> {
        // A packet that needs marks finds no chunk here, because it is the first one of a chunk.
        let fragment = self.stream.sink_mut().begin_short(bytes_max)?;
        Some(ShortPacket::new(fragment, &mut self.short_bytes))
    }

    /// While packets are dropped: the next one asks for a chunk. Without this, one asks after 1024 bytes of dropped
    /// packets and after a [`flush`](Self::flush), because each attempt locks the arbiter and scans all pages.
    pub fn retry(&mut self) {
        self.stream.sink_mut().retry();
    }

    fn begin_dropped(&mut self) {
        let written = self.stream.written();
        let since = *self.dropped_since.get_or_insert(written);
        if written.wrapping_sub(since) >= RETRY_BYTES {
            self.dropped_since = Some(written);
            self.retry();
        }
    }

    /// Commits everything written so far.
    pub fn flush(&mut self) {
        self.flush_with(None);
    }

    /// Commits everything written so far and calls `done`, on the transport's thread, when it has reached
    /// the service.
    ///
    /// A writer without an arbiter calls `done` at once. If the connection was lost, `done` is dropped.
    pub fn flush_with(&mut self, done: Option<FlushCallback>) {
        if self.stream.sink().state == SinkState::InPacket {
            // The last packet is still open, because its writer was forgotten (`mem::forget`).
            self.stream.end_forgotten();
        }
        let sink = self.stream.sink_mut();
        sink.return_chunk();
        sink.send_patches();
        sink.retry();
        match sink.home() {
            Some((arbiter, _)) => arbiter.flush_target(sink.target(), done),
            None => {
                if let Some(done) = done {
                    done();
                }
            }
        }
    }

    /// Its id; 0 for a writer that drops everything.
    pub fn id(&self) -> WriterId {
        self.stream.sink().home().map_or(WriterId::new(0), |(_, id)| *id)
    }

    /// Where its packets go.
    pub fn target(&self) -> Target {
        self.stream.sink().target()
    }

    /// Bytes of all packets so far, dropped ones included, without the lengths of fragments.
    pub fn written(&self) -> u64 {
        self.stream.written() + self.short_bytes
    }

    /// Whether the last packet was dropped, because there was no free chunk or it could not be finished.
    pub fn is_dropping(&self) -> bool {
        self.stream.sink().is_dropping()
    }

    /// Packets that were dropped.
    ///
    /// The service is told of them with the next flush of their session, or when this writer is dropped. Then they are
    /// in the session's ledger of losses.
    pub fn dropped_packets(&self) -> u64 {
        self.stream.sink().dropped()
    }

    /// How many times packets began to be dropped.
    pub fn drop_count(&self) -> u64 {
        self.stream.sink().drop_count
    }
}

impl Drop for TraceWriter {
    fn drop(&mut self) {
        self.flush();
        if let Some((arbiter, id)) = self.stream.sink().home() {
            arbiter.release_writer(*id);
        }
    }
}

impl fmt::Debug for TraceWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceWriter")
            .field("id", &self.id())
            .field("target", &self.target())
            .field("written", &self.written())
            .field("drop_count", &self.drop_count())
            .finish_non_exhaustive()
    }
}
