//! Producers that connect, lie and vanish.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use abi::ipc::port::ProducerPort;
use client::connection::{Attachment, Connection, Received, SocketConnection};
use os::shm;
use protos::producer_port::Request;
use protos::{
    ActivateTriggersRequest, CommitDataRequest, CommitDataRequestChunkToPatch,
    CommitDataRequestChunkToPatchPatch, CommitDataRequestChunksToMove, GetAsyncCommandRequest,
    InitializeConnectionRequest, InitializeConnectionRequestProducerSMBScrapingMode as Mode,
    NotifyDataSourceStartedRequest, NotifyDataSourceStoppedRequest, RegisterDataSourceRequest,
    RegisterTraceWriterRequest, UnregisterDataSourceRequest,
};

use crate::daemon::{Daemon, wait_until};
use crate::producers::{config, descriptor};
use crate::{Outcome, Plan};

const SOURCE: &str = "load.liar";
/// What an allocator may keep, KiB.
const SLACK_KB: u64 = 16 * 1024;

/// xorshift64: any dice will do.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }

    fn small(&mut self) -> Option<u32> {
        let any = self.roll(u64::from(u32::MAX) * 2) as u32;
        let value = match self.roll(6) {
            0 => return None,
            1 => any,
            _ => any % 70,
        };
        Some(value)
    }

    fn bytes(&mut self, below: u64) -> Vec<u8> {
        (0..self.roll(below)).map(|_| self.roll(256) as u8).collect()
    }
}

fn commit(dice: &mut Dice) -> CommitDataRequest {
    let moves = (0..dice.roll(20)).map(|_| CommitDataRequestChunksToMove {
        page: dice.small(),
        chunk: dice.small().map(|chunk| chunk % 16),
        target_buffer: dice.small(),
        data: (dice.roll(3) == 0).then(|| dice.bytes(5000)),
        chunk_incomplete: Some(dice.roll(2) == 0),
        ..Default::default()
    });
    let chunks_to_move = moves.collect();
    let patches = |dice: &mut Dice| {
        let patches = (0..dice.roll(30)).map(|_| CommitDataRequestChunkToPatchPatch {
            offset: dice.small(),
            data: Some(dice.bytes(6)),
            ..Default::default()
        });
        patches.collect()
    };
    let chunks_to_patch = (0..dice.roll(4)).map(|_| CommitDataRequestChunkToPatch {
        target_buffer: dice.small(),
        writer_id: dice.small(),
        chunk_id: dice.small(),
        patches: patches(dice),
        has_more_patches: Some(dice.roll(2) == 0),
        ..Default::default()
    });
    let chunks_to_patch = chunks_to_patch.collect();
    let flush_request_id = (dice.roll(2) == 0).then(|| dice.roll(1000));
    CommitDataRequest { chunks_to_move, chunks_to_patch, flush_request_id, ..Default::default() }
}

fn lie(dice: &mut Dice) -> Request {
    match dice.roll(10) {
        0 => Request::RegisterDataSource(RegisterDataSourceRequest {
            data_source_descriptor: Some(protos::DataSourceDescriptor {
                id: Some(dice.roll(3)),
                will_notify_on_start: Some(true),
                will_notify_on_stop: Some(true),
                ..descriptor(SOURCE)
            }),
            ..Default::default()
        }),
        1 => Request::UnregisterDataSource(UnregisterDataSourceRequest {
            data_source_name: Some(SOURCE.into()),
            ..Default::default()
        }),
        2 => Request::RegisterTraceWriter(RegisterTraceWriterRequest {
            trace_writer_id: dice.small(),
            target_buffer: dice.small(),
            ..Default::default()
        }),
        3 => Request::NotifyDataSourceStarted(NotifyDataSourceStartedRequest {
            data_source_id: Some(dice.roll(10_000)),
            ..Default::default()
        }),
        4 => Request::NotifyDataSourceStopped(NotifyDataSourceStoppedRequest {
            data_source_id: Some(dice.roll(10_000)),
            ..Default::default()
        }),
        5 => Request::ActivateTriggers(ActivateTriggersRequest {
            trigger_names: (0..dice.roll(50)).map(|n| format!("{n}")).collect(),
            ..Default::default()
        }),
        6 => Request::GetAsyncCommand(GetAsyncCommandRequest::default()),
        7 => Request::InitializeConnection(InitializeConnectionRequest::default()),
        _ => Request::CommitData(commit(dice)),
    }
}

/// One life, from connecting to vanishing in the middle of something.
fn live(daemon: &Daemon, dice: &mut Dice) -> Outcome {
    let connected = SocketConnection::<ProducerPort>::connect(&daemon.producers);
    let mut link = connected.map_err(|error| format!("the daemon takes nobody: {error}"))?;
    let own = (dice.roll(3) == 0).then(|| shm::create(1 << 18).ok()).flatten();
    let page = if dice.roll(4) == 0 { 5000 } else { 4096 };
    let hello = InitializeConnectionRequest {
        producer_name: Some("liar".into()),
        smb_scraping_mode: Some(Mode::SMB_SCRAPING_ENABLED),
        shared_memory_page_size_hint_bytes: Some(page),
        producer_provided_shmem: Some(own.is_some()),
        ..Default::default()
    };
    let attachment = own.map_or(Attachment::None, Attachment::Region);
    let _ = link.send(Request::InitializeConnection(hello), true, attachment);
    if dice.roll(10) > 0 {
        let commands = Request::GetAsyncCommand(GetAsyncCommandRequest::default());
        let _ = link.send(commands, true, Attachment::None);
    }
    for _ in 0..dice.roll(40) {
        let want_reply = dice.roll(2) == 0;
        if link.send(lie(dice), want_reply, Attachment::None).is_err() {
            break;
        }
        while dice.roll(3) == 0 {
            match link.receive(Some(Duration::ZERO)) {
                Received::Reply { .. } => drop(link.take_region()),
                _ => break,
            }
        }
    }
    Ok(())
}

/// Runs the act.
pub fn run(daemon: &Daemon, plan: &Plan) -> Outcome {
    // A session that wants them, so that they get memory.
    let mut consumer = daemon.consumer()?;
    consumer.enable_tracing(&config(SOURCE, 1024), None).map_err(|error| error.to_string())?;
    let lives = AtomicU64::new(0);
    let descriptors = daemon.holdings()?.descriptors;
    // Whatever memory the first ones made it keep is no leak.
    crowd(daemon, plan, plan.time / 10, &lives, descriptors)?;
    let before = daemon.holdings()?;
    crowd(daemon, plan, plan.time, &lives, descriptors)?;
    let after = daemon.holdings()?;
    println!("{} liars: {before:?} before, {after:?} after", lives.load(Ordering::Relaxed));
    if after.rss_kb > before.rss_kb + SLACK_KB {
        return Err("memory is left behind".into());
    }
    // The session that all of them lied to is well, and nothing of theirs is known.
    let stats = consumer.get_trace_stats().map_err(|error| error.to_string())?;
    let known = (stats.producers_connected, stats.tracing_sessions, stats.total_buffers);
    if known != (Some(0), Some(1), Some(1)) || stats.data_sources_registered != Some(0) {
        return Err(format!("somebody is left behind: {stats:?}"));
    }
    consumer.disable_tracing().map_err(|error| error.to_string())?;
    let mut trace = Vec::new();
    consumer.read_into(&mut trace, crate::daemon::PATIENCE).map_err(|error| error.to_string())?;
    Ok(())
}

/// Liars for some time, and then the wait until the daemon has no more than `descriptors`.
fn crowd(
    daemon: &Daemon,
    plan: &Plan,
    time: Duration,
    lives: &AtomicU64,
    descriptors: usize,
) -> Outcome {
    let end = Instant::now() + time;
    let outcome = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..plan.liars)
            .map(|index| {
                scope.spawn(move || {
                    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (index as u64 + 1) << 20);
                    while Instant::now() < end {
                        live(daemon, &mut dice)?;
                        lives.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(())
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or(Err("panicked".into())))
    });
    wait_until("the liars are forgotten", || Ok(daemon.known()? == (0, 0)))?;
    // Some may still wait to be accepted, and to be found gone.
    wait_until("all descriptors are closed", || Ok(daemon.holdings()?.descriptors <= descriptors))?;
    outcome
}
