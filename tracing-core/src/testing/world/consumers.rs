//! What consumers do, and what they make of the answers.

use std::collections::BTreeMap;

use protos::consumer_port::Request;
use protos::{
    DataSourceConfig, EnableTracingRequest, ReadBuffersResponse, TraceConfig,
    TraceConfigBufferConfig, TraceConfigBufferConfigFillPolicy as Policy, TraceConfigDataSource,
    TracePacket,
};
use protozero::Message as _;

use super::{Actor, World};
use crate::ids::{CallId, FileId, SessionId};
use crate::testing::check::Reader;
use crate::testing::rng::Rng;
use crate::testing::shell::Reply;
use crate::testing::workload::{HOSTILE_UID, SOURCES};

/// The largest page that simulated producers ask for.
const PAGE_BYTES_MAX: u64 = 32 * 1024;

/// One consumer.
pub(super) struct Consumer {
    pub(super) rng: Rng,
    /// Sessions it will still ask for.
    lives: u64,
    config: TraceConfig,
    reader: Reader,
    session: u64,
    enable: Option<CallId>,
    /// Answered once the service has seen the request for a session.
    fence: Option<CallId>,
    read: Option<CallId>,
    packet: Vec<u8>,
    flush: Option<CallId>,
    /// What had been written, by writer, when the flush was asked for.
    required: BTreeMap<u64, u32>,
    /// A flush succeeded, and the read that follows must be complete.
    strict: bool,
    file: Option<FileId>,
    pub(super) slow: bool,
    /// It freed what it had, and only waits.
    gave_up: bool,
}

impl Consumer {
    pub(super) fn new(mut rng: Rng) -> Self {
        Self {
            lives: rng.within(1, 6),
            config: TraceConfig::default(),
            reader: Reader::default(),
            session: 0,
            enable: None,
            fence: None,
            read: None,
            packet: Vec::new(),
            flush: None,
            required: BTreeMap::new(),
            strict: false,
            file: None,
            slow: rng.chance(30),
            gave_up: false,
            rng,
        }
    }
}

fn random_config(rng: &mut Rng) -> TraceConfig {
    let buffers: Vec<TraceConfigBufferConfig> = (0..rng.within(1, 3))
        .map(|_| TraceConfigBufferConfig {
            size_kb: Some(rng.pick(&[8, 64, 512, 4096, 4096])),
            fill_policy: Some(rng.pick(&[Policy::RING_BUFFER, Policy::DISCARD])),
            ..Default::default()
        })
        .collect();
    let data_sources = (0..rng.below(5))
        .map(|_| TraceConfigDataSource {
            config: Some(DataSourceConfig {
                name: Some(rng.pick(&SOURCES).into()),
                // One past the end now and then: refused.
                target_buffer: Some({
                    let past_the_end = u64::from(rng.chance(5));
                    rng.below(buffers.len() as u64 + past_the_end) as u32
                }),
                ..Default::default()
            }),
            ..Default::default()
        })
        .collect();
    let to_file = rng.chance(30);
    TraceConfig {
        buffers,
        data_sources,
        duration_ms: rng.chance(40).then(|| rng.within(1, 5_000) as u32),
        deferred_start: Some(rng.chance(20)),
        flush_period_ms: rng.chance(30).then(|| rng.within(1, 1000) as u32),
        flush_timeout_ms: rng.chance(30).then(|| rng.within(1, 2000) as u32),
        data_source_stop_timeout_ms: rng.chance(50).then(|| rng.within(1, 3000) as u32),
        write_into_file: Some(to_file),
        output_path: (to_file && rng.chance(40)).then(|| "/sim/trace".into()),
        file_write_period_ms: Some(rng.pick(&[0, 1, 300, 6000])),
        max_file_size_bytes: rng.chance(20).then(|| rng.below(200_000)),
        unique_session_name: rng.chance(10).then(|| "the one".into()),
        exclusive_prio: rng.chance(3).then(|| rng.below(3) as u32),
        prefer_suspend_clock_for_duration: Some(rng.chance(30)),
        builtin_data_sources: rng.chance(30).then(|| protos::TraceConfigBuiltinDataSource {
            enable_concurrent_session_events: Some(true),
            snapshot_interval_ms: Some(rng.pick(&[0, 1, 50])),
            ..Default::default()
        }),
        incremental_state_config: rng.chance(20).then(|| {
            protos::TraceConfigIncrementalStateConfig {
                clear_period_ms: Some(rng.within(1, 500) as u32),
                ..Default::default()
            }
        }),
        ..Default::default()
    }
}

impl World {
    pub(super) fn act_consumer(&mut self, index: usize) {
        let Actor::Consumer(consumer) = &mut self.actors[index] else { return };
        if self.ending {
            // Ends what it has, and waits for all answers.
            if !std::mem::replace(&mut consumer.gave_up, true) {
                self.send_consumer(index, Request::FreeBuffers(Default::default()), None);
            }
            return;
        }
        let idle = consumer.fence.is_none() && consumer.flush.is_none() && consumer.read.is_none();
        if consumer.enable.is_none() && idle {
            if consumer.lives == 0 {
                return;
            }
            consumer.lives -= 1;
            // Whatever it had before is given up.
            self.report.sessions += 1;
            self.send_consumer(index, Request::FreeBuffers(Default::default()), None);
            return self.enable(index);
        }
        let (flush, read, strict) =
            (consumer.flush.is_some(), consumer.read.is_some(), consumer.strict);
        let ready = consumer.fence.is_none();
        match consumer.rng.below(12) {
            0..=2 if !flush && !read && !strict && ready => self.ask_flush(index),
            3..=4 if !read && !flush && ready => self.read(index),
            5 => {
                self.send_consumer(index, Request::StartTracing(Default::default()), None);
            }
            6 if self.rng.chance(20) => {
                self.send_consumer(index, Request::DisableTracing(Default::default()), None);
            }
            7 if self.rng.chance(10) && !flush && !read => {
                self.send_consumer(index, Request::FreeBuffers(Default::default()), None);
            }
            8 => {
                self.send_consumer(index, Request::QueryServiceState(Default::default()), None);
            }
            9 => {
                let request = protos::ObserveEventsRequest {
                    events_to_observe: vec![
                        protos::ObservableEventsType(1),
                        protos::ObservableEventsType(2),
                    ],
                    ..Default::default()
                };
                self.send_consumer(index, Request::ObserveEvents(request), None);
            }
            10 => {
                self.send_consumer(index, Request::GetTraceStats(Default::default()), None);
            }
            _ => {}
        }
    }

    fn ask_flush(&mut self, index: usize) {
        let session = self.session_of(index);
        let Actor::Consumer(consumer) = &mut self.actors[index] else { return };
        consumer.session = session.map_or(0, |s| s.0);
        consumer.required = self
            .ledger
            .logs
            .iter()
            .filter(|(_, log)| log.session == consumer.session && !log.gone)
            .filter(|(_, log)| log.uid < HOSTILE_UID)
            .map(|(tag, log)| (*tag, log.written))
            .collect();
        let request = protos::FlushRequest {
            timeout_ms: Some(consumer.rng.pick(&[0, 1, 100])),
            ..Default::default()
        };
        let call = self.send_consumer(index, Request::Flush(request), None);
        if let Actor::Consumer(consumer) = &mut self.actors[index] {
            consumer.flush = Some(call);
        }
    }

    fn session_of(&self, index: usize) -> Option<SessionId> {
        self.service.session_of(self.client_of[index]?)
    }

    fn enable(&mut self, index: usize) {
        let Actor::Consumer(consumer) = &mut self.actors[index] else { return };
        consumer.config = random_config(&mut consumer.rng);
        consumer.reader = Reader::default();
        consumer.session = 0;
        consumer.strict = false;
        consumer.packet.clear();
        let by_path = consumer.config.output_path.is_some();
        let to_file = consumer.config.write_into_file == Some(true) && !by_path;
        let config = consumer.config.clone();
        let file = to_file.then(|| self.new_file(Some(index)));
        let request =
            EnableTracingRequest { trace_config: Some(config), ..EnableTracingRequest::default() };
        let call = self.send_consumer(index, Request::EnableTracing(request), file);
        let fence = self.send_consumer(index, Request::QueryCapabilities(Default::default()), None);
        if let Actor::Consumer(consumer) = &mut self.actors[index] {
            consumer.enable = Some(call);
            consumer.fence = Some(fence);
            consumer.file = file;
        }
    }

    fn read(&mut self, index: usize) {
        let call = self.send_consumer(index, Request::ReadBuffers(Default::default()), None);
        if let Actor::Consumer(consumer) = &mut self.actors[index] {
            consumer.read = Some(call);
            consumer.packet.clear();
        }
    }

    pub(super) fn deliver_consumer(&mut self, index: usize, reply: &Reply) -> Result<(), String> {
        let Actor::Consumer(consumer) = &mut self.actors[index] else { return Ok(()) };
        if consumer.enable == Some(reply.call) {
            consumer.enable = None;
            return Ok(());
        }
        if consumer.fence == Some(reply.call) {
            consumer.fence = None;
            return Ok(());
        }
        if consumer.flush == Some(reply.call) {
            consumer.flush = None;
            let to_file = consumer.config.write_into_file == Some(true);
            if reply.response.is_some() && consumer.session != 0 && !to_file {
                consumer.strict = true;
                self.read(index);
            }
            return Ok(());
        }
        if consumer.read != Some(reply.call) {
            return Ok(());
        }
        if let Some(response) = &reply.response {
            let response = ReadBuffersResponse::decode(response).map_err(|e| e.to_string())?;
            for slice in response.slices {
                consumer.packet.extend_from_slice(slice.data.as_deref().unwrap_or_default());
                if slice.last_slice_for_packet != Some(true) {
                    continue;
                }
                let bytes = std::mem::take(&mut consumer.packet);
                // Packets of hostile producers may be anything that passes the validator.
                let Ok(packet) = TracePacket::decode(&bytes) else { continue };
                if consumer.session == 0 {
                    consumer.session = self.ledger.session_of(&packet);
                }
                // What the file took is not here, and this reader knows nothing of it.
                if consumer.config.write_into_file == Some(true) {
                    continue;
                }
                consumer.reader.packet(&mut self.ledger, consumer.session, &packet)?;
            }
        }
        if !reply.has_more {
            consumer.read = None;
            if std::mem::take(&mut consumer.strict) {
                return self.check_complete(index);
            }
        }
        Ok(())
    }

    /// After a flush that succeeded all is there that was written before it was asked for, or its loss is
    /// in the statistics of its own buffer.
    fn check_complete(&mut self, index: usize) -> Result<(), String> {
        let Actor::Consumer(consumer) = &mut self.actors[index] else { return Ok(()) };
        let Some(stats) = self.service.stats_of(SessionId(consumer.session)) else {
            return Ok(());
        };
        // What the service refused were chunks of hostile producers: that explains nothing that an honest
        // one lost. A chunk that is larger than the whole buffer counts as a violation, whoever sends it.
        let lossy: Vec<bool> = stats
            .buffer_stats
            .iter()
            .map(|b| {
                let lost = b.chunks_overwritten.unwrap_or(0) + b.chunks_discarded.unwrap_or(0);
                let small = b.buffer_size.unwrap_or(0) <= PAGE_BYTES_MAX;
                lost > 0 || small && b.abi_violations.unwrap_or(0) > 0
            })
            .collect();
        self.report.complete_reads += 1;
        for (tag, required) in &consumer.required {
            let Some(log) = self.ledger.logs.get(tag) else { continue };
            if log.gone || log.dropped || log.never_asked {
                continue;
            }
            let seen = consumer.reader.seen.get(tag).copied().unwrap_or(0);
            let missing = consumer.reader.missing.get(tag).copied().unwrap_or(0);
            let mut sources = consumer.config.data_sources.iter().filter_map(|s| s.config.as_ref());
            // A name may be asked for more than once, with a buffer each.
            let counted = sources.any(|source| {
                source.name.as_ref() == Some(&log.source)
                    && lossy.get(source.target_buffer.unwrap_or(0) as usize) == Some(&true)
            });
            if (seen < *required || missing > 0) && !counted {
                return Err(format!(
                    "session {}, writer {tag:#x}: {seen} of {required} packets after a flush, {missing} \
                     missing before, and its buffer counted no loss",
                    consumer.session
                ));
            }
        }
        Ok(())
    }
}
