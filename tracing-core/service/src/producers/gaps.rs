//! The writers of a producer that drop packets.
//!
//! ```text
//!   mark     chunk     flush                a mark begins a gap, a later chunk of the writer ends it
//!    │ 3 lost  │         │ it tells 3       nothing is untold: the gap was over
//!    │ 3 lost            │ it tells 3  ...  the gap goes on: more may be lost, of which only the writer knows
//! ```
//!
//! A producer tells how many packets it dropped when it acknowledges a flush, and when a writer ends.

use abi::ids::{ChunkId, WriterId};
use abi::map::BlockMap;
use abi::shm::ChunkHeader;

/// Stands for all writers that are not registered. There is no writer with this number.
const UNREGISTERED: WriterId = WriterId::new(0);

/// Writers that dropped packets of which their producer has perhaps not told: a gap began since the last flush, or was
/// open then.
#[derive(Debug, Default)]
pub(crate) struct OpenGaps {
    /// With the chunk id of the mark, while no later chunk has come. Of those that are not registered, that is never.
    by_writer: BlockMap<WriterId, Option<ChunkId>>,
}

impl OpenGaps {
    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_writer.is_empty()
    }

    /// A mark of a writer came; of one that is not registered if there is none.
    pub(super) fn begin(&mut self, mark: Option<&ChunkHeader>) {
        let (writer, chunk) = match mark {
            Some(mark) => (mark.writer, mark.chunk),
            None => (UNREGISTERED, ChunkId::new(0)),
        };
        self.by_writer.insert(writer, Some(chunk));
    }

    /// A chunk came that is no mark.
    #[inline]
    pub(crate) fn note_chunk(&mut self, header: &ChunkHeader) {
        if !self.by_writer.is_empty() {
            self.end(header);
        }
    }

    #[cold]
    fn end(&mut self, header: &ChunkHeader) {
        if let Some(gap) = self.by_writer.get_mut(&header.writer)
            && header.writer != UNREGISTERED
            && gap.is_some_and(|mark| header.chunk.distance(mark) > 0)
        {
            *gap = None;
        }
    }

    /// The producer told what was dropped so far. A gap that is open goes on.
    pub(crate) fn note_told(&mut self) {
        self.by_writer.retain(|_, mark| mark.is_some());
    }

    /// A writer ended, and told before.
    pub(super) fn forget(&mut self, writer: WriterId) {
        self.by_writer.remove(&writer);
    }
}
