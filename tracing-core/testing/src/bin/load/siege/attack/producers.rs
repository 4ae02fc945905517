//! Producers that lie, and change their shared memory while the daemon reads it.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use abi::ipc::port::ProducerPort;
use client::connection::{Attachment, Connection as _, Received, SocketConnection};
use os::shm;
use protos::producer_port::Request;
use protos::{
    GetAsyncCommandRequest, InitializeConnectionRequest,
    InitializeConnectionRequestProducerSMBScrapingMode as Mode,
};

use super::Target;
use crate::hostile::{Random, invalid_request};

pub(super) const MEMORY_BYTES: usize = 256 * 1024;
const PAGE_BYTES: u64 = 4096;

/// One producer, from its first request to its last.
pub(super) fn attack(target: &Target, random: &mut Random) {
    let Ok(mut link) = SocketConnection::<ProducerPort>::connect(&target.producers) else { return };
    let region = shm::create(MEMORY_BYTES).ok();
    let memory = region.as_ref().and_then(|region| {
        region.fd().and_then(|fd| fd.as_fd().try_clone_to_owned().ok()).map(File::from)
    });
    // A user that names memory without data is caught, and after a while gets no more: then less would be attacked.
    for page in 0..MEMORY_BYTES as u64 / PAGE_BYTES {
        if let Some(memory) = &memory {
            let _ = memory.write_all_at(&[1; 16], page * PAGE_BYTES);
        }
    }
    let hello = InitializeConnectionRequest {
        producer_name: Some(["honest", "hostile", ""][random.below(3) as usize].into()),
        smb_scraping_mode: Some(Mode::SMB_SCRAPING_ENABLED),
        shared_memory_page_size_hint_bytes: Some(PAGE_BYTES as u32),
        producer_provided_shmem: Some(true),
        ..Default::default()
    };
    let attachment = region.map_or(Attachment::None, Attachment::Region);
    let _ = link.send(Request::InitializeConnection(hello), true, attachment);
    let commands = Request::GetAsyncCommand(GetAsyncCommandRequest::default());
    let _ = link.send(commands, true, Attachment::None);
    for _ in 0..random.below(200) {
        for _ in 0..random.below(20) {
            // Page words and chunk headers for the most part.
            let page = random.below(MEMORY_BYTES as u64 / PAGE_BYTES) * PAGE_BYTES;
            let near = if random.below(4) == 0 { PAGE_BYTES - 64 } else { 32 };
            let place = page + random.below(near);
            if let Some(memory) = &memory {
                let _ = memory.write_all_at(&random.bytes(16), place);
            }
        }
        if link.send(invalid_request(random), random.below(2) == 0, Attachment::None).is_err() {
            return;
        }
        while let Received::Reply { .. } = link.receive(Some(Duration::ZERO)) {}
    }
}
