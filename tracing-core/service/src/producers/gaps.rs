//! The writers of a producer that drop packets.
//!
//! ```text
//!   mark     chunk     flush                a mark begins a gap, a later chunk of the writer ends it
//!    │ 3 lost  │         │ it tells 3       nothing is untold: the gap was over
//!    │ 3 lost            │ it tells 3  ...  the gap goes on: more may be lost, of which only the writer knows
//! ```
//!
//! A producer tells how many packets it dropped when it acknowledges a flush, and when a writer ends.

use abi::ids::{BufferId, ChunkId, WriterId};
use abi::map::BlockMap;
use abi::shm::ChunkHeader;

/// More gaps are not looked at one by one: some of them are then taken for those of any buffer.
const LOOKED_AT_MAX: usize = 64;

/// Writers that dropped packets of which their producer has perhaps not told: a gap began since the last flush, or was
/// open then.
#[derive(Debug, Default)]
pub(crate) struct UntoldGaps {
    /// No chunk has come behind the mark. With the buffer of the writer.
    open: BlockMap<WriterId, (ChunkId, BufferId)>,
    /// A chunk has come, and the producer has not told yet.
    ended: BlockMap<WriterId, BufferId>,
    /// A writer that is not registered sent a mark. No chunk is known to be behind that.
    is_unregistered_open: bool,
}

impl UntoldGaps {
    /// Whether one is perhaps of a writer to one of these buffers.
    pub(crate) fn may_concern(&self, buffers: &[BufferId]) -> bool {
        let open = self.open.values().map(|(_, buffer)| buffer);
        self.is_unregistered_open
            || self.open.len().saturating_add(self.ended.len()) > LOOKED_AT_MAX
            || open.chain(self.ended.values()).any(|buffer| buffers.contains(buffer))
    }

    /// A mark of a writer to a buffer came; of one that is not registered if there is none.
    pub(super) fn begin(&mut self, mark: Option<(&ChunkHeader, BufferId)>) {
        match mark {
            Some((mark, buffer)) => {
                self.ended.remove(&mark.writer);
                self.open.insert(mark.writer, (mark.chunk, buffer));
            }
            None => self.is_unregistered_open = true,
        }
    }

    /// A chunk came that is no mark.
    #[inline]
    pub(crate) fn note_chunk(&mut self, header: &ChunkHeader) {
        if !self.open.is_empty() {
            self.end(header);
        }
    }

    #[cold]
    fn end(&mut self, header: &ChunkHeader) {
        if let Some(&(mark, buffer)) = self.open.get(&header.writer)
            && header.chunk.distance(mark) > 0
        {
            self.open.remove(&header.writer);
            self.ended.insert(header.writer, buffer);
        }
    }

    /// The producer told what was dropped so far. A gap that is open goes on. This costs no more than what ended since.
    pub(crate) fn note_told(&mut self) {
        self.ended = BlockMap::default();
    }

    /// A writer ended, and told before.
    pub(super) fn forget(&mut self, writer: WriterId) {
        self.open.remove(&writer);
        self.ended.remove(&writer);
    }
}
