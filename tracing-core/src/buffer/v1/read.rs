//! Reading packets out, sequence by sequence.
//!
//! ```text
//!  id 4                 id 5              id 6                     (7 missing)
//!  | A | B | C.. (CON)  | (CFP) ..C.. (CON) | (CFP) ..C | D |
//!    ^   ^   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^      ^
//!    whole packets   looked ahead for: taken as a whole or not at all
//! ```
//!
//! A walk starts at the first chunk of a sequence and ends at the last id written, at a hole, at
//! a chunk that is still being written, or where patches are missing. Reading a fragment is for ever.

use super::index::{Chunk, Resume, Sequence};
use super::ring::{HEADER, Ring};
use super::{Buffer, HISTOGRAMS_MAX};
use crate::buffer::{Identity, PacketRef, Stats, WriterStats};
use crate::ids::{ChunkId, ProducerId, WriterId};
use crate::packet::Slices;
use crate::shm::ChunkFlags;

/// The length a writer puts before a fragment to say that it gave the packet up: what four bytes of
/// varint can hold at most (`kPacketSizeDropPacket`).
const DROPPED_PACKET: u32 = 0x0fff_ffff;

/// Where reading stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cursor {
    /// Reading was not begun, is over, or the buffer changed since.
    Idle,
    /// The next sequence is the first one after this key, or of all.
    After(Option<u32>),
    /// At a chunk.
    At { slot: u32, first: ChunkId, chunk: ChunkId },
}

/// A slice of a packet, by its place in the ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    off: usize,
    len: usize,
}

/// What reading a fragment gave.
enum Fragment {
    Data(Piece),
    Empty,
    /// Its length is impossible, or says that the writer gave up. The rest of the chunk is skipped.
    Invalid,
}

/// What looking ahead for the rest of a packet gave.
enum Ahead {
    /// Its pieces are in `pieces`.
    Packet,
    /// It was there but one of the pieces was bad: gone.
    Corrupt,
    /// It is not all there.
    Missing,
}

/// A packet, by places.
struct Found {
    /// None: look at `pieces`.
    one: Option<Piece>,
    producer: ProducerId,
    writer: WriterId,
    identity: Identity,
    dropped: bool,
}

impl Buffer {
    pub(in crate::buffer) fn begin_read(&mut self) {
        self.cursor = Cursor::After(None);
    }

    #[inline]
    pub(in crate::buffer) fn next_packet(&mut self) -> Option<PacketRef<'_>> {
        let found = self.find_packet()?;
        let slices = match found.one {
            Some(piece) => Slices::one(self.ring.bytes(piece.off, piece.len)),
            None => self.pieces.iter().map(|p| self.ring.bytes(p.off, p.len)).collect(),
        };
        Some(PacketRef {
            slices,
            producer: found.producer,
            writer: found.writer,
            identity: found.identity,
            dropped: u32::from(found.dropped),
        })
    }

    fn find_packet(&mut self) -> Option<Found> {
        // Known better as soon as a chunk is met of which something was read.
        let mut dropped = true;
        let Self { ring, index, cursor, pieces, stats, writers, .. } = self;
        loop {
            let (slot, first, mut id) = match *cursor {
                Cursor::Idle => return None,
                Cursor::At { slot, first, chunk } => (slot, first, chunk),
                Cursor::After(key) => {
                    dropped = true;
                    let start = index.next_sequence(key).and_then(|slot| {
                        let sequence = index.sequence(slot)?;
                        let first = sequence.chunks.first_after(sequence.last)?;
                        let at = sequence.resume.map_or(first, |resume| resume.at);
                        Some((slot, first, at))
                    });
                    let Some(start) = start else {
                        *cursor = Cursor::Idle;
                        return None;
                    };
                    start
                }
            };
            let sequence = index.sequence_mut(slot)?;
            let key = sequence.key();
            let Sequence { producer, writer, last, chunks, resume, histogram } = sequence;
            let (producer, writer) = (*producer, *writer);
            let mut tally = Tally { stats, writers, histogram, producer, writer };
            'walk: loop {
                let Some(chunk) = chunks.get_mut(id) else { break };
                if chunk.flags.contains(ChunkFlags::NEEDS_PATCHING) {
                    break;
                }
                if chunk.read > 0 {
                    dropped = chunk.last_skipped;
                }
                // The chunk may become another one: looking ahead goes on where the packet ended.
                let mut chunk = chunk;
                while chunk.read < chunk.fragments {
                    let is_first = chunk.read == 0;
                    let is_last = chunk.read.saturating_add(1) == chunk.fragments;
                    let identity = chunk.identity;
                    if is_first && chunk.flags.contains(ChunkFlags::CONTINUES_FROM_PREV) {
                        // Its begin is gone.
                        tally.read_fragment(ring, chunk);
                        chunk.last_skipped = true;
                        dropped = true;
                    } else if is_last && chunk.flags.contains(ChunkFlags::CONTINUES_ON_NEXT) {
                        pieces.clear();
                        let start = id;
                        match look_ahead(chunks, *last, start) {
                            Some(end) => id = end,
                            None => {
                                count(&mut tally.stats.readaheads_failed, 1);
                                if !is_first {
                                    *resume = Some(Resume { first, at: id });
                                }
                                break 'walk;
                            }
                        }
                        let ahead = take(chunks, ring, &mut tally, pieces, start, id);
                        chunk = chunks.get_mut(id)?;
                        match ahead {
                            Ahead::Packet => {
                                count(&mut tally.stats.readaheads_succeeded, 1);
                                *resume = Some(Resume { first, at: id });
                                *cursor = Cursor::At { slot, first, chunk: id };
                                return Some(Found {
                                    one: None,
                                    producer,
                                    writer,
                                    identity,
                                    dropped,
                                });
                            }
                            Ahead::Corrupt | Ahead::Missing => {
                                chunk.last_skipped = true;
                                dropped = true;
                            }
                        }
                    } else {
                        match tally.read_fragment(ring, chunk) {
                            Fragment::Data(piece) => {
                                *resume = Some(Resume { first, at: id });
                                *cursor = Cursor::At { slot, first, chunk: id };
                                let one = Some(piece);
                                return Some(Found { one, producer, writer, identity, dropped });
                            }
                            Fragment::Empty => {}
                            Fragment::Invalid => {
                                chunk.last_skipped = true;
                                dropped = true;
                            }
                        }
                    }
                }
                if chunk.read > 0 {
                    *resume = Some(Resume { first, at: id });
                }
                // An unfinished chunk may come again with more.
                if id == *last || !chunk.complete {
                    break;
                }
                id = id.next();
            }
            *cursor = Cursor::After(Some(key));
        }
    }
}

/// The chunk in which the packet that begins at the end of chunk `id` ends, if all of it is there.
fn look_ahead(chunks: &super::index::Chunks, last: ChunkId, mut id: ChunkId) -> Option<ChunkId> {
    let mut chunk = chunks.get(id)?;
    loop {
        if id == last || !chunk.complete {
            return None;
        }
        id = id.next();
        chunk = chunks.get(id)?;
        if chunk.fragments == 0 {
            continue;
        }
        if !chunk.flags.contains(ChunkFlags::CONTINUES_FROM_PREV)
            || chunk.flags.contains(ChunkFlags::NEEDS_PATCHING)
        {
            return None;
        }
        if chunk.fragments > 1 || !chunk.flags.contains(ChunkFlags::CONTINUES_ON_NEXT) {
            return Some(id);
        }
    }
}

/// Reads one fragment of each chunk from `start` to `end`.
fn take(
    chunks: &mut super::index::Chunks,
    ring: &Ring,
    tally: &mut Tally<'_>,
    pieces: &mut Vec<Piece>,
    start: ChunkId,
    end: ChunkId,
) -> Ahead {
    let mut corrupt = false;
    let mut id = start;
    loop {
        let Some(chunk) = chunks.get_mut(id) else { return Ahead::Missing };
        if id != start && chunk.read > 0 {
            // The middle or end of the packet was read before its begin came, as an orphan; what is
            // next in this chunk belongs to another packet and must not be taken for ours.
            corrupt = true;
        } else if chunk.fragments > 0 {
            match tally.read_fragment(ring, chunk) {
                Fragment::Data(piece) => pieces.push(piece),
                Fragment::Empty => {}
                Fragment::Invalid => corrupt = true,
            }
        }
        if id == end {
            return if corrupt { Ahead::Corrupt } else { Ahead::Packet };
        }
        id = id.next();
    }
}

/// What is counted while one sequence is read.
struct Tally<'a> {
    stats: &'a mut Stats,
    writers: &'a mut Vec<WriterStats>,
    histogram: &'a mut Option<usize>,
    producer: ProducerId,
    writer: WriterId,
}

fn count(counter: &mut u64, by: u64) {
    *counter = counter.wrapping_add(by);
}

impl Tally<'_> {
    /// Reads the next fragment of a chunk and moves on. Needs an unread one.
    #[inline]
    fn read_fragment(&mut self, ring: &Ring, chunk: &mut Chunk) -> Fragment {
        let Ok(record) = usize::try_from(chunk.offset) else { return Fragment::Invalid };
        let payload = ring.payload(record).unwrap_or_default();
        let start = usize::from(chunk.next);
        let rest = payload.get(start..).unwrap_or_default();
        let header = if rest.is_empty() { None } else { fragment_header(rest) };
        let taken = header.and_then(|(len, header_len)| {
            let end = len.checked_add(header_len)?;
            Some((len, header_len, rest.get(..end)?.len()))
        });
        let Some((len, header_len, taken)) = taken else {
            let gave_up = header
                .is_some_and(|(len, _)| u32::try_from(len).is_ok_and(|len| len == DROPPED_PACKET));
            if gave_up {
                count(&mut self.stats.trace_writer_packet_loss, 1);
            } else {
                count(&mut self.stats.abi_violations, 1);
            }
            chunk.next = 0;
            chunk.read = chunk.fragments;
            if chunk.complete {
                self.chunk_read(payload.len());
            }
            return Fragment::Invalid;
        };
        let end = start.saturating_add(taken);
        chunk.next = u16::try_from(end).unwrap_or(u16::MAX);
        chunk.read = chunk.read.saturating_add(1);
        chunk.last_skipped = false;
        if chunk.read == chunk.fragments && chunk.complete {
            self.chunk_read(payload.len());
            self.add_to_histogram(end);
        }
        if len == 0 {
            return Fragment::Empty;
        }
        let off = record.saturating_add(HEADER).saturating_add(start).saturating_add(header_len);
        Fragment::Data(Piece { off, len })
    }

    fn chunk_read(&mut self, payload_len: usize) {
        count(&mut self.stats.chunks_read, 1);
        let bytes = u64::try_from(payload_len.saturating_add(HEADER)).unwrap_or(0);
        count(&mut self.stats.bytes_read, bytes);
    }

    fn add_to_histogram(&mut self, payload_len: usize) {
        if self.histogram.is_none() {
            let same = |w: &WriterStats| (w.producer, w.writer) == (self.producer, self.writer);
            // Only ever found if the sequence was forgotten meanwhile, which takes thousands.
            let known = self.writers.iter().position(same);
            *self.histogram = known.or_else(|| {
                (self.writers.len() < HISTOGRAMS_MAX).then(|| {
                    self.writers.push(WriterStats::new(self.producer, self.writer));
                    self.writers.len().saturating_sub(1)
                })
            });
        }
        let writer = self.histogram.and_then(|i| self.writers.get_mut(i));
        if let (Some(writer), Ok(len)) = (writer, u64::try_from(payload_len)) {
            writer.add(len);
        }
    }
}

/// A fragment's length and the bytes it takes, of which there may be four at most.
#[inline]
fn fragment_header(bytes: &[u8]) -> Option<(usize, usize)> {
    if let Some([a, b, c, d]) = bytes.first_chunk::<4>()
        && a & b & c & 0x80 != 0
        && *d < 0x80
    {
        // What writers spend nearly always: all four.
        let low = |byte: &u8| usize::from(byte & 0x7f);
        return Some((low(a) | low(b) << 7 | low(c) << 14 | low(d) << 21, 4));
    }
    let mut value = 0usize;
    for (i, byte) in bytes.iter().take(4).enumerate() {
        let shift = u32::try_from(i).ok()?.wrapping_mul(7);
        value |= usize::from(byte & 0x7f).wrapping_shl(shift);
        if *byte < 0x80 {
            return Some((value, i.wrapping_add(1)));
        }
    }
    None
}
