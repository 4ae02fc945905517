//! Chunks, commits, batches and flushes, as the arbiter deals with them.
#![allow(unsafe_code)]

use super::*;
use abi::shm::WritableChunk;

const BY_VALUE: ServiceSupport = ServiceSupport { direct_patching: false, by_value: true };

fn write(chunk: &mut WritableChunk, off: usize, bytes: &[u8]) -> bool {
    // SAFETY: one thread uses this memory.
    unsafe { chunk.write(off, bytes) }
}

fn start_fragment(chunk: &mut WritableChunk) {
    // SAFETY: one thread uses this memory.
    unsafe { chunk.start_fragment() }
}

fn acquire(arbiter: &Arbiter, writer: u16, chunk: u32) -> abi::shm::WritableChunk {
    let header = ChunkHeader {
        writer: WriterId::new(writer),
        chunk: abi::ids::ChunkId::new(chunk),
        ..ChunkHeader::default()
    };
    arbiter.acquire(header, BufferExhaustedPolicy::Drop).unwrap()
}

#[test]
fn get_and_return_chunks() {
    // Miri would need a minute for pages of 64 KiB.
    for page_bytes in [PAGE, if cfg!(miri) { 2 * PAGE } else { 65536 }] {
        let (arbiter, _) = world(4, page_bytes, options(Layout::Div2, false));
        let chunks: Vec<_> = (0..8).map(|idx| acquire(&arbiter, 1, idx)).collect();
        let places: Vec<_> = chunks.iter().map(|c| (c.page_idx(), c.chunk_idx())).collect();
        let all: Vec<_> = (0..4).flat_map(|page| [(page, 0), (page, 1)]).collect();
        assert_eq!(places, all);
        assert!(arbiter.acquire(ChunkHeader::default(), BufferExhaustedPolicy::Drop).is_none());
        let mut order = Vec::new();
        for chunk in chunks.into_iter().rev() {
            order.push((chunk.page_idx() as u32, chunk.chunk_idx() as u32));
            arbiter.return_chunk(chunk, BufferId::new(3).into(), &mut Default::default());
        }
        let commits = commits(&arbiter);
        let moved: Vec<_> = commits
            .iter()
            .flat_map(|commit| &commit.chunks_to_move)
            .inspect(|entry| assert_eq!(entry.target_buffer, Some(3)))
            .map(|entry| (entry.page.unwrap(), entry.chunk.unwrap()))
            .collect();
        assert_eq!(moved, order);
        // Complete is not free: the service has not read them.
        assert!(arbiter.acquire(ChunkHeader::default(), BufferExhaustedPolicy::Drop).is_none());
    }
}

/// Commits are collected for the time asked for, unless half the memory waits.
#[test]
fn batch_commits() {
    let (arbiter, _) = world(8, PAGE, options(Layout::Div1, false));
    arbiter.set_batch_commits_ms(100);
    let give = |chunk| {
        let chunk = acquire(&arbiter, 1, chunk);
        arbiter.return_chunk(chunk, BufferId::new(1).into(), &mut Default::default());
    };
    let at = |ms: u64| arbiter.poll_request(BootTime::from_ns(ms * 1_000_000)).map(|o| o.request);
    give(0);
    assert_eq!(at(1000), None, "the batch begins when the transport is told of it");
    assert_eq!(arbiter.poll_timeout(), Some(BootTime::from_ns(1_100_000_000)));
    give(1);
    assert_eq!(at(1099), None);
    let Some(Request::CommitData(commit)) = at(1100) else { panic!("due") };
    assert_eq!(commit.chunks_to_move.len(), 2);
    assert_eq!((at(1100), arbiter.poll_timeout()), (None, None));
    // 4 x 4088 bytes are just less than half of 32768.
    for chunk in 2..6 {
        give(chunk);
        assert_eq!(at(1200), None);
    }
    give(6);
    let Some(Request::CommitData(commit)) = at(1200) else { panic!("half full") };
    assert_eq!(commit.chunks_to_move.len(), 5);
}

#[test]
fn flush_acks_ride_behind_the_data_and_keep_the_newest() {
    let (arbiter, _) = world(8, PAGE, options(Layout::Div1, false));
    arbiter.set_batch_commits_ms(100);
    let chunk = acquire(&arbiter, 1, 0);
    arbiter.return_chunk(chunk, BufferId::new(1).into(), &mut Default::default());
    arbiter.notify_flush_complete(FlushId::new(7));
    arbiter.notify_flush_complete(FlushId::new(5));
    let commits = commits(&arbiter);
    assert_eq!(commits.len(), 1);
    assert_eq!(commits[0].chunks_to_move.len(), 1);
    assert_eq!(commits[0].flush_request_id, Some(7));
    arbiter.notify_flush_complete(FlushId::new(8));
    let request = arbiter.poll_request(BootTime::from_ns(0)).unwrap().request;
    assert_eq!(
        request,
        Request::CommitData(CommitDataRequest { flush_request_id: Some(8), ..Default::default() })
    );
}

#[test]
fn flush_callbacks_come_with_the_reply() {
    let (arbiter, _) = world(8, PAGE, options(Layout::Div1, false));
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Drop);
    str_packet(&mut writer, "x");
    let done = Arc::new(AtomicU32::new(0));
    let count = |done: &Arc<AtomicU32>| -> FlushCallback {
        let done = done.clone();
        Box::new(move || {
            done.fetch_add(1, Ordering::Relaxed);
        })
    };
    writer.flush_with(Some(count(&done)));
    // Nothing is left to commit, but the callback still asks for a round trip.
    writer.flush_with(Some(count(&done)));
    let sent: Vec<_> = std::iter::from_fn(|| arbiter.poll_request(BootTime::from_ns(0))).collect();
    assert_eq!(sent.len(), 3, "register, commit, empty commit: {sent:?}");
    assert!(matches!(sent[0].request, Request::RegisterTraceWriter(_)));
    assert_eq!(done.load(Ordering::Relaxed), 0);
    for outgoing in sent {
        if let Some(reply) = outgoing.on_reply {
            reply();
        }
    }
    assert_eq!(done.load(Ordering::Relaxed), 2);
    // A writer without a service calls back at once, one without a connection never.
    TraceWriter::null().flush_with(Some(count(&done)));
    assert_eq!(done.load(Ordering::Relaxed), 3);
    arbiter.disconnect();
    writer.flush_with(Some(count(&done)));
    assert_eq!((done.load(Ordering::Relaxed), Arc::strong_count(&done)), (3, 1));
}

#[test]
fn writers_unregister_behind_their_last_chunk() {
    let (arbiter, _) = world(8, PAGE, options(Layout::Div1, false));
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Drop);
    str_packet(&mut writer, "x");
    drop(writer);
    let kinds: Vec<_> = std::iter::from_fn(|| arbiter.poll_request(BootTime::from_ns(0)))
        .map(|outgoing| outgoing.request.method_id())
        .collect();
    assert_eq!(kinds, [6, 4, 7], "register, commit, unregister");
    assert!(arbiter.is_idle());
}

#[test]
fn writer_ids_allocation() {
    let (arbiter, _) = world(1, PAGE, options(Layout::Div1, false));
    let new = || arbiter.create_writer(BufferId::new(1), BufferExhaustedPolicy::Drop);
    let first = new();
    assert_eq!(first.id(), WriterId::new(1));
    drop(first);
    assert_eq!(new().id(), WriterId::new(2), "a freed id rests");
    let all: Vec<_> = (0..32767).map(|_| new()).collect();
    let mut ids: Vec<_> = all.iter().map(|writer| writer.id().get()).collect();
    assert_eq!(ids[0], 3);
    ids.sort_unstable();
    assert!(ids.iter().copied().eq(1..=32767));
    let mut none = new();
    assert_eq!(none.id(), WriterId::new(0));
    none.write_raw(&[0x08; 10]);
    assert_eq!(none.written(), 13, "swallowed, but counted");
}

/// Chunks by value: header and payload in the commit, local memory free again; split before a frame is
/// full, with the flush id at the end.
#[test]
fn commit_data_splitting_honors_ipc_buffer_size() {
    let (arbiter, _) =
        world(64, PAGE, ArbiterOptions { service: BY_VALUE, ..options(Layout::Div1, false) });
    for idx in 0..64 {
        let mut chunk = acquire(&arbiter, 2, idx);
        start_fragment(&mut chunk);
        write(&mut chunk, 0, &[1, idx as u8]);
        arbiter.return_chunk(chunk, BufferId::new(1).into(), &mut Default::default());
    }
    arbiter.notify_flush_complete(FlushId::new(3));
    let commits = commits(&arbiter);
    // 64 x (4088 + 32) bytes, at most 130560 in each.
    assert_eq!(commits.iter().map(|c| c.chunks_to_move.len()).collect::<Vec<_>>(), [31, 31, 2]);
    let flushes: Vec<_> = commits.iter().map(|c| c.flush_request_id).collect();
    assert_eq!(flushes, [None, None, Some(3)]);
    for (idx, entry) in commits.iter().flat_map(|c| &c.chunks_to_move).enumerate() {
        let data = entry.data.as_ref().unwrap();
        assert_eq!(data.len(), 4088);
        assert_eq!(data[..10], [idx as u8, 0, 0, 0, 2, 0, 1, 0, 1, idx as u8]);
    }
    assert!((0..64).all(|page| arbiter.smb().page_hint(page).is_free()));
}

/// A chunk travels with its header, and its memory is free as soon as it is on its way.
#[test]
fn use_shmem_emulation() {
    let (arbiter, _) =
        world(1, PAGE, ArbiterOptions { service: BY_VALUE, ..options(Layout::Div1, false) });
    for round in 0..3_u8 {
        let mut chunk = acquire(&arbiter, 1, round.into());
        start_fragment(&mut chunk);
        write(&mut chunk, 0, &[1, 0x42]);
        arbiter.return_chunk(chunk, BufferId::new(1).into(), &mut Default::default());
        assert!(arbiter.acquire(ChunkHeader::default(), BufferExhaustedPolicy::Drop).is_none());
        let commits = commits(&arbiter);
        let entry = &commits[0].chunks_to_move[0];
        assert_eq!(entry.chunk_incomplete, None);
        assert_eq!(entry.data.as_ref().unwrap()[..10], [round, 0, 0, 0, 1, 0, 1, 0, 1, 0x42]);
        assert!(arbiter.smb().page_hint(0).is_free());
    }
}

/// Chunks that are complete are not to be had before the service has freed them.
#[test]
fn buffer_exhausted_policy_drop() {
    let (arbiter, _) = world(2, PAGE, options(Layout::Div1, false));
    let chunks = [acquire(&arbiter, 1, 0), acquire(&arbiter, 1, 1)];
    let none = |arbiter: &Arbiter| {
        arbiter.acquire(ChunkHeader::default(), BufferExhaustedPolicy::Drop).is_none()
    };
    assert!(none(&arbiter));
    for chunk in chunks {
        arbiter.return_chunk(chunk, BufferId::new(1).into(), &mut Default::default());
    }
    assert!(none(&arbiter), "complete, not free");
    assert_eq!(commits(&arbiter).len(), 1);
    assert!(none(&arbiter), "told of, not free");
    arbiter.smb().reader().unwrap().read_chunk(1, 0, &mut Vec::new()).unwrap();
    assert_eq!(acquire(&arbiter, 1, 2).page_idx(), 1);
}

/// As long as the service keeps up the first pages go round, and the others are never asked for.
#[test]
fn memory_that_is_not_needed_is_not_touched() {
    let (arbiter, _) = world(256, PAGE, options(Layout::Div1, false));
    let give = |chunk| {
        let chunk = acquire(&arbiter, 1, chunk);
        let page = chunk.page_idx();
        arbiter.return_chunk(chunk, BufferId::new(1).into(), &mut Default::default());
        page
    };
    let mut reader = arbiter.smb().reader().unwrap();
    let mut take = |page| reader.read_chunk(page, 0, &mut Vec::new()).unwrap();
    for chunk in 0..1000 {
        // Two pages behind, as a service is that keeps up.
        let pages = [give(chunk), give(chunk), give(chunk)];
        assert!(pages.iter().all(|page| *page < 32), "{chunk}: {pages:?}");
        for page in pages {
            take(page);
        }
    }
    // It does not keep up any more: all of it is there to be used.
    let pages: std::collections::BTreeSet<_> = (0..256).map(give).collect();
    assert_eq!(pages.len(), 256);
}

/// After the connection has ended there are no new writers, and the end of the others is not reported.
#[test]
fn shutdown() {
    let (arbiter, _) = world(2, PAGE, options(Layout::Div1, false));
    let live = writer(&arbiter, BufferExhaustedPolicy::Drop);
    assert!(!arbiter.is_idle());
    arbiter.disconnect();
    assert_eq!(writer(&arbiter, BufferExhaustedPolicy::Drop).id(), WriterId::new(0));
    drop(live);
    assert!(arbiter.is_idle());
    assert!(arbiter.poll_request(BootTime::from_ns(0)).is_none());
}

/// A list of patches: filled in any order, taken from the front only.
#[test]
fn insert_and_remove() {
    let slot = |offset| protozero::encode::Slot { range: 0, offset };
    let mut list = crate::write::patches::PatchList::default();
    for (chunk, offset) in [(1, 10), (1, 20), (2, 30)] {
        list.push(abi::ids::ChunkId::new(chunk), slot(offset), 0);
    }
    assert_eq!((list.len(), list.is_ready()), (3, false));
    list.fill(slot(30), [3; 4]);
    list.fill(slot(25), [9; 4]);
    assert!(list.pop_ready().is_none(), "the first is not filled");
    list.fill(slot(10), [1; 4]);
    let first = list.pop_ready().unwrap();
    assert_eq!((first.offset, first.data, first.has_more), (10, [1; 4], true));
    assert!(!list.is_ready());
    list.fill(slot(20), [2; 4]);
    let rest: Vec<_> = std::iter::from_fn(|| list.pop_ready()).collect();
    assert_eq!(
        rest.iter().map(|p| (p.offset, p.has_more)).collect::<Vec<_>>(),
        [(20, false), (30, false)]
    );
    assert!(list.is_empty());
}

/// Patches that all come at once are cut to the size of a frame, in order.
#[test]
fn commit_data_splitting_accounts_for_framing() {
    let (arbiter, park) = world(64, PAGE, options(Layout::Div14, false));
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Stall);
    {
        let mut packet = writer.new_packet();
        let mut outer = packet.for_testing();
        let mut payload = outer.payload();
        // Each crosses a chunk or two, and none can be patched before the outermost.
        for _ in 0..9000 {
            payload.nested().single_string(&"y".repeat(300));
        }
    }
    let id = writer.id().get();
    drop(writer);
    let mut reader = lock(&park.reader);
    reader.drain(&arbiter);
    assert_eq!(reader.packets(id).len(), 1);
    let sizes: Vec<_> = reader.requests.iter().map(|request| request.encode().len()).collect();
    assert!(sizes.iter().all(|&size| size < 128 * 1024), "{:?}", sizes.iter().max());
    assert!(sizes.iter().any(|&size| size > 50_000), "the test makes many");
}

#[test]
fn forgotten_packets_are_lost_which_a_mark_says() {
    let (arbiter, park) = div4(4);
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Stall);
    {
        let mut packet = writer.new_packet();
        let mut event = packet.for_testing();
        event.payload().single_string(&"z".repeat(2000));
        core::mem::forget(event);
        core::mem::forget(packet);
    }
    writer.flush();
    str_packet(&mut writer, "after");
    core::mem::forget(writer.new_packet());
    let id = writer.id().get();
    drop(writer);
    let mut reader = lock(&park.reader);
    reader.drain(&arbiter);
    let packets = reader.packets(id);
    let after = hex("a238 07 0a056166746572");
    let mark = Some(loss_mark());
    assert_eq!(packets, [None, mark.clone(), Some(after), None, mark]);
}

/// Two writers on their own threads, a service on a third.
#[test]
fn threads() {
    let packets = if cfg!(miri) { 40 } else { 3000 };
    let region = Region::heap(16 * PAGE);
    let smb = Smb::new(region, PageSize::DEFAULT).unwrap();
    struct Yield;
    impl Park for Yield {
        fn park(&self, _time: Duration) {
            abi::sync::yield_now();
        }
        fn give_up(&self) {}
    }
    let arbiter =
        Arbiter::new(smb, options(Layout::Div2, true), Arc::new(NoWaker), Arc::new(Yield));
    let mut reader = Reader::default();
    let ids: Vec<u16> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|_| {
                let mut writer = writer(&arbiter, BufferExhaustedPolicy::Drop);
                scope.spawn(move || {
                    for number in 0..packets {
                        let mut packet = writer.new_packet();
                        let mut event = packet.for_testing();
                        event.seq_value(number);
                        event.payload().single_string(&"w".repeat(number as usize % 4000));
                    }
                    writer.id().get()
                })
            })
            .collect();
        while !writers.iter().all(|writer| writer.is_finished()) {
            reader.drain(&arbiter);
            abi::sync::yield_now();
        }
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    reader.drain(&arbiter);
    let mut arrived = 0;
    for id in ids {
        // Under the drop policy some may be missing (of one writer all, if the other was always
        // faster), none may be broken or out of order.
        let packets = reader.packets(id);
        let numbers: Vec<u32> = packets
            .iter()
            .flatten()
            .filter_map(|packet| {
                let mut fields = protozero::Reader::new(packet);
                while let Some(field) = fields.next_field().expect("well-formed") {
                    if let (900, protozero::Value::Len(body)) = (field.number, field.value) {
                        let first = protozero::Reader::new(body).next_field().unwrap().unwrap();
                        let protozero::Value::Varint(number) = first.value else { panic!() };
                        return Some(number as u32);
                    }
                }
                None
            })
            .collect();
        arrived += numbers.len();
        assert!(numbers.is_sorted_by(|a, b| a < b));
    }
    assert_ne!(arrived, 0);
}
