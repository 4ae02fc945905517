//! Takes what is left, and ends the sequences. See the [module](super).

use crate::buffer::{SequenceEnd, TraceBuffer, loss};
use crate::buffers::Buffers;
use crate::commit::{ChunkIntake, copy_to_buffer};
use crate::context::Context;
use crate::effect_queue::EffectQueue;
use crate::ledger::Amount;
use crate::limits;
use crate::producers::Producer;
use crate::scrape::Uncommitted;
use crate::scrape::memory::{look, take};
use abi::ids::{BufferId, ChunkId, WriterId};
use abi::map::BlockSet;
use abi::shm::RESERVED_BYTES;
use abi::shm::header::PACKET_DROPPED;
use abi::shm::{ChunkFlags, ChunkHeader, Leftover, Packets};
use protozero::wire::{hostile, varint};

/// A packet with `TracePacket.previous_packet_dropped`: packets were lost because their writer gave them up. Its length
/// stands before it.
const MARK: [u8; RESERVED_BYTES] = {
    let reasons = loss::PRESENT | loss::WRITER_ABORT;
    [4, 0xd0, 0x02, 0x80 | reasons as u8, (reasons >> 7) as u8]
};

impl ChunkIntake {
    /// Takes what is left in the memory of a producer that goes away, until the work of `cx` is `end`. `live` are the
    /// buffers of sessions that run. Returns whether that was all.
    ///
    /// Sessions that ended count, too: what was written before the end and not committed is read after it.
    pub(crate) fn scrape_leaving(
        &mut self,
        producer: &mut Producer,
        live: &BlockSet<BufferId>,
        found: &mut Uncommitted,
        end: u64,
        buffers: &mut Buffers,
        cx: &mut Context,
    ) -> bool {
        if producer.sends_by_value() {
            return true;
        }
        if !found.has_begun() {
            let untold = producer.untold_losses(cx);
            producer.left.note_untold(untold);
        }
        if !look(found, producer, |_, _| true, end, cx) {
            return false;
        }
        let mut payload = Vec::new();
        while cx.work < end
            && let Some(place) = found.take()
        {
            payload.clear();
            let left = take(producer, place.page, cx, |reader, page| {
                reader.scrape_leftover(page, place.index, &mut payload)
            });
            cx.spend(limits::WORK_PER_ENTRY.saturating_add(payload.len() as u64));
            let Some(left) = left.filter(|left| place.holds(&left.header)) else { continue };
            let Some(buffer) = producer.writers.get(&left.header.writer).copied() else {
                let packets = packets_left(&left, &payload);
                producer.left.lose_of_no_buffer(Amount::exactly(packets));
                continue;
            };
            if !producer.allowed.contains(&buffer) {
                continue;
            }
            let of_chunk = Found { left, buffer, is_live: live.contains(&buffer) };
            let before = buffers.get(buffer).map_or(0, TraceBuffer::evicted);
            self.take_leftover(producer, of_chunk, &mut payload, buffers, &mut cx.out);
            let after = buffers.get(buffer).map_or(0, TraceBuffer::evicted);
            cx.spend(after.saturating_sub(before).saturating_mul(limits::WORK_PER_EVICTED));
        }
        !found.has_more()
    }

    fn take_leftover(
        &mut self,
        producer: &mut Producer,
        Found { left, buffer, is_live }: Found,
        payload: &mut [u8],
        buffers: &mut Buffers,
        out: &mut EffectQueue,
    ) {
        let Leftover { mut header, mut complete, finished, begun } = left;
        let (count, flags) = (header.packets.count(), header.packets.flags());
        let is_lost = begun && is_live;
        if !producer.scraping {
            let packets = packets_left(&left, payload);
            if is_live && packets > 0 {
                let of_writer = || (0, header.chunk);
                let (sum, first) =
                    producer.left.writers.get_or_insert_with(header.writer, of_writer);
                *sum = sum.saturating_add(packets);
                if header.chunk.distance(*first) < 0 {
                    *first = header.chunk;
                }
            }
            return;
        }
        // The last fragment of an unfinished chunk may be half written.
        if !complete && count < 2 && !is_lost {
            return;
        }
        let is_continued = count == 1 && flags.contains(ChunkFlags::CONTINUES_FROM_PREV);
        if !complete && is_live {
            // Nobody finishes it. The last fragment is empty, unless something is to be said there.
            let of_last = ChunkFlags::CONTINUES_ON_NEXT.with(ChunkFlags::NEEDS_PATCHING);
            header.packets = Packets::new(count, flags.without(of_last));
            complete = true;
        }
        if is_lost {
            let given_up = varint::padded(PACKET_DROPPED);
            let last: &[u8] = if is_continued { &given_up } else { &MARK };
            let place = payload.get_mut(finished..finished.saturating_add(last.len()));
            if let Some(place) = place {
                place.copy_from_slice(last);
            }
            producer.left.lose(buffer, Amount::exactly(1));
        }
        let copied = copy_to_buffer(producer, buffer, header, complete, payload, buffers, out);
        self.note_discarded(copied.is_err());
        if is_lost && is_continued {
            put_mark(producer, buffer, header.writer, header.chunk.next(), buffers, out);
        }
    }

    /// Ends the sequences of the writers of a producer that goes away, once its memory was scraped, until the work of
    /// `cx` is `end`. Returns whether that was all.
    pub(crate) fn end_sequences(
        &mut self,
        producer: &mut Producer,
        live: &BlockSet<BufferId>,
        end: u64,
        buffers: &mut Buffers,
        cx: &mut Context,
    ) -> bool {
        while let Some((writer, id)) = producer.pop_writer(&mut cx.accounts) {
            cx.spend(limits::WORK_PER_ENTRY);
            if live.contains(&id) && producer.allowed.contains(&id) {
                end_sequence(producer, writer, id, buffers, &mut cx.out);
            }
            if cx.work >= end {
                return producer.writers.is_empty();
            }
        }
        true
    }
}

/// A chunk that is left, and where its writer wrote to.
struct Found {
    left: Leftover,
    buffer: BufferId,
    is_live: bool,
}

fn end_sequence(
    producer: &mut Producer,
    writer: WriterId,
    id: BufferId,
    buffers: &mut Buffers,
    out: &mut EffectQueue,
) {
    if producer.sends_by_value() {
        return producer.left.lose(id, Amount::PERHAPS);
    }
    let left = producer.left.writers.remove(&writer);
    let Some(buffer) = buffers.get_mut(id) else { return };
    let end = buffer.sequence_end(producer.sequence(writer));
    let begun = u64::from(end != SequenceEnd::Whole);
    // A packet that was begun in the buffer goes on in the chunks that were not copied, where it was not counted.
    let count = left.map_or(0, |(packets, _)| packets).saturating_add(begun);
    let at_least = end == SequenceEnd::Unpatched;
    producer.left.lose(id, Amount { count, at_least });
    match (end, left) {
        // Nothing behind it can be read.
        (SequenceEnd::Unpatched, _) => {}
        (SequenceEnd::Open { next }, _) => {
            let flags = ChunkFlags::CONTINUES_FROM_PREV;
            let given_up = varint::padded(PACKET_DROPPED);
            let header = ChunkHeader { chunk: next, writer, packets: Packets::new(1, flags) };
            let _ = copy_to_buffer(producer, id, header, true, &given_up, buffers, out);
            put_mark(producer, id, writer, next.next(), buffers, out);
        }
        (SequenceEnd::Whole, Some((_, first))) => {
            put_mark(producer, id, writer, first, buffers, out);
        }
        (SequenceEnd::Whole, None) => {}
    }
}

/// Stores a mark as a chunk of its own.
fn put_mark(
    producer: &mut Producer,
    buffer: BufferId,
    writer: WriterId,
    chunk: ChunkId,
    buffers: &mut Buffers,
    out: &mut EffectQueue,
) {
    let packets = Packets::new(1, ChunkFlags::default());
    let header = ChunkHeader { chunk, writer, packets };
    let _ = copy_to_buffer(producer, buffer, header, true, &MARK, buffers, out);
}

/// Packets that begin in a chunk. Empty ones are none.
fn packets_left(left: &Leftover, payload: &[u8]) -> u64 {
    let mut fragments = payload.get(..left.finished).unwrap_or_default();
    let flags = left.header.packets.flags();
    let mut is_continued = flags.contains(ChunkFlags::CONTINUES_FROM_PREV);
    let mut count: u64 = 0;
    while !fragments.is_empty() {
        let Ok((len, rest)) = hostile::varint(fragments) else { break };
        let len = if len == PACKET_DROPPED.into() { 0 } else { len };
        fragments = rest.get(usize::try_from(len).unwrap_or(usize::MAX)..).unwrap_or_default();
        if !std::mem::take(&mut is_continued) && len > 0 {
            count = count.saturating_add(1);
        }
    }
    count.saturating_add(left.begun.into())
}
