//! Shared memory that somebody scribbles over while the service takes, scrapes and frees chunks of it.

use std::sync::atomic::{AtomicBool, Ordering};

use protos::producer_port::Request;
use protos::{
    CommitDataRequest, CommitDataRequestChunksToMove, InitializeConnectionRequest,
    InitializeConnectionRequestProducerSMBScrapingMode as Mode, RegisterTraceWriterRequest,
};

use super::scraping::{NoPark, config};
use abi::ids::{BufferId, WriterId};
use abi::shm::{PageSize, Region, Smb};
use abi::sync::Arc;
use abi::time::BootTime;
use client::write::{Arbiter, ArbiterOptions, BufferExhaustedPolicy, NoWaker};
use os::shm;
use service::Peer;
use testing::mock::{MockConsumer, MockProducer};
use testing::shell::Shell;

const PAGES: usize = 16;
const PAGE: usize = 4096;
const WRITERS: u16 = 4;
const ROUNDS: usize = 1500;

/// Writes words that mean much into the places where they do, until it is told to stop.
fn scribble(region: &Region, stop: &AtomicBool) {
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
        assert!(region.store(page + off, &word.to_le_bytes()));
    }
}

#[test]
fn scribbled_memory_harms_nobody_but_its_owner() {
    let mut shell = Shell::new();
    let request = InitializeConnectionRequest {
        smb_scraping_mode: Some(Mode::SMB_SCRAPING_ENABLED),
        shared_memory_page_size_hint_bytes: Some(PAGE as u32),
        producer_provided_shmem: Some(true),
        ..Default::default()
    };
    let evil = Region::heap(PAGES * PAGE);
    let mut hostile =
        MockProducer::connect_with(&mut shell, Peer::default(), request, Some(evil.clone()));
    let mut honest = MockProducer::connect(&mut shell, "honest", Peer::default());
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
        scope.spawn(|| scribble(&evil, &stop));
        let before = shell.service.footprint();
        let mut honest_packets = 0;
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
            honest.write(&mut shell, WriterId(1), BufferId(1), &[Default::default()]);
            consumer.flush(&mut shell, 1);
            shell.advance_ms(2);
            if round % 16 == 0 {
                // What the hostile one wrote may be anything, so the packets are only counted.
                honest_packets += consumer.read_raw(&mut shell).len();
            }
        }
        stop.store(true, Ordering::Relaxed);
        let after = shell.service.footprint();
        assert!(honest_packets > 0);
        assert_eq!((after.producers, after.flushes), (before.producers, before.flushes));
        assert!(shell.log.len() < 200, "{} lines", shell.log.len());
    });
    // Pages of the honest one were never touched, whatever the other did.
    let smb = honest.smb.clone().unwrap();
    assert!((0..smb.page_count()).all(|page| smb.page_hint(page).is_free()));
    hostile.disconnect(&mut shell);
    assert_eq!(shell.service.footprint().producers, 1);
}

/// The other way round: writers whose service changes the states of their chunks under them. It is mapped
/// twice, as two processes would have it.
#[test]
fn writers_survive_a_hostile_service() {
    let ours = shm::create(PAGES * PAGE).unwrap();
    let theirs = shm::adopt(ours.fd().unwrap().try_clone_to_owned().unwrap()).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| scribble(&theirs, &stop));
        for by_value in [false, true] {
            let smb = Smb::new(ours.clone(), PageSize::DEFAULT).unwrap();
            let options =
                ArbiterOptions { direct_patching: true, by_value, ..ArbiterOptions::default() };
            let arbiter = Arbiter::new(smb, options, Arc::new(NoWaker), Arc::new(NoPark));
            for _ in 0..100 {
                let mut writer =
                    arbiter.create_writer(BufferId(1), BufferExhaustedPolicy::StallThenDrop);
                for len in [1, 100, 3000, 10_000] {
                    let mut packet = writer.new_packet();
                    packet.for_testing().payload().single_string(&"x".repeat(len));
                }
                drop(writer);
                while arbiter.poll_request(BootTime(0)).is_some() {}
            }
            assert!(arbiter.is_idle());
        }
        stop.store(true, Ordering::Relaxed);
    });
}
