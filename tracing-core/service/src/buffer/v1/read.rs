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

mod run;

use super::Buffer;
use super::index::{Resume, Sequence, Stall};
use super::record::Record;
use crate::buffer::chunks::Chunks;
use crate::buffer::length::of_four_bytes;
use crate::buffer::memory::{HEADER, Memory};
use crate::buffer::stats::Histograms;
use crate::buffer::{PacketRef, Patience, Stats};
use crate::packet::Slices;
use abi::ids::{ChunkId, ProducerId, WriterId};
use abi::shm::ChunkFlags;

/// The length a writer puts before a fragment to say that it gave the packet up: what four bytes of
/// varint can hold at most (`kPacketSizeDropPacket`).
const DROPPED_PACKET: u32 = 0x0fff_ffff;

/// Where reading stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cursor {
    /// Reading was not begun, is over, or the buffer changed since.
    Idle,
    /// The next sequence is the first one after this key, or of all.
    After(Option<u64>),
    /// At a chunk. `barred`: a later pass does not come this far, see [`Walk::barred`].
    At { slot: u32, first: ChunkId, chunk: ChunkId, off: u32, barred: bool },
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
    /// Of its sequence.
    slot: u32,
    dropped: bool,
}

impl Buffer {
    pub(in crate::buffer) fn begin_read(&mut self) {
        self.cursor = Cursor::After(None);
    }

    pub(in crate::buffer) fn next_packet(&mut self) -> Option<PacketRef<'_>> {
        let mut patience = Patience::new();
        loop {
            match self.find_packet(&mut patience) {
                None if patience.renew() => {}
                found => return self.packet(found?),
            }
        }
    }

    fn packet(&self, found: Found) -> Option<PacketRef<'_>> {
        let slices = match found.one {
            Some(piece) => Slices::one(piece.of(&self.memory)),
            None => self.pieces.iter().map(|p| p.of(&self.memory)).collect(),
        };
        let sequence = self.index.sequence(found.slot)?;
        Some(PacketRef {
            slices,
            producer: sequence.producer,
            writer: sequence.writer,
            identity: sequence.identity,
            dropped: u32::from(found.dropped),
        })
    }

    fn find_packet(&mut self, patience: &mut Patience) -> Option<Found> {
        // Known better as soon as a chunk is met of which something was read.
        let mut dropped = true;
        loop {
            let (slot, first, from, barred) = match self.cursor {
                Cursor::Idle => return None,
                Cursor::At { slot, first, chunk, barred, .. } => (slot, first, chunk, barred),
                Cursor::After(key) => {
                    let start = self.next_sequence(key);
                    if start.is_none() {
                        self.cursor = Cursor::Idle;
                    }
                    let (slot, first, from, after_loss) = start?;
                    dropped = after_loss;
                    (slot, first, from, false)
                }
            };
            let Self { memory, index, pieces, stats, histograms, .. } = self;
            let sequence = index.sequence_mut(slot)?;
            let Sequence {
                key, producer, writer, last, chunks, resume, stalled, histogram, ..
            } = sequence;
            let (producer, writer) = (*producer, *writer);
            let tally = Tally { stats, histograms, histogram, producer, writer };
            let mut walk = Walk {
                memory,
                chunks,
                stalled,
                tally,
                pieces,
                last: *last,
                reached: None,
                read: resume.and_then(|resume| resume.read),
                barred,
                dropped,
                paused: None,
            };
            let found = walk.packet(from, patience);
            let barred = walk.barred;
            dropped = walk.dropped;
            if let Some(at) = walk.reached {
                *resume = Some(Resume { first, at, read: walk.read });
            }
            if let Some((chunk, one)) = found {
                let off = chunks.get(chunk)?;
                self.cursor = Cursor::At { slot, first, chunk, off, barred };
                return Some(Found { one, slot, dropped });
            }
            if patience.over
                && let Some(chunk) = walk.paused
            {
                let off = chunks.get(chunk)?;
                self.cursor = Cursor::At { slot, first, chunk, off, barred };
                return None;
            }
            self.cursor = Cursor::After(Some(*key));
        }
    }

    /// The first sequence after this key that holds something: its slot, its first chunk, the chunk
    /// where reading may start, and whether a loss came before that.
    fn next_sequence(&self, key: Option<u64>) -> Option<(u32, ChunkId, ChunkId, bool)> {
        let slot = self.index.next_sequence(key)?;
        let sequence = self.index.sequence(slot)?;
        let first = sequence.chunks.first_after(sequence.last)?;
        let Some(resume) = sequence.resume else { return Some((slot, first, first, true)) };
        let read = resume.read.and_then(|id| self.memory.record_at(sequence.chunks.get(id)?));
        Some((slot, first, resume.at, read.is_none_or(|chunk| chunk.last_skipped)))
    }
}

/// A walk along the chunks of one sequence.
struct Walk<'a> {
    memory: &'a mut Memory,
    chunks: &'a Chunks,
    stalled: &'a mut Option<Stall>,
    tally: Tally<'a>,
    pieces: &'a mut Vec<Piece>,
    /// Id of the last chunk.
    last: ChunkId,
    /// The last chunk met with nothing unread before it that a later pass would not reach.
    reached: Option<ChunkId>,
    /// The last chunk up to there of which something was read.
    read: Option<ChunkId>,
    /// Whether looking ahead led over an empty chunk that waits for patches: the next pass stops
    /// there until they come, so it may not resume beyond.
    barred: bool,
    /// Whether the next packet follows a loss.
    dropped: bool,
    /// The chunk in which nobody had the patience to read on. Some of it was read.
    paused: Option<ChunkId>,
}

/// A packet: the chunk it ends in, and where it lies (none: in `pieces`).
type Packet = (ChunkId, Option<Piece>);

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
    fn packet(&mut self, mut id: ChunkId, patience: &mut Patience) -> Option<Packet> {
        loop {
            match self.visit(id, patience)? {
                Visit::Packet(packet) => return Some(packet),
                Visit::Stalled => return None,
                Visit::Exhausted(at) => id = at,
            }
            // An unfinished chunk may come again with more.
            if id == self.last || !self.chunk(id)?.1.complete {
                return None;
            }
            id = id.next();
        }
    }

    /// A chunk and where it is.
    #[inline]
    fn chunk(&self, id: ChunkId) -> Option<(u32, Record)> {
        let off = self.chunks.get(id)?;
        Some((off, self.memory.record_at(off)?))
    }

    /// Reads on in one chunk. None if there is no such chunk, it waits for patches, or it tired us.
    #[inline]
    fn visit(&mut self, mut id: ChunkId, patience: &mut Patience) -> Option<Visit> {
        let (mut off, mut chunk) = self.chunk(id)?;
        if chunk.flags.contains(ChunkFlags::NEEDS_PATCHING) {
            return None;
        }
        if chunk.read > 0 {
            self.dropped = chunk.last_skipped;
            self.came_to(id, &chunk);
        }
        while chunk.read < chunk.fragments {
            let is_first = chunk.read == 0;
            let is_last = chunk.read.saturating_add(1) == chunk.fragments;
            let outcome;
            if is_first && chunk.flags.contains(ChunkFlags::CONTINUES_FROM_PREV) {
                // Its begin is gone, so it goes too.
                self.tally.read_fragment(self.memory, off, &mut chunk);
                outcome = Fragment::Invalid;
            } else if is_last && chunk.flags.contains(ChunkFlags::CONTINUES_ON_NEXT) {
                let Some(end) = self.look_ahead(id) else {
                    count(&mut self.tally.stats.readaheads_failed, 1);
                    return Some(Visit::Stalled);
                };
                let whole = self.take(id, end);
                id = end;
                (off, chunk) = self.chunk(id)?;
                if whole {
                    count(&mut self.tally.stats.readaheads_succeeded, 1);
                    self.came_to(id, &chunk);
                    return Some(Visit::Packet((id, None)));
                }
                outcome = Fragment::Invalid;
            } else {
                outcome = self.tally.read_fragment(self.memory, off, &mut chunk);
            }
            match outcome {
                Fragment::Data(piece) => {
                    self.came_to(id, &chunk);
                    return Some(Visit::Packet((id, Some(piece))));
                }
                Fragment::Empty => {}
                Fragment::Invalid => {
                    chunk.last_skipped = true;
                    self.memory.put_chunk(off, chunk);
                    self.dropped = true;
                }
            }
            if patience.tire() {
                chunk.last_skipped = self.dropped;
                self.memory.put_chunk(off, chunk);
                self.came_to(id, &chunk);
                self.paused = Some(id);
                return None;
            }
        }
        self.came_to(id, &chunk);
        Some(Visit::Exhausted(id))
    }

    /// Notes that a pass gets to chunk `id`, of which something was read if it holds anything.
    #[inline]
    fn came_to(&mut self, id: ChunkId, chunk: &Record) {
        if !self.barred {
            self.reached = Some(id);
            if chunk.read > 0 {
                self.read = Some(id);
            }
        }
    }

    /// The chunk in which the packet that begins at the end of chunk `from` ends, if all of it is
    /// there.
    fn look_ahead(&mut self, from: ChunkId) -> Option<ChunkId> {
        let mut at = self.stalled.take().filter(|s| s.from == from).map_or(from, |s| s.at);
        let end = self.end_of_packet(&mut at);
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
            let Some((off, mut chunk)) = self.chunk(id) else { return false };
            if id != start && chunk.read > 0 {
                // The middle or end of the packet was read before its begin came, as an orphan. What
                // is next in this chunk belongs to another packet and must not be taken for ours.
                whole = false;
            } else if chunk.fragments > 0 {
                match self.tally.read_fragment(self.memory, off, &mut chunk) {
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

    /// The chunk in which a packet ends that leads over chunk `at`, if all of it is there. If not,
    /// `at` is the last chunk it leads over.
    fn end_of_packet(&self, at: &mut ChunkId) -> Option<ChunkId> {
        let (_, mut chunk) = self.chunk(*at)?;
        loop {
            if *at == self.last || !chunk.complete {
                return None;
            }
            let id = at.next();
            (_, chunk) = self.chunk(id)?;
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
}

/// What is counted while one sequence is read.
struct Tally<'a> {
    stats: &'a mut Stats,
    histograms: &'a mut Histograms,
    histogram: &'a mut Option<usize>,
    producer: ProducerId,
    writer: WriterId,
}

fn count(counter: &mut u64, by: u64) {
    *counter = counter.wrapping_add(by);
}

impl Tally<'_> {
    /// Reads the next fragment of a chunk and moves on. Needs an unread one.
    fn read_fragment(&mut self, memory: &mut Memory, off: u32, chunk: &mut Record) -> Fragment {
        let Some(found) = fragment(memory, off, chunk) else {
            if gave_up(memory, off, chunk) {
                count(&mut self.stats.trace_writer_packet_loss, 1);
            } else {
                count(&mut self.stats.abi_violations, 1);
            }
            chunk.next = 0;
            chunk.read = chunk.fragments;
            memory.put_chunk(off, *chunk);
            if chunk.complete {
                self.chunk_read(chunk.len);
            }
            return Fragment::Invalid;
        };
        chunk.next = found.next;
        chunk.read = chunk.read.saturating_add(1);
        // A fragment of nothing is no packet that could tell of the loss: the next one has to.
        chunk.last_skipped &= found.piece.len == 0;
        self.taken(memory, off, chunk);
        if found.piece.len == 0 { Fragment::Empty } else { Fragment::Data(found.piece) }
    }

    /// Some of a chunk was read: says so in the memory, and counts the chunk if that was the end of it.
    #[inline]
    fn taken(&mut self, memory: &mut Memory, off: u32, chunk: &Record) {
        memory.put_chunk(off, *chunk);
        if chunk.read == chunk.fragments && chunk.complete {
            self.chunk_read(chunk.len);
            let Self { histograms, histogram, producer, writer, .. } = self;
            histograms.add(*producer, *writer, histogram, chunk.next.into());
        }
    }

    fn chunk_read(&mut self, record_len: u16) {
        count(&mut self.stats.chunks_read, 1);
        count(&mut self.stats.bytes_read, record_len.into());
    }
}

impl Piece {
    #[inline]
    fn of(self, memory: &Memory) -> &[u8] {
        memory.between(self.off, self.off.saturating_add(self.len))
    }
}

/// A fragment as it lies in its chunk.
struct Placed {
    piece: Piece,
    /// Where in the payload the next one starts.
    next: u16,
}

/// Places in the memory: the chunk's next fragment, and the chunk's end.
#[inline]
fn rest(off: u32, chunk: &Record) -> Option<(usize, usize)> {
    let record = usize::try_from(off).ok()?;
    let start = record.checked_add(HEADER)?.checked_add(chunk.next.into())?;
    Some((start, record.checked_add(chunk.len.into())?))
}

/// The next fragment of a chunk, if it lies within.
#[inline]
fn fragment(memory: &Memory, off: u32, chunk: &Record) -> Option<Placed> {
    let (start, end) = rest(off, chunk)?;
    let rest = memory.between(start, end);
    let (len, header_len) = fragment_header(rest)?;
    let taken = len.checked_add(header_len).filter(|taken| *taken <= rest.len())?;
    let next = chunk.next.checked_add(u16::try_from(taken).ok()?)?;
    Some(Placed { piece: Piece { off: start.checked_add(header_len)?, len }, next })
}

/// Whether what is there instead of a fragment is the mark of a writer that gave the packet up.
#[cold]
fn gave_up(memory: &Memory, off: u32, chunk: &Record) -> bool {
    let header =
        rest(off, chunk).and_then(|(start, end)| fragment_header(memory.between(start, end)));
    header.is_some_and(|(len, _)| u32::try_from(len).is_ok_and(|len| len == DROPPED_PACKET))
}

/// A fragment's length and the bytes it takes, of which there may be four at most.
#[inline]
fn fragment_header(bytes: &[u8]) -> Option<(usize, usize)> {
    if let Some(len) = bytes.first_chunk().copied().and_then(of_four_bytes) {
        return Some((usize::try_from(len).ok()?, 4));
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
mod tests;
