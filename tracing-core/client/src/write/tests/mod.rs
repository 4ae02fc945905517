//! Writers, byte by byte; the arbiter's tests are beside.
#![allow(unsafe_code)]

mod arbiter;
mod commit;
mod short;
mod startup;

use core::time::Duration;

use protos::CommitDataRequest;
use protos::producer_port::Request;

use protozero::encode::Sink as _;
use protozero::rt;

use super::props::{Reader, Root, ServeWhileParked, World, world};
use super::sink::ChunkSink;
use super::writers::DropCounter;
use super::*;
use abi::ids::{BufferId, FlushId, WriterId};
use abi::shm::{ChunkFlags, ChunkHeader, ChunkState, Layout, PageSize, Region, Smb};
use abi::sync::{Arc, AtomicU32, Mutex, Ordering, lock};
use abi::time::BootTime;

fn copy_out(region: &Region, off: usize, len: usize, out: &mut Vec<u8>) -> bool {
    // SAFETY: the writers of these tests are on this thread.
    unsafe { region.copy_out(off, len, out) }
}

const PAGE: usize = 4096;

fn options(layout: Layout, direct_patching: bool) -> ArbiterOptions {
    let service = ServiceSupport { direct_patching, by_value: false };
    ArbiterOptions { layout, service, ..ArbiterOptions::default() }
}

fn div4(pages: usize) -> (World, Arc<ServeWhileParked>) {
    world(pages, PAGE, options(Layout::Div4, false))
}

fn writer(arbiter: &Arbiter, policy: BufferExhaustedPolicy) -> TraceWriter {
    arbiter.create_writer(BufferId::new(1), policy)
}

/// Header and the first payload bytes of a chunk of Div4, whatever its state.
fn peek(arbiter: &Arbiter, page: usize, chunk: usize, payload: usize) -> (Vec<u8>, Vec<u8>) {
    let mut bytes = Vec::new();
    let off = page * PAGE + 8 + chunk * 1020;
    copy_out(arbiter.smb().region(), off, 8 + payload, &mut bytes);
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
    std::iter::from_fn(|| arbiter.poll_request(BootTime::from_ns(0)))
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
        // While it is open the one byte of its length is zero, and that of its message holds our link (to no other:
        // 0), where upstream has four of garbage or zero each, which are never read.
        let (header, payload) = peek(&arbiter, 0, 0, 12);
        assert_eq!(header, hex("00000000 0100 0100"));
        assert_eq!(payload, hex("00 b80501 a238 00 0a03616263"));
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

/// A generated message with three levels over two chunks: lengths of all levels are patched.
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
    let (arbiter, park) = world(2, PAGE, options(Layout::Div1, false));
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Drop);
    for _ in 0..1022 {
        writer.write_raw(&[0x08, 0x01]);
    }
    assert_eq!(arbiter.smb().page_hint(0).state(0), ChunkState::BeingWritten);
    writer.write_raw(&[0x08, 0x02]);
    assert_eq!(arbiter.smb().page_hint(0).state(0), ChunkState::Complete);
    let mut payload = Vec::new();
    let (header, _) = arbiter.smb().reader().unwrap().scrape_chunk(0, 0, &mut payload).unwrap();
    assert_eq!(header.packets.count(), 1023, "1022 packets and the empty fragment");
    assert_eq!(header.packets.flags(), ChunkFlags::default());
    let id = writer.id().get();
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
    let id = writer.id().get();
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

/// How many marks the memory counts.
fn losses_noted(arbiter: &Arbiter) -> u32 {
    arbiter.smb().reader().unwrap().losses_noted()
}

/// What a writer that begins to drop packets tells: `previous_packet_dropped`, and why.
fn loss_mark() -> Vec<u8> {
    hex("d0028102")
}

/// The packet that found no memory is told at once, and the first that gets through comes behind it.
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
    let id = writer.id().get();
    drop(writer);
    let mut reader = lock(&park.reader);
    reader.drain(&arbiter);
    let packets = reader.packets(id);
    // Each chunk takes two; the ninth found none, for which there is a mark of two fragments.
    assert_eq!((sent, packets.len()), (9, 8 + 2 + 1));
    let last = packets.last().unwrap().as_ref().unwrap();
    assert_eq!(last[..], [0x18; 10]);
}

/// Packets that fill a page of four chunks exactly, and one more.
fn fill_and_drop(arbiter: &Arbiter) -> TraceWriter {
    let mut writer = writer(arbiter, BufferExhaustedPolicy::Drop);
    // A chunk has 1012 bytes for packets; the first packet has three more bytes.
    writer.write_raw(&[0x08; 1012 - 4 - 3]);
    (0..3).for_each(|_| writer.write_raw(&[0x08; 1012 - 4]));
    assert_eq!(writer.drop_count(), 0);
    writer.write_raw(&[0x10; 10]);
    assert_eq!(writer.drop_count(), 1);
    writer
}

#[test]
fn a_loss_is_told_without_a_later_packet() {
    let (arbiter, park) = div4(1);
    let writer = fill_and_drop(&arbiter);
    let id = writer.id().get();
    let mut reader = lock(&park.reader);
    reader.drain(&arbiter);
    let packets = reader.packets(id);
    // The counters of the service see a packet that was given up, and readers one with the mark.
    assert_eq!(packets.len(), 4 + 2);
    assert_eq!(packets[4..], [Some(loss_mark()), None]);
    // The end of the writer has nothing to add.
    drop(writer);
    reader.drain(&arbiter);
    assert_eq!(reader.packets(id).len(), 4 + 2);
}

/// What the service was told since the last call: (buffer, packets that were dropped).
fn drops_told(reader: &mut Reader, arbiter: &Arbiter) -> Vec<(u32, u64)> {
    reader.requests.clear();
    reader.drain(arbiter);
    let commits = reader.requests.iter().filter_map(|request| match request {
        Request::CommitData(commit) => Some(&commit.dropped_packets),
        _ => None,
    });
    let drops = commits.flatten();
    drops.map(|told| (told.target_buffer.unwrap(), told.packets.unwrap())).collect()
}

#[test]
fn dropped_packets_are_told_at_a_flush_and_at_the_end() {
    let (arbiter, park) = div4(1);
    let mut writer = fill_and_drop(&arbiter);
    (0..3).for_each(|_| writer.write_raw(&[0x10; 10]));
    assert_eq!(writer.dropped_packets(), 4);
    let mut reader = lock(&park.reader);
    assert_eq!(drops_told(&mut reader, &arbiter), []);
    arbiter.notify_flush_complete(FlushId::new(1));
    assert_eq!(drops_told(&mut reader, &arbiter), [(1, 4)]);
    arbiter.notify_flush_complete(FlushId::new(2));
    assert_eq!(drops_told(&mut reader, &arbiter), [], "once");
    (0..5).for_each(|_| writer.write_raw(&[0x10; 10]));
    drop(writer);
    assert_eq!(drops_told(&mut reader, &arbiter), [(1, 5)]);
    let position = |wanted: fn(&Request) -> bool| reader.requests.iter().position(wanted).unwrap();
    let commit = position(|request| matches!(request, Request::CommitData(_)));
    assert!(commit < position(|request| matches!(request, Request::UnregisterTraceWriter(_))));
}

/// The service takes gaps that begin or end in the commit of an acknowledgement for told.
#[test]
fn what_comes_behind_an_acknowledgement_is_not_in_its_commit() {
    let (arbiter, _) = div4(1);
    let sent = || -> Vec<_> {
        let of = |commit: CommitDataRequest| (commit.flush_request_id, commit.chunks_to_move.len());
        commits(&arbiter).into_iter().map(of).collect()
    };
    arbiter.notify_flush_complete(FlushId::new(1));
    let _full = fill_and_drop(&arbiter);
    assert_eq!(sent(), [(Some(1), 0), (None, 5)], "four chunks and a mark");
    arbiter.notify_flush_complete(FlushId::new(2));
    let mut other = writer(&arbiter, BufferExhaustedPolicy::Drop);
    other.write_raw(&[0x10; 10]);
    assert_eq!(sent(), [(Some(2), 0), (None, 1)], "a mark");
}

#[test]
fn packets_dropped_before_the_buffer_is_known_are_told_then() {
    let (arbiter, park) = div4(1);
    let reservation = arbiter.reserve().unwrap();
    let mut writers =
        [(); 2].map(|()| arbiter.create_writer(reservation, BufferExhaustedPolicy::Drop));
    writers.iter_mut().for_each(|writer| {
        while writer.dropped_packets() < 3 {
            writer.write_raw(&[0x08; 900]);
        }
    });
    let [live, gone] = writers;
    drop(gone);
    arbiter.notify_flush_complete(FlushId::new(1));
    let mut reader = lock(&park.reader);
    assert_eq!(drops_told(&mut reader, &arbiter), []);
    arbiter.bind(reservation, BufferId::new(7));
    assert_eq!(drops_told(&mut reader, &arbiter), [(7, 6)]);
    drop(live);
    assert_eq!(drops_told(&mut reader, &arbiter), []);
}

/// The service gets it, although no chunk is free, and in the order in which the writer met the loss.
#[test]
fn a_writer_that_only_drops_tells_it() {
    let (arbiter, park) = div4(1);
    let mut full = fill_and_drop(&arbiter);
    let mut late = writer(&arbiter, BufferExhaustedPolicy::Drop);
    (0..100).for_each(|_| late.write_raw(&[0x10; 100]));
    assert_eq!((late.drop_count(), full.drop_count()), (1, 1));
    let id = late.id().get();
    drop(late);
    full.flush();
    let mut reader = lock(&park.reader);
    reader.drain(&arbiter);
    assert_eq!(reader.packets(id), [Some(loss_mark()), None]);
    let position = |wanted: fn(&Request) -> bool| reader.requests.iter().position(wanted).unwrap();
    let commit = position(|request| matches!(request, Request::CommitData(_)));
    assert!(commit < position(|request| matches!(request, Request::UnregisterTraceWriter(_))));
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
    let id = writer.id().get();
    drop(writer);
    let mut reader = lock(&park.reader);
    reader.drain(&arbiter);
    // The lengths of what had left already were still patched, or the reader would complain.
    let packets = reader.packets(id);
    assert_eq!(packets.len(), 4);
    assert!(packets[1].is_none());
    assert_eq!(packets[2..], [Some(loss_mark()), Some(vec![0x18; 3])]);
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
    let id = writer.id().get();
    drop(writer);
    let mut reader = lock(&park.reader);
    reader.drain(&arbiter);
    let marks = reader.packets(id).into_iter().flatten();
    let marks = marks.filter(|packet| *packet == loss_mark()).count();
    assert_eq!(marks, 3);
    assert_eq!(losses_noted(&arbiter), 3, "for a service that does not get them");
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
    assert_eq!(
        arbiter.create_writer(BufferId::new(1), BufferExhaustedPolicy::Stall).id(),
        WriterId::new(0)
    );
    assert!(arbiter.poll_request(BootTime::from_ns(0)).is_none());
}

/// 8 MB through 256 KB with pages of 4 KB. Under Miri 9 KB through 8 KB.
#[test]
fn eight_megabytes_through_a_quarter() {
    let (pages, bytes) = if cfg!(miri) { (2, 9 << 10) } else { (64, 8 << 20) };
    for direct in [false, true] {
        let (arbiter, park) = world(pages, PAGE, options(Layout::Div1, direct));
        let mut writer = writer(&arbiter, BufferExhaustedPolicy::Stall);
        let text: String = ('a'..='z').cycle().take(bytes).collect();
        writer.new_packet().for_testing().str(&text);
        let id = writer.id().get();
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
    let home = Some((arbiter.clone(), WriterId::new(1)));
    let (target, policy) = (BufferId::new(1).into(), BufferExhaustedPolicy::Drop);
    let mut sink = ChunkSink::new(home, DropCounter::default(), target, policy);
    sink.begin_root(0).unwrap().unwrap();
    assert_eq!(sink.end_root(0), 0);
    let (header, payload) = peek(&arbiter, 0, 0, 4);
    assert_eq!(header, hex("00000000 0100 0100"), "one fragment");
    assert_eq!(payload, hex("ffffff7f"), "which its writer gave up");
    assert_eq!(state(&arbiter, 0, 0), ChunkState::Complete);
    assert!(sink.is_dropping(), "so that the next packet tells of the loss");
}

#[test]
fn of_failures_only_the_mark_takes_a_chunk_id() {
    let (arbiter, park) = div4(1);
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Drop);
    while writer.drop_count() == 0 {
        writer.write_raw(&[0x08; 900]);
    }
    for _ in 0..3 {
        writer.flush();
        writer.write_raw(&[0x08; 900]);
    }
    assert_eq!(writer.drop_count(), 1);
    lock(&park.reader).drain(&arbiter);
    writer.flush();
    writer.write_raw(&[0x08; 900]);
    let (header, _) = peek(&arbiter, 0, 0, 0);
    let next = header[0];
    assert_eq!(next, 5, "four chunks and the mark went before");
}
