//! Taking packets out of a session, in passes.
//!
//! One pass takes the packets of the service (in a fixed order, so that a trace begins with what its reader needs
//! first) and then packets of the buffers until a threshold is reached:
//!
//! ```text
//!   snapshots, marker, config, uuid, system, events ─┐
//!   buffer 0 ─ validated, trusted fields ────────────┼─> [filter] ─┬─> sink
//!   buffer 1 ─ ...                                   │             │
//!   "all is read" if it is ──────────────────────────┘   stats ────┘
//! ```
//!
//! A [`PacketSink`] takes them: reply messages, a file (see [`super::sink`]), or a codec, which takes some turns before
//! they go on ([`super::compressing`]).

use bytes::Bytes;
use protozero::Message as _;

use super::compressing::{Compressing, StreamSink};
use super::events::Lifecycle;
use super::invalid::InvalidPackets;
use super::sequence::{Numbering, SequenceIds, Suffix, TrustedFields};
use super::sink::{FilterSink, PacketSink, Pass, PutResult, ReplySink, len_of};
use super::state::{Session, Sessions};
use crate::accounts::{Accounts, BufferCharge};
use crate::buffer::{PacketRef, TakePacket};
use crate::buffers::Buffers;
use crate::consumers::Consumers;
use crate::context::Context;
use crate::effect_queue::{Caller, EffectQueue};
use crate::limits;
use crate::packet::PacketStreamValidator;
use crate::producers::Producers;
use crate::service_packet::PacketMaker;
use crate::stats::{self, ServiceTotals};
use crate::timers::Timers;
use crate::{packets, provenance};
use abi::ids::{BufferId, ClientId};
use abi::time::Now;

/// What a pass needs beside its session.
pub(crate) struct PassContext<'a> {
    pub(crate) maker: PacketMaker<'a>,
    pub(crate) now: &'a Now,
    pub(crate) producers: &'a Producers,
    pub(crate) buffers: &'a mut Buffers,
    pub(crate) totals: ServiceTotals,
    /// What passes cost so far, in bytes read. Filters and statistics count as bytes, too.
    pub(crate) cost_bytes: usize,
    pub(crate) accounts: &'a mut Accounts,
}

/// What follows from a pass: effects and timers.
pub(crate) type PassEffects<'a> = (&'a mut EffectQueue, &'a mut Timers);

impl<'a> PassContext<'a> {
    /// Splits the context of the service: one part is for a pass, the other has the effects and timers that the pass
    /// adds to.
    pub(crate) fn new(
        cx: &'a mut Context,
        producers: &'a Producers,
        buffers: &'a mut Buffers,
        totals: ServiceTotals,
    ) -> (Self, PassEffects<'a>) {
        let Context { config, now, machine_id, out, timers, accounts, .. } = cx;
        let maker = PacketMaker { config, machine_id: *machine_id };
        let context = Self { maker, now, producers, buffers, totals, accounts, cost_bytes: 0 };
        (context, (out, timers))
    }
}

/// A consumer asks for packets; an older stream of it ends with a rejection. Returns whether there is a stream now.
pub(crate) fn handle_request(
    caller: Caller,
    consumers: &mut Consumers,
    sessions: &Sessions,
    out: &mut EffectQueue,
) -> bool {
    let client = caller.client;
    let Some(consumer) = consumers.get_mut(client) else { return false };
    let older = consumer.read_call.take();
    out.reject(Caller { client, call: older });
    // Without a call the packets would be lost: leave them in the buffers.
    let Some(call) = caller.call else { return false };
    let session = consumer.session.and_then(|id| sessions.get(id));
    let readable = |s: &Session| s.file.is_none() && !s.is_being_made() && !s.waits_for_trigger();
    if !session.is_some_and(readable) {
        out.stream(client, call, Bytes::new(), false);
        return false;
    }
    consumer.read_call = Some(call);
    true
}

/// Passes until the buffers are empty, enough is in flight, or one is to be compressed first.
pub(crate) fn continue_stream(
    client: ClientId,
    consumers: &mut Consumers,
    sessions: &mut Sessions,
    context: &mut PassContext<'_>,
    out: &mut EffectQueue,
) {
    let Some(consumer) = consumers.get_mut(client) else { return };
    let Some(session) = consumer.session.and_then(|id| sessions.get_mut(id)) else { return };
    while let Some(call) = consumer.read_call
        && consumer.in_flight_bytes < limits::READ_WINDOW_BYTES
    {
        if let Some(codec) = session.compression.codec
            && session.compression.pass.is_none()
        {
            let mut sink = StreamSink::default();
            let pass = read_pass(session, context, limits::READ_PASS_BYTES, &mut sink);
            session.compression.pass = Some(Compressing::new(codec, sink, pass, Some(call)));
        }
        if session.compression.pass.as_ref().is_some_and(Compressing::is_due) {
            return;
        }
        let mut sink = ReplySink::new(out, client, call);
        let Pass { has_more, bytes_read } = match session.compression.pass.take() {
            Some(compressed) => {
                compressed.put(&mut sink);
                compressed.pass(call)
            }
            None => read_pass(session, context, limits::READ_PASS_BYTES, &mut sink),
        };
        let sent = sink.finish(has_more);
        // What was read counts, too: a turn must not last longer because few of them were sent.
        let bytes = sent.max(bytes_read);
        consumer.in_flight_bytes = consumer.in_flight_bytes.saturating_add(bytes);
        if !has_more {
            consumer.read_call = None;
            if let Some(taken) = &mut session.taken {
                taken.is_read = true;
            }
        }
    }
}

/// One pass: puts packets into `sink` until `threshold` bytes of them, filtered as the session wants it.
pub(crate) fn read_pass(
    session: &mut Session,
    context: &mut PassContext<'_>,
    threshold: usize,
    sink: &mut impl PacketSink,
) -> Pass {
    let packets = service_packets(session, context);
    let mut pass = if session.packet_filter.is_some() {
        read_pass_filtered(session, context, threshold, sink, &packets)
    } else {
        let mut source = PassSource::new(session, &packets);
        let pass = source.gather(context, threshold, sink);
        let invalid = source.invalid;
        note_invalid(session, &invalid, context);
        pass
    };
    let moved = session.sequences.take_moved().saturating_mul(limits::MOVED_SEQUENCE_BYTES_READ);
    context.cost_bytes = context.cost_bytes.saturating_add(pass.bytes_read).saturating_add(moved);
    if session.packet_filter.is_none()
        && !pass.has_more
        && let Some(packet) = stats_if_due(session, context)
    {
        pass.has_more = is_full(sink, &packet);
    }
    pass
}

/// The packets of the service that come first.
fn service_packets(session: &mut Session, context: &mut PassContext<'_>) -> Vec<Vec<u8>> {
    let origin = if session.unread_events.initial_done {
        None
    } else {
        let PassContext { maker, now, buffers, accounts, .. } = context;
        Some(provenance::packet_of(session, buffers, accounts, *maker, now.boot_ns))
    };
    packets::of_pass(session, context.maker, origin)
}

/// [`read_pass`], through a filter. It is more work than a call for each packet, so this code is there once for all
/// sinks.
fn read_pass_filtered(
    session: &mut Session,
    context: &mut PassContext<'_>,
    threshold: usize,
    sink: &mut dyn PacketSink,
    packets: &[Vec<u8>],
) -> Pass {
    let Some(mut filter) = session.packet_filter.take() else { return Pass::default() };
    let mut filtered = FilterSink::new(sink, &mut filter);
    let mut source = PassSource::new(session, packets);
    let mut pass = source.gather(context, threshold, &mut filtered);
    let invalid = source.invalid;
    pass.bytes_read = pass.bytes_read.max(filtered.work_bytes());
    *session.packet_filter = Some(filter);
    note_invalid(session, &invalid, context);
    if !pass.has_more
        && let Some(packet) = stats_if_due(session, context)
    {
        // Statistics have nothing that a filter would remove, but the filter counts them.
        if let Some(filter) = &mut *session.packet_filter {
            filter.pass(packet.len());
        }
        pass.has_more = is_full(sink, &packet);
    }
    pass
}

/// Counts the packets that were left out, and puts them into the ledger: also when the session is over, as they were
/// written before.
fn note_invalid(session: &mut Session, invalid: &InvalidPackets, context: &PassContext<'_>) {
    let count = &mut session.counters.invalid_packets;
    *count = count.saturating_add(invalid.count());
    for loss in invalid.losses(context.producers) {
        session.add_loss_at(loss, context.accounts, context.now.boot_ns);
    }
}

/// The statistics of a writer cost what reading so many bytes does.
const STATS_BYTES_PER_WRITER: usize =
    (limits::WORK_PER_WRITER_STATS / limits::WORK_PER_READ_BYTE) as usize;

/// The statistics as a packet, if it is time for one.
fn stats_if_due(session: &mut Session, context: &mut PassContext<'_>) -> Option<Vec<u8>> {
    if !std::mem::take(&mut session.unread_events.stats) {
        return None;
    }
    let PassContext { buffers, accounts, totals, .. } = context;
    let stats = stats::of(session, buffers, accounts, totals);
    let cost = STATS_BYTES_PER_WRITER.saturating_mul(stats.writer_stats.len());
    context.cost_bytes = context.cost_bytes.saturating_add(cost);
    Some(context.maker.packet(None, |p| {
        p.trace_stats_raw(&stats.encode_to_vec());
    }))
}

/// All packets of a pass but the statistics, and what the session notes about them.
struct PassSource<'a> {
    buffers: &'a [BufferId],
    sequences: &'a mut SequenceIds,
    charge: &'a mut BufferCharge,
    copied_bytes: &'a mut usize,
    invalid: InvalidPackets,
    /// The packets of the service, which come first.
    packets: &'a [Vec<u8>],
    /// The end of the buffers is an event of the trace.
    tell_end: bool,
}

impl<'a> PassSource<'a> {
    fn new(session: &'a mut Session, packets: &'a [Vec<u8>]) -> Self {
        let tell_end = session.builtin().disable_service_events != Some(true);
        Self {
            buffers: &session.buffers,
            sequences: &mut session.sequences,
            charge: &mut session.buffer_charge,
            copied_bytes: &mut session.copied_bytes,
            invalid: InvalidPackets::default(),
            packets,
            tell_end,
        }
    }

    fn gather(
        &mut self,
        context: &mut PassContext<'_>,
        threshold: usize,
        sink: &mut impl PacketSink,
    ) -> Pass {
        let mut sum = 0usize;
        let pass = |bytes_read, has_more| Pass { has_more, bytes_read };
        for packet in self.packets {
            sum = sum.saturating_add(packet.len());
            if is_full(sink, packet) {
                return pass(sum, true);
            }
        }
        let mut trusted = TrustedFields::new();
        for (index, buffer) in self.buffers.iter().enumerate() {
            let Some(buffer) = context.buffers.get_mut(*buffer) else { continue };
            sink.comes_from(Some(index));
            let ids = Numbering {
                ids: &mut *self.sequences,
                charge: &mut *self.charge,
                accounts: &mut *context.accounts,
            };
            let packet_bytes_max = context.maker.config.packet_bytes_max();
            let mut drain = Drain {
                ids,
                trusted: &mut trusted,
                sink: &mut *sink,
                sum,
                threshold,
                long_from: packet_bytes_max.min(limits::LONG_PACKET_BYTES),
                packet_bytes_max,
                copied_bytes: &mut *self.copied_bytes,
                invalid: &mut self.invalid,
                stopped: false,
            };
            buffer.begin_read();
            buffer.read_while(&mut drain);
            sum = drain.sum;
            if drain.stopped {
                return pass(sum, true);
            }
        }
        sink.comes_from(None);
        if !self.tell_end {
            return pass(sum, false);
        }
        let kind = Lifecycle::ReadCompleted;
        let read = packets::lifecycle(context.maker, kind, context.now.boot_ns);
        pass(sum, is_full(sink, &read))
    }
}

/// Puts a packet of the service; true if it found no room.
fn is_full(sink: &mut dyn PacketSink, packet: &[u8]) -> bool {
    sink.put(&[packet], &Suffix::EMPTY) == PutResult::Full
}

/// Cost of a packet that is left out, beside its bytes: validating it takes as long as a short one does.
const INVALID_COSTS_BYTES: usize = 16;

/// Cost of a fragment without a packet.
const EMPTY_COSTS_BYTES: usize = 4;

/// The state while a buffer is read.
struct Drain<'a, S> {
    ids: Numbering<'a>,
    trusted: &'a mut TrustedFields,
    sink: &'a mut S,
    sum: usize,
    threshold: usize,
    /// A packet of more bytes is long.
    long_from: usize,
    packet_bytes_max: usize,
    /// See [`Session::copied_bytes`].
    copied_bytes: &'a mut usize,
    invalid: &'a mut InvalidPackets,
    /// By the threshold or by the sink.
    stopped: bool,
}

impl<S> Drain<'_, S> {
    /// Whether a long packet may be copied. What the longest one of a session takes is on the account of its user until
    /// the session ends, as nobody may take the copy. A reply has one such packet; a file may have two, which the shell
    /// counts.
    #[cold]
    #[inline(never)]
    fn may_copy(&mut self, len: usize) -> bool {
        let Numbering { charge, accounts, .. } = &mut self.ids;
        let more = len.saturating_sub(*self.copied_bytes);
        let is_charged = more == 0 || charge.add(more, accounts).is_ok();
        if is_charged {
            *self.copied_bytes = len.max(*self.copied_bytes);
        }
        is_charged
    }
}

#[allow(
    clippy::arithmetic_side_effects,
    reason = "runs for each packet; sums of lengths of memory that is there, and counts of packets"
)]
impl<S: PacketSink> TakePacket for Drain<'_, S> {
    fn as_dyn(&mut self) -> Option<&mut dyn TakePacket> {
        Some(self)
    }

    // All of the path of a short packet is in one piece of code: calls cost more than what they do.
    #[inline(always)]
    fn take(&mut self, packet: PacketRef<'_>) -> bool {
        let slices: &[&[u8]] = &packet.slices;
        let len = len_of(slices);
        let is_long = len > self.long_from;
        if (is_long && len > self.packet_bytes_max)
            || !PacketStreamValidator::validate(slices)
            || (is_long && !self.may_copy(len))
        {
            self.invalid.note(packet.producer, packet.identity);
            self.trusted.leave_out(&mut self.ids, packet.sequence(), packet.dropped);
            self.sum += INVALID_COSTS_BYTES + len;
            self.stopped = self.sum >= self.threshold;
            return !self.stopped;
        }
        let suffix = self.trusted.of(&mut self.ids, packet.sequence(), packet.dropped);
        self.sum += len + suffix.len();
        let result = match slices {
            [one] => self.sink.put_one(one, suffix),
            several => self.sink.put(several, suffix),
        };
        self.stopped = result == PutResult::Full
            || self.sum >= self.threshold
            || self.sink.work_bytes() >= self.threshold.min(limits::READ_WINDOW_BYTES);
        !self.stopped
    }

    fn skipped_fragments(&mut self, fragments: u32) -> bool {
        self.sum += EMPTY_COSTS_BYTES * fragments as usize;
        self.stopped = self.sum >= self.threshold;
        !self.stopped
    }
}
