//! Taking packets out of a session, in passes.
//!
//! One pass gives what the service has to say (in a fixed order, so that a trace begins with what its
//! reader needs first) and then packets of the buffers until a threshold is reached. Where they
//! go is a [`PacketSink`]: reply messages here, a file in [`super::file`]. A packet goes from the trace
//! buffer straight into the sink's bytes: nothing is allocated per packet, and its trusted fields are encoded
//! once per sequence.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::state::Lifecycle;
use crate::buffer::TraceBuffer;
use crate::ids::{CallId, ClientId, ProducerId, SessionId, WriterId};
use crate::limits;
use crate::packet::PacketStreamValidator;
use crate::service::core::Service;
use crate::service::outbox::Outbox;
use crate::service::packets;

/// Whether a sink takes more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::service) enum Room {
    /// It does.
    More,
    /// It does not, and did not take this one either.
    Full,
}

/// Where a pass puts packets: the fields of each, without any envelope.
pub(in crate::service) trait PacketSink {
    /// Takes one packet: the bytes of `slices`, then `trailer`.
    fn put(&mut self, slices: &[&[u8]], trailer: &[u8]) -> Room;
}

/// Appends `value` to a buffer of at least ten bytes; returns how many it took.
pub(in crate::service) fn put_varint(out: &mut [u8], mut value: u64) -> usize {
    let mut len = 0;
    while value >= 0x80 {
        out[len] = value as u8 | 0x80;
        value >>= 7;
        len += 1;
    }
    out[len] = value as u8;
    len + 1
}

/// How many bytes the varint takes.
fn varint_len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// What makes two packets of one sequence, and who wrote them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::service) struct SequenceKey {
    pub(in crate::service) machine: u32,
    pub(in crate::service) producer: ProducerId,
    pub(in crate::service) writer: WriterId,
}

/// The numbers of the sequences of one session, from 2 in the order they are first met; 1 is the service.
#[derive(Debug)]
pub(in crate::service) struct SequenceIds {
    ids: BTreeMap<SequenceKey, u32>,
    next: u32,
}

impl Default for SequenceIds {
    fn default() -> Self {
        Self { ids: BTreeMap::new(), next: 2 }
    }
}

impl SequenceIds {
    pub(in crate::service) fn id(&mut self, key: SequenceKey) -> u32 {
        if let Some(id) = self.ids.get(&key) {
            return *id;
        }
        if self.ids.len() >= limits::SEQUENCES_PER_SESSION_MAX {
            self.ids.clear();
        }
        let id = self.next;
        self.next = self.next.checked_add(1).unwrap_or(2);
        self.ids.insert(key, id);
        id
    }
}

/// The trusted fields of a packet, appended so that they win over what a producer may have written.
struct Trailer {
    key: Option<(SequenceKey, u32, Option<i32>)>,
    bytes: [u8; 64],
    /// Without the loss mark, which is the only thing that changes within a sequence.
    fixed_len: usize,
}

impl Trailer {
    const fn new() -> Self {
        Self { key: None, bytes: [0; 64], fixed_len: 0 }
    }

    fn of(
        &mut self,
        ids: &mut SequenceIds,
        key: SequenceKey,
        (uid, pid): (u32, Option<i32>),
        dropped: u32,
    ) -> &[u8] {
        if self.key != Some((key, uid, pid)) {
            self.key = Some((key, uid, pid));
            self.fixed_len = 0;
            // Negative int32 take ten bytes, as the wire format sign-extends them.
            self.put(3, i64::from(uid as i32) as u64);
            self.put(10, ids.id(key).into());
            if let Some(pid) = pid {
                self.put(79, i64::from(pid) as u64);
            }
            if key.machine != 0 {
                self.put(98, key.machine.into());
            }
        }
        let fixed_len = self.fixed_len;
        if dropped != 0 {
            self.put(42, dropped.into());
        }
        let len = std::mem::replace(&mut self.fixed_len, fixed_len);
        &self.bytes[..len]
    }

    /// Five fields of at most 2 + 10 bytes fit into 64.
    fn put(&mut self, field: u64, value: u64) {
        self.fixed_len += put_varint(&mut self.bytes[self.fixed_len..], field << 3);
        self.fixed_len += put_varint(&mut self.bytes[self.fixed_len..], value);
    }
}

/// Packets as slices of `ReadBuffersResponse` messages, encoded as they come.
struct ReplySink<'a> {
    out: &'a mut Outbox,
    client: ClientId,
    call: CallId,
    bytes: Vec<u8>,
    /// Slices so far, as upstream counts them against the size of a frame.
    counted: usize,
    sent: usize,
}

impl ReplySink<'_> {
    fn send(&mut self, has_more: bool) {
        let bytes = std::mem::take(&mut self.bytes);
        self.sent += bytes.len();
        self.counted = 0;
        self.out.stream(self.client, self.call, Bytes::from(bytes), has_more);
    }

    /// Appends `slices { data: <the next len bytes> last_slice_for_packet: last }`.
    fn slice(&mut self, data: &mut SliceCursor<'_>, len: usize, last: bool) {
        let last_len = if last { 2 } else { 0 };
        let body = 1 + varint_len(len as u64) + len + last_len;
        if self.bytes.capacity() == 0 {
            // One allocation per reply in the common case: a pass, and the packet that overshot it.
            self.bytes.reserve(limits::READ_PASS_BYTES + 4096);
        }
        let mut head = [0u8; 24];
        head[0] = 2 << 3 | 2;
        let mut at = 1 + put_varint(&mut head[1..], body as u64);
        head[at] = 1 << 3 | 2;
        at += 1;
        at += put_varint(&mut head[at..], len as u64);
        self.bytes.extend_from_slice(&head[..at]);
        data.take_into(len, &mut self.bytes);
        if last {
            self.bytes.extend_from_slice(&[2 << 3, 1]);
        }
        self.counted += len + limits::IPC_SLICE_OVERHEAD_BYTES;
    }
}

impl PacketSink for ReplySink<'_> {
    fn put(&mut self, slices: &[&[u8]], trailer: &[u8]) -> Room {
        let mut left = slices.iter().map(|s| s.len()).sum::<usize>() + trailer.len();
        let mut data = SliceCursor { slices, trailer, offset: 0 };
        loop {
            let room = limits::IPC_SLICES_BYTES_MAX
                .saturating_sub(self.counted + limits::IPC_SLICE_OVERHEAD_BYTES);
            // A packet is cut only if it fits into no reply at all: clients take any cut, but whole packets
            // are cheaper for them.
            if left > room && self.counted > 0 {
                self.send(true);
                continue;
            }
            let len = left.min(room);
            left -= len;
            self.slice(&mut data, len, left == 0);
            if left == 0 {
                return Room::More;
            }
        }
    }
}

/// Walks over slices and trailer as over one string of bytes.
struct SliceCursor<'a> {
    slices: &'a [&'a [u8]],
    trailer: &'a [u8],
    offset: usize,
}

impl SliceCursor<'_> {
    fn take_into(&mut self, mut len: usize, out: &mut Vec<u8>) {
        while len > 0 {
            let current = match self.slices.first() {
                Some(slice) => *slice,
                None => self.trailer,
            };
            let rest = &current[self.offset.min(current.len())..];
            if rest.is_empty() {
                // The caller never asks for more than there is, so a slice is left.
                let Some((_, after)) = self.slices.split_first() else { return };
                self.slices = after;
                self.offset = 0;
                continue;
            }
            let n = rest.len().min(len);
            out.extend_from_slice(&rest[..n]);
            self.offset += n;
            len -= n;
        }
    }
}

/// What a consumer reads.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::service) struct Reading {
    /// The stream of `ReadBuffers` replies that goes on, if any.
    call: Option<CallId>,
    /// Bytes of this and earlier streams given to the transport since it last said that it was empty.
    on_the_way: usize,
}

impl Service {
    /// A consumer asks for packets; an older stream of it ends with a rejection.
    pub(in crate::service) fn read_buffers(&mut self, client: ClientId, call: Option<CallId>) {
        let Some(consumer) = self.consumers.get_mut(&client) else { return };
        let older = consumer.read.call.take();
        self.out.reject(client, older);
        // Nobody would get the packets: do not destroy them.
        let Some(call) = call else { return };
        let session = consumer.session.and_then(|id| self.sessions.get(&id));
        if !session.is_some_and(|s| s.file.is_none() && !self.files_wanted_by(s.id)) {
            return self.out.stream(client, call, Bytes::new(), false);
        }
        if let Some(consumer) = self.consumers.get_mut(&client) {
            consumer.read.call = Some(call);
        }
        self.continue_read(client);
    }

    /// The transport has room again.
    pub(in crate::service) fn consumer_drained(&mut self, client: ClientId) {
        if let Some(consumer) = self.consumers.get_mut(&client) {
            consumer.read.on_the_way = 0;
            self.continue_read(client);
        }
    }

    /// Ends a stream without more packets: the session is gone.
    pub(in crate::service) fn end_read(&mut self, client: ClientId) {
        if let Some(call) = self.consumers.get_mut(&client).and_then(|c| c.read.call.take()) {
            self.out.stream(client, call, Bytes::new(), false);
        }
    }

    /// Passes until the buffers are empty or enough is on the way.
    fn continue_read(&mut self, client: ClientId) {
        loop {
            let Some(consumer) = self.consumers.get_mut(&client) else { return };
            let (Some(id), Some(call)) = (consumer.session, consumer.read.call) else { return };
            if consumer.read.on_the_way >= limits::READ_WINDOW_BYTES {
                return;
            }
            let mut out = std::mem::take(&mut self.out);
            let mut sink =
                ReplySink { out: &mut out, client, call, bytes: Vec::new(), counted: 0, sent: 0 };
            let has_more = self.read_pass(id, limits::READ_PASS_BYTES, &mut sink);
            sink.send(has_more);
            let sent = sink.sent;
            // Nothing logs during a pass, so the queue put aside is all there is.
            self.out = out;
            let Some(consumer) = self.consumers.get_mut(&client) else { return };
            consumer.read.on_the_way += sent;
            if !has_more {
                consumer.read.call = None;
            }
        }
    }

    /// One pass: gives packets to `sink` until `threshold` bytes of them. Returns whether there may be more.
    pub(in crate::service) fn read_pass(
        &mut self,
        id: SessionId,
        threshold: usize,
        sink: &mut dyn PacketSink,
    ) -> bool {
        let now = self.now;
        let mut sum = 0usize;
        for packet in self.service_packets(id) {
            sum += packet.len();
            if sink.put(&[&packet], &[]) == Room::Full {
                return true;
            }
        }
        let Some(session) = self.sessions.get_mut(&id) else { return false };
        let mut trailer = Trailer::new();
        let mut stopped = false;
        for buffer in &session.buffers {
            let Some(buffer) = self.buffers.get_mut(buffer) else { continue };
            let passed = Passed { sum: &mut sum, threshold, invalid: 0 };
            let (over, invalid) =
                read_buffer(buffer, &mut session.sequences, &mut trailer, passed, sink);
            session.counters.invalid_packets += invalid;
            if let Some(over) = over {
                stopped = true;
                if over == Room::Full {
                    return true;
                }
                break;
            }
        }
        if stopped {
            return true;
        }
        if session.builtin().disable_service_events != Some(true) {
            let packet = packets::lifecycle(
                &self.config,
                self.local_machine_id,
                Lifecycle::ReadCompleted,
                now.boot_ns,
            );
            if sink.put(&[&packet], &[]) == Room::Full {
                return true;
            }
        }
        if std::mem::take(&mut session.pending.stats) {
            let packet = self.stats_packet(id);
            if sink.put(&[&packet], &[]) == Room::Full {
                return true;
            }
        }
        false
    }
}

struct Passed<'a> {
    sum: &'a mut usize,
    threshold: usize,
    invalid: u64,
}

/// Empties one buffer. Some(room) when it had to stop: by the threshold (`More`) or the sink (`Full`).
fn read_buffer(
    buffer: &mut TraceBuffer,
    ids: &mut SequenceIds,
    trailer: &mut Trailer,
    mut passed: Passed<'_>,
    sink: &mut dyn PacketSink,
) -> (Option<Room>, u64) {
    buffer.begin_read();
    while let Some(packet) = buffer.next_packet() {
        let slices: &[&[u8]] = &packet.slices;
        if !PacketStreamValidator::validate(slices) {
            passed.invalid += 1;
            continue;
        }
        let key = SequenceKey {
            machine: packet.identity.machine_id,
            producer: packet.producer,
            writer: packet.writer,
        };
        let who = (packet.identity.uid, packet.identity.pid);
        let trailer = trailer.of(ids, key, who, packet.dropped);
        *passed.sum += slices.iter().map(|s| s.len()).sum::<usize>() + trailer.len();
        if sink.put(slices, trailer) == Room::Full {
            return (Some(Room::Full), passed.invalid);
        }
        if *passed.sum >= passed.threshold {
            return (Some(Room::More), passed.invalid);
        }
    }
    (None, passed.invalid)
}
