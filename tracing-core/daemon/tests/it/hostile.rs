//! Shared memory that a peer overwrites at random while the other side uses it.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};

use protos::producer_port::Request;
use protos::{
    CommitDataRequest, CommitDataRequestChunksToMove, InitializeConnectionRequest,
    InitializeConnectionRequestProducerSMBScrapingMode as Mode, ReadBuffersResponse,
    RegisterTraceWriterRequest, TestEvent, TracePacket, TracePacketData,
    TracePacketOptionalTrustedUid,
};
use protozero::Message as _;

use super::scraping::{NoPark, config};
use abi::ids::{BufferId, WriterId};
use abi::shm::{PageSize, Region, Smb};
use abi::sync::Arc;
use abi::time::BootTime;
use client::write::{Arbiter, ArbiterOptions, BufferExhaustedPolicy, NoWaker};
use os::shm;
use service::Peer;
use testing::mock::{MockConsumer, MockProducer};
use testing::shell::{Reply, Shell};

pub(crate) fn store(region: &Region, off: usize, bytes: &[u8]) -> bool {
    // SAFETY: this mapping is used by the thread that overwrites alone. The other side has a mapping of its own, as in
    // another process.
    unsafe { region.store(off, bytes) }
}

pub(crate) const PAGES: usize = 16;
pub(crate) const PAGE: usize = 4096;
const WRITERS: u16 = 4;
const ROUNDS: usize = 400;
const HONEST_UID: u32 = 42;

/// Memory as two processes have it.
fn mapped_twice() -> (Region, Region) {
    let ours = shm::create(PAGES * PAGE).unwrap();
    let theirs = shm::adopt(ours.fd().unwrap().try_clone_to_owned().unwrap()).unwrap();
    (ours, theirs)
}

/// Stores random words where page words, chunk headers and lengths of fragments are, until `stop` is set.
fn overwrite(region: &Region, stop: &AtomicBool) {
    let mut dice = 0x9e37_79b9_7f4a_7c15_u64;
    let mut roll = move || {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        dice
    };
    while !stop.load(Ordering::Relaxed) {
        let page = (roll() as usize % PAGES) * PAGE;
        let value = roll();
        let (off, word) = match value % 8 {
            // A page word of any layout, chunks in any state; often all complete.
            0 | 1 => (0, (value >> 8) as u32),
            2 => (0, 0x0fff_ffff | (value >> 8) as u32 & 0x7000_0000),
            // A chunk header: id, then writer, count and flags.
            3 => (8, (value >> 8) as u32 % 8),
            4 => {
                (12, u32::from(WRITERS) & (value >> 8) as u32 | (value >> 16) as u32 & 0xffff_0000)
            }
            // Lengths of fragments.
            5 | 6 => (16 + 4 * (value as usize >> 8) % 64, (value >> 16) as u32),
            _ => (4 * ((value as usize >> 8) % (PAGE / 4)), (value >> 20) as u32),
        };
        assert!(store(region, page + off, &word.to_le_bytes()));
    }
}

/// The packets of the honest producer, in the order in which they were read, without what the service added, and
/// whether it said that others are missing before them. What the hostile one wrote may be anything, except a packet with the uid of another user: the service writes the uid.
fn honest_packets(replies: &[Reply]) -> Vec<(bool, TracePacket)> {
    let mut packets = Vec::new();
    let mut bytes = Vec::new();
    for reply in replies {
        let Some(response) = &reply.response else { continue };
        for slice in ReadBuffersResponse::decode(response).unwrap().slices {
            bytes.extend_from_slice(slice.data.as_deref().unwrap_or_default());
            if slice.last_slice_for_packet != Some(true) {
                continue;
            }
            let packet = TracePacket::decode(&std::mem::take(&mut bytes)).unwrap_or_default();
            let uid = TracePacketOptionalTrustedUid::TrustedUid(HONEST_UID.cast_signed());
            if packet.optional_trusted_uid == Some(uid) {
                let data = packet.data;
                let follows_a_loss = packet.previous_packet_dropped.is_some();
                packets.push((follows_a_loss, TracePacket { data, ..Default::default() }));
            }
        }
    }
    packets
}

/// A packet of up to 3000 bytes, which differ.
pub(crate) fn numbered(number: usize) -> TracePacket {
    let text: String = (0..number % 600).map(|at| format!("{:x}-", (number * at) % 4096)).collect();
    let event = TestEvent { str: Some(format!("{number}: {text}")), ..Default::default() };
    TracePacket { data: Some(TracePacketData::ForTesting(event)), ..Default::default() }
}

#[test]
fn overwritten_memory_harms_nobody_but_its_owner() {
    let mut shell = Shell::new();
    let request = InitializeConnectionRequest {
        smb_scraping_mode: Some(Mode::SMB_SCRAPING_ENABLED),
        shared_memory_page_size_hint_bytes: Some(PAGE as u32),
        producer_provided_shmem: Some(true),
        ..Default::default()
    };
    let (evil, theirs) = mapped_twice();
    let mut hostile =
        MockProducer::connect_with(&mut shell, Peer::default(), request, Some(theirs));
    let mut honest =
        MockProducer::connect(&mut shell, "honest", Peer { uid: HONEST_UID, ..Peer::default() });
    for producer in [&hostile, &honest] {
        producer.register_name(&mut shell, "ds");
    }
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(), None);
    hostile.commands(&mut shell);
    honest.commands(&mut shell);
    for writer in 1..=WRITERS {
        let request = RegisterTraceWriterRequest {
            trace_writer_id: Some(writer.into()),
            target_buffer: Some(1),
            ..Default::default()
        };
        hostile.call(&mut shell, Request::RegisterTraceWriter(request));
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| overwrite(&evil, &stop));
        let _end = StopsAtEnd(&stop);
        let before = shell.service.footprint();
        for round in 0..ROUNDS {
            let all = (0..PAGES as u32).flat_map(|page| (0..14).map(move |chunk| (page, chunk)));
            let moves = all.map(|(page, chunk)| CommitDataRequestChunksToMove {
                page: Some(page),
                chunk: Some(chunk),
                target_buffer: Some(1),
                ..Default::default()
            });
            let commit =
                CommitDataRequest { chunks_to_move: moves.collect(), ..Default::default() };
            hostile.call(&mut shell, Request::CommitData(commit));
            honest.write(&mut shell, WriterId::new(1), BufferId::new(1), &[numbered(round)]);
            consumer.flush(&mut shell, 1);
            shell.advance_ms(2);
            // Each time, so that what the hostile producer writes never fills the buffer.
            let packets = honest_packets(&consumer.read_raw(&mut shell));
            // There is nothing before the first one.
            assert!(packets == [(round == 0, numbered(round))], "round {round}: {packets:?}");
        }
        stop.store(true, Ordering::Relaxed);
        let after = shell.service.footprint();
        assert_eq!((after.producers, after.flushes), (before.producers, before.flushes));
        assert!(shell.log.len() < 200, "{} lines", shell.log.len());
    });
    // The service did read what was overwritten, and found chunks there, of which some could not be read.
    let stats = shell.service.stats_of(shell.service.last_session()).unwrap();
    let of = &stats.buffer_stats[0];
    let foreign = of.chunks_written.unwrap() - ROUNDS as u64;
    assert!(foreign > 100 && of.abi_violations.unwrap() > 0, "{foreign} chunks: {of:?}");
    // The hostile producer has not changed any page of the honest one.
    let smb = honest.smb.clone().unwrap();
    assert!((0..smb.page_count()).all(|page| smb.page_hint(page).is_free()));
    hostile.disconnect(&mut shell);
    assert_eq!(shell.service.footprint().producers, 1);
}

/// Ends the thread that overwrites, also when the test fails.
struct StopsAtEnd<'a>(&'a AtomicBool);

impl Drop for StopsAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Chunks and patches lie inside of the memory. By value, a chunk comes with its bytes, and so does the word of a writer
/// that it drops packets.
fn check_commit(commit: &CommitDataRequest, by_value: bool) {
    for moved in &commit.chunks_to_move {
        let carried = moved.data.is_some();
        assert!(carried || !by_value);
        assert!(carried || (moved.page.unwrap() as usize) < PAGES);
        assert!(carried || moved.chunk.unwrap() < 14);
        assert!(moved.data.as_ref().is_none_or(|data| (8..=PAGE).contains(&data.len())));
    }
    for patch in commit.chunks_to_patch.iter().flat_map(|patched| &patched.patches) {
        assert!(patch.offset.unwrap() as usize + patch.data.as_ref().unwrap().len() <= PAGE);
    }
}

/// Writers whose service changes the states of their chunks while they write: they end, and their requests name only
/// chunks of their memory.
#[test]
fn writers_survive_a_hostile_service() {
    let (ours, theirs) = mapped_twice();
    let mut commits = 0;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| overwrite(&theirs, &stop));
        let _end = StopsAtEnd(&stop);
        for by_value in [false, true] {
            let smb = Smb::new(ours.clone(), PageSize::DEFAULT).unwrap();
            let mut options = ArbiterOptions::default();
            options.service.direct_patching = true;
            options.service.by_value = by_value;
            let arbiter = Arbiter::new(smb, options, Arc::new(NoWaker), Arc::new(NoPark));
            for _ in 0..100 {
                let mut writer =
                    arbiter.create_writer(BufferId::new(1), BufferExhaustedPolicy::StallThenDrop);
                for len in [1, 100, 3000, 10_000] {
                    let mut packet = writer.new_packet();
                    packet.for_testing().payload().single_string(&"x".repeat(len));
                }
                drop(writer);
                while let Some(outgoing) = arbiter.poll_request(BootTime::from_ns(0)) {
                    if let Request::CommitData(commit) = outgoing.request {
                        commits += 1;
                        check_commit(&commit, by_value);
                    }
                }
            }
        }
    });
    assert!(commits > 0);
}
