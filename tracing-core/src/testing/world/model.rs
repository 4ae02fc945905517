//! What consumers and files receive, against what the twins of the buffers say has to come out.
//!
//! ```text
//!   buffer ═ twin ──given──┐
//!                          ├── the same bytes, in the same order, of the same author, with the same losses
//!   replies, files ────────┘
//! ```

use std::collections::{BTreeMap, VecDeque};

use protos::{ReadBuffersResponse, TracePacket};
use protozero::{Message as _, Reader, Value};

use crate::buffer::testing::{Given, Packet};
use crate::ids::CallId;
use crate::sync::lock;

/// Fields of a packet that only the service writes.
const RESERVED: [u32; 12] = [3, 10, 33, 35, 36, 50, 69, 79, 98, 124, 125, 133];

/// What has to come yet.
pub(super) struct Model {
    given: Given,
    waiting: VecDeque<Packet>,
    /// Streams of packets, with the packet that is not whole yet.
    reads: BTreeMap<CallId, Vec<u8>>,
    /// Packets that found no room in a file and so may be missing.
    pub(super) full_files: usize,
    /// Packets that came as they had to.
    pub(super) agreed: u64,
}

impl Model {
    pub(super) fn new(given: Given) -> Self {
        Self { given, waiting: VecDeque::new(), reads: BTreeMap::new(), full_files: 0, agreed: 0 }
    }

    /// What answers `call` is packets.
    pub(super) fn reads(&mut self, call: CallId) {
        self.reads.insert(call, Vec::new());
    }

    /// A reply to a consumer.
    pub(super) fn reply(
        &mut self,
        call: CallId,
        response: &[u8],
        last: bool,
    ) -> Result<(), String> {
        let Some(mut begun) = self.reads.remove(&call) else { return Ok(()) };
        let response = ReadBuffersResponse::decode(response).map_err(|e| e.to_string())?;
        for slice in response.slices {
            begun.extend_from_slice(slice.data.as_deref().unwrap_or_default());
            if slice.last_slice_for_packet == Some(true) {
                self.packet(&std::mem::take(&mut begun))?;
            }
        }
        if !last {
            self.reads.insert(call, begun);
        } else if !begun.is_empty() {
            return Err(format!("the stream {call:?} ends within a packet"));
        }
        Ok(())
    }

    /// A piece of a file.
    pub(super) fn file(&mut self, data: &[u8]) -> Result<(), String> {
        let mut reader = Reader::new(data);
        while let Some(field) = reader.next_field().map_err(|e| format!("no trace: {e}"))? {
            let Value::Len(packet) = field.value else { return Err("no trace".into()) };
            self.packet(packet)?;
        }
        Ok(())
    }

    /// A packet that left the service.
    fn packet(&mut self, packet: &[u8]) -> Result<(), String> {
        if sequence(packet) == Some(1) {
            return Ok(());
        }
        self.waiting.extend(lock(&self.given).drain(..));
        while let Some(expected) = self.waiting.pop_front() {
            let suffix = packet.strip_prefix(&expected.bytes[..]);
            if let Some(suffix) = suffix.and_then(|suffix| TracePacket::decode(suffix).ok())
                && is_of(&suffix, &expected)
            {
                self.agreed += 1;
                return Ok(());
            }
            self.missing(&expected)?;
        }
        Err(format!("a packet that no buffer gave: {:?}", &packet[..packet.len().min(40)]))
    }

    /// What is left when nothing more comes.
    pub(super) fn end(&mut self) -> Result<(), String> {
        self.waiting.extend(lock(&self.given).drain(..));
        while let Some(expected) = self.waiting.pop_front() {
            self.missing(&expected)?;
        }
        Ok(())
    }

    /// Whether a packet may be missing: the service has to refuse it, or a file was full.
    fn missing(&mut self, packet: &Packet) -> Result<(), String> {
        if !is_valid(&packet.bytes) {
            return Ok(());
        }
        self.full_files = self.full_files.checked_sub(1).ok_or_else(|| {
            let start = &packet.bytes[..packet.bytes.len().min(40)];
            format!("a packet of {:?} was lost: {start:?}", packet.sequence)
        })?;
        Ok(())
    }
}

/// The sequence of a packet, as its last word on it says. A producer may put bytes before that which no reader
/// takes: then it is none of the service's packets.
fn sequence(packet: &[u8]) -> Option<u64> {
    let (mut reader, mut sequence) = (Reader::new(packet), None);
    while let Some(field) = reader.next_field().ok()? {
        if let (10, Value::Varint(id)) = (field.number, field.value) {
            sequence = Some(id);
        }
    }
    sequence
}

/// Whether the service's fields name the author and the losses.
fn is_of(suffix: &TracePacket, packet: &Packet) -> bool {
    let uid = suffix.optional_trusted_uid.as_ref().map(|uid| {
        let protos::TracePacketOptionalTrustedUid::TrustedUid(uid) = uid;
        uid.cast_unsigned()
    });
    uid == Some(packet.identity.uid)
        && suffix.trusted_pid == packet.identity.pid
        && suffix.machine_id.unwrap_or(0) == packet.identity.machine_id
        && suffix.previous_packet_dropped.unwrap_or(0) == packet.dropped
}

/// Whether bytes are whole fields, none of them the service's own.
fn is_valid(packet: &[u8]) -> bool {
    let mut reader = Reader::new(packet);
    loop {
        match reader.next_field() {
            Ok(Some(field)) if RESERVED.contains(&field.number) => return false,
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}
