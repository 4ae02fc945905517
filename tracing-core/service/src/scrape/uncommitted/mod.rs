//! The chunks of one producer that it did not commit, in the order in which its writers began them.
//!
//! See the [module](super) why they are looked for twice.

use std::cmp::Reverse;

use abi::ids::{ChunkId, WriterId};
use abi::map::BlockMap;
use abi::shm::ChunkHeader;

/// What was found so far; it is collected in pieces, and taken in pieces.
#[derive(Debug, Default)]
pub(crate) struct Uncommitted {
    stage: Stage,
    /// The page to go on with.
    page: usize,
    /// The newest chunk of each writer, when all pages had been looked at once.
    newest: BlockMap<WriterId, ChunkId>,
    /// The next one is the last.
    chunks: Vec<Place>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// The first look at all pages: for the newest chunk of each writer.
    #[default]
    Newest,
    /// The second look: for where the chunks are.
    Places,
    /// All were found.
    Found,
}

/// Where a chunk is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) page: usize,
    pub(crate) index: usize,
    writer: WriterId,
    chunk: ChunkId,
    /// How many chunks its writer has begun after it.
    age: u32,
}

impl Place {
    /// Whether it is this chunk that has this header.
    pub(crate) fn holds(&self, header: &ChunkHeader) -> bool {
        (header.writer, header.chunk) == (self.writer, self.chunk)
    }
}

impl Uncommitted {
    /// Whether any page was looked at.
    pub(crate) fn has_begun(&self) -> bool {
        self.stage != Stage::Newest || self.page > 0
    }

    /// The page to look at next; `None` once all chunks were found.
    pub(crate) fn page(&self) -> Option<usize> {
        (self.stage != Stage::Found).then_some(self.page)
    }

    /// Looks go on with this page.
    pub(crate) fn go_on_with(&mut self, page: usize) {
        self.page = page;
    }

    /// A look at all pages is done.
    pub(crate) fn end_look(&mut self) {
        self.page = 0;
        self.stage = match self.stage {
            Stage::Newest => Stage::Places,
            Stage::Places | Stage::Found => {
                self.chunks.sort_unstable_by_key(|place| (Reverse(place.writer), place.age));
                Stage::Found
            }
        };
    }

    /// A look found a chunk at `index` of `page`.
    pub(crate) fn note(&mut self, header: &ChunkHeader, page: usize, index: usize) {
        let ChunkHeader { writer, chunk, .. } = *header;
        if self.stage == Stage::Newest {
            let newest = self.newest.get_or_insert_with(writer, || chunk);
            if chunk.distance(*newest) > 0 {
                *newest = chunk;
            }
        } else if let Some(newest) = self.newest.get(&writer)
            && let Ok(age) = u32::try_from(newest.distance(chunk))
        {
            self.chunks.push(Place { page, index, writer, chunk, age });
        }
    }

    /// Whether chunks are left to take.
    pub(crate) fn has_more(&self) -> bool {
        !self.chunks.is_empty()
    }

    /// Takes the next chunk: those of a writer follow each other, the oldest first.
    pub(crate) fn take(&mut self) -> Option<Place> {
        self.chunks.pop()
    }
}

#[cfg(test)]
mod tests;
