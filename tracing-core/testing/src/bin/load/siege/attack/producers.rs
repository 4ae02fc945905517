//! Producers that lie, and change their shared memory while the daemon reads it.
//!
//! What they write has the form of chunks for the most part: it gets into the buffers of sessions that ask for them.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use abi::ipc::port::ProducerPort;
use abi::shm::Region;
use abi::shm::layout::PageSize;
use client::connection::{Attachment, Connection as _, Received, SocketConnection};
use os::shm;
use protos::producer_port::Request;
use protos::{
    CommitDataRequest, CommitDataRequestChunksToMove, GetAsyncCommandRequest,
    InitializeConnectionRequest, InitializeConnectionRequestProducerSMBScrapingMode as Mode,
    InitializeConnectionResponse, RegisterTraceWriterRequest, SyncRequest,
};
use protozero::Message as _;

use super::Target;
use crate::chunks::{self, SCRAPED_WRITER};
use crate::hostile::{Random, learn};
use crate::requests::{self, Known};

/// Shared memory of a producer, at most: of all but one thread, and of that one.
pub(super) const MEMORY_BYTES: usize = 256 * 1024;
pub(super) const LARGE_MEMORY_BYTES: usize = abi::limits::SMB_BYTES_MAX;
/// How often a producer with large memory commits all of it.
const LARGE_COMMITS: u64 = 4;
/// How long a producer waits for a reply. Without one to its first request it does not name its memory.
const REPLY_WITHIN: Duration = Duration::from_secs(2);

/// Page sizes that the service takes.
const PAGE_BYTES: [usize; 4] = [4096, 8192, 16_384, 32_768];

/// One producer, from its first request to its last.
pub(super) fn attack(target: &Target, random: &mut Random) {
    let Some(mut producer) = Producer::connect(target, random, MEMORY_BYTES) else { return };
    producer.work(random, 200);
}

/// The same with memory of any size; all of it is committed at once, several times.
pub(super) fn attack_large(target: &Target, random: &mut Random) {
    let Some(mut producer) = Producer::connect(target, random, target.large_memory) else { return };
    if producer.work(random, 20).is_some() && producer.known.is_asked() {
        for _ in 0..LARGE_COMMITS {
            if producer.commit_all(random).is_none() {
                return;
            }
        }
    }
}

struct Producer {
    link: SocketConnection<ProducerPort>,
    known: Known,
    memory: Option<Memory>,
    /// Of its memory: the service may have chosen another than it was asked for.
    page: PageSize,
}

struct Memory {
    file: File,
    bytes: usize,
}

impl Memory {
    /// Writes something to each page, too.
    fn of(region: &Region) -> Option<Self> {
        let file = File::from(region.fd()?.as_fd().try_clone_to_owned().ok()?);
        let memory = Self { file, bytes: region.len() };
        for page in 0..memory.bytes / PAGE_BYTES[0] {
            memory.write(page * PAGE_BYTES[0], &[1; 16]);
        }
        Some(memory)
    }

    fn new(bytes: usize) -> Option<(Self, Region)> {
        let region = shm::create(bytes).ok()?;
        let memory = Self::of(&region)?;
        Some((memory, region))
    }

    fn write(&self, at: usize, bytes: &[u8]) {
        let _ = self.file.write_all_at(bytes, at as u64);
    }
}

/// Whether the service uses the memory that came with the first request, whose reply this takes.
fn is_memory_taken(link: &mut SocketConnection<ProducerPort>) -> bool {
    let Received::Reply { result: Ok(reply), .. } = link.receive(Some(REPLY_WITHIN)) else {
        return false;
    };
    InitializeConnectionResponse::decode(&reply)
        .is_ok_and(|reply| reply.using_shmem_provided_by_producer == Some(true))
}

impl Producer {
    /// Connects, offers memory of up to `bytes` or leaves it to the service, and registers a data source.
    fn connect(target: &Target, random: &mut Random, bytes: usize) -> Option<Self> {
        let mut link = SocketConnection::<ProducerPort>::connect(&target.producers).ok()?;
        let page = PageSize::new(PAGE_BYTES[random.below(4) as usize]).ok()?;
        let pages = 1 + random.below(page.whole_pages(bytes) as u64) as usize;
        let bytes = if random.below(2) == 0 { bytes } else { pages * page.bytes() };
        let own = if random.below(4) > 0 { Memory::new(bytes) } else { None };
        // Now and then a size that does not fit the memory.
        let hint = if random.below(8) == 0 { 5000 } else { page.bytes() };
        let hello = InitializeConnectionRequest {
            producer_name: Some(["honest", "hostile", ""][random.below(3) as usize].into()),
            smb_scraping_mode: Some(Mode::SMB_SCRAPING_ENABLED),
            shared_memory_page_size_hint_bytes: Some(hint as u32),
            shared_memory_size_hint_bytes: Some(bytes as u32),
            producer_provided_shmem: Some(own.is_some() || random.below(8) == 0),
            ..Default::default()
        };
        let (memory, region) = own.unzip();
        let attachment = region.map_or(Attachment::None, Attachment::Region);
        let _ = link.send(Request::InitializeConnection(hello), true, attachment);
        // The service makes other memory if this does not fit, and while mapping that of this user takes long.
        let has_memory = memory.is_some() && is_memory_taken(&mut link);
        let commands = Request::GetAsyncCommand(GetAsyncCommandRequest::default());
        let _ = link.send(commands, true, Attachment::None);
        let known = Known { others: target.sources(), has_memory, ..Known::default() };
        let mut producer = Self { link, known, memory, page };
        for _ in 0..1 + random.below(3) {
            producer.send(random, |random, known| requests::register(random, known))?;
        }
        producer.wait_for_reply()?;
        Some(producer)
    }

    /// Writes to its memory, and sends up to `requests_max` requests. None if the service has closed the connection.
    fn work(&mut self, random: &mut Random, requests_max: u64) -> Option<()> {
        for _ in 0..random.below(requests_max) {
            self.scribble(random);
            match random.below(4) {
                0 => self.commit_page(random)?,
                1 => self.register_writer(random)?,
                _ => self.send(random, requests::request)?,
            }
            self.take_replies();
        }
        Some(())
    }

    fn send(
        &mut self,
        random: &mut Random,
        request: impl FnOnce(&mut Random, &mut Known) -> Request,
    ) -> Option<()> {
        let request = request(random, &mut self.known);
        self.link.send(request, random.below(2) == 0, Attachment::None).ok().map(drop)
    }

    /// Waits until the service has handled all requests: sessions that are there have asked for the producer then.
    fn wait_for_reply(&mut self) -> Option<()> {
        let request = Request::Sync(SyncRequest::default());
        let sync = self.link.send(request, true, Attachment::None).ok()?;
        while let Received::Reply { call, result, .. } = self.link.receive(Some(REPLY_WITHIN)) {
            self.learn(&result.unwrap_or_default());
            if call == sync {
                break;
            }
        }
        Some(())
    }

    /// Takes what has come.
    fn take_replies(&mut self) {
        while let Received::Reply { result, .. } = self.link.receive(Some(Duration::ZERO)) {
            self.learn(&result.unwrap_or_default());
        }
    }

    fn learn(&mut self, reply: &[u8]) {
        learn(&mut self.known, reply);
        if let Some(Ok(region)) = self.link.take_region() {
            let page = self.known.page_kb.and_then(|kb| PageSize::new(kb as usize * 1024).ok());
            self.page = page.unwrap_or(self.page);
            self.memory = Memory::of(&region).filter(|_| page.is_some());
            self.known.has_memory = self.memory.is_some();
        }
    }

    /// Overwrites page words and chunk headers for the most part.
    fn scribble(&self, random: &mut Random) {
        let Some(memory) = &self.memory else { return };
        for _ in 0..random.below(20) {
            let page = random.below(self.page.whole_pages(memory.bytes).max(1) as u64) as usize;
            let near = if random.below(4) == 0 { self.page.bytes() - 64 } else { 32 };
            let place = page * self.page.bytes() + random.below(near as u64) as usize;
            memory.write(place, &random.bytes(16));
        }
    }

    /// Writes a page of chunks, and hands over those of them that are complete.
    fn commit_page(&mut self, random: &mut Random) -> Option<()> {
        let Some(memory) = self.memory.as_ref().filter(|_| self.known.has_memory) else {
            return Some(());
        };
        let pages = self.page.whole_pages(memory.bytes).max(1);
        let index = random.below(pages as u64) as usize;
        let id = self.known.chunk_id(random);
        let page = chunks::page(random, self.page, id);
        memory.write(index * self.page.bytes(), &page.bytes);
        let chunks_to_move = page.complete.iter().map(|&chunk| CommitDataRequestChunksToMove {
            page: Some(index as u32),
            chunk: Some(chunk),
            target_buffer: self.known.buffer(random),
            ..Default::default()
        });
        let chunks_to_move = chunks_to_move.collect();
        let commit = CommitDataRequest { chunks_to_move, ..Default::default() };
        self.send(random, |_, _| Request::CommitData(commit))
    }

    /// Fills all of its memory with complete chunks, and hands them over at once.
    fn commit_all(&mut self, random: &mut Random) -> Option<()> {
        let Some(memory) = self.memory.as_ref().filter(|_| self.known.has_memory) else {
            return Some(());
        };
        let (target_buffer, pages) =
            (self.known.buffer(random), self.page.whole_pages(memory.bytes));
        let id = self.known.chunk_id(random);
        let page = chunks::page(random, self.page, id);
        let mut chunks_to_move = Vec::new();
        for index in 0..pages {
            memory.write(index * self.page.bytes(), &page.bytes);
            // One entry for each page: more would not fit into a request.
            let chunk = page.complete.first().copied();
            chunks_to_move.push(CommitDataRequestChunksToMove {
                page: Some(index as u32),
                chunk,
                target_buffer,
                ..Default::default()
            });
        }
        for part in chunks_to_move.chunks(1024) {
            let commit = CommitDataRequest { chunks_to_move: part.to_vec(), ..Default::default() };
            self.send(random, |_, _| Request::CommitData(commit))?;
        }
        self.take_replies();
        Some(())
    }

    /// Says for which buffer the chunks are that it never hands over.
    fn register_writer(&mut self, random: &mut Random) -> Option<()> {
        let request = RegisterTraceWriterRequest {
            trace_writer_id: Some(SCRAPED_WRITER.into()),
            target_buffer: self.known.buffer(random),
            ..Default::default()
        };
        self.send(random, |_, _| Request::RegisterTraceWriter(request))
    }
}
