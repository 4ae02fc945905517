use core::time::Duration;

use protos::CommitDataRequest;
use protos::producer_port::Request;

use protozero::encode::Sink as _;
use protozero::rt;

use super::props::{Reader, Root, ServeWhileParked, world};
use super::sink::ChunkSink;
use super::*;
use crate::ids::{BufferId, FlushId, WriterId};
use crate::shm::{ChunkFlags, ChunkHeader, ChunkState, Layout, PageSize, Region, Smb};
use crate::sync::{Arc, AtomicU32, Mutex, Ordering, lock};
use crate::time::BootTime;

const PAGE: usize = 4096;

fn options(layout: Layout, direct_patching: bool) -> ArbiterOptions {
    ArbiterOptions { layout, direct_patching, ..ArbiterOptions::default() }
}

fn div4(pages: usize) -> (Arbiter, Arc<ServeWhileParked>) {
    world(pages, PAGE, options(Layout::Div4, false))
}

fn writer(arbiter: &Arbiter, policy: BufferExhaustedPolicy) -> TraceWriter {
    arbiter.create_writer(BufferId(1), policy)
}

/// Header and the first payload bytes of a chunk of Div4, whatever its state.
fn peek(arbiter: &Arbiter, page: usize, chunk: usize, payload: usize) -> (Vec<u8>, Vec<u8>) {
    let mut bytes = Vec::new();
    let off = page * PAGE + 8 + chunk * 1020;
    arbiter.smb().region().copy_out(off, 8 + payload, &mut bytes);
    let payload = bytes.split_off(8);
    (bytes, payload)
}

fn state(arbiter: &Arbiter, page: usize, chunk: usize) -> ChunkState {
    arbiter.smb().page_hint(page).state(chunk)
}

fn hex(text: &str) -> Vec<u8> {
    let text: String = text.split_whitespace().collect();
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

fn commits(arbiter: &Arbiter) -> Vec<CommitDataRequest> {
    std::iter::from_fn(|| arbiter.poll_request(BootTime(0)))
        .filter_map(|outgoing| match outgoing.request {
            Request::CommitData(commit) => Some(commit),
            _ => None,
        })
        .collect()
}

fn str_packet(writer: &mut TraceWriter, text: &str) {
    writer.new_packet().for_testing().str(text);
}

/// The worked example of a writer over its life, byte for byte as upstream's.
#[test]
fn golden_bytes_of_a_chunk() {
    let (arbiter, _) = div4(1);
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Drop);
    {
        let mut packet = writer.new_packet();
        let mut event = packet.for_testing();
        event.str("abc");
        // While it is open the length slot holds our link (of no older one: ff ff ff ff), where upstream
        // leaves garbage or zero; nobody may look.
        let (header, payload) = peek(&arbiter, 0, 0, 18);
        assert_eq!(header, hex("00000000 0100 0100"));
        assert_eq!(payload, hex("00000000 b80501 a238 ffffffff 0a03616263"));
    }
    let (header, payload) = peek(&arbiter, 0, 0, 12);
    assert_eq!(header, hex("00000000 0100 0200"));
    assert_eq!(payload, hex("0b b80501 a238 05 0a03616263"));
    str_packet(&mut writer, "xy");
    let (header, payload) = peek(&arbiter, 0, 0, 20);
    assert_eq!(header, hex("00000000 0100 0300"));
    assert_eq!(payload, hex("0b b80501 a238 05 0a03616263 07 a238 04 0a027879"));
    assert_eq!(state(&arbiter, 0, 0), ChunkState::BeingWritten);
    writer.flush();
    let (header, payload) = peek(&arbiter, 0, 0, 21);
    assert_eq!(header, hex("00000000 0100 0300"));
    assert_eq!(payload[20], 0, "the empty fragment of an inflated chunk");
    assert_eq!(state(&arbiter, 0, 0), ChunkState::Complete);
}

/// Nested 1 > nested 2 > 1500 bytes over two chunks of 1020: lengths of both nested messages are patched.
#[test]
fn golden_two_patches() {
    let (arbiter, _) = div4(1);
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Drop);
    {
        let mut root: Root<'_> = writer.new_packet_as();
        let mut outer: Root<'_> = rt::message::<1, _>(&mut root.0);
        let mut inner: Root<'_> = rt::message::<2, _>(&mut outer.0);
        rt::string::<1>(&mut inner.0, &"x".repeat(1500));
    }
    writer.flush();
    let (_, payload) = peek(&arbiter, 0, 0, 4);
    assert_eq!(payload, hex("f0878000"), "1008 bytes in the first fragment");
    let commits = commits(&arbiter);
    let entries: Vec<_> = commits.iter().flat_map(|commit| &commit.chunks_to_patch).collect();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].has_more_patches, Some(false));
    let patches: Vec<_> = entries[0]
        .patches
        .iter()
        .map(|patch| (patch.offset.unwrap(), patch.data.clone().unwrap().to_vec()))
        .collect();
    assert_eq!(patches, [(8, hex("e48b8000")), (13, hex("df8b8000"))]);
}

/// The same one level deeper, in a generated message.
#[test]
fn golden_patches_over_ipc() {
    let (arbiter, _) = div4(1);
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Drop);
    // So that offsets are those of a sequence that has begun already.
    {
        let mut packet = writer.new_packet();
        let mut event = packet.for_testing();
        let mut payload = event.payload();
        payload.nested().single_string(&"x".repeat(1500));
    }
    writer.flush();
    let (header, payload) = peek(&arbiter, 0, 0, 22);
    assert_eq!(header, hex("00000000 0100 0118"), "count 1, continues on next, needs patching");
    assert_eq!(payload[..4], hex("f0878000")[..], "1008 bytes in the first fragment");
    let (header, _) = peek(&arbiter, 0, 1, 0);
    assert_eq!(header, hex("01000000 0100 0204"), "finished, inflated, continues from previous");

    let commits = commits(&arbiter);
    let patches: Vec<_> = commits.iter().flat_map(|commit| &commit.chunks_to_patch).collect();
    assert_eq!(patches.len(), 1, "all in one entry: {patches:?}");
    let entry = patches[0];
    assert_eq!((entry.target_buffer, entry.writer_id, entry.chunk_id), (Some(1), Some(1), Some(0)));
    assert_eq!(entry.has_more_patches, Some(false));
    let offsets: Vec<_> = entry.patches.iter().map(|patch| patch.offset.unwrap()).collect();
    assert_eq!(offsets, [9, 14, 19], "outermost first");
    let lengths: Vec<u32> = entry
        .patches
        .iter()
        .map(|patch| patch.data.as_ref().unwrap())
        .inspect(|data| assert_eq!(data.len(), 4))
        .map(|data| data.iter().rev().fold(0, |len, byte| len << 7 | u32::from(byte & 0x7f)))
        .collect();
    // 3 bytes of tag and length in front of 1500, and 5 for each slot and tag further out.
    assert_eq!(lengths, [1513, 1508, 1503]);
    let moves: Vec<_> =
        commits.iter().flat_map(|commit| &commit.chunks_to_move).map(|m| m.chunk).collect();
    assert_eq!(moves, [Some(0), Some(1)]);
}

/// With direct patching the chunk waits for its lengths, if they come before the commit leaves.
#[test]
fn direct_patches() {
    let (arbiter, _) = world(1, PAGE, options(Layout::Div4, true));
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Drop);
    {
        let mut packet = writer.new_packet();
        let mut event = packet.for_testing();
        event.payload().single_string(&"x".repeat(1500));
        assert_eq!(state(&arbiter, 0, 0), ChunkState::BeingWritten, "held for patches");
    }
    assert_eq!(state(&arbiter, 0, 0), ChunkState::Complete, "patched");
    let (header, payload) = peek(&arbiter, 0, 0, 18);
    assert_eq!(header, hex("00000000 0100 0108"), "no patches needed");
    assert_eq!(payload[9..13], hex("e48b8000")[..], "1508");
    writer.flush();
    assert!(commits(&arbiter).iter().all(|commit| commit.chunks_to_patch.is_empty()));
}

/// If the commit leaves first the chunk goes as it is, and the patches follow it.
#[test]
fn direct_patching_too_late() {
    let (arbiter, _) = world(1, PAGE, options(Layout::Div4, true));
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Drop);
    {
        let mut packet = writer.new_packet();
        let mut event = packet.for_testing();
        event.str(&"x".repeat(1500));
        let first = commits(&arbiter);
        assert_eq!(first.len(), 1);
        assert_eq!(state(&arbiter, 0, 0), ChunkState::Complete, "forced by the commit");
        let (header, _) = peek(&arbiter, 0, 0, 0);
        assert_eq!(header[6..], hex("0118")[..], "still needs patching");
    }
    let patches = commits(&arbiter);
    assert_eq!(patches.iter().map(|commit| commit.chunks_to_patch.len()).sum::<usize>(), 1);
}

/// Lengths of fragments around the border between one byte and four.
#[test]
fn fragment_lengths() {
    for (len, expected) in [(0, "00"), (126, "7e"), (127, "ff808000"), (128, "80818000")] {
        let (arbiter, _) = div4(1);
        let mut writer = writer(&arbiter, BufferExhaustedPolicy::Drop);
        writer.write_raw(&[]);
        let (_, first) = peek(&arbiter, 0, 0, 4);
        assert_eq!(first, hex("03 b80501"));
        writer.write_raw(&vec![0x08; len]);
        let expected = hex(expected);
        let (_, payload) = peek(&arbiter, 0, 0, 4 + expected.len());
        assert_eq!(payload[4..], expected[..], "{len}");
    }
}

#[test]
fn a_packet_that_fills_its_chunk_completes_it() {
    let (arbiter, _) = div4(1);
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Drop);
    // 1012 bytes of payload: 4 of length, 3 of the first-packet mark.
    writer.write_raw(&[0x08; 1012 - 4 - 3]);
    assert_eq!(state(&arbiter, 0, 0), ChunkState::Complete);
    let (header, _) = peek(&arbiter, 0, 0, 0);
    assert_eq!(header, hex("00000000 0100 0100"), "count 1: not inflated");
    str_packet(&mut writer, "next");
    let (header, _) = peek(&arbiter, 0, 1, 0);
    assert_eq!(header, hex("01000000 0100 0200"));
}

#[test]
fn packets_per_chunk_are_capped() {
    let (arbiter, park) = world(2, 65536, options(Layout::Div1, false));
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Drop);
    for _ in 0..1022 {
        writer.write_raw(&[0x08, 0x01]);
    }
    assert_eq!(arbiter.smb().page_hint(0).state(0), ChunkState::BeingWritten);
    writer.write_raw(&[0x08, 0x02]);
    assert_eq!(arbiter.smb().page_hint(0).state(0), ChunkState::Complete);
    let mut payload = Vec::new();
    let (header, _) = arbiter.smb().scrape_chunk(0, 0, &mut payload).unwrap();
    assert_eq!(header.packets.count(), 1023, "1022 packets and the empty fragment");
    assert_eq!(header.packets.flags(), ChunkFlags::default());
    let id = writer.id().0;
    drop(writer);
    let mut reader = lock(&park.reader);
    reader.drain(&arbiter);
    assert_eq!(reader.packets(id).len(), 1023);
}

#[test]
fn first_packet_is_marked_once() {
    let (arbiter, park) = div4(2);
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Drop);
    for number in 0..32 {
        writer.new_packet().for_testing().seq_value(number);
    }
    let id = writer.id().0;
    drop(writer);
    let mut reader = lock(&park.reader);
    reader.drain(&arbiter);
    let packets = reader.packets(id);
    assert_eq!(packets.len(), 32);
    for (idx, packet) in packets.iter().enumerate() {
        let mark = packet.as_ref().unwrap().starts_with(&[0xb8, 0x05, 0x01]);
        assert_eq!(mark, idx == 0);
    }
}

/// The loss mark comes first in the first packet that gets through, and says why.
#[test]
fn drop_at_a_packet_boundary() {
    let (arbiter, park) = div4(1);
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Drop);
    let mut sent = 0;
    while writer.drop_count() == 0 {
        writer.write_raw(&[0x08; 500]);
        sent += 1;
    }
    // Asking again needs a flush, or a chunk's worth of dropped bytes.
    lock(&park.reader).drain(&arbiter);
    writer.write_raw(&[0x10; 10]);
    writer.flush();
    writer.write_raw(&[0x18; 10]);
    assert_eq!(writer.drop_count(), 1);
    let id = writer.id().0;
    drop(writer);
    let mut reader = lock(&park.reader);
    reader.drain(&arbiter);
    let packets = reader.packets(id);
    let last = packets.last().unwrap().as_ref().unwrap();
    assert_eq!(last[..], [&hex("d0028102")[..], &[0x18; 10]].concat());
    // The packet that found no room in the middle was given up; the one at a boundary left no trace.
    assert!(packets.len() <= sent + 1);
}

#[test]
fn a_packet_without_room_in_the_middle_is_stamped() {
    let (arbiter, park) = div4(1);
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Drop);
    writer.write_raw(&[0x08; 100]);
    {
        let mut packet = writer.new_packet();
        let mut event = packet.for_testing();
        event.payload().single_string(&"x".repeat(6000));
        event.str("swallowed");
    }
    assert_eq!(writer.drop_count(), 1);
    // Chunk 0 to 3 of the page hold the beginning; the last says that the packet ends here.
    let (header, payload) = peek(&arbiter, 0, 3, 4);
    assert_eq!(header, hex("03000000 0100 0104"), "no flag for a next chunk");
    assert_eq!(payload, hex("ffffff7f"));
    lock(&park.reader).drain(&arbiter);
    writer.flush();
    writer.write_raw(&[0x18; 3]);
    let id = writer.id().0;
    drop(writer);
    let mut reader = lock(&park.reader);
    reader.drain(&arbiter);
    // The lengths of what had left already were still patched, or the reader would complain.
    let packets = reader.packets(id);
    assert_eq!(packets.len(), 3);
    assert!(packets[1].is_none());
    assert_eq!(packets[2].as_ref().unwrap()[..4], hex("d0028102")[..]);
}

#[test]
fn dropping_more_than_once() {
    let (arbiter, park) = div4(1);
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Drop);
    for round in 1..=3 {
        while writer.drop_count() < round {
            writer.write_raw(&[0x08; 400]);
        }
        lock(&park.reader).drain(&arbiter);
        // More than 1 KiB of dropped packets later it looks for a chunk by itself.
        for _ in 0..4 {
            writer.write_raw(&[0x10; 400]);
        }
    }
    assert!(writer.written() > 3 * 4096);
    let id = writer.id().0;
    drop(writer);
    let mut reader = lock(&park.reader);
    reader.drain(&arbiter);
    let marks = reader.packets(id).into_iter().flatten();
    let marks = marks.filter(|packet| packet.starts_with(&[0xd0, 0x02])).count();
    assert_eq!(marks, 3);
}

/// The sleeps of a stall, and that a writer gives up in the end.
#[test]
fn stall_schedule() {
    let mut schedule = StallSchedule::default();
    let sleeps: Vec<_> = std::iter::from_fn(|| schedule.next_sleep()).collect();
    let micros: Vec<_> = sleeps.iter().take(8).map(Duration::as_micros).collect();
    assert_eq!(micros, [0, 8, 72, 584, 4680, 37448, 100_000, 100_000]);
    assert_eq!(sleeps.len(), 299);
    let total: Duration = sleeps.iter().sum();
    assert_eq!(total.as_millis() / 100, 293);
}

/// Nothing is ever freed.
#[derive(Default)]
struct Hopeless {
    parked: AtomicU32,
    gave_up: AtomicU32,
}

impl Park for Hopeless {
    fn park(&self, _time: Duration) {
        self.parked.fetch_add(1, Ordering::Relaxed);
    }

    fn give_up(&self) {
        self.gave_up.fetch_add(1, Ordering::Relaxed);
    }
}

fn hopeless() -> (Arbiter, Arc<Hopeless>) {
    let smb = Smb::new(Region::heap(PAGE), PageSize::DEFAULT).unwrap();
    let park = Arc::new(Hopeless::default());
    let arbiter = Arbiter::new(smb, ArbiterOptions::default(), Arc::new(NoWaker), park.clone());
    (arbiter, park)
}

#[test]
fn stalling_in_vain() {
    let (arbiter, park) = hopeless();
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Stall);
    writer.write_raw(&[0x08; 8000]);
    assert_eq!(park.parked.load(Ordering::Relaxed), 299);
    assert_eq!(park.gave_up.load(Ordering::Relaxed), 1);
    assert_eq!(writer.drop_count(), 1);
}

#[test]
fn stall_then_drop_waits_once() {
    let (arbiter, park) = hopeless();
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::StallThenDrop);
    for _ in 0..10 {
        writer.write_raw(&[0x08; 8000]);
    }
    assert_eq!(park.parked.load(Ordering::Relaxed), 299);
    assert_eq!(park.gave_up.load(Ordering::Relaxed), 0);
    assert_eq!(writer.drop_count(), 1);
}

#[test]
fn a_stall_ends_with_the_connection() {
    struct Cut(Mutex<Option<Arbiter>>, AtomicU32);
    impl Park for Cut {
        fn park(&self, _time: Duration) {
            if self.1.fetch_add(1, Ordering::Relaxed) == 3 {
                lock(&self.0).take().unwrap().disconnect();
            }
        }
    }
    let smb = Smb::new(Region::heap(PAGE), PageSize::DEFAULT).unwrap();
    let park = Arc::new(Cut(Mutex::new(None), AtomicU32::new(0)));
    let arbiter = Arbiter::new(smb, ArbiterOptions::default(), Arc::new(NoWaker), park.clone());
    *lock(&park.0) = Some(arbiter.clone());
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Stall);
    writer.write_raw(&[0x08; 8000]);
    assert_eq!(park.1.load(Ordering::Relaxed), 4);
    assert_eq!(arbiter.create_writer(BufferId(1), BufferExhaustedPolicy::Stall).id(), WriterId(0));
    assert!(arbiter.poll_request(BootTime(0)).is_none());
}

/// 8 MB through 256 KB with pages of 4 KB.
#[test]
fn eight_megabytes_through_a_quarter() {
    for direct in [false, true] {
        let (arbiter, park) = world(64, PAGE, options(Layout::Div1, direct));
        let mut writer = writer(&arbiter, BufferExhaustedPolicy::Stall);
        let text: String = ('a'..='z').cycle().take(8 << 20).collect();
        writer.new_packet().for_testing().str(&text);
        let id = writer.id().0;
        drop(writer);
        let mut reader = lock(&park.reader);
        reader.drain(&arbiter);
        let packets = reader.packets(id);
        assert_eq!(packets.len(), 1);
        let packet = packets[0].as_ref().unwrap();
        assert!(packet.ends_with(text.as_bytes()));
        assert!(packet.len() - text.len() < 20);
    }
}

/// The stream fails without a position when a nested message is longer than a length can say; the packet
/// must not become the beginning of the next one.
#[test]
fn a_packet_that_fails_is_given_up() {
    let (arbiter, _) = div4(1);
    let home = Some((arbiter.clone(), WriterId(1)));
    let mut sink = ChunkSink::new(home, BufferId(1), BufferExhaustedPolicy::Drop);
    sink.begin_root(0).unwrap().unwrap();
    assert_eq!(sink.end_root(0), 0);
    let (header, payload) = peek(&arbiter, 0, 0, 4);
    assert_eq!(header, hex("00000000 0100 0100"), "one fragment");
    assert_eq!(payload, hex("ffffff7f"), "which its writer gave up");
    assert_eq!(state(&arbiter, 0, 0), ChunkState::Complete);
    assert!(sink.dropping, "so that the next packet tells of the loss");
}

#[test]
fn failures_take_no_chunk_id() {
    let (arbiter, park) = div4(1);
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Drop);
    while writer.drop_count() == 0 {
        writer.write_raw(&[0x08; 900]);
    }
    lock(&park.reader).drain(&arbiter);
    writer.flush();
    writer.write_raw(&[0x08; 900]);
    let (header, _) = peek(&arbiter, 0, 0, 0);
    let next = header[0];
    assert_eq!(next, 4, "four chunks went before");
}

// ---------------------------------------------------------------- arbiter

fn acquire(arbiter: &Arbiter, writer: u16, chunk: u32) -> crate::shm::WritableChunk {
    let header = ChunkHeader {
        writer: WriterId(writer),
        chunk: crate::ids::ChunkId(chunk),
        ..ChunkHeader::default()
    };
    arbiter.acquire(header, BufferExhaustedPolicy::Drop).unwrap()
}

#[test]
fn chunks_are_found_round_robin_and_moved_in_order() {
    for page_bytes in [PAGE, 65536] {
        let (arbiter, _) = world(4, page_bytes, options(Layout::Div2, false));
        let chunks: Vec<_> = (0..8).map(|idx| acquire(&arbiter, 1, idx)).collect();
        let places: Vec<_> = chunks.iter().map(|c| (c.page_idx(), c.chunk_idx())).collect();
        let all: Vec<_> = (0..4).flat_map(|page| [(page, 0), (page, 1)]).collect();
        assert_eq!(places, all);
        assert!(arbiter.acquire(ChunkHeader::default(), BufferExhaustedPolicy::Drop).is_none());
        let mut order = Vec::new();
        for chunk in chunks.into_iter().rev() {
            order.push((chunk.page_idx() as u32, chunk.chunk_idx() as u32));
            arbiter.return_chunk(chunk, BufferId(3), &mut Default::default());
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
fn batches() {
    let (arbiter, _) = world(8, PAGE, options(Layout::Div1, false));
    arbiter.set_batch_commits_ms(100);
    let give = |chunk| {
        let chunk = acquire(&arbiter, 1, chunk);
        arbiter.return_chunk(chunk, BufferId(1), &mut Default::default());
    };
    let at = |ms: u64| arbiter.poll_request(BootTime(ms * 1_000_000)).map(|o| o.request);
    give(0);
    assert_eq!(at(1000), None, "the batch begins when the transport hears of it");
    assert_eq!(arbiter.poll_timeout(), Some(BootTime(1_100_000_000)));
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
    arbiter.return_chunk(chunk, BufferId(1), &mut Default::default());
    arbiter.notify_flush_complete(FlushId(7));
    arbiter.notify_flush_complete(FlushId(5));
    let commits = commits(&arbiter);
    assert_eq!(commits.len(), 1);
    assert_eq!(commits[0].chunks_to_move.len(), 1);
    assert_eq!(commits[0].flush_request_id, Some(7));
    arbiter.notify_flush_complete(FlushId(8));
    let request = arbiter.poll_request(BootTime(0)).unwrap().request;
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
    let sent: Vec<_> = std::iter::from_fn(|| arbiter.poll_request(BootTime(0))).collect();
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
    let kinds: Vec<_> = std::iter::from_fn(|| arbiter.poll_request(BootTime(0)))
        .map(|outgoing| outgoing.request.method_id())
        .collect();
    assert_eq!(kinds, [6, 4, 7], "register, commit, unregister");
    assert!(arbiter.is_idle());
}

#[test]
fn writer_ids_go_round() {
    let (arbiter, _) = world(1, PAGE, options(Layout::Div1, false));
    let new = || arbiter.create_writer(BufferId(1), BufferExhaustedPolicy::Drop);
    let first = new();
    assert_eq!(first.id(), WriterId(1));
    drop(first);
    assert_eq!(new().id(), WriterId(2), "a freed id rests");
    let all: Vec<_> = (0..32767).map(|_| new()).collect();
    let mut ids: Vec<_> = all.iter().map(|writer| writer.id().0).collect();
    assert_eq!(ids[0], 3);
    ids.sort_unstable();
    assert!(ids.iter().copied().eq(1..=32767));
    let mut none = new();
    assert_eq!(none.id(), WriterId(0));
    none.write_raw(&[0x08; 10]);
    assert_eq!(none.written(), 13, "swallowed, but counted");
}

/// Chunks by value: header and payload in the commit, local memory free again; split before a frame is
/// full, with the flush id at the end.
#[test]
fn by_value() {
    let (arbiter, _) =
        world(64, PAGE, ArbiterOptions { by_value: true, ..options(Layout::Div1, false) });
    for idx in 0..64 {
        let mut chunk = acquire(&arbiter, 2, idx);
        chunk.start_fragment();
        chunk.write(0, &[1, idx as u8]);
        arbiter.return_chunk(chunk, BufferId(1), &mut Default::default());
    }
    arbiter.notify_flush_complete(FlushId(3));
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

/// Patches that all come at once are cut to the size of a frame, in order.
#[test]
fn many_patches_are_split() {
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
    let id = writer.id().0;
    drop(writer);
    let mut reader = lock(&park.reader);
    reader.drain(&arbiter);
    assert_eq!(reader.packets(id).len(), 1);
    let sizes: Vec<_> = reader.requests.iter().map(|request| request.encode().len()).collect();
    assert!(sizes.iter().all(|&size| size < 128 * 1024), "{:?}", sizes.iter().max());
    assert!(sizes.iter().any(|&size| size > 50_000), "the test makes many");
}

#[test]
fn forgotten_packets_end_with_the_next_or_a_flush() {
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
    let id = writer.id().0;
    drop(writer);
    let mut reader = lock(&park.reader);
    reader.drain(&arbiter);
    let packets = reader.packets(id);
    assert_eq!(packets.len(), 2, "{packets:?}");
    assert!(packets[1].as_ref().unwrap().ends_with(b"after"));
}

/// Two writers on their own threads, a service on a third.
#[test]
fn threads() {
    let region = Region::heap(16 * PAGE);
    let smb = Smb::new(region, PageSize::DEFAULT).unwrap();
    struct Yield;
    impl Park for Yield {
        fn park(&self, _time: Duration) {
            crate::sync::yield_now();
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
                    for number in 0..3000 {
                        let mut packet = writer.new_packet();
                        let mut event = packet.for_testing();
                        event.seq_value(number);
                        event.payload().single_string(&"w".repeat(number as usize % 4000));
                    }
                    writer.id().0
                })
            })
            .collect();
        while !writers.iter().all(|writer| writer.is_finished()) {
            reader.drain(&arbiter);
            crate::sync::yield_now();
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
