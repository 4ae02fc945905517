//! A page as the protocol sees it: atomic words.

use crate::shm::layout::PageSize;
use crate::sync::AtomicU32;

/// The atomic words of one page.
///
/// There are two implementations: a page of a [`Region`](super::Region), and the words of loom's models, which
/// cannot map memory. The state machine in [`page`](super::page) is the same code over both.
pub trait PageWords {
    /// Size of the page.
    fn page_size(&self) -> PageSize;

    /// The word at byte `off` (a multiple of 4) of the page; `None` outside it.
    fn word(&self, off: usize) -> Option<&AtomicU32>;
}
