//! Chunks and patches that producers hand over: nothing in them can be trusted.
//!
//! A commit names chunks of shared memory by page and index, or carries their bytes. Each is copied out once, and
//! only the copy is read; then it is checked whether the producer may write to the buffer. A wrong entry is skipped
//! alone, never the whole commit, and costs no more than a counter: a producer can lose only data of its own.
//!
//! A chunk in memory that its producer never wrote is not even looked at: reading would make the system provide that
//! memory on the account of the service. The reader asks for each page once, and a producer could remove it later: see
//! [`producers::memory`](crate::producers).

use protos::{
    CommitDataRequest, CommitDataRequestChunkToPatch, CommitDataRequestChunksToMove,
    CommitDataRequestDroppedPackets,
};

use super::accounts::User;
use super::buffers::Buffers;
use super::context::Context;
use super::effect_queue::EffectQueue;
use super::ledger::Reason;
use super::producers::Producer;
use crate::buffer::{ChunkMeta, ChunkPatches, Patch, TraceBuffer};
use crate::limits;
use crate::work::Piece;
use abi::ids::{BufferId, ChunkId, WriterId};
use abi::map::{BlockMap, BlockSet};
use abi::shm::{ChunkHeader, LOSS_MARK_CHUNK_IDX, SmbReader};

/// Takes chunks of producers into buffers, committed or scraped, and counts what it refuses.
#[derive(Debug, Default)]
pub(crate) struct ChunkIntake {
    pub(crate) chunks_discarded: u64,
    /// Those of them that were for a buffer that is not their producer's or not their writer's, or in memory that must
    /// not be touched.
    pub(crate) chunks_refused: u64,
    pub(crate) patches_discarded: u64,
    /// Those among them that broke the protocol, or were for a buffer that is not their producer's.
    pub(crate) patches_refused: u64,
    /// Chunks that were named in memory without data.
    pub(crate) holes_named: u64,
    /// Kept between commits, so that none allocates.
    pub(crate) scratch: Vec<u8>,
    patches: Vec<Patch>,
    /// See [`take_dropped`](Self::take_dropped).
    dropped: BlockMap<BufferId, u64>,
    /// See [`take_rings_written`](Self::take_rings_written).
    rings_written: BlockSet<BufferId>,
}

/// How much was refused, by reason.
pub(crate) type Refused = [(Reason, u64); 2];

/// What a chunk changed in its buffer.
#[derive(Clone, Copy)]
pub(crate) struct Copied {
    /// Records that it removed there.
    evicted: u64,
    /// A quarter of the ring or more was written since `take_quarters` last returned some.
    has_quarters: bool,
}

impl Copied {
    /// What that cost, but for the bytes.
    pub(crate) fn cost(self) -> u64 {
        self.evicted.saturating_mul(limits::WORK_PER_EVICTED)
    }
}

fn count(counter: &mut u64, by: usize) {
    *counter = counter.saturating_add(by as u64);
}

impl ChunkIntake {
    /// Takes a piece of the chunks and patches of a commit. Returns the entry to go on with, if there is one.
    pub(crate) fn commit(
        &mut self,
        producer: &mut Producer,
        request: &CommitDataRequest,
        piece: Piece,
        buffers: &mut Buffers,
        cx: &mut Context,
    ) -> Option<usize> {
        let Piece { from, work_end } = piece;
        let (moves, patches) = (&request.chunks_to_move, &request.chunks_to_patch);
        let before_dropped = moves.len().saturating_add(patches.len());
        for (index, chunk) in moves.iter().enumerate().skip(from) {
            if cx.work >= work_end {
                return Some(index);
            }
            let cost = self.move_chunk(producer, chunk, buffers, cx);
            cx.spend(limits::WORK_PER_ENTRY.saturating_add(cost));
        }
        for (index, chunk) in patches.iter().enumerate().skip(from.saturating_sub(moves.len())) {
            if cx.work >= work_end {
                return Some(moves.len().saturating_add(index));
            }
            self.patch_chunk(producer, chunk, buffers, &mut cx.out);
            let entries = chunk.patches.len().saturating_add(1) as u64;
            cx.spend(limits::WORK_PER_ENTRY.saturating_mul(entries));
        }
        let told = request.dropped_packets.iter().enumerate();
        for (index, dropped) in told.skip(from.saturating_sub(before_dropped)) {
            if cx.work >= work_end {
                return Some(before_dropped.saturating_add(index));
            }
            self.note_dropped(producer, dropped);
            // Its session is looked for afterwards.
            cx.spend(limits::WORK_PER_DROPPED);
        }
        None
    }

    /// A producer tells that its writers dropped packets. What it says of buffers that are not its own is left out.
    fn note_dropped(&mut self, producer: &Producer, told: &CommitDataRequestDroppedPackets) {
        let buffer = BufferId::new(told.target_buffer.unwrap_or(0) as u16);
        let packets = told.packets.unwrap_or(0);
        if packets > 0 && producer.allowed.contains(&buffer) {
            let sum = self.dropped.get_or_insert_with(buffer, || 0);
            *sum = sum.saturating_add(packets);
        }
    }

    /// What producers told since the last call: packets that their writers dropped, by buffer.
    pub(crate) fn take_dropped(&mut self) -> BlockMap<BufferId, u64> {
        std::mem::take(&mut self.dropped)
    }

    /// The rings of which chunks of commits since the last call filled another quarter.
    pub(crate) fn take_rings_written(&mut self) -> BlockSet<BufferId> {
        std::mem::take(&mut self.rings_written)
    }

    /// How much was refused so far that its producer had no right to, or that broke the protocol.
    pub(crate) fn refused_counts(&self) -> Refused {
        [
            (Reason::ChunksRefused, self.chunks_refused),
            (Reason::PatchesRefused, self.patches_refused),
        ]
    }

    /// Whether more was refused than `refused`, or [`take_dropped`](Self::take_dropped) or
    /// [`take_rings_written`](Self::take_rings_written) would return something.
    pub(crate) fn has_losses_or_quarters(&self, refused: Refused) -> bool {
        self.refused_counts() != refused
            || !self.dropped.is_empty()
            || !self.rings_written.is_empty()
    }

    /// Bytes kept for copying.
    pub(crate) fn scratch_bytes(&self) -> usize {
        self.scratch.capacity()
    }

    /// Returns what that cost.
    fn move_chunk(
        &mut self,
        producer: &mut Producer,
        chunk: &CommitDataRequestChunksToMove,
        buffers: &mut Buffers,
        cx: &mut Context,
    ) -> u64 {
        self.scratch.clear();
        let (header, payload) = match &chunk.data {
            Some(data) => {
                let legal = limits::COMMIT_CHUNK_BYTES_MIN..=limits::COMMIT_CHUNK_BYTES_MAX;
                let header = ChunkHeader::from_bytes(data).filter(|_| legal.contains(&data.len()));
                if producer.smb.is_some() && chunk.chunk == Some(LOSS_MARK_CHUNK_IDX as u32) {
                    producer.note_mark(header.as_ref());
                }
                (header, data.get(limits::COMMIT_CHUNK_BYTES_MIN..).unwrap_or_default())
            }
            None => (self.read_chunk(producer, chunk, cx), self.scratch.as_slice()),
        };
        let out = &mut cx.out;
        // u32 on the wire, 16 bits everywhere else: truncated, as upstream does.
        let buffer = BufferId::new(chunk.target_buffer.unwrap_or(0) as u16);
        let Some(header) = header else {
            if chunk.data.is_some() {
                let buffer = buffer_of(producer, buffer, buffers, out);
                self.note_copied(buffer.map(TraceBuffer::note_violation));
            }
            return 0;
        };
        if chunk.data.is_none() {
            producer.gaps.note_chunk(&header);
        }
        let complete = chunk.data.is_none() || !chunk.chunk_incomplete.unwrap_or(false);
        let len = payload.len();
        let copied = copy_to_buffer(producer, buffer, header, complete, payload, buffers, out);
        self.note_copied(copied.map(drop));
        let Ok(copied) = copied else { return len as u64 };
        if copied.has_quarters {
            self.rings_written.insert(buffer);
        }
        copied.cost().saturating_add(len as u64)
    }

    /// Takes a chunk out of the memory of its producer, if it is there. The payload is in `scratch` then.
    fn read_chunk(
        &mut self,
        producer: &mut Producer,
        chunk: &CommitDataRequestChunksToMove,
        cx: &mut Context,
    ) -> Option<ChunkHeader> {
        let page = chunk.page.unwrap_or(0) as usize;
        let index = chunk.chunk.unwrap_or(0) as usize;
        if let Some(copy) = producer.copy_untouched(page, cx) {
            return self.read_copied(producer, page, index, copy, cx);
        }
        let was_removed = producer.check_page(page, cx);
        let reader = producer.smb.as_mut()?;
        if !reader.begin_touching(page) && page < reader.smb().page_count() {
            self.note_hole(producer, was_removed, cx);
            return None;
        }
        let header = reader.read_chunk(page, index, &mut self.scratch);
        producer.note_touched(page);
        producer.charge_memory(cx);
        header
    }

    /// Takes a chunk out of a copy of its page, and frees it in the memory.
    fn read_copied(
        &mut self,
        producer: &mut Producer,
        page: usize,
        index: usize,
        mut copy: SmbReader,
        cx: &mut Context,
    ) -> Option<ChunkHeader> {
        if copy.smb().page_hint(0).is_free() {
            self.note_if_hole(producer, page, cx);
            return None;
        }
        if !producer.may_touch(page, cx) {
            self.note_copied(Err(Refusal::NoPlace));
            return None;
        }
        let header = copy.read_chunk(0, index, &mut self.scratch)?;
        if !producer.free_copied(page, index) {
            // It was complete, and only this process frees it: it may have been removed meanwhile.
            self.note_if_hole(producer, page, cx);
        }
        Some(header)
    }

    /// A chunk was named where none is now.
    fn note_if_hole(&mut self, producer: &Producer, page: usize, cx: &mut Context) {
        if producer.smb.as_ref().is_some_and(|reader| reader.is_hole(page)) {
            self.note_hole(producer, false, cx);
        }
    }

    /// A chunk was named where no data is.
    fn note_hole(&mut self, producer: &Producer, was_removed: bool, cx: &mut Context) {
        let user = User::of(&producer.peer);
        count(&mut self.holes_named, 1);
        // Otherwise `check_page` has counted it.
        if !was_removed {
            cx.accounts.distrust(user);
        }
        cx.accounts.catch(user);
    }

    /// Counts a chunk that its buffer did not get.
    fn note_copied(&mut self, copied: Result<(), Refusal>) {
        if let Err(refusal) = copied {
            count(&mut self.chunks_discarded, 1);
            count(&mut self.chunks_refused, usize::from(refusal != Refusal::Gone));
        }
    }

    fn patch_chunk(
        &mut self,
        producer: &mut Producer,
        chunk: &CommitDataRequestChunkToPatch,
        buffers: &mut Buffers,
        out: &mut EffectQueue,
    ) {
        let writer = chunk.writer_id.unwrap_or(0);
        let buffer = BufferId::new(chunk.target_buffer.unwrap_or(0) as u16);
        let patches = chunk.patches.len();
        let buffer = match buffer_of(producer, buffer, buffers, out) {
            Ok(buffer) => buffer,
            Err(refusal) => {
                let refused = if refusal == Refusal::Gone { 0 } else { patches };
                count(&mut self.patches_discarded, patches);
                return count(&mut self.patches_refused, refused);
            }
        };
        let legal_writer = writer != 0 && writer <= limits::WRITER_ID_MAX;
        if !legal_writer || patches > limits::PATCHES_PER_CHUNK_MAX {
            count(&mut self.patches_discarded, patches);
            return count(&mut self.patches_refused, patches);
        }
        self.patches.clear();
        for patch in &chunk.patches {
            match <[u8; 4]>::try_from(patch.data.as_deref().unwrap_or_default()) {
                Ok(data) => {
                    self.patches.push(Patch { offset: patch.offset.unwrap_or(0), data });
                }
                Err(_) => {
                    count(&mut self.patches_discarded, 1);
                    count(&mut self.patches_refused, 1);
                }
            }
        }
        buffer.patch(&ChunkPatches {
            sequence: producer.sequence(WriterId::new(writer as u16)),
            chunk: ChunkId::new(chunk.chunk_id.unwrap_or(0)),
            patches: &self.patches,
            more: chunk.has_more_patches.unwrap_or(false),
        });
    }

    /// Counts a chunk that was found in memory and is for no buffer of its producer.
    pub(crate) fn note_discarded(&mut self, is_discarded: bool) {
        count(&mut self.chunks_discarded, usize::from(is_discarded));
    }
}

/// Why a chunk is not put into a buffer, or not patched there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// There is no such buffer; perhaps not any more, or only for its file, as its session is over.
    Gone,
    /// Its producer or writer may not write there.
    Foreign,
    /// Its page must not be touched: users that removed shared memory have a limit (`producers::memory`).
    NoPlace,
}

/// A buffer that the producer names, if it may write there.
#[inline]
fn buffer_of<'a>(
    producer: &mut Producer,
    id: BufferId,
    buffers: &'a mut Buffers,
    out: &mut EffectQueue,
) -> Result<&'a mut TraceBuffer, Refusal> {
    if !producer.allowed.contains(&id) {
        // A producer may be late: that is no loss of its other sessions.
        if !buffers.is_open(id) {
            return Err(Refusal::Gone);
        }
        producer.log_error(
            out,
            format_args!("what is for buffer {id}, which is not its own, is dropped"),
        );
        return Err(Refusal::Foreign);
    }
    buffers.get_mut(id).ok_or(Refusal::Gone)
}

/// Puts a copied chunk into a buffer.
pub(crate) fn copy_to_buffer(
    producer: &mut Producer,
    buffer_id: BufferId,
    header: ChunkHeader,
    complete: bool,
    payload: &[u8],
    buffers: &mut Buffers,
    out: &mut EffectQueue,
) -> Result<Copied, Refusal> {
    let buffer = buffer_of(producer, buffer_id, buffers, out)?;
    if let Some(registered) = producer.writers.get(&header.writer).copied()
        && registered != buffer_id
    {
        let text = format_args!(
            "writer {} is registered for buffer {registered}, not {buffer_id}: chunk dropped",
            header.writer
        );
        producer.log_error(out, text);
        return Err(Refusal::Foreign);
    }
    let meta = ChunkMeta {
        producer: producer.id,
        identity: producer.identity(),
        writer: header.writer,
        chunk: header.chunk,
        fragments: header.packets.count(),
        flags: header.packets.flags(),
        complete,
    };
    let before = buffer.evicted();
    buffer.copy_chunk(&meta, payload);
    let evicted = buffer.evicted().saturating_sub(before);
    Ok(Copied { evicted, has_quarters: buffer.has_quarters() })
}
