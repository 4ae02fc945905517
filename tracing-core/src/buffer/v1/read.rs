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

use super::Buffer;
use super::index::{Chunk, Chunks, Resume, Sequence, Stall};
use super::ring::{HEADER, Ring};
use crate::buffer::{Identity, PacketRef, Stats, WriterStats};
use crate::ids::{ChunkId, ProducerId, WriterId};
use crate::limits::HISTOGRAMS_PER_BUFFER_MAX;
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
    /// At a chunk. `barred`: a later pass does not come this far, see [`Walk::barred`].
    At { slot: u32, first: ChunkId, chunk: ChunkId, barred: bool },
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
        let found = match self.next_in_chunk() {
            Some(found) => found,
            None => self.find_packet()?,
        };
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

    /// What nearly every call finds: one more packet in the middle of the chunk where reading stands.
    /// None says nothing.
    #[inline]
    fn next_in_chunk(&mut self) -> Option<Found> {
        let Cursor::At { slot, chunk: id, .. } = self.cursor else { return None };
        let sequence = self.index.sequence_mut(slot)?;
        let (producer, writer) = (sequence.producer, sequence.writer);
        let chunk = sequence.chunks.get_mut(id)?;
        // The first and the last fragment may be parts of packets; the last one ends the chunk.
        let inside = chunk.read > 0 && chunk.read.saturating_add(1) < chunk.fragments;
        if !inside || chunk.flags.contains(ChunkFlags::NEEDS_PATCHING) {
            return None;
        }
        let found = fragment(&self.ring, chunk).filter(|found| found.piece.len > 0)?;
        let dropped = chunk.last_skipped;
        chunk.next = found.next;
        chunk.read = chunk.read.saturating_add(1);
        chunk.last_skipped = false;
        Some(Found { one: Some(found.piece), producer, writer, identity: chunk.identity, dropped })
    }

    fn find_packet(&mut self) -> Option<Found> {
        // Known better as soon as a chunk is met of which something was read.
        let mut dropped = true;
        loop {
            let (slot, first, from, barred) = match self.cursor {
                Cursor::Idle => return None,
                Cursor::At { slot, first, chunk, barred } => (slot, first, chunk, barred),
                Cursor::After(key) => {
                    dropped = true;
                    let start = self.next_sequence(key);
                    if start.is_none() {
                        self.cursor = Cursor::Idle;
                    }
                    let (slot, first, from) = start?;
                    (slot, first, from, false)
                }
            };
            let Self { ring, index, pieces, stats, writers, .. } = self;
            let sequence = index.sequence_mut(slot)?;
            let key = sequence.key();
            let Sequence { producer, writer, last, chunks, resume, stalled, histogram } = sequence;
            let (producer, writer) = (*producer, *writer);
            let tally = Tally { stats, writers, histogram, producer, writer };
            let mut walk = Walk {
                ring,
                chunks,
                stalled,
                tally,
                pieces,
                last: *last,
                read_at: None,
                barred,
                dropped,
            };
            let found = walk.packet(from);
            let barred = walk.barred;
            dropped = walk.dropped;
            if let Some(at) = walk.read_at {
                *resume = Some(Resume { first, at });
            }
            if let Some((chunk, one, identity)) = found {
                self.cursor = Cursor::At { slot, first, chunk, barred };
                return Some(Found { one, producer, writer, identity, dropped });
            }
            self.cursor = Cursor::After(Some(key));
        }
    }

    /// The first sequence after this key that holds something: its slot, its first chunk, and the
    /// chunk where reading may start.
    fn next_sequence(&self, key: Option<u32>) -> Option<(u32, ChunkId, ChunkId)> {
        let slot = self.index.next_sequence(key)?;
        let sequence = self.index.sequence(slot)?;
        let first = sequence.chunks.first_after(sequence.last)?;
        Some((slot, first, sequence.resume.map_or(first, |resume| resume.at)))
    }
}

/// A walk along the chunks of one sequence.
struct Walk<'a> {
    ring: &'a Ring,
    chunks: &'a mut Chunks,
    stalled: &'a mut Option<Stall>,
    tally: Tally<'a>,
    pieces: &'a mut Vec<Piece>,
    /// Id of the last chunk.
    last: ChunkId,
    /// The last chunk met of which something was read, and which a later pass would reach.
    read_at: Option<ChunkId>,
    /// Whether looking ahead led over an empty chunk that waits for patches: the next pass stops
    /// there until they come, so it may not resume beyond.
    barred: bool,
    /// Whether the next packet follows a loss.
    dropped: bool,
}

/// A packet: the chunk it ends in, where it lies (none: in `pieces`), and whose it is.
type Packet = (ChunkId, Option<Piece>, Identity);

/// What a chunk held.
enum Visit {
    Packet(Packet),
    /// Nothing (more); looking ahead may have led on to this one.
    Exhausted(ChunkId),
    /// The begin of a packet that is not all there.
    Stalled,
}

impl Walk<'_> {
    /// The next packet from chunk `id` on. None: the sequence is over for now.
    #[inline]
    fn packet(&mut self, mut id: ChunkId) -> Option<Packet> {
        loop {
            match self.visit(id)? {
                Visit::Packet(packet) => return Some(packet),
                Visit::Stalled => return None,
                Visit::Exhausted(at) => id = at,
            }
            // An unfinished chunk may come again with more.
            if id == self.last || !self.chunks.get(id)?.complete {
                return None;
            }
            id = id.next();
        }
    }

    /// Reads on in one chunk. None if there is no such chunk or it waits for patches.
    #[inline]
    fn visit(&mut self, mut id: ChunkId) -> Option<Visit> {
        let mut chunk = self.chunks.get_mut(id)?;
        if chunk.flags.contains(ChunkFlags::NEEDS_PATCHING) {
            return None;
        }
        if chunk.read > 0 {
            self.dropped = chunk.last_skipped;
            if !self.barred {
                self.read_at = Some(id);
            }
        }
        while chunk.read < chunk.fragments {
            let is_first = chunk.read == 0;
            let is_last = chunk.read.saturating_add(1) == chunk.fragments;
            let identity = chunk.identity;
            let outcome;
            if is_first && chunk.flags.contains(ChunkFlags::CONTINUES_FROM_PREV) {
                // Its begin is gone, so it goes too.
                self.tally.read_fragment(self.ring, chunk);
                outcome = Fragment::Invalid;
            } else if is_last && chunk.flags.contains(ChunkFlags::CONTINUES_ON_NEXT) {
                let Some(end) = self.look_ahead(id) else {
                    count(&mut self.tally.stats.readaheads_failed, 1);
                    return Some(Visit::Stalled);
                };
                let whole = self.take(id, end);
                id = end;
                if whole {
                    count(&mut self.tally.stats.readaheads_succeeded, 1);
                    self.came_to(id);
                    return Some(Visit::Packet((id, None, identity)));
                }
                chunk = self.chunks.get_mut(id)?;
                outcome = Fragment::Invalid;
            } else {
                outcome = self.tally.read_fragment(self.ring, chunk);
            }
            match outcome {
                Fragment::Data(piece) => {
                    self.came_to(id);
                    return Some(Visit::Packet((id, Some(piece), identity)));
                }
                Fragment::Empty => {}
                Fragment::Invalid => {
                    chunk.last_skipped = true;
                    self.dropped = true;
                }
            }
        }
        if chunk.read > 0 {
            self.came_to(id);
        }
        Some(Visit::Exhausted(id))
    }

    /// Notes that something of chunk `id` was read.
    #[inline]
    fn came_to(&mut self, id: ChunkId) {
        if !self.barred {
            self.read_at = Some(id);
        }
    }

    /// The chunk in which the packet that begins at the end of chunk `from` ends, if all of it is
    /// there.
    fn look_ahead(&mut self, from: ChunkId) -> Option<ChunkId> {
        let mut at = self.stalled.take().filter(|s| s.from == from).map_or(from, |s| s.at);
        let end = end_of_packet(self.chunks, self.last, &mut at);
        if end.is_none() {
            *self.stalled = Some(Stall { from, at });
        }
        end
    }

    /// Reads one fragment of each chunk from `start` to `end` into `pieces`. False if one was bad:
    /// all were read nevertheless.
    fn take(&mut self, start: ChunkId, end: ChunkId) -> bool {
        self.pieces.clear();
        let mut whole = true;
        let mut id = start;
        loop {
            let Some(chunk) = self.chunks.get_mut(id) else { return false };
            if id != start && chunk.read > 0 {
                // The middle or end of the packet was read before its begin came, as an orphan. What
                // is next in this chunk belongs to another packet and must not be taken for ours.
                whole = false;
            } else if chunk.fragments > 0 {
                match self.tally.read_fragment(self.ring, chunk) {
                    Fragment::Data(piece) => self.pieces.push(piece),
                    Fragment::Empty => {}
                    Fragment::Invalid => whole = false,
                }
            } else {
                self.barred |= chunk.flags.contains(ChunkFlags::NEEDS_PATCHING);
            }
            if id == end {
                return whole;
            }
            id = id.next();
        }
    }
}

/// The chunk in which a packet ends that leads over chunk `at`, if all of it is there. If not, `at`
/// is the last chunk it leads over.
fn end_of_packet(chunks: &Chunks, last: ChunkId, at: &mut ChunkId) -> Option<ChunkId> {
    let mut chunk = chunks.get(*at)?;
    loop {
        if *at == last || !chunk.complete {
            return None;
        }
        let id = at.next();
        chunk = chunks.get(id)?;
        if chunk.fragments > 0 {
            if !chunk.flags.contains(ChunkFlags::CONTINUES_FROM_PREV)
                || chunk.flags.contains(ChunkFlags::NEEDS_PATCHING)
            {
                return None;
            }
            if chunk.fragments > 1 || !chunk.flags.contains(ChunkFlags::CONTINUES_ON_NEXT) {
                return Some(id);
            }
        }
        *at = id;
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
    fn read_fragment(&mut self, ring: &Ring, chunk: &mut Chunk) -> Fragment {
        let Some(found) = fragment(ring, chunk) else {
            if gave_up(ring, chunk) {
                count(&mut self.stats.trace_writer_packet_loss, 1);
            } else {
                count(&mut self.stats.abi_violations, 1);
            }
            chunk.next = 0;
            chunk.read = chunk.fragments;
            if chunk.complete {
                self.chunk_read(chunk.record_len);
            }
            return Fragment::Invalid;
        };
        chunk.next = found.next;
        chunk.read = chunk.read.saturating_add(1);
        chunk.last_skipped = false;
        if chunk.read == chunk.fragments && chunk.complete {
            self.chunk_read(chunk.record_len);
            self.add_to_histogram(chunk.next.into());
        }
        if found.piece.len == 0 { Fragment::Empty } else { Fragment::Data(found.piece) }
    }

    fn chunk_read(&mut self, record_len: u16) {
        count(&mut self.stats.chunks_read, 1);
        count(&mut self.stats.bytes_read, record_len.into());
    }

    fn add_to_histogram(&mut self, payload_len: u64) {
        if self.histogram.is_none() {
            let same = |w: &WriterStats| (w.producer, w.writer) == (self.producer, self.writer);
            // Only ever found if the sequence was forgotten meanwhile, which takes thousands.
            let known = self.writers.iter().position(same);
            *self.histogram = known.or_else(|| {
                (self.writers.len() < HISTOGRAMS_PER_BUFFER_MAX).then(|| {
                    self.writers.push(WriterStats::new(self.producer, self.writer));
                    self.writers.len().saturating_sub(1)
                })
            });
        }
        if let Some(writer) = self.histogram.and_then(|i| self.writers.get_mut(i)) {
            writer.add(payload_len);
        }
    }
}

/// A fragment as it lies in its chunk.
struct Placed {
    piece: Piece,
    /// Where in the payload the next one starts.
    next: u16,
}

/// Places in the ring: the chunk's next fragment, and the chunk's end.
#[inline]
fn rest(chunk: &Chunk) -> Option<(usize, usize)> {
    let record = usize::try_from(chunk.offset).ok()?;
    let start = record.checked_add(HEADER)?.checked_add(chunk.next.into())?;
    Some((start, record.checked_add(chunk.record_len.into())?))
}

/// The next fragment of a chunk, if it lies within.
#[inline]
fn fragment(ring: &Ring, chunk: &Chunk) -> Option<Placed> {
    let (start, end) = rest(chunk)?;
    let rest = ring.between(start, end);
    let (len, header_len) = fragment_header(rest)?;
    let taken = len.checked_add(header_len).filter(|taken| *taken <= rest.len())?;
    let next = chunk.next.checked_add(u16::try_from(taken).ok()?)?;
    Some(Placed { piece: Piece { off: start.checked_add(header_len)?, len }, next })
}

/// Whether what is there instead of a fragment is the mark of a writer that gave the packet up.
#[cold]
fn gave_up(ring: &Ring, chunk: &Chunk) -> bool {
    let header = rest(chunk).and_then(|(start, end)| fragment_header(ring.between(start, end)));
    header.is_some_and(|(len, _)| u32::try_from(len).is_ok_and(|len| len == DROPPED_PACKET))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::{ChunkMeta, Policy};

    fn add(buffer: &mut Buffer, id: u32, flags: u8) {
        commit(buffer, id, flags, true);
    }

    fn commit(buffer: &mut Buffer, id: u32, flags: u8, complete: bool) {
        let meta = ChunkMeta {
            producer: ProducerId(1),
            identity: Identity { uid: 0, pid: None, machine_id: 0 },
            writer: WriterId(1),
            chunk: ChunkId(id),
            fragments: 1,
            flags: ChunkFlags(flags),
            complete,
        };
        buffer.copy_chunk(&meta, &[1, 0]);
    }

    fn pieces(buffer: &mut Buffer) -> Option<usize> {
        buffer.begin_read();
        buffer.next_packet().map(|packet| packet.slices.len())
    }

    #[test]
    fn looking_ahead_goes_on_where_it_gave_up() {
        let mut buffer = Buffer::new(4096, Policy::Ring).unwrap();
        add(&mut buffer, 0, 2);
        for id in 1..5 {
            add(&mut buffer, id, 3);
            assert_eq!(pieces(&mut buffer), None);
        }
        // What nobody does behind our back: a pass that came by here again would give up.
        let sequence = buffer.index.sequence_mut(0).unwrap();
        sequence.chunks.get_mut(ChunkId(2)).unwrap().flags = ChunkFlags(0);
        add(&mut buffer, 5, 1);
        assert_eq!(pieces(&mut buffer), Some(6));
        assert_eq!((buffer.stats.readaheads_failed, buffer.stats.readaheads_succeeded), (4, 1));
    }

    #[test]
    fn looking_ahead_starts_over_when_its_way_changed() {
        let mut evicted = Buffer::new(4096, Policy::Ring).unwrap();
        for (id, flags) in [(0, 2), (1, 3), (2, 3)] {
            add(&mut evicted, id, flags);
        }
        assert_eq!(pieces(&mut evicted), None);
        assert!(evicted.index.remove(0, ChunkId(1)).is_some());
        add(&mut evicted, 3, 1);
        assert_eq!(pieces(&mut evicted), None);
        assert_eq!(evicted.stats.readaheads_failed, 2);

        let mut rewritten = Buffer::new(4096, Policy::Ring).unwrap();
        add(&mut rewritten, 0, 2);
        commit(&mut rewritten, 1, 0, false);
        add(&mut rewritten, 2, 1);
        assert_eq!(pieces(&mut rewritten), None);
        commit(&mut rewritten, 1, 0, true);
        assert_eq!(rewritten.stats.chunks_rewritten, 1);
        assert_eq!(pieces(&mut rewritten), None);
        assert_eq!(rewritten.stats.readaheads_failed, 2);
    }
}
