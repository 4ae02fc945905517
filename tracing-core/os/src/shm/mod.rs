//! Memory shared with another process.
//!
//! A memfd is created, sized and sealed before any other process gets it:
//!
//! ```text
//!   memfd_create("perfetto_shmem") -> ftruncate -> seal SEAL|SHRINK|GROW -> mmap
//!                                                       │
//!                            from here its size cannot change, for anybody
//! ```
//!
//! That is why an access to its mapping never faults. A descriptor from a peer is mapped only if it has the same
//! seals: the peer could truncate an unsealed one, and the next access would kill this process. Memory of huge
//! pages is refused, because its pages can be removed in spite of the seals.
//!
//! Invariants of `Mapped`, which a region owns:
//! - **M1** `ptr` is what `mmap` returned for `len` bytes, shared, readable and writable; the mapping
//!   ends in `drop` and nowhere else.
//! - **M2** `fd` is a memfd of tmpfs whose seals forbid any change of size, and which is `len` bytes
//!   long.
#![allow(unsafe_code)]

use core::fmt;
use core::ptr::NonNull;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;

use libc::{F_SEAL_GROW, F_SEAL_SEAL, F_SEAL_SHRINK};

use crate::{failed, sys};
use abi::error::OsError;
use abi::limits::{SMB_BYTES_MAX, SMB_PAGE_BYTES_MIN};
use abi::shm::{Mapping, Region};

/// Bytes of a page of memory.
#[must_use]
pub fn page_bytes() -> usize {
    sys::page_bytes()
}

/// The seals that fix the size and the seals themselves, but not the contents.
const SEALS: i32 = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;

/// Why memory cannot be shared.
///
/// `Debug` prints the text of `Display`: it is what a `main` that returns the error shows.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MapError {
    /// The descriptor is no memfd, or one of huge pages.
    NotMemory,
    /// The memfd could still change its size.
    NotSealed {
        /// The seals it has, as `F_GET_SEALS` gives them; 7 are needed.
        seals: u32,
    },
    /// The size is not a multiple of 4096 from 4096 to 32 MiB.
    Size {
        /// The size, bytes.
        len: u64,
    },
    /// A system call failed.
    Os(OsError),
}

impl fmt::Debug for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMemory => f.write_str("the descriptor is not shared memory"),
            Self::NotSealed { seals } => {
                write!(f, "shared memory is not sealed: seals {seals:#x}, needs 0x7")
            }
            Self::Size { len } => write!(f, "bad size of shared memory: {len} bytes"),
            Self::Os(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MapError {}

impl From<OsError> for MapError {
    fn from(error: OsError) -> Self {
        Self::Os(error)
    }
}

/// A sealed memfd, mapped.
struct Mapped {
    ptr: NonNull<u8>,
    len: usize,
    fd: File,
}

// SAFETY: a mapping belongs to the process, not to a thread; `ptr` is only handed out.
unsafe impl Send for Mapped {}
// SAFETY: as above; nothing in it changes before `drop`.
unsafe impl Sync for Mapped {}

// SAFETY:
// - mapped readable and writable at one place until dropped: M1;
// - access cannot fault: the object is as long as the mapping and cannot shrink (M2), and tmpfs gives
//   a fresh page for one that was punched out;
// - no reference and no other value over these bytes exists: `mmap` chose fresh addresses, which only this value has,
//   and it is not cloned. Another mapping of the same memfd has other addresses.
unsafe impl Mapping for Mapped {
    fn ptr(&self) -> NonNull<u8> {
        self.ptr
    }

    fn len(&self) -> usize {
        self.len
    }

    fn advise_unneeded(&self, off: usize) {
        let off = off.next_multiple_of(sys::page_bytes());
        let Some(len) = self.len.checked_sub(off).filter(|len| *len > 0) else { return };
        // SAFETY: in bounds: `off` is below the length of the mapping (M1).
        let from = unsafe { self.ptr.add(off) };
        // Where this is not possible, as for locked memory, the pages stay.
        // SAFETY:
        // - the `len` bytes from there on are the rest of the mapping (M1), from a page's start;
        // - a shared mapping of a file loses nothing: the next access finds the same bytes in the memfd (M2);
        //   those that happen meanwhile, on other threads, wait for the kernel as for any page not there yet.
        let _ = unsafe { libc::madvise(from.as_ptr().cast(), len, libc::MADV_DONTNEED) };
    }

    fn is_written(&self, off: usize, len: usize) -> bool {
        let (mut at, end) = (off, off.saturating_add(len).min(self.len));
        let mut bytes = [0; 4096];
        while at < end {
            let part = &mut bytes[..(end - at).min(4096)];
            // Zeros where the file has no memory. It gets none, unlike by a look through the mapping.
            match self.fd.read_at(part, at as u64) {
                Ok(count)
                    if part[..count].chunks(64).any(|it| it.iter().fold(0, |a, b| a | b) != 0) =>
                {
                    return true;
                }
                Ok(0) => return false,
                Ok(count) => at += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return true,
            }
        }
        false
    }

    fn read(&self, off: usize, out: &mut [u8]) -> bool {
        // Zeros where the file has no memory.
        self.fd.read_exact_at(out, off as u64).is_ok()
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.fd.as_fd())
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: exactly what `mmap` returned (M1), and the last owner is going: no access follows.
        let result = unsafe { libc::munmap(self.ptr.as_ptr().cast(), self.len) };
        debug_assert!(result == 0, "munmap of our own mapping");
    }
}

/// New zeroed memory of `len` bytes that can be passed to another process.
///
/// # Errors
/// When `len` is no multiple of 4096 up to 32 MiB, or the system has no descriptor or memory left.
pub fn create(len: usize) -> Result<Region, MapError> {
    let size = checked_len(len as u64)?;
    let file = sys::memfd(c"perfetto_shmem").map_err(failed("memfd_create"))?;
    file.set_len(size as u64).map_err(failed("ftruncate"))?;
    sys::add_seals(file.as_fd(), SEALS).map_err(failed("fcntl(F_ADD_SEALS)"))?;
    map(file, size)
}

/// Maps memory that a peer made.
///
/// # Errors
/// When it is not a memfd with the three seals, its size is no multiple of 4096 up to 32 MiB, or it
/// is not writable. The descriptor is closed then.
pub fn adopt(fd: OwnedFd) -> Result<Region, MapError> {
    let len = check(fd.as_fd())?;
    map(File::from(fd), len)
}

/// Checks that a descriptor is memory that can be [adopted](adopt), and returns its size in bytes. It asks only the
/// kernel: no file system in user space gets a question, whatever the descriptor is.
///
/// # Errors
/// As [`adopt`].
pub fn check(fd: BorrowedFd<'_>) -> Result<usize, MapError> {
    // First, as only files in memory have seals: all questions below are answered by the kernel itself.
    let seals = sys::seals(fd).map_err(|_| MapError::NotMemory)?;
    let file = File::from(fd.try_clone_to_owned().map_err(failed("fcntl"))?);
    // A descriptor of another kind may answer the question for its seals, too.
    let is_file = file.metadata().map_err(failed("fstat"))?.is_file();
    if !is_file || !sys::is_in_tmpfs(file.as_fd()).map_err(failed("fstatfs"))? {
        return Err(MapError::NotMemory);
    }
    if seals & SEALS != SEALS {
        return Err(MapError::NotSealed { seals: seals.cast_unsigned() });
    }
    // Read after the seals were checked: the size cannot change now.
    checked_len(file.metadata().map_err(failed("fstat"))?.len())
}

fn checked_len(len: u64) -> Result<usize, MapError> {
    match usize::try_from(len) {
        Ok(size @ 1..=SMB_BYTES_MAX) if size.is_multiple_of(SMB_PAGE_BYTES_MIN) => Ok(size),
        _ => Err(MapError::Size { len }),
    }
}

/// Maps all `len` bytes of a sealed memfd (M2 holds for it).
fn map(fd: File, len: usize) -> Result<Region, MapError> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: no address is asked for, so nothing that is mapped already is replaced.
    let ptr = unsafe {
        libc::mmap(core::ptr::null_mut(), len, access, libc::MAP_SHARED, fd.as_raw_fd(), 0)
    };
    if ptr == libc::MAP_FAILED {
        return Err(failed("mmap")(io::Error::last_os_error()).into());
    }
    // A hole that is touched takes one page of memory, and not a huge one. A kernel without huge pages refuses.
    // SAFETY: the mapping was just made and has `len` bytes; the advice changes no byte of it.
    let _ = unsafe { libc::madvise(ptr, len, libc::MADV_NOHUGEPAGE) };
    // The kernel never maps address zero unless it is asked to.
    let ptr = NonNull::new(ptr.cast()).ok_or(MapError::NotMemory)?;
    let region = Region::from_mapping(Box::new(Mapped { ptr, len, fd }));
    // Mappings start at pages, which are at least 4096 bytes everywhere.
    region.map_err(|_| MapError::NotMemory)
}

#[cfg(test)]
mod tests;
