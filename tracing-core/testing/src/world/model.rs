//! Compares what consumers and files receive with what the trace buffers have emitted.
//!
//! ```text
//!   buffer ═ reference ─────┐
//!                          ├── the same bytes, in the same order, of the same author, with the same losses
//!   replies, files ────────┘
//! ```
//!
//! A pass that is compressed is compared when it leaves the buffers, and again, as a whole, when it leaves the service.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use protos::{ReadBuffersResponse, TracePacket};
use protozero::wire::varint;
use protozero::{Message as _, Reader, Value};

use super::history::History;
use super::service_packets::ServicePacketCheck;
use super::sessions::{Facts, Sessions};
use super::shape::{self, Filter};
use crate::buffer::{EmittedPackets, Packet};
use crate::marks::Marks;
use crate::workload::HOSTILE_UID;
use abi::ids::{BufferId, CallId, ProducerId, SessionId, WriterId};
use abi::sync::lock;
use service::buffer::{Identity, loss};

/// Fields of a packet that only the service writes.
const RESERVED: [u32; 12] = [3, 10, 33, 35, 36, 50, 69, 79, 98, 124, 125, 133];

/// Packets that the service still has to deliver.
pub(super) struct Model {
    emitted: EmittedPackets,
    waiting: VecDeque<(BufferId, Packet)>,
    /// Calls that are answered by packets, with the part of the next packet that has come.
    reads: BTreeMap<CallId, Vec<u8>>,
    /// Checks of the service's own packets, by session.
    own_packets: BTreeMap<u64, ServicePacketCheck>,
    /// Sessions whose file was full, so that packets are missing.
    full_files: BTreeSet<u64>,
    /// Sessions whose ledger tells that their file was full.
    told_full: BTreeSet<u64>,
    /// What sessions compress, as a trace.
    compressing: BTreeMap<u64, Vec<u8>>,
    /// Those of them whose pass is for the file.
    for_files: BTreeSet<u64>,
    /// By session and sequence: what the next packet is to tell of packets that were left out.
    left_out: BTreeMap<(u64, Sequence), u32>,
    /// Packets that were as expected.
    pub(super) agreed: u64,
}

/// What the rules look at, apart from the packets.
pub(super) struct Known<'a> {
    pub(super) sessions: &'a Sessions,
    pub(super) history: &'a History,
    pub(super) marks: &'a mut Marks,
}

impl Model {
    pub(super) fn new(emitted: EmittedPackets) -> Self {
        Self {
            emitted,
            waiting: VecDeque::new(),
            reads: BTreeMap::new(),
            own_packets: BTreeMap::new(),
            full_files: BTreeSet::new(),
            told_full: BTreeSet::new(),
            compressing: BTreeMap::new(),
            for_files: BTreeSet::new(),
            left_out: BTreeMap::new(),
            agreed: 0,
        }
    }

    /// The replies to `call` are packets.
    pub(super) fn reads(&mut self, call: CallId) {
        self.reads.insert(call, Vec::new());
    }

    /// A reply to a consumer with `session`.
    pub(super) fn reply(
        &mut self,
        known: &mut Known<'_>,
        session: Option<&Facts>,
        (call, response, last): (CallId, &[u8], bool),
    ) -> Result<(), String> {
        let Some(mut begun) = self.reads.remove(&call) else { return Ok(()) };
        let response = ReadBuffersResponse::decode(response).map_err(|e| e.to_string())?;
        for slice in response.slices {
            begun.extend_from_slice(slice.data.as_deref().unwrap_or_default());
            if slice.last_slice_for_packet == Some(true) {
                let session = session.ok_or("packets of no session")?;
                self.packet(known, session, &std::mem::take(&mut begun))?;
            }
        }
        if !last {
            self.reads.insert(call, begun);
        } else if !begun.is_empty() {
            return Err(format!("the stream {call:?} ends within a packet"));
        }
        Ok(())
    }

    /// A write to the file of a session.
    pub(super) fn file(
        &mut self,
        known: &mut Known<'_>,
        session: Option<&Facts>,
        data: &[u8],
    ) -> Result<(), String> {
        for packet in shape::packets(data)? {
            let session = session.ok_or("a file of no session")?;
            if self.full_files.contains(&session.id) {
                return Err("a file goes on after it was full".into());
            }
            self.packet(known, session, packet)?;
        }
        Ok(())
    }

    /// The ledger of a session tells that its file was full.
    pub(super) fn note_told_full(&mut self, session: u64) {
        self.told_full.insert(session);
    }

    /// A pass of a session left its buffers and is compressed. May be told again while it waits.
    pub(super) fn compresses(
        &mut self,
        known: &mut Known<'_>,
        session: SessionId,
        to_file: bool,
        stream: &[u8],
    ) -> Result<(), String> {
        if to_file {
            self.for_files.insert(session.get());
        } else {
            self.for_files.remove(&session.get());
        }
        if self.compressing.get(&session.get()).is_some_and(|waiting| *waiting == stream) {
            return Ok(());
        }
        let before = self.compressing.insert(session.get(), stream.to_vec());
        let session = known.sessions.get(session.get()).ok_or("a pass of no session")?;
        // A pass for which the file had no space does not leave.
        if before.is_some() && !session.is_limited() {
            return Err("a pass is compressed before the last one has left".into());
        }
        shape::packets(stream)?.into_iter().try_for_each(|p| self.plain(known, session, p))
    }

    /// A packet that left the service.
    fn packet(
        &mut self,
        known: &mut Known<'_>,
        session: &Facts,
        packet: &[u8],
    ) -> Result<(), String> {
        let Some(pass) = shape::pass(&session.config, packet)? else {
            return match self.compressing.get_mut(&session.id) {
                Some(waiting) => {
                    let first = shape::packets(waiting)?.first().map_or(0, |first| first.len());
                    let field = 1 + varint::len(first as u64) + first;
                    let left = waiting.split_off(field.min(waiting.len()));
                    let is_next = waiting.ends_with(packet);
                    *waiting = left;
                    if waiting.is_empty() {
                        self.compressing.remove(&session.id);
                    }
                    is_next.then_some(()).ok_or_else(|| "another packet was compressed".into())
                }
                None if shape::is_compressed(&session.config) => {
                    Err("a packet is not compressed".into())
                }
                None => self.plain(known, session, packet),
            };
        };
        known.marks.event("a pass was compressed");
        match self.compressing.remove(&session.id) {
            Some(expected) if expected == pass => Ok(()),
            _ => Err("a compressed pass is not what left the buffers".into()),
        }
    }

    /// A packet that was read from the buffers, or that the service wrote.
    fn plain(
        &mut self,
        known: &mut Known<'_>,
        session: &Facts,
        packet: &[u8],
    ) -> Result<(), String> {
        let filter = Filter::of(&session.config);
        if let Some(filter) = filter
            && !filter.allows(packet)?
        {
            return Err(format!("{filter:?} let a packet pass"));
        }
        let own = self.own_packets.entry(session.id).or_default();
        if sequence(packet) == Some(1) {
            return own.packet(known, session, packet);
        }
        let honest = uid(packet).is_none_or(|uid| uid < HOSTILE_UID.cast_unsigned().into());
        own.producers_follow(session, honest)?;
        self.of_producer(known, session, filter, packet)
    }

    /// A packet of a producer: the next one that a buffer emitted, and its writer was allowed to write there.
    fn of_producer(
        &mut self,
        known: &mut Known<'_>,
        session: &Facts,
        filter: Option<Filter>,
        packet: &[u8],
    ) -> Result<(), String> {
        self.waiting.extend(lock(&self.emitted).drain(..));
        while let Some((buffer, expected)) = self.waiting.pop_front() {
            let here = known.sessions.owner(buffer).is_some_and(|owner| owner.id == session.origin);
            let of = (session.origin, (expected.sequence, expected.identity));
            let told = Told {
                left_out: self.left_out.get(&of).copied().unwrap_or(0),
                // The session and its clones read their buffers apart.
                is_sure: !known.sessions.all().any(|f| f.is_clone() && f.origin == session.origin),
            };
            if here && is_valid(&expected.bytes) && is_right(filter, &expected, told, packet) {
                if told.left_out != 0 && told.is_sure {
                    self.left_out.remove(&of);
                    known.marks.event("a packet tells of one that was left out");
                }
                self.agreed += 1;
                return known.sessions.may_hold(session, expected.identity.uid, buffer);
            }
            self.missing(known, buffer, &expected)?;
        }
        Err(format!("a packet that no buffer gave: {:?}", &packet[..packet.len().min(40)]))
    }

    /// The end: no packet may be left.
    pub(super) fn end(&mut self, known: &mut Known<'_>) -> Result<(), String> {
        self.waiting.extend(lock(&self.emitted).drain(..));
        while let Some((buffer, expected)) = self.waiting.pop_front() {
            self.missing(known, buffer, &expected)?;
        }
        for id in self.compressing.keys() {
            let session = known.sessions.get(*id).ok_or("a pass of no session")?;
            // A consumer may leave before it has read all, and a file may be full.
            if self.for_files.contains(id) && !session.is_limited() {
                return Err(format!("a compressed pass of session {id} was lost"));
            }
        }
        Ok(())
    }

    /// Whether a packet may be missing: the service has to refuse it, or a file was full.
    fn missing(
        &mut self,
        known: &mut Known<'_>,
        buffer: BufferId,
        packet: &Packet,
    ) -> Result<(), String> {
        if !is_valid(&packet.bytes) {
            if let Some(session) = known.sessions.owner(buffer) {
                let of = (session.origin, (packet.sequence, packet.identity));
                *self.left_out.entry(of).or_default() |= packet.dropped | loss::PRESENT;
            }
            return Ok(());
        }
        if let Some(session) = known.sessions.owner(buffer).filter(|s| s.is_limited()) {
            known.marks.event("a file was full");
            // One packet did not fit.
            if self.full_files.insert(session.id) {
                let told = self.told_full.contains(&session.id);
                return told.then_some(()).ok_or_else(|| {
                    format!("session {}: a full file is not in its ledger", session.id)
                });
            }
        }
        let start = &packet.bytes[..packet.bytes.len().min(40)];
        Err(format!("a packet of {:?} in buffer {buffer} was lost: {start:?}", packet.sequence))
    }
}

/// The writer of a packet.
type Sequence = ((ProducerId, WriterId), Identity);

/// What a packet is to tell of others before it that were left out.
#[derive(Clone, Copy)]
struct Told {
    left_out: u32,
    /// Else it may tell a part of that.
    is_sure: bool,
}

/// Whether a packet is the expected one, after the filter.
fn is_right(filter: Option<Filter>, expected: &Packet, told: Told, packet: &[u8]) -> bool {
    let Some(filter) = filter else {
        let suffix = packet.strip_prefix(&expected.bytes[..]);
        let suffix = suffix.and_then(|suffix| TracePacket::decode(suffix).ok());
        let Some(suffix) = suffix else { return false };
        let (all, dropped) = (expected.dropped | told.left_out, suffix.previous_packet_dropped);
        let is_all = if told.is_sure { 0 } else { told.left_out };
        return dropped.unwrap_or(0) | is_all == all
            && is_of(&suffix, expected, dropped.unwrap_or(0));
    };
    if expected.identity.uid >= HOSTILE_UID.cast_unsigned() {
        // The effect of a filter on invalid messages is not known here.
        return true;
    }
    let packet = TracePacket::decode(packet).unwrap_or_default();
    let written = TracePacket::decode(&expected.bytes).unwrap_or_default();
    // The writer itself may have marked a loss, too.
    let dropped = match expected.dropped {
        0 => written.previous_packet_dropped.unwrap_or(0),
        dropped => dropped,
    };
    is_of(&packet, expected, dropped) && filter.makes(&written, &packet)
}

/// The sequence id of a packet: the last field of that number counts. In an invalid packet of a producer no
/// field is found, so it is no packet of the service.
fn sequence(packet: &[u8]) -> Option<u64> {
    last_number(packet, 10)
}

/// The user id of its writer, found in the same way.
fn uid(packet: &[u8]) -> Option<u64> {
    last_number(packet, 3)
}

fn last_number(packet: &[u8], number: u32) -> Option<u64> {
    let (mut reader, mut last) = (Reader::new(packet), None);
    while let Some(field) = reader.next_field().ok()? {
        if let (true, Value::Varint(value)) = (field.number == number, field.value) {
            last = Some(value);
        }
    }
    last
}

/// Whether the service's fields name the writer and the losses.
fn is_of(suffix: &TracePacket, packet: &Packet, dropped: u32) -> bool {
    let uid = suffix.optional_trusted_uid.as_ref().map(|uid| {
        let protos::TracePacketOptionalTrustedUid::TrustedUid(uid) = uid;
        uid.cast_unsigned()
    });
    uid == Some(packet.identity.uid)
        && suffix.trusted_pid == packet.identity.pid
        && suffix.machine_id.unwrap_or(0) == packet.identity.machine_id
        && suffix.previous_packet_dropped.unwrap_or(0) == dropped
}

/// Whether a packet consists of whole fields, none of them reserved for the service.
fn is_valid(mut packet: &[u8]) -> bool {
    while !packet.is_empty() {
        let Some(tag) = number(&mut packet, 5) else { return false };
        let skip = match tag & 7 {
            0 => number(&mut packet, 10).map(|_| 0),
            1 => Some(8),
            2 => number(&mut packet, 5).filter(|len| *len < 1 << 28),
            5 => Some(4),
            _ => None,
        };
        let rest = skip.and_then(|skip| packet.get(skip as usize..));
        let allowed =
            (1..1 << 29).contains(&(tag >> 3)) && !RESERVED.contains(&((tag >> 3) as u32));
        let Some(rest) = rest.filter(|_| allowed) else { return false };
        packet = rest;
    }
    true
}

fn number(bytes: &mut &[u8], max: usize) -> Option<u64> {
    let end = bytes.iter().take(max).position(|byte| *byte < 0x80)?;
    let (digits, rest) = bytes.split_at(end + 1);
    *bytes = rest;
    let digit = |(at, byte): (usize, &u8)| u64::from(byte & 0x7f).checked_shl(7 * at as u32);
    Some(digits.iter().enumerate().filter_map(digit).fold(0, |all, part| all | part))
}
