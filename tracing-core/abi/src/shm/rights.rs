//! What all handles of a region agree on: the size of its pages, and the right to read its chunks.

use crate::shm::layout::{PageSize, ShmError};
use crate::sync::{AtomicBool, OnceLock, Ordering};

/// One for each region, however many handles it has.
pub(super) struct Rights {
    /// Size of its pages, once it is cut into pages.
    page_size: OnceLock<PageSize>,
    /// Whether an [`SmbReader`](super::SmbReader) of this memory exists.
    has_reader: AtomicBool,
}

impl Default for Rights {
    fn default() -> Self {
        Self { page_size: OnceLock::new(), has_reader: AtomicBool::new(false) }
    }
}

impl Rights {
    /// Cuts a memory of `bytes` bytes into pages of `page_size`, or finds that it is cut so already.
    ///
    /// # Errors
    /// [`ShmError::RegionBytes`] if it is empty or not a whole number of pages,
    /// [`ShmError::PageSizeFixed`] if it has pages of another size.
    pub(super) fn cut(&self, bytes: usize, page_size: PageSize) -> Result<(), ShmError> {
        let page_bytes = page_size.bytes();
        if bytes == 0 || !bytes.is_multiple_of(page_bytes) {
            return Err(ShmError::RegionBytes { bytes, page_bytes });
        }
        let fixed = self.page_size.get_or_init(|| page_size).bytes();
        if fixed == page_bytes {
            Ok(())
        } else {
            Err(ShmError::PageSizeFixed { fixed, page_bytes })
        }
    }

    /// Takes the right to read chunks; false if it is taken already.
    pub(super) fn take_reader(&self) -> bool {
        // Acquire: what the last reader freed is free for this one, too, and what it scraped was copied before this
        // one frees it.
        let flag = &self.has_reader;
        flag.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Gives the right to read chunks back.
    pub(super) fn release_reader(&self) {
        self.has_reader.store(false, Ordering::Release);
    }
}
