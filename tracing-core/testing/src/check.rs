//! The ledger of the packets that honest producers wrote, and the rules for the packets that are read.
//!
//! A packet of the simulation has the number of its writer (`counter`), its number among the packets of this writer
//! (`seq_value`), and a text that is computed from both. So a reader recognises an invented, damaged, repeated or
//! swapped packet, and a gap. Other checks of the service's output are in `world::model` (against reference buffers),
//! `world::service_packets` (packets of the service itself), `world::sessions` (who may write and clone what) and
//! `world::triggers`.
//!
//! To test the checks themselves, these defects were put into the service by hand, one at a time:
//!
//! | defect | runs that found it |
//! |---|--:|
//! | `tracing-core/service/src/commit.rs`: a chunk may go into a buffer that its producer was not told of | 21 of 40 |
//! | `tracing-core/service/src/session/clone.rs`: every user may clone the session of every other user | 33 of 60 |
//! | `tracing-core/service/src/triggers.rs`: `skip_probability` has no effect | 10 of 60 |
//! | `tracing-core/service/src/triggers.rs`: `max_per_24_h` is too high | 4 of 60 |
//! | `tracing-core/service/src/packets.rs`: a trigger is attributed to another user | 7 of 16 |
//! | `tracing-core/service/src/session/sequence/mod.rs`: no loss is marked | 14 of 16 |
//! | `tracing-core/service/src/session/read.rs`: sessions that do not compress are not filtered | 7 of 16 |
//! | `tracing-core/service/src/buffer/v2/write.rs`: the first overwritten chunk is not counted | 8 of 16 |

use std::collections::{BTreeMap, BTreeSet};

use protos::{TracePacket, TracePacketData};

use super::rng::Rng;
use abi::ids::ClientId;

/// Names a writer of an honest producer.
pub(super) type Tag = u64;

/// One trace writer, and the packets that it has written.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) session: u64,
    pub(super) uid: i32,
    pub(super) pid: i32,
    /// The name of its data source.
    pub(super) source: String,
    /// Packets it began to write.
    pub(super) written: u32,
    /// How often the writer began to drop packets; it sent a mark each time.
    pub(super) drops: u64,
    /// Its connection is closed, by either side.
    pub(super) gone: bool,
    /// That connection; each is a process of its own.
    pub(super) client: ClientId,
    /// Its data source takes no part in flushes (`no_flush`).
    pub(super) never_asked: bool,
    /// The service scrapes its chunks.
    pub(super) scraped: bool,
}

/// All writers.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) logs: BTreeMap<Tag, Log>,
    /// Packets read and found in order.
    pub(super) packets_read: u64,
    pub(super) gaps_seen: u64,
}

impl Ledger {
    /// The session that an honest producer wrote a packet for; 0 if it is no such packet.
    pub(super) fn session_of(&self, packet: &TracePacket) -> u64 {
        let Some(TracePacketData::ForTesting(event)) = &packet.data else { return 0 };
        let log = self.logs.get(&event.counter.unwrap_or(0));
        let honest = log.filter(|log| trusted_uid(packet) == Some(log.uid));
        honest.filter(|log| log.uid < super::workload::HOSTILE_UID).map_or(0, |log| log.session)
    }
}

fn trusted_uid(packet: &TracePacket) -> Option<i32> {
    let protos::TracePacketOptionalTrustedUid::TrustedUid(uid) =
        packet.optional_trusted_uid.as_ref()?;
    Some(*uid)
}

/// The text of a packet.
pub(super) fn text(tag: Tag, seq: u32) -> String {
    let mut rng = Rng::new(tag ^ (u64::from(seq) << 32));
    let len = match rng.below(100) {
        0 => rng.within(4_000, 20_000),
        1..=9 => rng.within(500, 5_000),
        _ => rng.below(200),
    };
    let letter = b'a' + (rng.next() % 26) as u8;
    String::from_utf8(vec![letter; len as usize]).unwrap_or_default()
}

/// The packets that one reader has got from one session.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// By sequence id: its writer, and the number of the next packet.
    pub(super) sequences: BTreeMap<u32, (Tag, u32)>,
    /// Sequences whose last packet says that later ones were dropped.
    pub(super) marked: BTreeSet<u32>,
    /// By writer: one more than the number of the last packet.
    pub(super) seen: BTreeMap<Tag, u32>,
    /// Places where packets were missing, by writer.
    pub(super) gaps: BTreeMap<Tag, u64>,
    /// Data sources that write into ring buffers of version 1.
    pub(super) repeats: BTreeSet<String>,
    /// Data sources that write into buffers of version 2. Such a buffer does not know that a sequence began
    /// before the first chunk it received. It refuses, and counts, a chunk that arrives after a later one was read.
    pub(super) begins_unmarked: BTreeSet<String>,
    /// The session has a trace filter.
    pub(super) filtered: bool,
    /// Other consumers have read this session before, so a sequence may begin with any packet.
    pub(super) came_late: bool,
    /// Clones took or cleared buffers. Buffers of version 2 do not mark that.
    pub(super) emptied: bool,
}

impl Reader {
    /// Takes the next packet of the session.
    ///
    /// # Errors
    /// Which rule it breaks.
    pub(super) fn packet(
        &mut self,
        ledger: &mut Ledger,
        session: u64,
        packet: &TracePacket,
    ) -> Result<(), String> {
        let uid = trusted_uid(packet);
        let sequence = packet.optional_trusted_packet_sequence_id.as_ref().map(|id| {
            let protos::TracePacketOptionalTrustedPacketSequenceId::TrustedPacketSequenceId(id) =
                id;
            *id
        });
        if self.filtered && *packet == TracePacket::default() {
            // The filter turns bytes that are no message into an empty packet.
            return Ok(());
        }
        let (Some(uid), Some(sequence)) = (uid, sequence) else {
            return Err(format!("a packet without trusted fields: {packet:?}"));
        };
        let by_service = sequence == 1;
        if by_service != (uid == 0) {
            return Err(format!("sequence {sequence} with uid {uid}"));
        }
        if by_service || uid >= super::workload::HOSTILE_UID {
            // `world::model` checks these.
            return Ok(());
        }
        let dropped = packet.previous_packet_dropped.unwrap_or(0);
        let event = match &packet.data {
            Some(TracePacketData::ForTesting(event)) => event,
            None if dropped != 0 => {
                self.marked.insert(sequence);
                return Ok(());
            }
            _ => return Err(format!("an honest producer never wrote {packet:?}")),
        };
        let was_marked = self.marked.remove(&sequence);
        let (tag, seq) = (event.counter.unwrap_or(0), event.seq_value.unwrap_or(0));
        let Some(log) = ledger.logs.get(&tag) else {
            return Err(format!("invented: no writer {tag:#x}"));
        };
        if (log.uid, Some(log.pid)) != (uid, packet.trusted_pid) {
            return Err(format!("writer {tag:#x} of uid {} is shown as {uid}", log.uid));
        }
        if log.session != session {
            return Err(format!("a packet of session {} in session {session}", log.session));
        }
        if seq >= log.written || event.str.as_deref() != Some(text(tag, seq).as_str()) {
            return Err(format!("invented: packet {seq} of writer {tag:#x}"));
        }
        self.place(ledger, (tag, seq), sequence, dropped != 0 || was_marked)
    }

    /// Checks that packet `seq` of a writer follows the ones before it, or a mark says that some are missing.
    fn place(
        &mut self,
        ledger: &mut Ledger,
        (tag, seq): (Tag, u32),
        sequence: u32,
        is_marked: bool,
    ) -> Result<(), String> {
        let Some(log) = ledger.logs.get(&tag) else { return Ok(()) };
        let first = if self.came_late { seq } else { 0 };
        let (owner, next) = *self.sequences.entry(sequence).or_insert((tag, first));
        if owner != tag {
            return Err(format!("sequence {sequence} has packets of {owner:#x} and {tag:#x}"));
        }
        if seq < next && (self.emptied || self.repeats.contains(&log.source)) && log.scraped {
            // V1 forgets evicted chunks, and a new buffer knows none. So a chunk that was scraped and read comes
            // out a second time when its writer commits it. Upstream does the same.
            return Ok(());
        }
        if seq < next {
            return Err(format!("writer {tag:#x}: packet {seq} again or late, expected {next}"));
        }
        if seq > next {
            *self.gaps.entry(tag).or_default() += 1;
            let excused = self.emptied || next == 0 && self.begins_unmarked.contains(&log.source);
            if !is_marked && !excused {
                return Err(format!("writer {tag:#x}: {next}..{seq} lost without a mark"));
            }
            ledger.gaps_seen += 1;
        }
        self.sequences.insert(sequence, (tag, seq + 1));
        self.seen.insert(tag, seq + 1);
        ledger.packets_read += 1;
        Ok(())
    }

    /// Whether the trace says that packets of a writer are missing behind the last one.
    pub(super) fn is_tail_marked(&self, tag: Tag) -> bool {
        self.marked.iter().any(|sequence| match self.sequences.get(sequence) {
            Some((owner, _)) => *owner == tag,
            // Nothing else of that writer was stored.
            None => !self.seen.contains_key(&tag),
        })
    }
}
