//! The sizes of a producer's shared memory, and how much of it the service has mapped.

use crate::limits;
use abi::shm::{PageSize, Region, Smb, SmbReader};

/// The sizes that a producer asks for, bytes; zero for none.
#[derive(Clone, Copy, Debug)]
pub(super) struct SmbHints {
    pub(super) whole_bytes: u32,
    pub(super) page_bytes: u32,
}

/// Bytes of pages read beyond [`limits::SMB_MAPPED_BYTES`] since they were last unmapped.
#[derive(Debug, Default)]
pub(super) struct Touched(usize);

impl Touched {
    /// Adds a page at `off` of memory of `whole` bytes. True if there are enough to unmap them.
    pub(super) fn add(&mut self, whole: usize, off: usize, page_bytes: usize) -> bool {
        let worth_it = limits::SMB_MAPPED_BYTES.saturating_add(limits::SMB_MAPPED_AGAIN_BYTES);
        if whole <= worth_it || off < limits::SMB_MAPPED_BYTES {
            return false;
        }
        self.0 = self.0.saturating_add(page_bytes);
        if self.0 < limits::SMB_MAPPED_AGAIN_BYTES {
            return false;
        }
        self.0 = 0;
        true
    }
}

/// What shared memory a producer gets: (whole, page) in bytes, from a request in bytes where zero means none. Any
/// illegal request makes both values the defaults (`EnsureValidShmSizes`).
pub(super) fn smb_sizes(smb_bytes: u64, page_bytes: u64) -> (usize, usize) {
    let page = if page_bytes == 0 { limits::SMB_PAGE_BYTES_DEFAULT as u64 } else { page_bytes };
    let smb = if smb_bytes == 0 { limits::SMB_BYTES_DEFAULT as u64 } else { smb_bytes };
    let page = page.min(limits::SMB_PAGE_BYTES_MAX as u64);
    let smb = smb.min(limits::SMB_BYTES_MAX as u64);
    // The smallest page is a power of two, so all legal sizes are.
    const UNIT: u64 = limits::SMB_PAGE_BYTES_MIN as u64;
    let page_legal = page.is_power_of_two() && page.is_multiple_of(UNIT);
    if page_legal && smb >= page && smb.is_multiple_of(page) {
        (smb as usize, page as usize)
    } else {
        (limits::SMB_BYTES_DEFAULT, limits::SMB_PAGE_BYTES_DEFAULT)
    }
}

/// Sizes that passed [`smb_sizes`] always fit together.
pub(super) fn make_smb(region: Region, page_bytes: usize) -> Option<SmbReader> {
    // There is no second reader: another service of this process may read the same memory already.
    Smb::new(region, PageSize::new(page_bytes).ok()?).ok()?.reader()
}
