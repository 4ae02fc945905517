//! Chunks of one writer, joined to packets.
//!
//! The writer sends the chunks of an event by value, in order, and lengths that it did not know before as patches (see
//! `client::write`). When the event has ended nothing is missing:
//!
//! ```text
//!   chunk 7  [len | packet] [len | first bytes ..]      continues on next
//!   chunk 8  [len | .. middle ..]                       continues from previous, on next
//!   chunk 9  [len | .. last bytes] [0]                  continues from previous
//! ```

use abi::shm::{ChunkFlags, ChunkHeader, store_patch};
use protos::{CommitDataRequest, CommitDataRequestChunkToPatch};
use protozero::wire::hostile;

/// Bytes of a header in front of a chunk's payload.
const HEADER_BYTES: usize = 8;
/// Most bytes of the length of a fragment.
const LENGTH_BYTES_MAX: usize = 4;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Chunks(Vec<(ChunkHeader, Vec<u8>)>);

impl Chunks {
    /// What a writer hands over. It is this process's own, so what has another form is left out.
    pub(super) fn add(&mut self, commit: CommitDataRequest) {
        for data in commit.chunks_to_move.into_iter().filter_map(|chunk| chunk.data) {
            if let Some(header) = ChunkHeader::from_bytes(&data) {
                self.0.push((header, data));
            }
        }
        commit.chunks_to_patch.iter().for_each(|chunk| self.patch(chunk));
    }

    fn patch(&mut self, patches: &CommitDataRequestChunkToPatch) {
        let id = patches.chunk_id;
        let chunk = self.0.iter_mut().rev().find(|(header, _)| Some(header.chunk.get()) == id);
        let Some((_, data)) = chunk else { return };
        for patch in &patches.patches {
            let length = patch.data.as_deref().unwrap_or_default().try_into();
            if let (Ok(length), Some(payload)) = (length, data.get_mut(HEADER_BYTES..)) {
                let _ = store_patch(payload, patch.offset.unwrap_or(0), length);
            }
        }
    }

    /// Calls `packet` with each packet; it may change its argument.
    pub(super) fn for_each(self, mut packet: impl FnMut(&mut Vec<u8>)) {
        let mut joined = Vec::new();
        for (header, data) in self.0 {
            let flags = header.packets.flags();
            let count = header.packets.count();
            let mut rest = data.get(HEADER_BYTES..).unwrap_or_default();
            for number in 0..count {
                let Some((fragment, after)) = split_fragment(rest) else { break };
                rest = after;
                if number != 0 || !flags.contains(ChunkFlags::CONTINUES_FROM_PREV) {
                    joined.clear();
                }
                joined.extend_from_slice(fragment);
                let goes_on = number + 1 == count && flags.contains(ChunkFlags::CONTINUES_ON_NEXT);
                // The last fragment of a chunk may be empty: it was reserved for a packet that did not come.
                if !goes_on && !joined.is_empty() {
                    packet(&mut joined);
                    joined.clear();
                }
            }
        }
    }
}

/// The first fragment, without its length, and what follows it. None if it was given up.
fn split_fragment(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = hostile::varint_within::<LENGTH_BYTES_MAX>(bytes).ok()?;
    rest.split_at_checked(usize::try_from(len).ok()?)
}
