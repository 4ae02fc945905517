//! Runs of whole packets, which nearly all packets are part of.
//!
//! ```text
//!  id 4                  id 5              id 6
//!  | A | B | C | D |     | E | F | G |     | H.. (CON)
//!        ^ the cursor before a run   ^ and behind it; only lengths are looked at between
//! ```
//!
//! A run looks nothing up: packets lie one behind the other, each with its length before it. How far a chunk was read
//! is stored when the run leaves the chunk.

use super::fragment::{split_fragment, unread};
use super::{Cursor, SequenceScan};
use crate::buffer::memory::Memory;
use crate::buffer::ring::Common;
use crate::buffer::v1::Buffer;
use crate::buffer::v1::index::Sequence;
use crate::buffer::v1::record::Record;
use crate::buffer::{PacketRef, TakePacket};
use crate::packet::Slices;
use abi::shm::ChunkFlags;

impl Buffer {
    /// Reads whole packets, from the cursor to the end of its chunk, and on in the next chunks of the sequence.
    /// Returns false if `take` wants no more.
    #[inline]
    pub(in crate::buffer::v1) fn read_chunk_run(&mut self, take: &mut impl TakePacket) -> bool {
        let Self { common, index, cursor, .. } = self;
        let Cursor::InSequence(scan) = cursor else { return true };
        let Some(sequence) = index.sequence_mut(scan.slot) else { return true };
        scan.read_run(common, sequence, take)
    }
}

impl SequenceScan {
    #[inline]
    fn read_run(
        &mut self,
        common: &mut Common,
        sequence: &mut Sequence,
        take: &mut impl TakePacket,
    ) -> bool {
        let Sequence { producer, writer, identity, last, .. } = *sequence;
        let (mut id, mut off) = (self.chunk, self.off);
        loop {
            let Some(mut chunk) = common.memory.record_at(off) else { return true };
            let is_new = id != self.chunk;
            let begun = chunk.read > 0;
            if is_new == begun
                || chunk.flags.contains(ChunkFlags::NEEDS_PATCHING)
                || is_new && chunk.flags.contains(ChunkFlags::CONTINUES_FROM_PREV)
            {
                return true;
            }
            if (is_new || chunk.read == 1)
                && let Some((start, end)) = unread(off, &chunk)
            {
                common.memory.prefetch(start, end);
            }
            let before = chunk.read;
            // A new chunk follows one that was read to its end, so nothing is missing between.
            let mut dropped = u32::from(chunk.last_skipped);
            let more = chunk.give_whole(&common.memory, off, &mut |packet| {
                let (slices, dropped) = (Slices::one(packet), core::mem::take(&mut dropped));
                take.take(PacketRef { slices, producer, writer, identity, dropped })
            });
            if chunk.read > before {
                chunk.last_skipped = false;
                common.note_progress(sequence, off, &chunk);
                if is_new {
                    (self.chunk, self.off) = (id, off);
                    self.note_reached(sequence, &chunk);
                }
            }
            // An unfinished chunk may come again with more fragments.
            let is_over = chunk.read == chunk.fragments && chunk.read > 0;
            if !more || !is_over || !chunk.complete || id == last {
                return more;
            }
            id = id.next();
            let Some(next) = sequence.chunks.get(id) else { return true };
            off = next;
        }
    }
}

impl Record {
    /// Gives fragments that are packets to `take` and consumes them, until one is something else or
    /// `take` returns false, which is returned.
    #[inline]
    fn give_whole<'m>(
        &mut self,
        memory: &'m Memory,
        off: u32,
        take: &mut impl FnMut(&'m [u8]) -> bool,
    ) -> bool {
        let Some((start, end)) = unread(off, self) else { return true };
        let all = memory.between(start, end);
        let goes_on = u16::from(self.flags.contains(ChunkFlags::CONTINUES_ON_NEXT));
        let whole = self.fragments.saturating_sub(goes_on).saturating_sub(self.read);
        let (mut rest, mut left, mut more) = (all, whole, true);
        while more && left > 0 {
            let Some((packet, behind)) = split_fragment(rest) else { break };
            if packet.is_empty() {
                break;
            }
            rest = behind;
            left = left.wrapping_sub(1);
            more = take(packet);
        }
        self.read = self.read.wrapping_add(whole.wrapping_sub(left));
        let taken = all.len().wrapping_sub(rest.len());
        // A chunk has no more bytes than that can count.
        self.next = self.next.wrapping_add(u16::try_from(taken).unwrap_or(0));
        more
    }
}
