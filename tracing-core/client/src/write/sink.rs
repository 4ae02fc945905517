//! A writer's packets, cut into fragments of chunks: the ranges behind its protozero stream.
//!
//! ```text
//! payload  | len | fragment | len | fragment | len4 | open fragment . . . |        |
//!          0                                 ^ header                     ^ used   ^ payload_len
//! ```
//!
//! The stream's range is always the whole payload of the chunk held, so that an offset of the stream is
//! an offset of the payload, which is what patches want.
//!
//! A chunk's fragment count rises when a packet *begins*. A packet that ends with the chunk still held
//! *inflates* the count by one: now the finished packet can be scraped. The next packet then does not
//! count again, and a chunk that is returned inflated gets an empty fragment, one zero byte, to keep the
//! count true; that byte is always kept free.
#![allow(unsafe_code)]

use protozero::WriteError;
use protozero::encode::{OpenSlots, Range, Sink, Slot, SwapSink};
use protozero::wire::varint;

use crate::write::arbiter::Arbiter;
use crate::write::patches::PatchList;
use crate::write::policy::BufferExhaustedPolicy;
use abi::ids::{BufferId, ChunkId, WriterId};
use abi::shm::header::PACKET_DROPPED;
use abi::shm::{ChunkFlags, ChunkHeader, Packets, WritableChunk};

/// Bytes reserved for the length of a fragment.
const FRAGMENT_HEADER: usize = 4;
/// A packet does not begin in a chunk with less room: header and a few fields
/// (`trace_writer_impl.cc`).
const PACKET_ROOM_MIN: usize = 12;
/// Packets begun in one chunk at most: one is left for the inflated count.
const PACKETS_MAX: u16 = Packets::COUNT_MAX - 1;
/// Fragments shorter than this get a length of one byte. (Unlike nested messages, where 127 does too.)
const ONE_BYTE_LIMIT: usize = 127;

/// See the [module](self).
pub(super) struct ChunkSink {
    /// `None` for a writer that drops everything.
    home: Option<(Arbiter, WriterId)>,
    buffer: BufferId,
    policy: BufferExhaustedPolicy,
    chunk: Option<WritableChunk>,
    next_chunk: ChunkId,
    patches: PatchList,
    /// Payload offset of the open fragment's header.
    header: usize,
    /// The open fragment began in an earlier chunk: its header stays four bytes.
    continued: bool,
    /// The count includes a fragment that has not begun.
    inflated: bool,
    /// Between the beginning of a packet and its end.
    pub(super) in_packet: bool,
    /// There was no chunk for the last packet.
    pub(super) dropping: bool,
    /// Ask for a chunk although there was none before.
    pub(super) retry: bool,
    /// Times that dropping began.
    pub(super) drop_count: u64,
}

impl ChunkSink {
    pub(super) fn new(
        home: Option<(Arbiter, WriterId)>,
        buffer: BufferId,
        policy: BufferExhaustedPolicy,
    ) -> Self {
        Self {
            home,
            buffer,
            policy,
            chunk: None,
            next_chunk: ChunkId(0),
            patches: PatchList::default(),
            header: 0,
            continued: false,
            inflated: false,
            in_packet: false,
            dropping: false,
            retry: false,
            drop_count: 0,
        }
    }

    pub(super) fn home(&self) -> Option<&(Arbiter, WriterId)> {
        self.home.as_ref()
    }

    pub(super) fn buffer(&self) -> BufferId {
        self.buffer
    }

    /// Gives the chunk back, `used` bytes of its payload being data.
    pub(super) fn return_chunk(&mut self, used: usize) {
        let Some(mut chunk) = self.chunk.take() else { return };
        if core::mem::take(&mut self.inflated) {
            // The empty fragment that the count already includes.
            let stored = chunk.write(used, &[0]);
            debug_assert!(stored, "an inflated chunk has a byte left");
        }
        if let Some((arbiter, _)) = &self.home {
            arbiter.return_chunk(chunk, self.buffer, &mut self.patches);
        }
    }

    pub(super) fn send_patches(&mut self) {
        if self.patches.is_ready()
            && let Some((arbiter, id)) = &self.home
        {
            arbiter.send_patches(*id, self.buffer, &mut self.patches);
        }
    }

    fn acquire(&mut self, packets: Packets) -> Option<WritableChunk> {
        let (arbiter, writer) = self.home.as_ref()?;
        let policy = match self.policy {
            // It waited once; until there is a chunk again it only looks.
            BufferExhaustedPolicy::StallThenDrop if self.dropping => BufferExhaustedPolicy::Drop,
            policy => policy,
        };
        let header = ChunkHeader { chunk: self.next_chunk, writer: *writer, packets };
        arbiter.acquire(header, policy)
    }

    fn start_dropping(&mut self) {
        self.retry = false;
        if !core::mem::replace(&mut self.dropping, true) {
            self.drop_count += 1;
        }
    }

    /// A packet begins, and there is more to do than to begin it. Gives where in the chunk it begins.
    #[cold]
    #[inline(never)]
    fn begin_slow(&mut self, used: usize, fits: bool) -> Result<usize, WriteError> {
        if !fits {
            self.begin_in_new_chunk(used)?;
        }
        self.send_patches();
        Ok(if fits { used } else { 0 })
    }

    /// A packet begins and the chunk at hand, if any, is not to be used.
    fn begin_in_new_chunk(&mut self, used: usize) -> Result<(), WriteError> {
        if self.dropping && !core::mem::take(&mut self.retry) {
            return Err(WriteError::Exhausted);
        }
        // Before the old one goes: a policy that waits should not hold back a chunk that is full, but one
        // that drops must not lose a place in line either; upstream asks first, and so do we.
        match self.acquire(Packets::default()) {
            Some(chunk) => {
                self.return_chunk(used);
                self.chunk = Some(chunk);
                self.next_chunk = self.next_chunk.next();
                self.dropping = false;
                Ok(())
            }
            None => {
                self.return_chunk(used);
                self.start_dropping();
                Err(WriteError::Exhausted)
            }
        }
    }

    /// The open packet has no room left in its chunk and there is no other chunk.
    fn give_packet_up(&mut self, used: usize) {
        let header = self.header;
        if let Some(chunk) = &mut self.chunk {
            let stored = chunk.write(header, &varint::padded(PACKET_DROPPED));
            debug_assert!(stored, "the header was reserved in this chunk");
        }
        self.return_chunk(used);
        self.start_dropping();
    }
}

/// The length of a fragment as a varint of four bytes.
#[inline]
fn padded(len: usize) -> [u8; 4] {
    // A fragment is shorter than 64 KiB.
    varint::padded(len as u32)
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
        let Some((mut next, payload)) = next else {
            self.give_packet_up(used);
            return Err(WriteError::Exhausted);
        };
        if let Some(chunk) = &mut self.chunk {
            let mut flags = ChunkFlags::CONTINUES_ON_NEXT;
            for slot in open {
                self.patches.push(chunk.id(), slot);
                flags = flags.with(ChunkFlags::NEEDS_PATCHING);
            }
            let len = used.saturating_sub(self.header + FRAGMENT_HEADER);
            let stored = chunk.write(self.header, &padded(len));
            debug_assert!(stored, "the header was reserved in this chunk");
            chunk.add_flags(flags);
        }
        self.return_chunk(used);
        next.write(0, &[0; FRAGMENT_HEADER]);
        let len = next.payload_len();
        self.next_chunk = self.next_chunk.next();
        self.chunk = Some(next);
        self.header = 0;
        self.continued = true;
        Ok(Range::from_raw(payload, len).after(FRAGMENT_HEADER))
    }

    #[cold]
    fn fill(&mut self, slot: Slot, length: [u8; 4]) {
        self.patches.fill(slot, length);
    }

    #[inline(always)]
    fn begin_root(&mut self, used: usize) -> Result<Option<Range>, WriteError> {
        let mut at = used;
        // Also without a chunk, whose room would be none.
        let fits = self.chunk.as_ref().is_some_and(|chunk| {
            chunk.payload_len() >= used.saturating_add(PACKET_ROOM_MIN)
                && chunk.packets().count() <= PACKETS_MAX - u16::from(!self.inflated)
        });
        if !fits || !self.patches.is_empty() {
            at = self.begin_slow(used, fits)?;
        }
        let Some(chunk) = &mut self.chunk else { return Err(WriteError::Exhausted) };
        let Some(payload) = chunk.payload() else { return Err(WriteError::Exhausted) };
        // The length must read as zero before the count says that there is a fragment.
        chunk.write(at, &[0; FRAGMENT_HEADER]);
        if !core::mem::take(&mut self.inflated) {
            chunk.start_fragment();
        }
        self.header = at;
        self.continued = false;
        self.in_packet = true;
        Ok(Some(Range::from_raw(payload, chunk.payload_len()).after(at + FRAGMENT_HEADER)))
    }

    #[inline]
    fn end_root(&mut self, used: usize) -> usize {
        self.in_packet = false;
        if !self.patches.is_empty() {
            // Nobody is left to fill what is open now: its scope was forgotten, or the length too big.
            self.patches.abandon();
        }
        let Some(chunk) = &mut self.chunk else {
            self.send_patches();
            return used;
        };
        let body = self.header + FRAGMENT_HEADER;
        if used < body {
            // A message that is too long or was forgotten made the stream fail, which knows no position
            // then. There may well be memory for the next.
            self.give_packet_up(body);
            self.retry = true;
            return used;
        }
        let len = used - body;
        let mut end = used;
        if len < ONE_BYTE_LIMIT && !self.continued {
            chunk.shift_back_3(body, len);
            chunk.write(self.header, &[len as u8]);
            end = used - 3;
        } else {
            chunk.write(self.header, &padded(len));
        }
        if end >= chunk.payload_len() {
            self.return_chunk(end);
        } else {
            chunk.start_fragment();
            self.inflated = true;
        }
        if !self.patches.is_empty() {
            self.send_patches();
        }
        end
    }
}

// SAFETY: `begin_root` returns the payload of a chunk held or fails, and all stores at positions the
// stream names are checked against that chunk (`WritableChunk::write`, `shift_back_3`).
unsafe impl SwapSink for ChunkSink {}
