//! Reading packets out, in nearly the order in which their chunks came.
//!
//! Two walks, one in the other. The outer goes over the memory from the oldest chunk to the newest.
//! For each chunk it meets, the *target*, the inner one reads the target's sequence from its lowest
//! id up to the target, wherever those chunks lie. What was read to its end becomes padding.
//!
//! ```text
//!  outer:  | a1 | padding | b4 | a2 | b3 | ...       inner, for b4:  b3, then b4
//!            ^ oldest         newest ^
//! ```
//!
//! The inner walk also serves eviction: the same steps, but nothing waits for anything
//! ([`Mode::Erase`]).

use super::fragment::{Next, next};
use super::record::{Record, Stored};
use super::sequences::{Sequence, Sequences};
use super::{Buffer, add};
use crate::buffer::memory::{HEADER, Memory};
use crate::buffer::{BARREN_MAX, PacketRef, Patience, TakePacket, loss};
use crate::packet::Slices;
use abi::shm::ChunkFlags;

/// Who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// A reader: what is not all there yet waits, and so does its sequence.
    Read,
    /// A writer that needs the place: what is not all there is lost.
    Erase,
}

/// A slice of a packet, by its place in the memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    off: usize,
    len: usize,
}

/// A packet found: one piece, or those in [`Buffer::pieces`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    One(Piece),
    Many,
}

/// The inner walk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk {
    slot: u32,
    /// Offset of the chunk after which it ends.
    target: usize,
    /// The chunk it is at.
    off: u32,
    /// A packet was found that is not all there.
    failed: bool,
}

/// The outer walk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// Offset of the record it is at; none when it is over.
    at: Option<usize>,
    walk: Option<Walk>,
    /// Where the padding begins that leads up to `at` without anything between.
    padding_from: Option<usize>,
    /// Packets found that were not all there.
    stalls: u64,
    /// A batch begins where the last one ended.
    again: bool,
}

/// A fragment, and what it is to its packet.
struct Fragment {
    piece: Piece,
    taken: usize,
    begins: bool,
    ends: bool,
}

/// What a chunk has next.
enum Step {
    Fragment(Fragment),
    Nothing { corrupted: bool },
}

/// Why a packet could not be put together.
enum Broken {
    NotEnoughData,
    Loss(u32),
}

impl Walk {
    /// At the first chunk of a sequence.
    pub(super) fn begin(sequences: &mut Sequences, slot: u32, target: usize) -> Option<Self> {
        let sequence = sequences.slot_mut(slot)?;
        let id = sequence.first()?;
        let off = sequence.chunks.get(id)?;
        sequence.note_gap(id);
        Some(Self { slot, target, off, failed: false })
    }
}

impl Buffer {
    pub(in crate::buffer) fn begin_read(&mut self) {
        if let Some(reading) = &mut self.walk {
            // Nothing came since: whatever this walk passed by is still not to be had.
            reading.again = true;
            return;
        }
        self.generation = self.generation.wrapping_add(1);
        let used = self.memory.used();
        let oldest = if self.at == used { 0 } else { self.at };
        self.walk = Some(Reading {
            at: (used > 0).then_some(oldest),
            walk: None,
            padding_from: None,
            stalls: 0,
            again: false,
        });
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

    fn find_packet(&mut self, patience: &mut Patience) -> Option<(u32, Found)> {
        let mut reading = self.walk?;
        if reading.again {
            reading.again = false;
            add(&mut self.stats.readaheads_failed, reading.stalls);
        }
        let found = self.next_of_all(&mut reading, patience);
        self.walk = Some(reading);
        found
    }

    fn packet(&mut self, (slot, found): (u32, Found)) -> Option<PacketRef<'_>> {
        let sequence = self.sequences.slot_mut(slot)?;
        let slices = match found {
            Found::One(piece) => Slices::one(piece.of(&self.memory)),
            Found::Many => self.pieces.iter().map(|(_, p, _)| p.of(&self.memory)).collect(),
        };
        Some(PacketRef {
            slices,
            producer: sequence.producer,
            writer: sequence.writer,
            identity: sequence.identity,
            dropped: core::mem::take(&mut sequence.loss),
        })
    }

    /// Gives what [`next_packet`](Self::next_packet) would give to `take`, until that says no.
    #[inline]
    pub(in crate::buffer) fn read_while(&mut self, take: &mut impl TakePacket) {
        let mut patience = Patience::new();
        loop {
            let more = match self.find_packet(&mut patience).and_then(|found| self.packet(found)) {
                Some(packet) => take.take(packet) && self.run(take),
                None => patience.renew() && take.passed_over(BARREN_MAX),
            };
            if !more {
                return;
            }
        }
    }

    /// Gives packets that lie in one piece, from where reading stands to the end of the chunk. What is
    /// anything else it leaves to [`next_packet`](Self::next_packet). Returns false if `take` says no.
    #[inline]
    fn run(&mut self, take: &mut impl TakePacket) -> bool {
        let Self { memory, sequences, stats, walk, .. } = self;
        let Some(Walk { slot, off, .. }) = walk.and_then(|reading| reading.walk) else {
            return true;
        };
        let Some(sequence) = sequences.slot(slot) else { return true };
        let Some(mut record) = memory.chunk(off) else { return true };
        let before = record.unread;
        // What was lost before was told by the packet that led us here.
        if before == record.used || sequence.loss != 0 {
            return true;
        }
        let (producer, writer, identity) = (sequence.producer, sequence.writer, sequence.identity);
        let more = record.give_whole(memory, off, &mut |piece| {
            take.take(PacketRef {
                slices: Slices::one(piece),
                producer,
                writer,
                identity,
                dropped: 0,
            })
        });
        if record.unread < before {
            memory.put_unread(off, record.unread);
            if record.unread == 0 {
                add(&mut stats.chunks_read, 1);
                add(&mut stats.bytes_read, record.outer());
            }
        }
        more
    }

    fn next_of_all(
        &mut self,
        reading: &mut Reading,
        patience: &mut Patience,
    ) -> Option<(u32, Found)> {
        loop {
            if let Some(walk) = &mut reading.walk {
                if let Some(found) = self.next_of_sequence(walk, Mode::Read, patience) {
                    return Some((walk.slot, found));
                }
                if patience.over {
                    return None;
                }
                if walk.failed {
                    reading.stalls = reading.stalls.wrapping_add(1);
                }
                reading.walk = None;
                self.pass_by(reading);
            }
            let at = reading.at?;
            match self.memory.stored(at)? {
                Stored::Padding { skip, .. } => {
                    reading.padding_from.get_or_insert(at);
                    self.step(reading, at.saturating_add(skip));
                }
                Stored::Chunk(record) => {
                    self.note_padding(reading, at);
                    reading.walk = Walk::begin(&mut self.sequences, record.slot, at);
                    if reading.walk.is_none() {
                        debug_assert!(false, "a chunk that its sequence does not know");
                        return None;
                    }
                }
            }
        }
    }

    /// Goes on behind a chunk that was read as far as it can be, or to its end.
    fn pass_by(&mut self, reading: &mut Reading) {
        let Some(at) = reading.at else { return };
        let len = match self.memory.stored(at) {
            None => return,
            Some(Stored::Padding { len, .. }) => {
                reading.padding_from.get_or_insert(at);
                len
            }
            Some(Stored::Chunk(record)) => {
                reading.padding_from = None;
                record.outer()
            }
        };
        self.step(reading, at.saturating_add(len));
    }

    /// Goes to `next`, or around, or ends where the write position is.
    fn step(&mut self, reading: &mut Reading, next: usize) {
        let around = next >= self.memory.used();
        let over = next == self.at || around && self.at == 0;
        if over || around {
            self.note_padding(reading, next);
            reading.padding_from = None;
        }
        reading.at = if over { None } else { Some(if around { 0 } else { next }) };
    }

    /// Leaves a shortcut for the next reader: there is only padding up to `end`.
    fn note_padding(&mut self, reading: &Reading, end: usize) {
        if let Some(start) = reading.padding_from
            && start < end
        {
            self.memory.put_skip(start, end.saturating_sub(start));
        }
    }

    /// The next packet of a sequence, up to the target's end, or to that of our patience.
    pub(super) fn next_of_sequence(
        &mut self,
        walk: &mut Walk,
        mode: Mode,
        patience: &mut Patience,
    ) -> Option<Found> {
        let reads = mode == Mode::Read;
        let generation = self.generation;
        if reads && self.sequences.slot(walk.slot)?.stalled_in == generation {
            return None;
        }
        loop {
            if patience.over {
                return None;
            }
            let record = self.memory.chunk(walk.off)?;
            let fragment = match self.memory.step(walk.off, &record) {
                Step::Fragment(fragment) => fragment,
                Step::Nothing { corrupted } => {
                    let sequence = self.sequences.slot_mut(walk.slot)?;
                    if corrupted {
                        sequence.lose(loss::CHUNK_CORRUPTED);
                    }
                    if record.incomplete && reads {
                        sequence.stalled_in = generation;
                        return None;
                    }
                    self.leave(walk, record)?;
                    continue;
                }
            };
            if fragment.begins && fragment.ends {
                self.consume(walk.off, fragment.taken, mode);
                if fragment.piece.len > 0 {
                    return Some(Found::One(fragment.piece));
                }
            } else if fragment.begins {
                match self.reassemble(walk, &record, &fragment, mode) {
                    Ok(()) => {
                        add(&mut self.stats.readaheads_succeeded, 1);
                        return Some(Found::Many);
                    }
                    Err(broken) => {
                        add(&mut self.stats.readaheads_failed, 1);
                        let sequence = self.sequences.slot_mut(walk.slot)?;
                        match broken {
                            Broken::NotEnoughData if reads => {
                                sequence.stalled_in = generation;
                                walk.failed = true;
                                return None;
                            }
                            Broken::NotEnoughData => sequence.lose(loss::OVERWRITE),
                            Broken::Loss(reason) => sequence.lose(reason),
                        }
                    }
                }
            } else {
                self.sequences.slot_mut(walk.slot)?.lose(loss::ORPHAN_CONTINUATION);
                self.consume(walk.off, fragment.taken, mode);
            }
            patience.tire();
        }
    }

    /// Takes the chunk out that was read to its end, and goes to the next of the sequence. None if it
    /// was the target, or the last.
    fn leave(&mut self, walk: &mut Walk, record: Record) -> Option<()> {
        let is_target = usize::try_from(walk.off).ok()? == walk.target;
        let next = self.sequences.slot(walk.slot)?.after(record.chunk);
        self.take_out(walk.slot, walk.off, record);
        if is_target {
            return None;
        }
        let sequence = self.sequences.slot_mut(walk.slot)?;
        let next = next?;
        sequence.note_gap(next);
        walk.off = sequence.chunks.get(next)?;
        Some(())
    }

    /// Puts the packet together that begins with this fragment of this chunk, into `pieces`.
    fn reassemble(
        &mut self,
        walk: &Walk,
        record: &Record,
        fragment: &Fragment,
        mode: Mode,
    ) -> Result<(), Broken> {
        self.pieces.clear();
        self.pieces.push((walk.off, fragment.piece, fragment.taken));
        let result = match self.sequences.slot(walk.slot) {
            Some(sequence) => collect(&self.memory, sequence, record, &mut self.pieces),
            None => Err(Broken::NotEnoughData),
        };
        if mode == Mode::Read && matches!(result, Err(Broken::NotEnoughData)) {
            return result;
        }
        let pieces = core::mem::take(&mut self.pieces);
        for (off, _, taken) in &pieces {
            self.consume(*off, *taken, mode);
        }
        self.pieces = pieces;
        self.pieces.retain(|(_, piece, _)| piece.len > 0);
        result
    }

    /// Consumes the next `taken` bytes of a chunk.
    #[inline]
    fn consume(&mut self, off: u32, taken: usize, mode: Mode) {
        let Some(record) = self.memory.chunk(off) else { return };
        let unread = usize::from(record.unread).saturating_sub(taken);
        self.memory.put_unread(off, u16::try_from(unread).unwrap_or(0));
        if unread > 0 {
            return;
        }
        let (chunks, bytes) = match mode {
            Mode::Read => (&mut self.stats.chunks_read, &mut self.stats.bytes_read),
            Mode::Erase => (&mut self.stats.chunks_overwritten, &mut self.stats.bytes_overwritten),
        };
        add(chunks, 1);
        add(bytes, record.outer());
    }
}

/// Collects what goes on in the chunks after `record` until it ends.
fn collect(
    memory: &Memory,
    sequence: &Sequence,
    record: &Record,
    pieces: &mut Vec<(u32, Piece, usize)>,
) -> Result<(), Broken> {
    let unpatched = |record: &Record| record.flags.contains(ChunkFlags::NEEDS_PATCHING);
    if unpatched(record) {
        return Err(Broken::NotEnoughData);
    }
    let mut id = record.chunk;
    loop {
        let next = sequence.after(id).ok_or(Broken::NotEnoughData)?;
        let off = sequence.chunks.get(next).ok_or(Broken::NotEnoughData)?;
        let record = memory.chunk(off).filter(|r| !unpatched(r)).ok_or(Broken::NotEnoughData)?;
        if next != id.next() {
            return Err(Broken::Loss(loss::REASSEMBLY_GAP));
        }
        id = next;
        match memory.step(off, &record) {
            Step::Nothing { corrupted: true } => return Err(Broken::Loss(loss::CHUNK_CORRUPTED)),
            // What goes on may be what its writer is writing there.
            Step::Nothing { .. } if record.incomplete => return Err(Broken::NotEnoughData),
            Step::Nothing { .. } => {}
            Step::Fragment(fragment) if fragment.begins => {
                return Err(Broken::Loss(loss::REASSEMBLY_BROKEN_CHAIN));
            }
            Step::Fragment(fragment) => {
                pieces.push((off, fragment.piece, fragment.taken));
                if fragment.ends {
                    return Ok(());
                }
            }
        }
    }
}

impl Memory {
    /// Length of the next fragment of a chunk, if there is one.
    pub(super) fn next_len(&self, off: usize, record: &Record) -> Option<usize> {
        match self.step(u32::try_from(off).ok()?, record) {
            Step::Fragment(fragment) => Some(fragment.piece.len),
            Step::Nothing { .. } => None,
        }
    }

    /// What a chunk has next.
    #[inline]
    fn step(&self, off: u32, record: &Record) -> Step {
        let Ok(off) = usize::try_from(off) else { return Step::Nothing { corrupted: true } };
        let end = off.saturating_add(HEADER).saturating_add(record.used.into());
        let start = end.saturating_sub(record.unread.into());
        match next(self.between(start, end)) {
            Next::Fragment { len, taken } => {
                let stop = start.saturating_add(taken);
                let is_first = record.unread == record.used;
                let goes_on = stop == end && record.flags.contains(ChunkFlags::CONTINUES_ON_NEXT);
                Step::Fragment(Fragment {
                    piece: Piece { off: stop.saturating_sub(len), len },
                    taken,
                    begins: !(is_first && record.flags.contains(ChunkFlags::CONTINUES_FROM_PREV)),
                    ends: !goes_on,
                })
            }
            Next::End | Next::GivenUp => Step::Nothing { corrupted: false },
            Next::Corrupted => Step::Nothing { corrupted: true },
        }
    }
}

impl Record {
    /// Gives fragments that are packets to `take` and moves on behind them, until one is something else or
    /// `take` says no, which is returned. Not for the first of a chunk.
    #[inline]
    fn give_whole<'m>(
        &mut self,
        memory: &'m Memory,
        off: u32,
        take: &mut impl FnMut(&'m [u8]) -> bool,
    ) -> bool {
        let Ok(off) = usize::try_from(off) else { return true };
        let end = off.saturating_add(HEADER).saturating_add(self.used.into());
        let start = end.saturating_sub(self.unread.into());
        memory.warm(start, end);
        let mut rest = memory.between(start, end);
        let goes_on = self.flags.contains(ChunkFlags::CONTINUES_ON_NEXT);
        let mut more = true;
        while more
            && let Next::Fragment { len, taken } = next(rest)
            && len > 0
            && !(goes_on && taken == rest.len())
            && let Some((fragment, behind)) = rest.split_at_checked(taken)
            && let Some(piece) = fragment.get(taken.wrapping_sub(len)..)
        {
            rest = behind;
            more = take(piece);
        }
        self.unread = u16::try_from(rest.len()).unwrap_or(0);
        more
    }
}

impl Piece {
    #[inline]
    fn of(self, memory: &Memory) -> &[u8] {
        memory.between(self.off, self.off.saturating_add(self.len))
    }
}
