//! The memory of a shared memory buffer, and the only unsafe code of this crate.
//!
//! The only references to shared memory are `&AtomicU32`, `&AtomicU64`, arrays of that, and `&AtomicU8`; they are made
//! here and used at once. A peer may change any byte at any time. So no value read is trusted, and bytes that
//! are needed twice are copied first. A [`WritableChunk`](super::WritableChunk) also lends a raw pointer to
//! a protozero stream, which makes no reference of it.
//!
//! Invariants of [`Region`]:
//! - **R1** the `len` bytes at `ptr` stay mapped, readable and writable as long as `owner` lives, and `owner`
//!   lives as long as any clone.
//! - **R2** `ptr` is a multiple of 4096.
//! - **R3** no Rust reference leads into the memory, except to atomics.
//! - **R4** this process stores into a chunk's payload without atomics only through its one `WritableChunk`
//!   and the pointer that it lends. It reads the payload elsewhere only where the bytes are final: in a chunk
//!   that it took for reading, or in finished fragments while it holds the one
//!   [`SmbReader`](super::SmbReader), without which no chunk is freed, or anywhere once no other handle of the
//!   memory is left in this process ([`Region::is_alone`]). A peer process that breaks this causes
//!   no data race in the sense of the language: to the compiler its stores are those of a device.
//! - **R5** all chunks are cut from pages of one size, which the first [`Smb`](super::Smb) decides, so two
//!   chunks never overlap.
//!
//! The models of `tracing-core/loom` have a region of their own, of loom's atomics and cells. They check that the files
//! which use a region keep R4.
//!
//! Whether an access is inside is arithmetic of [`bounds`], which `cargo xtask no-panic` proves free of overflow.
#![allow(unsafe_code)]
#![deny(clippy::arithmetic_side_effects)]

use core::fmt;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use std::os::fd::BorrowedFd;

use crate::shm::bounds::{self, BLOCK_WORDS, Part};
use crate::shm::layout::{PAGE_UNIT_BYTES, ShmError};
use crate::shm::rights::Rights;
use crate::shm::words::{Bytes, ChunkBytes};
use crate::sync::{Arc, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Mapped memory, which is unmapped when the value is dropped.
///
/// # Safety
/// An implementation promises of the [`len`](Self::len) bytes at [`ptr`](Self::ptr), for as long as the value lives:
/// 1. They are mapped readable and writable at the same place, on every thread, and both functions always give the
///    same values.
/// 2. Access to them cannot fault: the object behind them cannot shrink.
/// 3. No Rust reference to them exists.
/// 4. They belong to this value alone: no other value of this or another type gives access to any of them. The
///    ownership of chunks (R4) and the one size of pages (R5) hold for one [`Region`], so a second one over the same
///    addresses would break them. The same object mapped at other addresses is memory of a peer.
pub unsafe trait Mapping: Send + Sync {
    /// First byte; a multiple of 4096.
    fn ptr(&self) -> NonNull<u8>;
    /// Bytes mapped.
    fn len(&self) -> usize;
    /// Whether nothing is mapped.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// A hint: this process does not need the bytes from `off` on for a while. Their contents stay; their memory
    /// need not count for this process until it touches them again.
    fn advise_unneeded(&self, _off: usize) {}
    /// Whether one of the `len` bytes at `off` is not zero, found without touching the mapping: where the system has no
    /// memory yet, it provides none for this. True where that is not possible.
    fn is_written(&self, _off: usize, _len: usize) -> bool {
        true
    }
    /// Copies the bytes at `off` to all of `out` without touching the mapping. False where that is not possible: `out`
    /// may hold anything then.
    fn read(&self, _off: usize, _out: &mut [u8]) -> bool {
        false
    }
    /// The object behind the mapping, for a transport that passes it on.
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// One page of memory that threads can share.
#[repr(C, align(4096))]
struct HeapPage([AtomicU64; PAGE_UNIT_BYTES / 8]);

impl HeapPage {
    fn zeroed() -> Self {
        Self([const { AtomicU64::new(0) }; PAGE_UNIT_BYTES / 8])
    }

    /// With a copy of these bytes, and zeros behind them.
    fn of(bytes: &[u8]) -> Self {
        let page = Self::zeroed();
        for (word, bytes) in page.0.iter().zip(bytes.as_chunks().0) {
            word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
        }
        page
    }
}

/// The owner of the memory.
enum Owner {
    // Not a `Box`: moving one asserts that no other pointer leads to its contents, and `Inner::ptr` does.
    Heap { _pages: Arc<[HeapPage]> },
    Mapped(Box<dyn Mapping>),
}

struct Inner {
    ptr: NonNull<u8>,
    len: usize,
    owner: Owner,
    rights: Rights,
}

// SAFETY: memory behind `ptr` may be used from any thread (R1, and `Mapping`'s promise; atomics on the
// heap); all access is atomic or follows R4.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

/// Memory shared with a peer: cheap to clone, unmapped with the last clone.
#[derive(Clone)]
pub struct Region(Arc<Inner>);

impl Region {
    /// `len` zeroed bytes of this process's heap, rounded up to a multiple of 4096: for a producer in
    /// the service's own process, for transports that cannot share memory, and for tests.
    pub fn heap(len: usize) -> Self {
        Self::of_pages((0..len.div_ceil(PAGE_UNIT_BYTES)).map(|_| HeapPage::zeroed()).collect())
    }

    /// A copy of the `len` bytes at `off` in the heap, made without touching them. `None` if not all of them are
    /// inside, or the system does not give them so. `len` is a multiple of 4096.
    pub(super) fn copy_untouched(&self, off: usize, len: usize) -> Option<Self> {
        let Owner::Mapped(mapping) = &self.0.owner else { return None };
        let mut bytes = vec![0_u8; PAGE_UNIT_BYTES];
        let mut pages = Vec::new();
        for at in (0..len).step_by(PAGE_UNIT_BYTES) {
            let at = off.checked_add(at)?;
            if !bounds::contains(self.0.len, at, PAGE_UNIT_BYTES) || !mapping.read(at, &mut bytes) {
                return None;
            }
            pages.push(HeapPage::of(&bytes));
        }
        Some(Self::of_pages(pages.into()))
    }

    fn of_pages(pages: Arc<[HeapPage]>) -> Self {
        let len = size_of_val::<[HeapPage]>(&pages);
        // The pages are made of atomics, which may be written through a shared reference.
        let ptr = NonNull::from(&*pages).cast();
        Self::new(ptr, len, Owner::Heap { _pages: pages })
    }

    /// Memory mapped by the operating system.
    ///
    /// # Errors
    /// [`ShmError::Alignment`] if it does not start at a multiple of 4096.
    pub fn from_mapping(mapping: Box<dyn Mapping>) -> Result<Self, ShmError> {
        let (ptr, len) = (mapping.ptr(), mapping.len());
        let address = ptr.as_ptr().addr();
        if !address.is_multiple_of(PAGE_UNIT_BYTES) {
            return Err(ShmError::Alignment { address });
        }
        Ok(Self::new(ptr, len, Owner::Mapped(mapping)))
    }

    fn new(ptr: NonNull<u8>, len: usize, owner: Owner) -> Self {
        Self(Arc::new(Inner { ptr, len, owner, rights: Rights::default() }))
    }

    /// What the handles of this memory agree on.
    pub(super) fn rights(&self) -> &Rights {
        &self.0.rights
    }

    /// Bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// Whether there is no byte.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    /// The object behind the memory, if a peer can map it too.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.0.owner {
            Owner::Heap { .. } => None,
            Owner::Mapped(mapping) => mapping.fd(),
        }
    }

    /// A hint that this process does not need the bytes from `off` on for a while; see
    /// [`Mapping::advise_unneeded`].
    pub fn advise_unneeded(&self, off: usize) {
        match &self.0.owner {
            Owner::Heap { .. } => {}
            Owner::Mapped(mapping) => mapping.advise_unneeded(off),
        }
    }

    /// Whether one of the `len` bytes at `off` is not zero; see [`Mapping::is_written`].
    pub(super) fn is_written(&self, off: usize, len: usize) -> bool {
        match &self.0.owner {
            Owner::Heap { .. } => true,
            Owner::Mapped(mapping) => mapping.is_written(off, len),
        }
    }

    /// Whether memory may be missing until it is touched first.
    pub(super) fn has_holes(&self) -> bool {
        matches!(self.0.owner, Owner::Mapped(_))
    }

    /// Whether this is the only handle of the memory in this process: then no thread of it writes there any more.
    pub fn is_alone(&mut self) -> bool {
        Arc::get_mut(&mut self.0).is_some()
    }

    /// Whether both are the same memory.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Pointer to the `len` bytes at `off`; `None` if not all of them are inside.
    #[inline]
    pub(super) fn range(&self, off: usize, len: usize) -> Option<NonNull<u8>> {
        if !bounds::contains(self.0.len, off, len) {
            return None;
        }
        // SAFETY: in bounds: `off <= len` of the allocation, checked above (R1).
        Some(unsafe { self.0.ptr.add(off) })
    }

    /// The atomic word at `off`; `None` outside, or if `off` is no multiple of 4.
    #[inline]
    pub(crate) fn word(&self, off: usize) -> Option<&AtomicU32> {
        if off & 3 != 0 {
            return None;
        }
        let ptr = self.range(off, 4)?;
        // SAFETY:
        // - in bounds: `range` checked four bytes (R1); alive: the reference borrows `self`;
        // - aligned: `off` is a multiple of 4, the start one of 4096 (R2);
        // - only words that are always touched atomically, or payload under R4, come this way (R3).
        Some(unsafe { AtomicU32::from_ptr(ptr.as_ptr().cast()) })
    }

    /// The byte at `off`, relaxed; `None` outside.
    #[inline]
    pub(crate) fn byte(&self, off: usize) -> Option<u8> {
        let ptr = self.range(off, 1)?;
        // SAFETY: in bounds (R1), a byte has no alignment, R3 and R4 as for words.
        let byte = unsafe { AtomicU8::from_ptr(ptr.as_ptr()) };
        Some(byte.load(Ordering::Relaxed))
    }

    /// Appends the `len` bytes at `off` to `out`, in [`bounds::parts`]. False, and nothing appended, if not all of
    /// them are inside the region.
    ///
    /// A peer may store while the copy runs, so the caller checks the copy before it uses it.
    pub(super) fn copy_to(&self, off: usize, len: usize, out: &mut Vec<u8>) -> bool {
        let Some(from) = self.range(off, len) else { return false };
        out.reserve(len);
        let spare = out.spare_capacity_mut();
        let to: *mut u8 = spare.as_mut_ptr().cast();
        bounds::parts(off, len, |at, part| {
            // SAFETY: in bounds: a part lies within the `len` bytes (R1).
            let from = unsafe { from.add(at) };
            // SAFETY: in bounds: `out` has space for `len` bytes, reserved above.
            let to = unsafe { to.add(at) };
            match part {
                Part::Block => {
                    // SAFETY: a block is an array of words, for each of which holds what holds for a word.
                    let block: &[AtomicU64; BLOCK_WORDS] = unsafe { from.cast().as_ref() };
                    let values = block.each_ref().map(|word| word.load(Ordering::Relaxed));
                    // SAFETY: writable for all of them, as in `to`; the vector is ours alone.
                    unsafe { to.cast::<[u64; BLOCK_WORDS]>().write_unaligned(values) };
                }
                Part::Word => {
                    // SAFETY: eight bytes, aligned: `off + at` is a multiple of 8, the start one of 4096 (R2);
                    // otherwise as in `from`.
                    let word = unsafe { AtomicU64::from_ptr(from.as_ptr().cast()) };
                    let value = word.load(Ordering::Relaxed);
                    // SAFETY: writable for eight bytes, as in `to`; the vector is ours alone.
                    unsafe { to.cast::<u64>().write_unaligned(value) };
                }
                Part::Byte => {
                    // SAFETY: as in `from`.
                    let byte = unsafe { AtomicU8::from_ptr(from.as_ptr()) };
                    let value = byte.load(Ordering::Relaxed);
                    // SAFETY: writable, as in `to`.
                    unsafe { to.write(value) };
                }
            }
        });
        #[expect(clippy::arithmetic_side_effects, reason = "the vector has capacity for both")]
        let filled = out.len() + len;
        // SAFETY: capacity was reserved, and the `len` bytes behind the old end are written.
        unsafe { out.set_len(filled) };
        true
    }

    /// Appends the `len` bytes at `off` to `out`, as the other end of a shared memory would see them. False, and
    /// nothing appended, if not all of them are inside. For tests.
    ///
    /// # Safety
    /// During the call, no other thread of this process writes to these bytes through this region, or through a chunk
    /// of it: a writer stores without atomics (R4).
    #[cfg(any(test, feature = "testing"))]
    pub unsafe fn copy_out(&self, off: usize, len: usize, out: &mut Vec<u8>) -> bool {
        self.copy_to(off, len, out)
    }

    /// Stores `bytes` at `off`, each relaxed. False, and nothing stored, if they do not fit. For tests that play a
    /// hostile peer.
    ///
    /// # Safety
    /// During the call, no other thread of this process uses these bytes through this region, or through a chunk of
    /// it. What its own threads do with them later is what they would do after a hostile peer.
    #[cfg(any(test, feature = "testing"))]
    pub unsafe fn store(&self, off: usize, bytes: &[u8]) -> bool {
        let Some(to) = self.range(off, bytes.len()) else { return false };
        for (at, &value) in bytes.iter().enumerate() {
            // SAFETY: in bounds: `at < bytes.len()`, which fits (R1).
            let byte = unsafe { to.add(at) };
            // SAFETY: as in `byte`.
            let byte = unsafe { AtomicU8::from_ptr(byte.as_ptr()) };
            byte.store(value, Ordering::Relaxed);
        }
        true
    }

    /// The `len` bytes at `off`, with the region kept alive; `None` if they are not all inside, or `off` is
    /// no multiple of 4.
    pub(super) fn span(&self, off: usize, len: usize) -> Option<Span> {
        if off & 3 != 0 {
            return None;
        }
        let ptr = self.range(off, len)?;
        Some(Span { ptr, len, _region: self.clone() })
    }
}

/// The bytes of a chunk being written, which belong to the holder of this value. Each access costs one
/// comparison and one addition.
///
/// - **S1** the `len` bytes at `ptr` are inside the region, which lives as long as this value (R1).
/// - **S2** `ptr` is a multiple of 4 (R2).
/// - **S3** the page protocol gave these bytes to the holder of this value alone (R4). Others read the header
///   at the front meanwhile, so it is accessed by atomics only.
pub(super) struct Span {
    ptr: NonNull<u8>,
    len: usize,
    _region: Region,
}

// SAFETY: as for the region it is a piece of; it is not cloned.
unsafe impl Send for Span {}
// SAFETY: through a shared reference it only hands out a word to be used atomically and a pointer.
unsafe impl Sync for Span {}

impl Span {
    /// Pointer to byte `off`; one past the end at most.
    #[inline(always)]
    pub(super) fn at(&self, off: usize) -> Option<NonNull<u8>> {
        if off > self.len {
            return None;
        }
        // SAFETY: in bounds or one past: checked above (S1).
        Some(unsafe { self.ptr.add(off) })
    }
}

impl Bytes for Span {
    #[inline(always)]
    fn store(&mut self, off: usize, bytes: &[u8]) -> bool {
        if !bounds::contains(self.len, off, bytes.len()) {
            return false;
        }
        // SAFETY: in bounds: checked above (S1).
        let to = unsafe { self.ptr.add(off) };
        // SAFETY: writable for as many bytes, and ours (S3); apart: `bytes` is a reference, and none leads
        // into a region (R3).
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to.as_ptr(), bytes.len()) };
        true
    }
}

impl ChunkBytes for Span {
    type Piece<'a> = Piece<'a>;

    #[inline(always)]
    fn word(&self, off: usize) -> Option<&AtomicU32> {
        if !bounds::contains_word(self.len, off) {
            return None;
        }
        // SAFETY: in bounds: four bytes at `off`, checked above (S1).
        let ptr = unsafe { self.ptr.add(off) };
        // SAFETY: aligned (S2), alive for as long as `self`, touched atomically (S3).
        Some(unsafe { AtomicU32::from_ptr(ptr.as_ptr().cast()) })
    }

    #[inline(always)]
    fn word_and_piece(
        &mut self,
        off: usize,
        piece_off: usize,
        len: usize,
    ) -> Option<(&AtomicU32, Piece<'_>)> {
        if !bounds::contains_word_and(self.len, off, piece_off, len) {
            return None;
        }
        // SAFETY: in bounds or one past: checked above (S1).
        let ptr = unsafe { self.ptr.add(piece_off) };
        Some((self.word(off)?, Piece { ptr, len, span: PhantomData }))
    }

    fn move_forward_3(&mut self, off: usize, len: usize) -> bool {
        if !bounds::contains_moved(self.len, off, len, 3) {
            return false;
        }
        // SAFETY: in bounds: checked above (S1).
        let source = unsafe { self.ptr.add(off) };
        // SAFETY: in bounds: `off + 3 + len <= len` of the piece, checked above (S1).
        let target = unsafe { source.add(3) };
        // SAFETY: `len` bytes from either are inside, may overlap, and are ours (S1, S3).
        unsafe { ptr::copy(source.as_ptr(), target.as_ptr(), len) };
        true
    }
}

/// Some bytes of a span. It has a copy of their place: the compiler loads the fields of the span again after each
/// store.
///
/// - **S4** the `len` bytes at `ptr` are inside the span (S1), which is borrowed for as long as this value lives, and
///   nothing else accesses them meanwhile (S3).
pub(super) struct Piece<'s> {
    ptr: NonNull<u8>,
    len: usize,
    span: PhantomData<&'s mut Span>,
}

impl Bytes for Piece<'_> {
    #[inline(always)]
    fn store(&mut self, off: usize, bytes: &[u8]) -> bool {
        if !bounds::contains(self.len, off, bytes.len()) {
            return false;
        }
        // SAFETY: in bounds: checked above (S4).
        let to = unsafe { self.ptr.add(off) };
        // SAFETY: writable for as many bytes, and ours (S4); apart: `bytes` is a reference, and none leads
        // into a region (R3).
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to.as_ptr(), bytes.len()) };
        true
    }
}

impl fmt::Debug for Piece<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Piece({} bytes)", self.len)
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Span({} bytes)", self.len)
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.0.owner {
            Owner::Heap { .. } => "heap",
            Owner::Mapped(_) => "mapped",
        };
        write!(f, "Region({kind}, {} bytes)", self.0.len)
    }
}
