//! Taking packets out of a session, in passes.
//!
//! One pass gives what the service has to say (in a fixed order, so that a trace begins with what its
//! reader needs first) and then packets of the buffers until a threshold is reached:
//!
//! ```text
//!   snapshots, marker, config, uuid, system, events ─┐
//!   buffer 0 ─ validated, trusted fields ────────────┼─> [filter] ─┬─> [codec] ─> sink
//!   buffer 1 ─ ...                                   │             │
//!   "all is read" if it is ──────────────────────────┘   stats ────┘
//! ```
//!
//! Where they go is a [`PacketSink`]: reply messages, or a file (see [`super::sink`]).

use bytes::Bytes;

use super::sequence::{SequenceIds, Suffix, Trusted};
use super::sink::{PacketSink, ReplySink, Room, Shaper, len_of};
use super::state::{Lifecycle, Session};
use crate::buffer::{PacketRef, TakePacket};
use crate::core::Service;
use crate::limits;
use crate::packet::PacketStreamValidator;
use crate::packets;
use abi::ids::{CallId, ClientId, SessionId};

pub(crate) use super::sequence::SequenceKey;

/// What a consumer reads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    /// The stream of `ReadBuffers` replies that goes on, if any.
    call: Option<CallId>,
}

impl Service {
    /// A consumer asks for packets; an older stream of it ends with a rejection.
    pub(crate) fn read_buffers(&mut self, client: ClientId, call: Option<CallId>) {
        let Some(consumer) = self.consumers.get_mut(&client) else { return };
        let older = consumer.read.call.take();
        self.out.reject(client, older);
        // Nobody would get the packets: do not destroy them.
        let Some(call) = call else { return };
        let session = consumer.session.and_then(|id| self.sessions.get(&id));
        let readable =
            |s: &Session| s.file.is_none() && !self.is_being_made(s.id) && !s.waits_for_trigger();
        if !session.is_some_and(readable) {
            return self.out.stream(client, call, Bytes::new(), false);
        }
        if let Some(consumer) = self.consumers.get_mut(&client) {
            consumer.read.call = Some(call);
        }
        self.continue_read(client);
    }

    /// The transport has room again.
    pub(crate) fn consumer_drained(&mut self, client: ClientId) {
        if let Some(consumer) = self.consumers.get_mut(&client) {
            consumer.on_the_way = 0;
            self.continue_queries(client);
            self.continue_read(client);
        }
    }

    /// Ends a stream without more packets: the session is gone.
    pub(crate) fn end_read(&mut self, client: ClientId) {
        if let Some(call) = self.consumers.get_mut(&client).and_then(|c| c.read.call.take()) {
            self.out.stream(client, call, Bytes::new(), false);
        }
    }

    /// Passes until the buffers are empty or enough is on the way.
    fn continue_read(&mut self, client: ClientId) {
        loop {
            let Some(consumer) = self.consumers.get_mut(&client) else { return };
            let (Some(id), Some(call)) = (consumer.session, consumer.read.call) else { return };
            if consumer.on_the_way >= limits::READ_WINDOW_BYTES {
                return;
            }
            let mut out = std::mem::take(&mut self.out);
            let mut sink = ReplySink::new(&mut out, client, call);
            let Pass { has_more, walked } = self.read_pass(id, limits::READ_PASS_BYTES, &mut sink);
            let sent = sink.finish(has_more);
            // Nothing logs during a pass, so the queue put aside is all there is.
            self.out = out;
            let Some(consumer) = self.consumers.get_mut(&client) else { return };
            // What was looked at counts, too: a turn must not last longer because little came of it.
            consumer.on_the_way += sent.max(walked);
            if !has_more {
                consumer.read.call = None;
            }
        }
    }

    /// One pass: gives packets to `sink` until `threshold` bytes of them, filtered and compressed as the
    /// session wants it.
    pub(crate) fn read_pass(
        &mut self,
        id: SessionId,
        threshold: usize,
        sink: &mut impl PacketSink,
    ) -> Pass {
        let Some(session) = self.sessions.get_mut(&id) else { return Pass::default() };
        if session.filter.is_none() && session.compression.is_none() {
            let mut pass = self.gather(id, threshold, sink);
            pass.has_more =
                pass.has_more || self.stats_if_due(id).is_some_and(|packet| is_full(sink, &packet));
            return pass;
        }
        let mut shaper = Shaper::new(sink, session.filter.take(), session.compression);
        let Pass { mut has_more, walked } = self.gather(id, threshold, &mut shaper);
        let walked = walked.max(shaper.worked());
        if let Some(session) = self.sessions.get_mut(&id) {
            session.filter = shaper.take_filter();
        }
        if !has_more && let Some(packet) = self.stats_if_due(id) {
            // Statistics tell nothing that a filter would hide, but they are counted.
            let session = self.sessions.get_mut(&id);
            if let Some(filter) = session.and_then(|session| session.filter.as_mut()) {
                filter.pass(packet.len());
            }
            has_more = is_full(&mut shaper, &packet);
        }
        has_more |= shaper.finish() == Room::Full;
        Pass { has_more, walked }
    }

    fn stats_if_due(&mut self, id: SessionId) -> Option<Vec<u8>> {
        let session = self.sessions.get_mut(&id)?;
        std::mem::take(&mut session.pending.stats).then(|| self.stats_packet(id))
    }

    /// All packets of a pass but the statistics.
    fn gather(&mut self, id: SessionId, threshold: usize, sink: &mut impl PacketSink) -> Pass {
        let mut sum = 0usize;
        let pass = |walked, has_more| Pass { has_more, walked };
        for packet in self.service_packets(id) {
            sum += packet.len();
            if is_full(sink, &packet) {
                return pass(sum, true);
            }
        }
        let Some(session) = self.sessions.get_mut(&id) else { return pass(sum, false) };
        let mut trusted = Trusted::new();
        for (index, buffer) in session.buffers.iter().enumerate() {
            let Some(buffer) = self.buffers.get_mut(buffer) else { continue };
            sink.comes_from(Some(index));
            let mut drain = Drain {
                ids: &mut session.sequences,
                trusted: &mut trusted,
                sink: &mut *sink,
                sum,
                threshold,
                invalid: 0,
                stopped: false,
            };
            buffer.begin_read();
            buffer.read_while(&mut drain);
            sum = drain.sum;
            let (stopped, invalid) = (drain.stopped, drain.invalid);
            session.counters.invalid_packets += invalid;
            if stopped {
                return pass(sum, true);
            }
        }
        sink.comes_from(None);
        if session.builtin().disable_service_events == Some(true) {
            return pass(sum, false);
        }
        let (config, machine) = (&self.config, self.local_machine_id);
        let at_ns = self.now.boot_ns;
        let read = packets::lifecycle(config, machine, Lifecycle::ReadCompleted, at_ns);
        pass(sum, is_full(sink, &read))
    }
}

/// Puts a packet of the service; true if it found no room.
fn is_full(sink: &mut impl PacketSink, packet: &[u8]) -> bool {
    sink.put(&[packet], &Suffix::EMPTY) == Room::Full
}

/// What a packet that is left out counts for beside its bytes: looking at it takes as long as a short one does.
const INVALID_COSTS_BYTES: usize = 16;

/// The same of a fragment that gives no packet.
const EMPTY_COSTS_BYTES: usize = 4;

/// What came of a pass.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pass {
    /// There may be more to read.
    pub(crate) has_more: bool,
    /// Bytes of packets looked at, whatever became of them; more if filtering them took longer.
    pub(crate) walked: usize,
}

/// What emptying a buffer has to know.
struct Drain<'a, S> {
    ids: &'a mut SequenceIds,
    trusted: &'a mut Trusted,
    sink: &'a mut S,
    sum: usize,
    threshold: usize,
    invalid: u64,
    /// By the threshold or by the sink.
    stopped: bool,
}

impl<S: PacketSink> TakePacket for Drain<'_, S> {
    // Everything on the way of a short packet is in one piece of code: calls cost more than what they do.
    #[inline(always)]
    fn take(&mut self, packet: PacketRef<'_>) -> bool {
        let slices: &[&[u8]] = &packet.slices;
        if !PacketStreamValidator::validate(slices) {
            self.invalid += 1;
            self.sum += INVALID_COSTS_BYTES + len_of(slices);
            self.stopped = self.sum >= self.threshold;
            return !self.stopped;
        }
        let key = SequenceKey {
            machine: packet.identity.machine_id,
            producer: packet.producer,
            writer: packet.writer,
        };
        let author = (key, packet.identity.uid, packet.identity.pid);
        let suffix = self.trusted.of(self.ids, author, packet.dropped);
        self.sum += len_of(slices) + suffix.len();
        let room = match slices {
            [one] => self.sink.put_one(one, suffix),
            several => self.sink.put(several, suffix),
        };
        self.stopped = room == Room::Full
            || self.sum >= self.threshold
            || self.sink.worked() >= self.threshold.min(limits::READ_WINDOW_BYTES);
        !self.stopped
    }

    fn passed_over(&mut self, fragments: u32) -> bool {
        self.sum += EMPTY_COSTS_BYTES * fragments as usize;
        self.stopped = self.sum >= self.threshold;
        !self.stopped
    }
}
