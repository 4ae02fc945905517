//! The content of a commit: chunks for the service to take, patches, and the acknowledgement of a flush.

use protos::producer_port::Request;
use protos::{
    CommitDataRequest, CommitDataRequestChunkToPatch, CommitDataRequestChunkToPatchPatch,
    CommitDataRequestChunksToMove, CommitDataRequestDroppedPackets,
};
use protozero::wire::varint::padded;

use crate::write::patches::FilledPatch;
use abi::ids::{BufferId, ChunkId, FlushId, WriterId};
use abi::limits::PATCHES_PER_CHUNK_MAX;
use abi::shm::header::PACKET_DROPPED;
use abi::shm::{ChunkFlags, ChunkHeader, LOSS_MARK_CHUNK_IDX, Packets, SmbReader, WritableChunk};

/// Estimated size at which a commit is split: a frame of the socket less room for its envelope
/// (`shared_memory_arbiter_impl.cc`). Upstream splits only commits that carry chunks by value; ours are
/// always split, since the patches of one very large packet can come all at once.
const COMMIT_BYTES_MAX: usize = 128 * 1024 - 512;
/// Estimated size of the entry of a moved chunk or of patches, without its data, bytes.
const ENTRY_BYTES: usize = 32;
/// Estimated size of a patch, its four bytes included.
const PATCH_BYTES: usize = 4 + 16;

/// Called when everything committed before has reached the service.
pub type FlushCallback = Box<dyn FnOnce() + Send>;

/// A chunk on its way to the service.
#[derive(Debug)]
struct Move {
    page_idx: usize,
    chunk_idx: usize,
    buffer: BufferId,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// In memory, and complete.
    Complete,
    /// In memory, and not complete: it needs patches that may come before the commit leaves, its memory is not shared
    /// and it travels by value, or it was written for a reservation.
    Held(WritableChunk),
    /// In no memory: it travels by value.
    Mark(LossMark),
}

/// Says that packets of a writer are missing behind its last chunk. It is a chunk of its own, with this header. It
/// needs no shared memory, so that a loss is told although there is none.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossMark {
    pub(super) writer: WriterId,
    pub(super) chunk: ChunkId,
    /// The last chunk says it, too: a packet was given up in its middle.
    pub(super) is_told: bool,
}

/// A packet with `TracePacket.previous_packet_dropped`: packets were lost (1) because there was no free shared memory
/// (256). Its length stands before it.
const LOSS_PACKET: [u8; 5] = [4, 0xd0, 0x02, 0x81, 0x02];

impl LossMark {
    /// The mark as a chunk: for readers of the trace a packet, and for the counters of the service a packet that was
    /// given up. Behind such a one nothing of a chunk is read.
    fn to_bytes(self) -> Vec<u8> {
        let count = if self.is_told { 1 } else { 2 };
        let packets = Packets::new(count, ChunkFlags::default());
        let header = ChunkHeader { chunk: self.chunk, writer: self.writer, packets };
        let mut bytes = [&header.to_bytes()[..], &LOSS_PACKET].concat();
        if !self.is_told {
            bytes.extend_from_slice(&padded(PACKET_DROPPED));
        }
        bytes
    }
}

/// A patch of a chunk that was committed before.
#[derive(Debug)]
struct LatePatch {
    buffer: BufferId,
    writer: WriterId,
    patch: FilledPatch,
}

/// How many patches have room without an allocation. Few packets need one: those that lie in two chunks.
const PATCHES_RESERVED: usize = 256;

/// A commit being put together. It is emptied and used again, so that handing a chunk over allocates nothing.
#[derive(Debug, Default)]
pub(super) struct PendingCommit {
    moves: Vec<Move>,
    patches: Vec<LatePatch>,
    /// Packets that writers dropped, by buffer.
    dropped: Vec<(BufferId, u64)>,
    flush: Option<FlushId>,
    /// Sizes of the chunks in it, headers included.
    pub(super) chunk_bytes: usize,
}

impl PendingCommit {
    /// With room for all chunks that there are.
    pub(super) fn with_capacity(chunk_count: usize) -> Self {
        Self {
            moves: Vec::with_capacity(chunk_count),
            patches: Vec::with_capacity(PATCHES_RESERVED),
            ..Self::default()
        }
    }

    /// Adds a chunk. It is completed at once unless `hold`.
    pub(super) fn add_chunk(&mut self, chunk: WritableChunk, buffer: BufferId, hold: bool) {
        self.chunk_bytes += chunk.bytes();
        let (page_idx, chunk_idx) = (chunk.page_idx(), chunk.chunk_idx());
        let content = if hold {
            Content::Held(chunk)
        } else {
            // A chunk whose state a peer changed is lost. The move is sent nevertheless, and the service
            // skips it.
            let _ = chunk.complete();
            Content::Complete
        };
        self.moves.push(Move { page_idx, chunk_idx, buffer, content });
    }

    /// Adds a mark behind the chunks of its writer.
    pub(super) fn add_mark(&mut self, mark: LossMark, buffer: BufferId) {
        let content = Content::Mark(mark);
        self.moves.push(Move { page_idx: 0, chunk_idx: LOSS_MARK_CHUNK_IDX, buffer, content });
    }

    /// Adds all of `other` for `buffer`, or if that is no buffer, the chunks, for the service to free. `other` must not
    /// acknowledge a flush, nor have patches or dropped packets.
    pub(super) fn append(&mut self, other: Self, buffer: BufferId) {
        self.chunk_bytes += other.chunk_bytes;
        // What is thrown away is no loss of a session.
        let is_for_it =
            |entry: &Move| !buffer.is_none() || !matches!(entry.content, Content::Mark(_));
        let moves = other.moves.into_iter().filter(is_for_it);
        self.moves.extend(moves.map(|entry| Move { buffer, ..entry }));
    }

    /// How many marks are in it.
    pub(super) fn mark_count(&self) -> usize {
        self.moves.iter().filter(|entry| matches!(entry.content, Content::Mark(_))).count()
    }

    /// Packets in chunks that it holds.
    pub(super) fn packet_count(&self) -> u64 {
        let held = self.moves.iter().map(|entry| match &entry.content {
            Content::Held(chunk) => chunk.packet_count(),
            Content::Complete | Content::Mark(_) => 0,
        });
        held.sum()
    }

    /// Stores a patch into its chunk, if this commit still holds it; the last patch completes the chunk, unless
    /// `keep`. False if the chunk was committed already: the patch is then sent.
    pub(super) fn patch_held(&mut self, writer: WriterId, patch: FilledPatch, keep: bool) -> bool {
        for entry in self.moves.iter_mut().rev() {
            let Content::Held(chunk) = &mut entry.content else { continue };
            if chunk.writer() != writer || chunk.id() != patch.chunk {
                continue;
            }
            // A peer that forged links in this memory can only have made the patch one of another place of
            // the same packet. A place that cannot hold a length is not patched, and the packet is broken.
            let _ = chunk.patch(usize::from(patch.offset), patch.data);
            if !patch.has_more {
                chunk.remove_flags(ChunkFlags::NEEDS_PATCHING);
                if !keep
                    && let Content::Held(chunk) =
                        core::mem::replace(&mut entry.content, Content::Complete)
                {
                    let _ = chunk.complete();
                }
            }
            return true;
        }
        false
    }

    /// Adds a patch for a chunk that left already.
    pub(super) fn add_patch(&mut self, buffer: BufferId, writer: WriterId, patch: FilledPatch) {
        self.patches.push(LatePatch { buffer, writer, patch });
    }

    /// Tells that writers dropped `packets` for `buffer`.
    pub(super) fn add_dropped(&mut self, buffer: BufferId, packets: u64) {
        match self.dropped.iter_mut().find(|(known, _)| *known == buffer) {
            Some((_, sum)) => *sum += packets,
            None => self.dropped.push((buffer, packets)),
        }
    }

    /// Acknowledges flush `id`, and all older ones, with this commit.
    pub(super) fn ack_flush(&mut self, id: FlushId) {
        self.flush = Some(self.flush.map_or(id, |old| old.max(id)));
    }

    /// Whether it acknowledges a flush.
    pub(super) fn acknowledges(&self) -> bool {
        self.flush.is_some()
    }

    /// The requests of this commit: one, or several if one would not fit into a frame. Moves come before
    /// patches, both in order, and then what was dropped; the flush id is in the last request.
    ///
    /// With a reader the memory is not shared, and chunks travel by value. The commit is empty afterwards, and keeps
    /// its memory.
    pub(super) fn drain_requests(&mut self, mut reader: Option<&mut SmbReader>) -> Vec<Request> {
        let mut split = Split::default();
        for entry in self.moves.drain(..) {
            let data = match (entry.content, &mut reader) {
                (Content::Complete, _) => None,
                (Content::Mark(mark), _) => Some(mark.to_bytes()),
                (Content::Held(chunk), Some(reader)) => {
                    let mut data = Vec::with_capacity(chunk.bytes());
                    reader.take_by_value(chunk, &mut data);
                    Some(data)
                }
                (Content::Held(chunk), None) => {
                    // Patches are missing, but the commit leaves now: the chunk is completed without them, and
                    // they follow.
                    let _ = chunk.complete();
                    None
                }
            };
            let cost = ENTRY_BYTES + data.as_ref().map_or(0, Vec::len);
            split.with_space_for(cost).chunks_to_move.push(CommitDataRequestChunksToMove {
                page: Some(wire(entry.page_idx)),
                chunk: Some(wire(entry.chunk_idx)),
                target_buffer: Some(u32::from(entry.buffer.get())),
                data,
                ..Default::default()
            });
        }
        let is_same_chunk = |one: &LatePatch, other: &LatePatch| {
            one.writer == other.writer && one.patch.chunk == other.patch.chunk
        };
        for patches in self.patches.chunk_by(is_same_chunk) {
            // The service ignores more patches in one entry.
            let mut parts = patches.chunks(PATCHES_PER_CHUNK_MAX).peekable();
            while let Some(part) = parts.next() {
                let (Some(first), Some(last)) = (part.first(), part.last()) else { continue };
                let cost = ENTRY_BYTES + part.len() * PATCH_BYTES;
                split.with_space_for(cost).chunks_to_patch.push(CommitDataRequestChunkToPatch {
                    target_buffer: Some(u32::from(first.buffer.get())),
                    writer_id: Some(u32::from(first.writer.get())),
                    chunk_id: Some(first.patch.chunk.get()),
                    patches: part.iter().map(|late| patch_message(&late.patch)).collect(),
                    has_more_patches: Some(parts.peek().is_some() || last.patch.has_more),
                    ..Default::default()
                });
            }
        }
        self.patches.clear();
        for (buffer, packets) in self.dropped.drain(..) {
            let dropped = CommitDataRequestDroppedPackets {
                target_buffer: Some(u32::from(buffer.get())),
                packets: Some(packets),
                ..Default::default()
            };
            split.with_space_for(ENTRY_BYTES).dropped_packets.push(dropped);
        }
        self.chunk_bytes = 0;
        split.current.flush_request_id = self.flush.take().map(|id| id.get());
        split.done.push(Request::CommitData(split.current));
        split.done
    }
}

/// A copy of a chunk that its writer still holds.
pub(super) struct Scraped {
    pub(super) page_idx: usize,
    pub(super) chunk_idx: usize,
    pub(super) buffer: BufferId,
    pub(super) header: ChunkHeader,
    pub(super) payload: Vec<u8>,
}

/// The requests that carry copies of unfinished chunks, split as commits are.
pub(super) fn scraped_requests(scraped: Vec<Scraped>) -> Vec<Request> {
    let mut split = Split::default();
    for chunk in scraped {
        let mut data = chunk.header.to_bytes().to_vec();
        data.extend_from_slice(&chunk.payload);
        split.with_space_for(ENTRY_BYTES + data.len()).chunks_to_move.push(
            CommitDataRequestChunksToMove {
                page: Some(wire(chunk.page_idx)),
                chunk: Some(wire(chunk.chunk_idx)),
                target_buffer: Some(u32::from(chunk.buffer.get())),
                data: Some(data),
                chunk_incomplete: Some(true),
                ..Default::default()
            },
        );
    }
    if split.bytes > 0 {
        split.done.push(Request::CommitData(split.current));
    }
    split.done
}

fn patch_message(patch: &FilledPatch) -> CommitDataRequestChunkToPatchPatch {
    CommitDataRequestChunkToPatchPatch {
        offset: Some(u32::from(patch.offset)),
        data: Some(patch.data.to_vec()),
        ..Default::default()
    }
}

/// Page and chunk indices are at most a few thousand.
fn wire(idx: usize) -> u32 {
    u32::try_from(idx).unwrap_or(u32::MAX)
}

#[derive(Default)]
struct Split {
    current: CommitDataRequest,
    bytes: usize,
    done: Vec<Request>,
}

impl Split {
    /// The request that an entry of `cost` bytes goes into.
    #[inline(never)]
    fn with_space_for(&mut self, cost: usize) -> &mut CommitDataRequest {
        if self.bytes > 0 && self.bytes + cost > COMMIT_BYTES_MAX {
            self.done.push(Request::CommitData(core::mem::take(&mut self.current)));
            self.bytes = 0;
        }
        self.bytes += cost;
        &mut self.current
    }
}
