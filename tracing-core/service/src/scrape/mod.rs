//! Copies what writers of a producer have not committed, while they go on writing.
//!
//! A scrape is done in pieces, and writers do not wait for it. A page that was looked at can be committed, freed and
//! taken again before the next page is looked at. If each page was copied as it is found, a later chunk of a writer
//! could come into the buffer without an earlier one, and a reader would take that for a loss. So pages are looked at
//! twice before anything is copied:
//!
//! ```text
//!   1. newest    headers of all pages    ──> for each writer, the newest chunk that it has begun
//!   2. places    headers of all pages    ──> where the chunks up to that one are
//!   3. copy      those chunks, oldest of a writer first; one that is not there any more was committed meanwhile
//! ```
//!
//! A chunk stays where it is until the service takes it for its commit. All chunks up to the newest one of the first
//! look were begun before the second, so the second finds each that was not committed. What is copied is therefore a
//! sequence without gaps at every moment, also when a consumer or a file reads the buffer between two pieces. Chunks
//! that are newer are left to their commit, or to the next scrape.
//!
//! Nothing in the shared memory changes: the later commit of the same chunk overrides the copy.

pub(crate) mod memory;
mod uncommitted;

pub(crate) use self::uncommitted::Uncommitted;
