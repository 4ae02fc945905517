//! Sizes and offsets of pages and chunks: pure arithmetic, no memory.

use core::fmt;

/// Bytes of a page before its first chunk.
pub const PAGE_HEADER_BYTES: usize = 8;
/// Bytes of a chunk before its payload.
pub const CHUNK_HEADER_BYTES: usize = 8;
/// Pages are multiples of this, bytes.
pub const PAGE_UNIT_BYTES: usize = 4096;
/// Largest page the ABI allows, bytes. The service takes at most half of it, because a chunk must
/// fit a trace buffer record.
const PAGE_BYTES_MAX: usize = 64 * 1024;

/// Why memory cannot be a shared memory buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShmError {
    /// A page size that is not a multiple of 4 KiB between 4 and 64 KiB.
    PageBytes {
        /// What was asked for, bytes.
        bytes: usize,
    },
    /// A buffer that is empty, or no whole number of pages.
    RegionBytes {
        /// Length of the region.
        bytes: usize,
        /// Size of its pages.
        page_bytes: usize,
    },
    /// Memory that has pages of another size already: chunks of two sizes would overlap.
    PageSizeFixed {
        /// The size of its pages, bytes.
        fixed: usize,
        /// What was asked for, bytes.
        page_bytes: usize,
    },
    /// Memory that does not start at a multiple of 4 KiB.
    Alignment {
        /// Where it starts.
        address: usize,
    },
}

impl fmt::Display for ShmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::PageBytes { bytes } => {
                write!(f, "page size {bytes} is not a multiple of 4096 between 4096 and 65536")
            }
            Self::RegionBytes { bytes, page_bytes } => {
                write!(
                    f,
                    "buffer of {bytes} bytes is not a whole number of {page_bytes}-byte pages"
                )
            }
            Self::PageSizeFixed { fixed, page_bytes } => {
                write!(f, "buffer has pages of {fixed} bytes already, not of {page_bytes}")
            }
            Self::Alignment { address } => {
                write!(f, "buffer at {address:#x} does not start at a multiple of 4096")
            }
        }
    }
}

impl core::error::Error for ShmError {}

/// A legal page size: any value of this type is one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PageSize {
    /// How many units beyond the first, of which there are [`UNITS_MAX`] at most.
    more_units: u8,
}

/// Units of the largest page, a power of two.
const UNITS_MAX: usize = PAGE_BYTES_MAX / PAGE_UNIT_BYTES;

impl PageSize {
    /// 4 KiB, which the service picks when neither config nor producer names a size.
    pub const DEFAULT: Self = Self { more_units: 0 };

    /// A page of `bytes` bytes.
    ///
    /// # Errors
    /// [`ShmError::PageBytes`] unless `bytes` is a multiple of 4096 in 4096..=65536.
    pub const fn new(bytes: usize) -> Result<Self, ShmError> {
        if bytes == 0 || !bytes.is_multiple_of(PAGE_UNIT_BYTES) || bytes > PAGE_BYTES_MAX {
            return Err(ShmError::PageBytes { bytes });
        }
        #[expect(clippy::cast_possible_truncation, reason = "below UNITS_MAX")]
        Ok(Self { more_units: (bytes / PAGE_UNIT_BYTES - 1) as u8 })
    }

    /// Bytes of a page.
    #[inline]
    pub const fn bytes(self) -> usize {
        // The remainder tells the compiler what `new` ensures.
        (self.more_units as usize % UNITS_MAX + 1) * PAGE_UNIT_BYTES
    }

    /// Whole pages in `bytes` bytes.
    #[inline]
    pub const fn whole_pages(self, bytes: usize) -> usize {
        bytes / self.bytes()
    }
}

/// How a page is cut into chunks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
#[repr(u8)]
pub enum Layout {
    /// One chunk.
    Div1 = 1,
    /// Two chunks.
    Div2 = 2,
    /// Four chunks.
    Div4 = 3,
    /// Seven chunks.
    Div7 = 4,
    /// Fourteen chunks.
    Div14 = 5,
}

/// Where a commit says that a *mark* is, which travels by value: it tells that packets of its writer are missing.
///
/// Services that know chunks by value only check that there is such a page. Older ones look there, and find no
/// complete chunk, because no page has so many.
pub const LOSS_MARK_CHUNK_IDX: usize = 13;

impl Layout {
    /// Every layout.
    pub const ALL: [Self; 5] = [Self::Div1, Self::Div2, Self::Div4, Self::Div7, Self::Div14];

    /// The layout that a page word names; 0 is "not partitioned", 6 and 7 are reserved and hold no chunk.
    #[inline]
    pub const fn from_bits(bits: u32) -> Option<Self> {
        match bits {
            1 => Some(Self::Div1),
            2 => Some(Self::Div2),
            3 => Some(Self::Div4),
            4 => Some(Self::Div7),
            5 => Some(Self::Div14),
            _ => None,
        }
    }

    /// The three bits of the page word.
    #[inline]
    pub const fn bits(self) -> u32 {
        self as u32
    }

    /// Chunks in a page.
    #[inline]
    pub const fn chunk_count(self) -> usize {
        match self {
            Self::Div1 => 1,
            Self::Div2 => 2,
            Self::Div4 => 4,
            Self::Div7 => 7,
            Self::Div14 => 14,
        }
    }

    /// Bytes of each chunk, header included.
    #[inline]
    pub const fn chunk_bytes(self, page: PageSize) -> usize {
        ((page.bytes() - PAGE_HEADER_BYTES) / self.chunk_count()) & !3
    }

    /// Where chunk `idx` starts in the page; `None` if the layout has no such chunk. The whole chunk lies in the page.
    #[inline]
    pub const fn chunk_off(self, page: PageSize, idx: usize) -> Option<usize> {
        if idx >= self.chunk_count() {
            return None;
        }
        Some(PAGE_HEADER_BYTES + idx * self.chunk_bytes(page))
    }
}
