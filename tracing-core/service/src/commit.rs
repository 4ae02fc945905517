//! Chunks and patches that producers hand over: nothing in here is to be believed.
//!
//! A commit names chunks of shared memory by page and index, or carries their bytes. Each is taken,
//! copied out once, and only the copy is looked at; then it is checked who may write where. A wrong entry
//! is skipped by itself, never the whole commit, and never with more than a counter: a producer can
//! only lose data of its own.

use protos::{CommitDataRequest, CommitDataRequestChunkToPatch, CommitDataRequestChunksToMove};

use super::core::Service;
use crate::buffer::{ChunkMeta, Identity, Patch};
use crate::limits;
use abi::ids::{BufferId, ChunkId, FlushId, ProducerId, SessionId, WriterId};
use abi::shm::ChunkHeader;

impl Service {
    /// Takes what a producer commits. False when it was not given memory yet: the call is rejected then,
    /// and nothing of it happened.
    pub(super) fn commit(&mut self, id: ProducerId, request: &CommitDataRequest) -> bool {
        if self.producers.get(&id).is_none_or(|p| !p.set_up) {
            return false;
        }
        for chunk in &request.chunks_to_move {
            self.move_chunk(id, chunk);
        }
        for chunk in &request.chunks_to_patch {
            self.patch_chunk(id, chunk);
        }
        if let Some(flush) = request.flush_request_id
            && flush != 0
        {
            self.flush_acked(id, FlushId(flush));
        }
        true
    }

    fn move_chunk(&mut self, id: ProducerId, chunk: &CommitDataRequestChunksToMove) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let mut producer = self.producers.get_mut(&id);
        let reader = producer.as_mut().and_then(|p| p.smb.as_mut());
        let taken = match (&chunk.data, reader) {
            (Some(data), _) => {
                let legal = limits::COMMIT_CHUNK_BYTES_MIN..=limits::COMMIT_CHUNK_BYTES_MAX;
                let header = ChunkHeader::from_bytes(data).filter(|_| legal.contains(&data.len()));
                header.inspect(|_| {
                    scratch.extend_from_slice(&data[limits::COMMIT_CHUNK_BYTES_MIN..]);
                })
            }
            (None, Some(reader)) => {
                let page = chunk.page.unwrap_or(0) as usize;
                let index = chunk.chunk.unwrap_or(0) as usize;
                let header = reader.read_chunk(page, index, &mut scratch);
                if let Some(producer) = &mut producer {
                    producer.note_touched(page);
                }
                header
            }
            (None, None) => None,
        };
        if let Some(header) = taken {
            let complete = chunk.data.is_none() || !chunk.chunk_incomplete.unwrap_or(false);
            // u32 on the wire, 16 bits everywhere else: truncated, as upstream does.
            let buffer = BufferId(chunk.target_buffer.unwrap_or(0) as u16);
            self.copy_chunk(id, buffer, header, complete, &scratch);
        }
        self.scratch = scratch;
    }

    /// Puts a copied chunk into a buffer, if its producer and writer may write there.
    fn copy_chunk(
        &mut self,
        id: ProducerId,
        buffer_id: BufferId,
        header: ChunkHeader,
        complete: bool,
        payload: &[u8],
    ) {
        let Some(producer) = self.producers.get_mut(&id) else { return };
        let Some(buffer) = self.buffers.get_mut(&buffer_id) else {
            self.chunks_discarded += 1;
            return;
        };
        if !producer.allowed.contains(&buffer_id) {
            self.chunks_discarded += 1;
            producer.complain(
                &mut self.out,
                format_args!("a chunk for buffer {buffer_id}, which is not its own, is dropped"),
            );
            return;
        }
        if let Some(registered) = producer.writers.get(&header.writer).copied()
            && registered != buffer_id
        {
            self.chunks_discarded += 1;
            let text = format_args!(
                "writer {} is registered for buffer {registered}, not {buffer_id}: chunk dropped",
                header.writer
            );
            producer.complain(&mut self.out, text);
            return;
        }
        let meta = ChunkMeta {
            producer: id,
            identity: Identity {
                uid: producer.peer.uid,
                pid: producer.peer.pid,
                machine_id: producer.machine_id(),
            },
            writer: header.writer,
            chunk: header.chunk,
            fragments: header.packets.count(),
            flags: header.packets.flags(),
            complete,
        };
        buffer.copy_chunk(&meta, payload);
    }

    fn patch_chunk(&mut self, id: ProducerId, chunk: &CommitDataRequestChunkToPatch) {
        let writer = chunk.writer_id.unwrap_or(0);
        let buffer = BufferId(chunk.target_buffer.unwrap_or(0) as u16);
        let buffer = self.buffers.get_mut(&buffer);
        let count = chunk.patches.len();
        let legal_writer = writer != 0 && writer <= limits::WRITER_ID_MAX;
        let (Some(buffer), true) = (buffer, legal_writer && count <= limits::PATCHES_PER_CHUNK_MAX)
        else {
            self.patches_discarded += count as u64;
            return;
        };
        self.patches.clear();
        for patch in &chunk.patches {
            match <[u8; 4]>::try_from(patch.data.as_deref().unwrap_or_default()) {
                Ok(data) => {
                    self.patches.push(Patch { offset: patch.offset.unwrap_or(0), data });
                }
                Err(_) => self.patches_discarded += 1,
            }
        }
        // The key holds the trusted producer id, so a patch can only ever reach its producer's own chunks.
        buffer.patch(
            id,
            WriterId(writer as u16),
            ChunkId(chunk.chunk_id.unwrap_or(0)),
            &self.patches,
            chunk.has_more_patches.unwrap_or(false),
        );
    }

    /// Copies what registered writers of a producer have not committed yet into the buffers of a session.
    /// Nothing in the shared memory changes: the later commit of the same chunk overrides the copy.
    pub(super) fn scrape(&mut self, session: SessionId, id: ProducerId) {
        let Some(session) = self.sessions.get(&session) else { return };
        let Some(producer) = self.producers.get(&id) else { return };
        let own = session.buffers.iter().any(|b| producer.allowed.contains(b));
        if !producer.scraping || producer.emulated() || producer.writers.is_empty() || !own {
            return;
        }
        let Some(smb) = producer.smb.as_ref().map(|reader| reader.smb().clone()) else { return };
        let buffers = session.buffers.clone();
        let mut scratch = std::mem::take(&mut self.scratch);
        for page in 0..smb.page_count() {
            if let Some(producer) = self.producers.get_mut(&id) {
                producer.note_touched(page);
            }
            for chunk in 0..smb.chunk_count(page) {
                scratch.clear();
                let Some(producer) = self.producers.get_mut(&id) else { break };
                let Some(reader) = &mut producer.smb else { break };
                let copied = reader.scrape_chunk(page, chunk, &mut scratch);
                let Some((header, complete)) = copied else { continue };
                // Of an unfinished chunk the last fragment may be half written.
                if !complete && header.packets.count() < 2 {
                    continue;
                }
                let target = producer.writers.get(&header.writer).copied();
                if let Some(buffer) = target.filter(|b| buffers.contains(b)) {
                    self.copy_chunk(id, buffer, header, complete, &scratch);
                }
            }
        }
        self.scratch = scratch;
    }

    /// Scrapes all producers for a session.
    pub(super) fn scrape_all(&mut self, session: SessionId) {
        if !self.producers.values().any(|p| p.scraping) {
            return;
        }
        let ids: Vec<ProducerId> = self.producers.keys().copied().collect();
        for id in ids {
            self.scrape(session, id);
        }
    }

    /// Scrapes a producer that goes away for all sessions: its memory goes with it.
    pub(super) fn scrape_leaving(&mut self, id: ProducerId) {
        // Those that ended, too: what was written before the end and not committed is read after it.
        let live = self.sessions.values().filter(|s| !s.freed);
        let ids: Vec<SessionId> = live.map(|s| s.id).collect();
        for session in ids {
            self.scrape(session, id);
        }
    }
}
