//! A writer's packets, cut into fragments of chunks: the ranges behind its protozero stream.
//!
//! The stream's range always begins with the payload of the current chunk, so that an offset in the range is
//! an offset in the payload, which patches need. [`WritableChunk`] knows where fragments begin and end.
//!
//! ```text
//!                   a packet begins                     a packet begins, and there is a chunk
//!   Ready ───────────────────────────────> InPacket <──────────────────────────── Retrying
//!     ^ └── and there is no chunk ──┐       │    │                                 ^
//!     └──────── it ends ────────────┼───────┘    └─ it failed, or was forgotten ───┤
//!                                   v                                              │
//!                               Dropping ───── 1024 bytes later, or at a flush ────┘
//! ```
//!
//! A packet that goes on in another chunk and finds none makes `Dropping` of `InPacket`, too. Each time that a writer
//! begins to drop packets, a mark takes the place of its next chunk. It travels by value, so that the loss is known
//! also when no packet follows: upstream's writers tell it with their next packet, if there is one.
#![allow(unsafe_code)]

use protozero::WriteError;
use protozero::encode::{OpenSlots, Range, Sink, Slot, SwapSink};

use crate::write::arbiter::Arbiter;
use crate::write::commit::LossMark;
use crate::write::patches::PatchList;
use crate::write::policy::BufferExhaustedPolicy;
use crate::write::writers::{DropCounter, Target};
use abi::ids::{ChunkId, WriterId};
use abi::shm::{ChunkFlags, ChunkHeader, Packets, WritableChunk};
use abi::shm::{FRAGMENT_HEADER_BYTES, ShortFragment};
use abi::sync::Ordering;

/// A packet does not begin in a chunk with less room: header and a few fields
/// (`trace_writer_impl.cc`).
const PACKET_BYTES_MIN: usize = 12;

/// Whether packets are written or dropped; see the [module](self).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SinkState {
    /// Between two packets.
    Ready,
    /// Between the beginning of a packet and its end.
    InPacket,
    /// There was no chunk for the last packet, so there is none for the next.
    Dropping,
    /// There was no chunk for the last packet, but a chunk is asked for when the next one begins.
    Retrying,
}

/// See the [module](self).
pub(super) struct ChunkSink {
    /// `None` for a writer that drops everything.
    home: Option<(Arbiter, WriterId)>,
    target: Target,
    policy: BufferExhaustedPolicy,
    chunk: Option<WritableChunk>,
    next_chunk: ChunkId,
    patches: PatchList,
    pub(super) state: SinkState,
    /// Times that dropping began.
    pub(super) drop_count: u64,
    /// Packets that were dropped. The arbiter tells the service.
    dropped: DropCounter,
}

impl ChunkSink {
    pub(super) fn new(
        home: Option<(Arbiter, WriterId)>,
        dropped: DropCounter,
        target: Target,
        policy: BufferExhaustedPolicy,
    ) -> Self {
        Self {
            home,
            target,
            policy,
            chunk: None,
            next_chunk: ChunkId::new(0),
            patches: PatchList::default(),
            state: SinkState::Ready,
            drop_count: 0,
            dropped,
        }
    }

    pub(super) fn home(&self) -> Option<&(Arbiter, WriterId)> {
        self.home.as_ref()
    }

    pub(super) fn target(&self) -> Target {
        self.target
    }

    pub(super) fn is_dropping(&self) -> bool {
        matches!(self.state, SinkState::Dropping | SinkState::Retrying)
    }

    /// Asks for a chunk when the next packet begins, if packets are being dropped.
    pub(super) fn retry(&mut self) {
        if self.state == SinkState::Dropping {
            self.state = SinkState::Retrying;
        }
    }

    /// Gives the chunk back, if there is one.
    pub(super) fn return_chunk(&mut self) {
        if let Some(chunk) = self.chunk.take()
            && let Some((arbiter, _)) = &self.home
        {
            arbiter.return_chunk(chunk, self.target, &mut self.patches);
        }
    }

    pub(super) fn send_patches(&mut self) {
        if self.patches.is_ready()
            && let Some((arbiter, id)) = &self.home
        {
            arbiter.send_patches(*id, self.target, &mut self.patches);
        }
    }

    fn acquire(&mut self, packets: Packets) -> Option<WritableChunk> {
        let (arbiter, writer) = self.home.as_ref()?;
        let policy = match self.policy {
            // It waited once; until there is a chunk again it only looks.
            BufferExhaustedPolicy::StallThenDrop if self.is_dropping() => {
                BufferExhaustedPolicy::Drop
            }
            policy => policy,
        };
        let header = ChunkHeader { chunk: self.next_chunk, writer: *writer, packets };
        arbiter.acquire(header, policy)
    }

    /// Packets that were dropped.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    #[cold]
    fn count_dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Packets are lost from here on. The chunk of the writer was returned before; it told the loss if `is_told`.
    fn start_dropping(&mut self, state: SinkState, is_told: bool) {
        let is_new = !self.is_dropping();
        self.state = state;
        if !is_new {
            return;
        }
        self.drop_count += 1;
        if let Some((arbiter, writer)) = &self.home {
            // At once: there may be no later packet that could tell it.
            let mark = LossMark { writer: *writer, chunk: self.next_chunk, is_told };
            arbiter.mark_loss(mark, self.target);
            self.next_chunk = self.next_chunk.next();
        }
    }

    /// Begins a packet in the chunk at hand. Gives the range behind its length.
    #[inline(always)]
    fn begin_in_chunk(&mut self) -> Option<Range> {
        let chunk = self.chunk.as_mut()?;
        let payload = chunk.payload()?;
        let body = chunk.begin_fragment(PACKET_BYTES_MIN)?;
        self.state = SinkState::InPacket;
        Some(Range::from_raw(payload, body.end).after(body.start))
    }

    /// Begins a packet of few bytes, if nothing else is to be done. While a packet is open or packets are dropped,
    /// there is no chunk that takes one.
    #[inline(always)]
    pub(super) fn begin_short(&mut self, bytes_max: usize) -> Option<ShortFragment<'_>> {
        self.chunk.as_mut()?.begin_short(bytes_max)
    }

    /// Begins a packet where there is more to do: a chunk to be asked for, or patches to be sent.
    #[cold]
    #[inline(never)]
    fn begin_slow(&mut self) -> Result<Range, WriteError> {
        let range = match self.begin_in_chunk() {
            Some(range) => Some(range),
            None => self.begin_in_new_chunk().ok().and_then(|()| self.begin_in_chunk()),
        };
        let Some(range) = range else {
            self.count_dropped();
            return Err(WriteError::Exhausted);
        };
        self.send_patches();
        Ok(range)
    }

    /// A packet begins and the chunk at hand, if any, is not to be used.
    fn begin_in_new_chunk(&mut self) -> Result<(), WriteError> {
        if self.state == SinkState::Dropping {
            return Err(WriteError::Exhausted);
        }
        // Before the old one goes, as upstream does.
        let next = self.acquire(Packets::default());
        self.return_chunk();
        match next {
            Some(chunk) => {
                self.chunk = Some(chunk);
                self.next_chunk = self.next_chunk.next();
                Ok(())
            }
            None => {
                self.start_dropping(SinkState::Dropping, false);
                Err(WriteError::Exhausted)
            }
        }
    }

    /// The open packet cannot be finished.
    fn give_packet_up(&mut self, state: SinkState) {
        if let Some(chunk) = &mut self.chunk {
            chunk.abandon_fragment();
        }
        self.return_chunk();
        self.count_dropped();
        self.start_dropping(state, true);
    }
}

// SAFETY:
// - valid: each range is the payload of a `WritableChunk` that this sink holds; the chunk keeps the
//   region mapped (region R1), and its payload is inside it (`WritableChunk::payload`). After the chunk is
//   returned the stream may still remember the range, but uses it only within a root message, which
//   begins with `begin_root` (that replaces the range or fails) ...
// - unshared: ... and within one, a chunk is given away only in `next_range` and `end_root`. In this process
//   a chunk has one owner at a time (region R4); scraping reads finished fragments only;
// - thread: a mapping may be used from any.
unsafe impl Sink for ChunkSink {
    fn next_range(&mut self, used: usize, open: &mut OpenSlots<'_>) -> Result<Range, WriteError> {
        if self.chunk.is_none() {
            // A root begins with a chunk or fails, so this is not reached.
            return Err(WriteError::Exhausted);
        }
        let packets = Packets::new(1, ChunkFlags::CONTINUES_FROM_PREV);
        let next = self.acquire(packets).and_then(|chunk| chunk.payload().map(|at| (chunk, at)));
        let Some((next, payload)) = next else {
            self.give_packet_up(SinkState::Dropping);
            return Err(WriteError::Exhausted);
        };
        if let Some(chunk) = &mut self.chunk {
            let mut needs_patching = false;
            for slot in open {
                self.patches.push(chunk.id(), slot, chunk.growth());
                needs_patching = true;
            }
            chunk.cut_fragment(used, needs_patching);
        }
        self.return_chunk();
        let len = next.payload_len();
        self.next_chunk = self.next_chunk.next();
        self.chunk = Some(next);
        Ok(Range::from_raw(payload, len).after(FRAGMENT_HEADER_BYTES))
    }

    #[cold]
    fn fill(&mut self, slot: Slot, length: [u8; 4]) {
        self.patches.fill(slot, length);
    }

    #[inline(always)]
    fn begin_root(&mut self, _used: usize) -> Result<Option<Range>, WriteError> {
        if self.patches.is_empty()
            && let Some(range) = self.begin_in_chunk()
        {
            return Ok(Some(range));
        }
        self.begin_slow().map(Some)
    }

    #[inline]
    fn end_root(&mut self, used: usize) -> usize {
        if !self.patches.is_empty() {
            // No scope is left that could fill what is open now: one was forgotten, or a length is too big.
            self.patches.abandon();
        }
        let Some(chunk) = &mut self.chunk else {
            self.send_patches();
            return used;
        };
        let Some(is_full) = chunk.end_fragment(used) else {
            // A message that is too long or was forgotten made the stream fail, which knows no position
            // then. There may well be memory for the next.
            self.give_packet_up(SinkState::Retrying);
            return used;
        };
        self.state = SinkState::Ready;
        if is_full {
            self.return_chunk();
        }
        if !self.patches.is_empty() {
            self.send_patches();
        }
        used
    }
}

// SAFETY: `begin_root` returns the payload of a chunk held or fails, and all stores at positions the
// stream names are checked by that chunk (`WritableChunk::end_fragment`, `cut_fragment`).
unsafe impl SwapSink for ChunkSink {}
