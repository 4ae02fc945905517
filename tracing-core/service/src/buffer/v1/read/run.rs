//! Runs: what nearly all packets are part of.
//!
//! ```text
//!  id 4                  id 5              id 6
//!  | A | B | C | D |     | E | F | G |     | H.. (CON)
//!        ^ reading stands here       ^ and may stand here, with nothing but lengths looked at between
//! ```
//!
//! Inside of a run nothing is looked up: packets lie one behind the other, each with its length before it, and
//! what a chunk's header says of reading is stored when the run leaves the chunk.

use super::{Cursor, Tally, fragment_header, rest};
use crate::buffer::memory::Memory;
use crate::buffer::v1::Buffer;
use crate::buffer::v1::index::{Resume, Sequence};
use crate::buffer::v1::record::Record;
use crate::buffer::{BARREN_MAX, PacketRef, Patience, TakePacket};
use crate::packet::Slices;
use abi::shm::ChunkFlags;

impl Buffer {
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

    /// Gives packets that lie in one piece, from where reading stands to the end of the chunk, and on in the
    /// next chunks of the sequence. What is anything else it leaves to [`find_packet`](Self::find_packet).
    /// Returns false if `take` says no.
    #[inline]
    fn run(&mut self, take: &mut impl TakePacket) -> bool {
        let Self { memory, index, stats, histograms, cursor, .. } = self;
        let Cursor::At { slot, first, chunk, off, barred } = cursor else { return true };
        let Some(sequence) = index.sequence_mut(*slot) else { return true };
        let Sequence { producer, writer, identity, .. } = *sequence;
        let histogram = &mut sequence.histogram;
        let mut tally = Tally { stats, histograms, histogram, producer, writer };
        let (mut id, mut at) = (*chunk, *off);
        loop {
            let Some(mut record) = memory.record_at(at) else { return true };
            let is_new = id != *chunk;
            let begun = record.read > 0;
            if is_new == begun
                || record.flags.contains(ChunkFlags::NEEDS_PATCHING)
                || is_new && record.flags.contains(ChunkFlags::CONTINUES_FROM_PREV)
            {
                return true;
            }
            if (is_new || record.read == 1)
                && let Some((start, end)) = rest(at, &record)
            {
                memory.warm(start, end);
            }
            let before = record.read;
            // A new chunk follows one that was read to its end, so nothing is missing between.
            let mut dropped = u32::from(record.last_skipped);
            let more = record.give_whole(memory, at, &mut |piece| {
                let (slices, dropped) = (Slices::one(piece), core::mem::take(&mut dropped));
                take.take(PacketRef { slices, producer, writer, identity, dropped })
            });
            if record.read > before {
                record.last_skipped = false;
                tally.taken(memory, at, &record);
                if is_new {
                    (*chunk, *off) = (id, at);
                    if !*barred {
                        sequence.resume = Some(Resume { first: *first, at: id, read: Some(id) });
                    }
                }
            }
            // An unfinished chunk may come again with more.
            let is_over = record.read == record.fragments && record.read > 0;
            if !more || !is_over || !record.complete || id == sequence.last {
                return more;
            }
            id = id.next();
            let Some(next) = sequence.chunks.get(id) else { return true };
            at = next;
        }
    }
}

impl Record {
    /// Gives fragments that are packets to `take` and moves on behind them, until one is something else or
    /// `take` says no, which is returned.
    #[inline]
    fn give_whole<'m>(
        &mut self,
        memory: &'m Memory,
        off: u32,
        take: &mut impl FnMut(&'m [u8]) -> bool,
    ) -> bool {
        let Some((start, end)) = rest(off, self) else { return true };
        let all = memory.between(start, end);
        let goes_on = u16::from(self.flags.contains(ChunkFlags::CONTINUES_ON_NEXT));
        let whole = self.fragments.saturating_sub(goes_on).saturating_sub(self.read);
        let (mut rest, mut left, mut more) = (all, whole, true);
        while more && left > 0 {
            let Some((len, header_len)) = fragment_header(rest).filter(|(len, _)| *len > 0) else {
                break;
            };
            let Some((piece, behind)) =
                rest.get(header_len..).and_then(|rest| rest.split_at_checked(len))
            else {
                break;
            };
            rest = behind;
            left = left.wrapping_sub(1);
            more = take(piece);
        }
        self.read = self.read.wrapping_add(whole.wrapping_sub(left));
        let taken = all.len().wrapping_sub(rest.len());
        // A chunk has no more bytes than that can count.
        self.next = self.next.wrapping_add(u16::try_from(taken).unwrap_or(0));
        more
    }
}
