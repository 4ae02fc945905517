//! Shared memory that its owner never wrote, or removes while the service uses it: what the system provides for it, and on
//! whose account.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering};

use protos::consumer_port;
use protos::producer_port::Request;
use protos::{
    CommitDataRequest, CommitDataRequestChunksToMove, InitializeConnectionRequest,
    InitializeConnectionRequestProducerSMBScrapingMode as Mode, QueryServiceStateResponse,
    RegisterTraceWriterRequest, TracePacketData,
};
use protozero::Message as _;

use super::hostile::{PAGE, PAGES, numbered, store};
use super::scraping::{FRAGMENT, config};
use abi::ids::{BufferId, WriterId};
use abi::shm::{Mapping, Region};
use abi::sync::Arc;
use os::shm;
use service::{Peer, RegionFactory};
use testing::mock::{MockConsumer, MockProducer};
use testing::shell::Shell;

/// Memory without data stays without: reading it would make the system provide it on the account of the service. The
/// number of blocks of the memfd is what the system provided.
#[test]
fn memory_that_was_never_written_costs_nothing() {
    use std::os::unix::fs::MetadataExt as _;
    const LARGE: usize = 32 * 1024;
    let ours = shm::create(64 * LARGE).unwrap();
    let theirs = shm::adopt(ours.fd().unwrap().try_clone_to_owned().unwrap()).unwrap();
    let file = std::fs::File::from(ours.fd().unwrap().try_clone_to_owned().unwrap());
    let provided_kib = || file.metadata().unwrap().blocks() / 2;
    let mut shell = Shell::new();
    let init = InitializeConnectionRequest {
        shared_memory_page_size_hint_bytes: Some(LARGE as u32),
        producer_provided_shmem: Some(true),
        ..Default::default()
    };
    let peer = Peer { uid: 7, ..Peer::default() };
    let mut hostile = MockProducer::connect_with(&mut shell, peer, init, Some(theirs));
    hostile.register_name(&mut shell, "ds");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(), None);
    hostile.commands(&mut shell);
    let name_pages = |shell: &mut Shell, pages: std::ops::Range<u32>| {
        let chunks_to_move = pages.map(|page| CommitDataRequestChunksToMove {
            page: Some(page),
            chunk: Some(0),
            target_buffer: Some(1),
            ..Default::default()
        });
        let commit =
            CommitDataRequest { chunks_to_move: chunks_to_move.collect(), ..Default::default() };
        hostile.call(shell, Request::CommitData(commit));
    };
    name_pages(&mut shell, 0..64);
    assert_eq!((provided_kib(), shell.service.holes_named()), (0, 64));

    // Every page has a word that says its one chunk is complete, and nothing behind it.
    let claim = |page: usize| store(&ours, page * LARGE, &0x1000_0003_u32.to_le_bytes());
    assert!((0..64).all(claim));
    let page_kib = shm::page_bytes() as u64 / 1024;
    assert_eq!(provided_kib(), 64 * page_kib);
    name_pages(&mut shell, 0..64);
    assert_eq!(provided_kib(), 64 * page_kib);

    // The producer removes what the service has seen. Its user has named holes before, so its pages are read in copies,
    // and nothing is provided.
    assert!((0..64).all(claim));
    punch(&file, 0, 64 * LARGE);
    assert_eq!(provided_kib(), 0);
    name_pages(&mut shell, 0..64);
    assert_eq!((provided_kib(), shell.service.holes_named()), (0, 128));
}

/// Removes `len` bytes of a memfd.
fn punch(file: &std::fs::File, from: usize, len: usize) {
    use rustix::fs::{FallocateFlags, fallocate};
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(file, flags, from as u64, len as u64).unwrap();
}

/// A producer with that memory, whose writer 1 writes to a session.
fn session_with(page_bytes: usize, region: Region) -> (Shell, MockProducer, MockConsumer) {
    let mut shell = Shell::new();
    let (producer, consumer) = session_in(&mut shell, page_bytes, region);
    (shell, producer, consumer)
}

fn session_in(
    shell: &mut Shell,
    page_bytes: usize,
    region: Region,
) -> (MockProducer, MockConsumer) {
    let mut consumer = MockConsumer::connect(shell, 0);
    consumer.enable(shell, config(), None);
    (producer_with(shell, page_bytes, region), consumer)
}

/// A producer with that memory, whose writer 1 writes to the session that runs.
fn producer_with(shell: &mut Shell, page_bytes: usize, region: Region) -> MockProducer {
    let init = InitializeConnectionRequest {
        smb_scraping_mode: Some(Mode::SMB_SCRAPING_ENABLED),
        shared_memory_page_size_hint_bytes: Some(page_bytes as u32),
        producer_provided_shmem: Some(true),
        ..Default::default()
    };
    let peer = Peer { uid: REMOVER_UID, ..Peer::default() };
    let mut producer = MockProducer::connect_with(shell, peer, init, Some(region));
    producer.register_name(shell, "ds");
    producer.commands(shell);
    let request = RegisterTraceWriterRequest {
        trace_writer_id: Some(1),
        target_buffer: Some(1),
        ..Default::default()
    };
    producer.call(shell, Request::RegisterTraceWriter(request));
    producer
}

/// Memory as this process has it and as the service has it, and its file.
fn memory_of_remover(bytes: usize) -> (Region, Region, std::fs::File) {
    let ours = shm::create(bytes).unwrap();
    let theirs = shm::adopt(ours.fd().unwrap().try_clone_to_owned().unwrap()).unwrap();
    let file = std::fs::File::from(ours.fd().unwrap().try_clone_to_owned().unwrap());
    (ours, theirs, file)
}

/// A producer that can remove its memory, and a session.
struct Remover {
    shell: Shell,
    producer: MockProducer,
    consumer: MockConsumer,
    ours: Region,
    file: std::fs::File,
    page_bytes: usize,
    pages: usize,
}

impl Remover {
    fn new(page_bytes: usize, pages: usize) -> Self {
        Self::of(Shell::new(), page_bytes, pages)
    }

    /// A producer that can remove its memory, of this service.
    fn of(mut shell: Shell, page_bytes: usize, pages: usize) -> Self {
        let (ours, theirs, file) = memory_of_remover(pages * page_bytes);
        let (producer, consumer) = session_in(&mut shell, page_bytes, theirs);
        Self { shell, producer, consumer, ours, file, page_bytes, pages }
    }

    /// Another producer of its user comes, with other memory.
    fn come_again(&mut self) {
        let (ours, theirs, file) = memory_of_remover(self.pages * self.page_bytes);
        (self.ours, self.file) = (ours, file);
        self.producer = producer_with(&mut self.shell, self.page_bytes, theirs);
    }

    /// Pages whose chunks the service has freed.
    fn freed(&self) -> usize {
        let word = |page: usize| {
            let mut word = Vec::new();
            // SAFETY: one thread uses this mapping.
            assert!(unsafe { self.ours.copy_out(page * self.page_bytes, 4, &mut word) });
            word
        };
        (0..self.pages).filter(|page| word(*page) == [0; 4]).count()
    }

    /// Its user names memory that it never wrote, which no program does by mistake.
    fn be_caught(&mut self) {
        self.commit(std::iter::once(0));
        assert_eq!(self.account().1, 1);
    }

    /// How often its user was told that it gets no memory.
    fn refusals(&self) -> usize {
        let is_refusal = |text: &str| text.contains("gets no shared memory");
        self.shell.log.iter().filter(|(_, text)| is_refusal(text)).count()
    }

    /// The page has one chunk, in that state (`shared_memory_abi.h`).
    fn claim(&self, page: usize, state: u32) {
        let word = 0x1000_0000 | state;
        assert!(store(&self.ours, page * self.page_bytes, &word.to_le_bytes()));
    }

    fn commit(&mut self, pages: impl Iterator<Item = usize>) {
        let chunks_to_move = pages.map(|page| CommitDataRequestChunksToMove {
            page: Some(page as u32),
            chunk: Some(0),
            target_buffer: Some(1),
            ..Default::default()
        });
        let commit =
            CommitDataRequest { chunks_to_move: chunks_to_move.collect(), ..Default::default() };
        self.producer.call(&mut self.shell, Request::CommitData(commit));
    }

    /// Claims and commits each page.
    fn write_all(&mut self) {
        for page in 0..self.pages {
            self.claim(page, COMPLETE);
            self.commit(std::iter::once(page));
        }
    }

    fn flush(&mut self) {
        self.consumer.flush(&mut self.shell, 1);
        self.shell.advance_ms(2);
    }

    /// Its process ends. There is another one in its place.
    fn leave(&mut self) {
        let other = MockProducer::connect(&mut self.shell, "other", Peer::default());
        let producer = std::mem::replace(&mut self.producer, other);
        producer.disconnect(&mut self.shell);
    }

    fn remove_all(&self) {
        punch(&self.file, 0, self.pages * self.page_bytes);
        assert_eq!(self.provided(), 0);
    }

    /// Pages that the system has, of its own size.
    fn provided(&self) -> usize {
        use std::os::unix::fs::MetadataExt as _;
        self.file.metadata().unwrap().blocks() as usize * 512 / shm::page_bytes()
    }

    /// Bytes of memory on the account of its user, and how often it was caught.
    fn account(&mut self) -> (u64, u64) {
        let query = consumer_port::Request::QueryServiceState(Default::default());
        let replies = self.consumer.call(&mut self.shell, query);
        let response = replies.first().and_then(|reply| reply.response.as_ref()).unwrap();
        let state = QueryServiceStateResponse::decode(response).unwrap().service_state.unwrap();
        let uid = Some(REMOVER_UID.cast_signed());
        let of = state.accounts.iter().find(|account| account.uid == uid);
        let Some(of) = of else { return (0, 0) };
        let memory = of.shared_memory_bytes.as_ref().unwrap();
        (memory.held.unwrap(), of.holes_named.unwrap())
    }
}

const REMOVER_UID: u32 = 7;
const BEING_WRITTEN: u32 = 1;
const COMPLETE: u32 = 3;
/// Pages of memory of which a part is large compared with what is not asked for again.
const MANY: usize = 2048;

/// A producer that removes memory which it wrote before is caught after some hundred chunks, and then never again
/// believed.
#[test]
fn memory_that_is_removed_later_costs_little() {
    let mut remover = Remover::new(PAGE, MANY);
    remover.write_all();
    assert_eq!(remover.shell.service.holes_named(), 0);
    remover.remove_all();
    for page in 0..MANY {
        remover.commit(std::iter::once(page));
    }
    assert!(remover.shell.service.holes_named() > 0);
    let provided = remover.provided();
    assert!(provided < MANY / 2, "{provided} pages were provided");
}

/// What a producer leaves is read once it is gone. All that it removed before would be provided then, and stay for as
/// long as another process has the memory.
#[test]
fn memory_that_is_removed_before_its_producer_leaves_costs_nothing() {
    let mut remover = Remover::new(PAGE, MANY);
    remover.write_all();
    assert_eq!(remover.account(), ((MANY * PAGE) as u64, 0));
    remover.remove_all();
    remover.leave();
    assert_eq!((remover.provided(), remover.shell.service.footprint().producers), (0, 1));
    assert_eq!(remover.account().0, 0);
}

/// A page that is removed between look and touch may be memory of the service, for as long as anybody has it.
#[test]
fn what_was_touched_stays_on_the_account_of_a_user_that_was_caught() {
    let mut remover = Remover::new(PAGE, 16);
    remover.write_all();
    assert_eq!(remover.account(), (16 * PAGE as u64, 0));
    remover.leave();
    assert_eq!(remover.account().0, 0, "nobody has removed anything");
    remover.come_again();
    remover.be_caught();
    remover.write_all();
    assert_eq!((remover.freed(), remover.account().0), (16, 16 * PAGE as u64));
    remover.leave();
    assert_eq!(remover.account().0, 16 * PAGE as u64);
}

/// However often a user comes with other memory, the service touches no more than is on its account.
#[test]
fn what_the_service_touches_of_a_user_that_was_caught_is_bounded() {
    // A user may have 2 MiB then.
    let shell = Shell::with(|config| config.memory_bytes = 256 << 20);
    let mut remover = Remover::of(shell, PAGE, 300);
    remover.be_caught();
    let mut freed = Vec::new();
    for _ in 0..4 {
        remover.write_all();
        freed.push(remover.freed());
        assert!(remover.account().0 <= 2 << 20);
        remover.leave();
        remover.come_again();
    }
    assert_eq!(freed, [300, 512 - 300, 0, 0]);
    // The line is written for each producer that brings memory, and again for the memory that it is to get.
    assert!(remover.refusals() >= 2, "{:?}", remover.shell.log);
    let (_, text) = remover.shell.log.last().unwrap();
    assert!(text.contains("user 7 has 2097152 of at most 2097152: end all processes"), "{text}");
    let stats = remover.shell.service.stats_of(remover.shell.service.last_session()).unwrap();
    assert_eq!(stats.chunks_discarded, Some(600 - 512), "each is counted");
}

/// One page that has no place takes nothing from those that are on the account already.
#[test]
fn pages_on_the_account_are_read_after_another_one_was_refused() {
    // A user may have 2 MiB then.
    let shell = Shell::with(|config| config.memory_bytes = 256 << 20);
    let mut remover = Remover::of(shell, PAGE, 513);
    remover.be_caught();
    for _ in 0..2 {
        remover.write_all();
        assert_eq!((remover.freed(), remover.account().0), (512, 2 << 20));
    }
}

/// Memory that is always removed between look and touch: its file has a chunk that is complete, and what is mapped is
/// empty. The first bytes of a page are there, and not all of it.
struct Raced(Behind);

// SAFETY: as for the memory that it has.
unsafe impl Mapping for Raced {
    fn ptr(&self) -> std::ptr::NonNull<u8> {
        self.0.ptr()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn is_written(&self, _: usize, len: usize) -> bool {
        len < PAGE
    }

    fn read(&self, off: usize, out: &mut [u8]) -> bool {
        self.0.read(off, out)
    }
}

/// A chunk of a user that is distrusted was there when it was copied, and is gone when it is to be freed.
#[test]
fn a_user_that_removes_a_page_between_look_and_touch_is_caught() {
    let mut file = [0x1000_0003_u32, 0, 0, 0x0001_0001].map(u32::to_le_bytes).concat();
    file.extend_from_slice(FRAGMENT);
    file.resize(PAGE, 0);
    let region = Region::from_mapping(Box::new(Raced(Behind::new(file, &Arc::default())))).unwrap();
    let (shell, producer, consumer) = session_with(PAGE, region);
    let (ours, _, file) = memory_of_remover(PAGE);
    let mut remover = Remover { shell, producer, consumer, ours, file, page_bytes: PAGE, pages: 1 };
    let commits = (0..100_000).take_while(|_| {
        remover.commit(std::iter::once(0));
        remover.account().1 == 0
    });
    assert!(commits.count() < 100_000, "it is distrusted");
    assert_eq!(remover.shell.service.holes_named(), 0);
    remover.commit(std::iter::once(0));
    assert_eq!(remover.shell.service.holes_named(), 1);
    let held = remover.account().0;
    remover.leave();
    assert_eq!((held, remover.account().0), (PAGE as u64, PAGE as u64));
}

/// Makes memory, and says what the kernel counts.
struct Counting {
    now: Arc<AtomicUsize>,
    /// When it was asked last; zero: it was not.
    asked: AtomicUsize,
}

impl RegionFactory for Counting {
    fn ask_unreclaimable_bytes(&self) -> Option<u64> {
        let before = self.asked.swap(self.now.load(Ordering::Relaxed), Ordering::Relaxed);
        Some(before as u64).filter(|bytes| *bytes > 0)
    }

    fn create(&self, len: usize) -> Result<Region, String> {
        shm::create(len).map_err(|error| error.to_string())
    }
}

/// Memory that nobody has any more is given back to the account, as far as the kernel counts less.
#[test]
fn what_the_kernel_does_not_count_goes_from_the_account() {
    let counted = Arc::new(AtomicUsize::new(1 << 20));
    let regions = Counting { now: Arc::clone(&counted), asked: AtomicUsize::new(0) };
    let shell = Shell::with(|config| {
        config.memory_bytes = 256 << 20;
        config.regions = Arc::new(regions);
    });
    let mut remover = Remover::of(shell, PAGE, 512);
    remover.be_caught();
    remover.write_all();
    remover.leave();
    for _ in 0..2 {
        remover.come_again();
        assert_eq!(remover.account().0, 2 << 20, "there is no answer yet");
        remover.leave();
    }
    assert!(remover.refusals() > 0);
    remover.shell.advance_ms(1000);
    counted.store(usize::MAX, Ordering::Relaxed);
    remover.come_again();
    assert_eq!(remover.account().0, 1 << 20);
    remover.write_all();
    assert_eq!((remover.freed(), remover.account().0), (256, 2 << 20));
    remover.leave();
    remover.shell.advance_ms(1000);
    remover.come_again();
    assert_eq!(remover.account().0, 2 << 20, "the kernel counts more");
}

/// A program that writes zeros where data was may look like one that removes memory: it costs it time, and no memory.
#[test]
fn a_user_that_writes_zeros_has_nothing_on_its_account_later() {
    const LARGE: usize = 32 * 1024;
    let mut remover = Remover::new(LARGE, 4);
    let mut is_distrusted = false;
    for round in 0..100_000 {
        assert!(store(&remover.ours, PAGE, &[u8::from(round % 2 == 1); 64]));
        remover.write_all();
        assert_eq!(remover.freed(), 4);
        is_distrusted = remover.account().1 > 0;
        if is_distrusted {
            break;
        }
    }
    assert!(is_distrusted, "its memory is read in copies from now on");
    remover.write_all();
    assert_eq!((remover.freed(), remover.shell.service.holes_named()), (4, 0));
    remover.leave();
    assert_eq!(remover.account().0, 0);
}

/// Memory whose bytes are read through its file only: what is mapped is empty.
struct Behind {
    mapped: std::ptr::NonNull<u8>,
    file: Vec<u8>,
    /// How often it was asked whether there is data.
    asked: Arc<AtomicUsize>,
}

#[repr(align(4096))]
struct Empty([u8; PAGES * PAGE]);

impl Behind {
    /// The mapping lives for ever.
    fn new(file: Vec<u8>, asked: &Arc<AtomicUsize>) -> Self {
        assert!(file.len() <= PAGES * PAGE);
        let empty = Box::leak(Box::new(Empty([0; PAGES * PAGE])));
        let mapped = std::ptr::NonNull::from(&mut empty.0).cast();
        Self { mapped, file, asked: Arc::clone(asked) }
    }
}

// SAFETY: nobody writes to either.
unsafe impl Send for Behind {}
// SAFETY: as above.
unsafe impl Sync for Behind {}

// SAFETY: `mapped` is at least as long as `file`, lives for ever, and nobody else knows it.
unsafe impl Mapping for Behind {
    fn ptr(&self) -> std::ptr::NonNull<u8> {
        self.mapped
    }

    fn len(&self) -> usize {
        self.file.len()
    }

    fn is_written(&self, _: usize, _: usize) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed);
        true
    }

    fn read(&self, off: usize, out: &mut [u8]) -> bool {
        let bytes = self.file.get(off..off + out.len());
        bytes.map(|bytes| out.copy_from_slice(bytes)).is_some()
    }
}

/// Whatever other processes do meanwhile with the memory of a producer that is gone, the system provides nothing.
#[test]
fn what_a_producer_left_is_read_without_touching_it() {
    // A page with one chunk, which is complete: the first one of writer 1, with one fragment (`shared_memory_abi.h`).
    let mut file = [0x1000_0003_u32, 0, 0, 0x0001_0001].map(u32::to_le_bytes).concat();
    file.extend_from_slice(FRAGMENT);
    file.resize(PAGE, 0);
    let region = Region::from_mapping(Box::new(Behind::new(file, &Arc::default()))).unwrap();
    let (mut shell, producer, consumer) = session_with(PAGE, region);
    assert!(producer.smb.is_some());
    producer.disconnect(&mut shell);
    let packets = consumer.read(&mut shell);
    let text = packets.into_iter().find_map(|packet| match packet.data {
        Some(TracePacketData::ForTesting(event)) => event.str,
        _ => None,
    });
    assert_eq!(text.as_deref(), Some("payload"));
}

/// Each question is a system call.
#[test]
fn an_honest_producer_is_asked_for_seldom() {
    let asked = Arc::default();
    let mapping = Behind::new(vec![0; PAGES * PAGE], &asked);
    let region = Region::from_mapping(Box::new(mapping)).unwrap();
    let (mut shell, mut producer, consumer) = session_with(PAGE, region);
    for number in 0..2048 {
        producer.write(&mut shell, WriterId::new(1), BufferId::new(1), &[numbered(number % 8)]);
        if number % 16 == 0 {
            consumer.flush(&mut shell, 1);
            shell.advance_ms(2);
        }
    }
    // Once for each page, and once for some hundreds of 2,048 chunks and 4,096 looks of flushes.
    let asked = asked.load(Ordering::Relaxed);
    assert!(asked < 100, "{asked} times");
}

/// A scrape looks at each page, so a flush would provide all of them again. What it reads is on the account of the user,
/// as what is committed.
#[test]
fn memory_that_is_removed_between_flushes_costs_little() {
    let mut remover = Remover::new(PAGE, MANY);
    (0..MANY).for_each(|page| remover.claim(page, BEING_WRITTEN));
    remover.flush();
    assert_eq!(remover.account(), ((MANY * PAGE) as u64, 0));
    remover.remove_all();
    remover.flush();
    let provided = remover.provided();
    assert!(provided < MANY / 2, "{provided} pages were provided");
    assert!(remover.account().1 > 0, "its user is caught");
    // It is not believed again.
    (0..MANY).for_each(|page| remover.claim(page, BEING_WRITTEN));
    remover.flush();
    remover.remove_all();
    remover.flush();
    assert_eq!(remover.provided(), 0);
}

/// Chunks that a scrape copies are looked at again, too.
#[test]
fn chunks_that_are_removed_between_flushes_cost_little() {
    // The writer of each chunk is the registered one, which has begun its second packet there.
    let fill = |remover: &Remover, page: usize| {
        remover.claim(page, BEING_WRITTEN);
        let ids = [page as u32, 0x0002_0001].map(u32::to_le_bytes).concat();
        assert!(store(&remover.ours, page * PAGE + 8, &ids));
    };
    let mut remover = Remover::new(PAGE, MANY);
    (0..MANY).for_each(|page| fill(&remover, page));
    remover.flush();
    let copied = remover.shell.service.stats_of(remover.shell.service.last_session()).unwrap();
    assert_eq!(copied.buffer_stats[0].chunks_written, Some(MANY as u64));
    remover.remove_all();
    remover.flush();
    let provided = remover.provided();
    assert!(provided < MANY / 2, "{provided} pages were provided");
}

/// A page of shared memory may be larger than one of the system: its first part, which says that there is a chunk, stays,
/// and the rest is removed.
#[test]
fn parts_of_pages_that_are_removed_cost_little() {
    const LARGE: usize = 32 * 1024;
    const ROUNDS: usize = 32;
    let mut remover = Remover::new(LARGE, 64);
    let write = |remover: &Remover| {
        for off in (0..64 * LARGE).step_by(PAGE) {
            assert!(store(&remover.ours, off + 64, b"x"));
        }
    };
    write(&remover);
    remover.write_all();
    let mut provided = Vec::new();
    for _ in 0..ROUNDS {
        for page in 0..64 {
            punch(&remover.file, page * LARGE + PAGE, LARGE - PAGE);
        }
        let kept = remover.provided();
        remover.write_all();
        provided.push(remover.provided() - kept);
        write(&remover);
        remover.write_all();
    }
    assert_eq!(remover.shell.service.holes_named(), 0);
    assert!(remover.account().1 > 0, "its user is caught");
    assert_eq!(provided.last(), Some(&0), "{provided:?}");
}
