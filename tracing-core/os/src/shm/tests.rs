//! Seals, sizes and sharing, on real memfds.
#![allow(unsafe_code)]

use std::os::unix::fs::MetadataExt as _;

use rustix::fs::{MemfdFlags, SealFlags};

use super::*;
use abi::shm::{PageSize, Smb};

fn store(region: &Region, off: usize, bytes: &[u8]) -> bool {
    // SAFETY: one thread uses this memory.
    unsafe { region.store(off, bytes) }
}

fn copy_out(region: &Region, off: usize, len: usize, out: &mut Vec<u8>) -> bool {
    // SAFETY: one thread uses this memory.
    unsafe { region.copy_out(off, len, out) }
}

const ALL: SealFlags = SealFlags::SEAL.union(SealFlags::SHRINK).union(SealFlags::GROW);

fn memfd(len: u64, seals: SealFlags) -> OwnedFd {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = rustix::fs::memfd_create("test", flags).unwrap();
    rustix::fs::ftruncate(&fd, len).unwrap();
    rustix::fs::fcntl_add_seals(&fd, seals).unwrap();
    fd
}

#[test]
fn both_sides_see_the_same_memory() {
    let ours = create(8192).unwrap();
    let passed = ours.fd().unwrap().try_clone_to_owned().unwrap();
    let theirs = adopt(passed).unwrap();
    assert_eq!((ours.len(), theirs.len()), (8192, 8192));
    assert!(store(&ours, 5000, b"hello"));
    let mut copy = Vec::new();
    assert!(copy_out(&theirs, 5000, 5, &mut copy));
    assert_eq!(copy, b"hello");
    drop(ours);
    assert!(copy_out(&theirs, 5000, 5, &mut copy), "lives until the last owner goes");
    assert_eq!(copy, b"hellohello");
}

#[test]
fn what_is_let_go_of_stays_what_it_is() {
    let region = create(3 * 4096).unwrap();
    let bytes: Vec<u8> = (0..3 * 4096_u32).map(|i| (i % 251) as u8).collect();
    assert!(store(&region, 0, &bytes));
    for off in [0, 1, 4096, 8191, 8193, 3 * 4096, usize::MAX / 2] {
        region.advise_unneeded(off);
        let mut copy = Vec::new();
        assert!(copy_out(&region, 0, bytes.len(), &mut copy));
        assert!(copy == bytes, "{off}");
        assert!(store(&region, 4096, &bytes[4096..]));
    }
}

#[test]
fn pages_that_were_never_written_are_known() {
    let region = create(16 * 4096).unwrap();
    let passed = || adopt(region.fd().unwrap().try_clone_to_owned().unwrap()).unwrap();
    let written = |bytes| {
        let smb = Smb::new(passed(), PageSize::new(bytes).unwrap()).unwrap();
        let mut reader = smb.reader().unwrap();
        (0..=smb.page_count()).filter(|page| reader.begin_touching(*page)).collect::<Vec<_>>()
    };
    assert_eq!((written(4096), written(8192)), (vec![], vec![]));
    // Behind the header of a page.
    for off in [0, 5 * 4096 + 8, 6 * 4096 + 7, 16 * 4096 - 1] {
        assert!(store(&region, off, b"x"));
    }
    assert_eq!((written(4096), written(8192)), (vec![0, 6], vec![0, 3]));
}

/// Zeros may be what a peer wrote: what is behind them is read, too, and for the zeros no memory is provided.
#[test]
fn data_behind_zeros_is_read() {
    const PAGE: usize = 32 * 1024;
    // Two fragments, of 20,000 and 9,000 bytes. Only the last byte of each is not zero.
    let mut fragments = vec![0; 29_005];
    fragments[..3].copy_from_slice(&[0xa0, 0x9c, 1]);
    fragments[20_002..20_005].copy_from_slice(&[b'x', 0xa8, 0x46]);
    fragments[29_004] = b'y';
    // A chunk that is being written, with a third fragment, and a complete one (`shared_memory_abi.h`).
    for (state, count) in [(1, 3), (3, 2)] {
        let region = create(PAGE).unwrap();
        let file = File::from(region.fd().unwrap().try_clone_to_owned().unwrap());
        let theirs = adopt(file.try_clone().unwrap().into()).unwrap();
        let mut reader = Smb::new(theirs, PageSize::new(PAGE).unwrap()).unwrap().reader().unwrap();
        assert!(store(&region, 0, &(1_u32 << 28 | state).to_le_bytes()));
        assert!(store(&region, 8, &[5, 0, 0, 0, 7, 0, count, 0]));
        for (at, byte) in fragments.iter().enumerate().filter(|(_, byte)| **byte != 0) {
            assert!(store(&region, 16 + at, &[*byte]));
        }
        let mut payload = Vec::new();
        let header = match state {
            1 => reader.scrape_chunk(0, 0, &mut payload).map(|(header, _)| header),
            _ => reader.read_chunk(0, 0, &mut payload),
        };
        assert_eq!(header.unwrap().packets.count(), u16::from(count));
        assert!(payload.starts_with(&fragments) && payload[fragments.len()..] == [0; 3747]);
        // The pages with the header, with the two last bytes, and none of those between.
        assert_eq!((file.metadata().unwrap().blocks(), reader.touched_bytes()), (24, 3 * 4096));
    }
}

/// Memory that a peer never wrote is not provided on the account of the process that reads it.
#[test]
fn a_reader_does_not_touch_pages_that_were_never_written() {
    let region = create(16 * 4096).unwrap();
    let file = File::from(region.fd().unwrap().try_clone_to_owned().unwrap());
    let provided = || file.metadata().unwrap().blocks();
    for page_bytes in [4096, 8192] {
        let theirs = adopt(file.try_clone().unwrap().into()).unwrap();
        let smb = Smb::new(theirs, PageSize::new(page_bytes).unwrap()).unwrap();
        let mut reader = smb.reader().unwrap();
        let mut payload = Vec::new();
        for page in 0..smb.page_count() {
            assert_eq!(reader.read_chunk(page, 0, &mut payload), None);
            assert_eq!(reader.scrape_chunk(page, 0, &mut payload), None);
            assert_eq!(reader.scrape_leftover(page, 0, &mut payload), None);
        }
        assert_eq!((provided(), payload.len(), reader.touched_bytes()), (0, 0, 0));
    }
    assert!(store(&region, 4096, b"x"));
    assert_eq!(provided(), 8);
}

#[test]
fn a_page_is_copied_without_touching_it() {
    let region = create(3 * 4096).unwrap();
    let file = File::from(region.fd().unwrap().try_clone_to_owned().unwrap());
    assert!(store(&region, 2 * 4096, &0x1000_0003_u32.to_le_bytes()));
    let theirs = adopt(file.try_clone().unwrap().into()).unwrap();
    let reader = Smb::new(theirs, PageSize::new(4096).unwrap()).unwrap().reader().unwrap();
    let chunks = |page| reader.copy_of_page(page).map(|copy| copy.smb().chunk_count(0));
    assert_eq!([0, 1, 2, 3].map(chunks), [Some(0), Some(0), Some(1), None]);
    assert_eq!(file.metadata().unwrap().blocks(), 8, "one page, which was written");
}

/// A large page has data, and says that it has chunks where its peer never wrote.
#[test]
fn a_reader_does_not_touch_chunks_that_were_never_written() {
    const PAGE: usize = 32 * 1024;
    let region = create(PAGE).unwrap();
    let file = File::from(region.fd().unwrap().try_clone_to_owned().unwrap());
    let provided = || file.metadata().unwrap().blocks();
    let theirs = adopt(file.try_clone().unwrap().into()).unwrap();
    let mut reader = Smb::new(theirs, PageSize::new(PAGE).unwrap()).unwrap().reader().unwrap();
    // Two chunks, both complete (`shared_memory_abi.h`).
    assert!(store(&region, 0, &(2_u32 << 28 | 0b1111).to_le_bytes()));
    assert_eq!(provided(), 8);
    assert_eq!(reader.header_in_use(0, 1), None);
    let mut payload = Vec::new();
    assert_eq!(reader.scrape_chunk(0, 1, &mut payload), None);
    assert_eq!((provided(), payload.len()), (8, 0));
}

#[test]
fn nobody_can_resize_it() {
    let region = create(4096).unwrap();
    for len in [0, 4095, 8192] {
        assert_eq!(rustix::fs::ftruncate(region.fd().unwrap(), len), Err(rustix::io::Errno::PERM));
    }
    assert_eq!(rustix::fs::fcntl_get_seals(region.fd().unwrap()), Ok(ALL));
    assert_eq!((SEALS, ALL.bits()), (7, 7));
}

#[test]
fn unsealed_memory_is_refused() {
    for seals in [
        SealFlags::empty(),
        SealFlags::SHRINK,
        SealFlags::SHRINK | SealFlags::GROW,
        SealFlags::SHRINK | SealFlags::SEAL,
    ] {
        let refused = adopt(memfd(4096, seals)).unwrap_err();
        assert_eq!(refused, MapError::NotSealed { seals: seals.bits() });
    }
    assert!(adopt(memfd(4096, ALL)).is_ok());
}

#[test]
fn other_descriptors_are_refused() {
    let null = std::fs::File::open("/dev/null").unwrap();
    assert_eq!(adopt(null.into()).unwrap_err(), MapError::NotMemory);
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    assert_eq!(adopt(file.into()).unwrap_err(), MapError::NotMemory);
    // Sealed against writing, too: it cannot be mapped for it.
    let sealed = adopt(memfd(4096, ALL | SealFlags::WRITE)).unwrap_err();
    assert!(matches!(sealed, MapError::Os(OsError { call: "mmap", .. })), "{sealed}");
}

/// The system may have no huge page left when memory of huge pages is used for the first time. The access then ends the
/// process.
#[test]
fn memory_of_huge_pages_is_refused() {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = rustix::fs::memfd_create("test", flags | MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB);
    let Ok(fd) = fd else {
        return skip::test("memory_of_huge_pages_is_refused", "this kernel has no huge pages");
    };
    rustix::fs::ftruncate(&fd, 2 << 20).unwrap();
    rustix::fs::fcntl_add_seals(&fd, ALL).unwrap();
    assert_eq!(check(fd.as_fd()), Err(MapError::NotMemory));
    assert_eq!(adopt(fd).unwrap_err(), MapError::NotMemory);
}

#[test]
fn wrong_sizes_are_refused() {
    for len in [0, 1, 4095, 4097, SMB_BYTES_MAX as u64 + 4096] {
        assert_eq!(adopt(memfd(len, ALL)).unwrap_err(), MapError::Size { len });
        assert_eq!(create(len as usize).unwrap_err(), MapError::Size { len });
    }
    assert_eq!(create(SMB_BYTES_MAX).unwrap().len(), SMB_BYTES_MAX);
}

#[test]
fn calls_that_fail_say_so() {
    let (pipe, _other) = io::pipe().unwrap();
    assert!(sys::seals(pipe.as_fd()).is_err(), "it is no memory");
}
