//! The actions of consumers, and their checks of the replies.

use std::collections::BTreeMap;

use protos::consumer_port::Request;
use protos::{
    EnableTracingRequest, EnableTracingResponse, LossLedgerReason, ObserveEventsResponse,
    ReadBuffersResponse, TraceConfig, TracePacket,
};
use protozero::Message as _;

use super::configs::{clears, empties, random_config, reader, target};
use super::sessions::Sessions;
use super::{Actor, World, shape};
use crate::check::Reader;
use crate::marks::Marks;
use crate::rng::Rng;
use crate::shell::Reply;
use crate::workload::HOSTILE_UID;
use abi::ids::{CallId, FileId, SessionId};
use service::Service;

/// The largest page that simulated producers ask for.
const PAGE_BYTES_MAX: u64 = 32 * 1024;

/// One consumer.
pub(super) struct Consumer {
    pub(super) rng: Rng,
    /// How many sessions it will still ask for.
    sessions_left: u64,
    pub(super) config: TraceConfig,
    pub(super) reader: Reader,
    session: u64,
    pub(super) enable: Option<CallId>,
    /// Answered once the service has seen the request for a session.
    pub(super) fence: Option<CallId>,
    read: Option<CallId>,
    observe: Option<CallId>,
    packet: Vec<u8>,
    flush: Option<CallId>,
    /// By writer: packets written before the flush was requested.
    required: BTreeMap<u64, u32>,
    /// Writers whose processes were gone before that, for the service, too.
    left: Vec<u64>,
    /// A flush succeeded, so the read that follows must be complete.
    strict: bool,
    file: Option<FileId>,
    pub(super) slow: bool,
    /// It has freed its session, and waits for replies.
    freed: bool,
    /// Its session was started by another consumer: it is attached, or a clone. So others may have read from it.
    pub(super) foreign: bool,
    /// The answer to `fence` says whether this was done.
    pub(super) attempt: Option<Attempt>,
}

/// A request that gives a consumer the session of another one, or takes its own.
pub(super) enum Attempt {
    Clone { for_trigger: bool },
    Attach,
    Detach,
}

impl Consumer {
    pub(super) fn new(mut rng: Rng) -> Self {
        Self {
            sessions_left: rng.within(1, 6),
            config: TraceConfig::default(),
            reader: Reader::default(),
            session: 0,
            enable: None,
            fence: None,
            read: None,
            observe: None,
            packet: Vec::new(),
            flush: None,
            required: BTreeMap::new(),
            left: Vec::new(),
            strict: false,
            file: None,
            slow: rng.chance(30),
            freed: false,
            foreign: false,
            attempt: None,
            rng,
        }
    }

    /// Whether it asked for its session itself, of which clones take whole buffers.
    fn is_own_transferred(&self) -> bool {
        !self.foreign && !clears(&self.config) && empties(&self.config)
    }

    /// Forgets the last session.
    pub(super) fn forget(&mut self) {
        self.config = TraceConfig::default();
        self.reader = Reader::default();
        self.session = 0;
        self.strict = false;
        self.foreign = false;
        self.packet.clear();
    }
}

impl World {
    pub(super) fn act_consumer(&mut self, index: usize) {
        let Actor::Consumer(consumer) = &mut self.actors[index] else { return };
        if self.ending {
            // Ends its session, and waits for all replies.
            if !std::mem::replace(&mut consumer.freed, true) {
                self.send_consumer(index, Request::FreeBuffers(Default::default()), None);
            }
            return;
        }
        let idle = consumer.fence.is_none() && consumer.flush.is_none() && consumer.read.is_none();
        let has_ended =
            if consumer.foreign { consumer.rng.chance(5) } else { consumer.enable.is_none() };
        if has_ended && idle {
            if consumer.sessions_left == 0 {
                return;
            }
            consumer.sessions_left -= 1;
            // The previous session is freed.
            self.report.sessions += 1;
            self.send_consumer(index, Request::FreeBuffers(Default::default()), None);
            let hit = if self.rng.chance(50) { self.prediction.hits.pop() } else { None };
            return match self.rng.below(10) {
                _ if hit.is_some() => self.clone_session(index, hit),
                0..=1 => self.clone_session(index, None),
                2 => self.attach(index),
                _ => self.enable(index),
            };
        }
        let (flush, read, strict) =
            (consumer.flush.is_some(), consumer.read.is_some(), consumer.strict);
        let ready = consumer.fence.is_none();
        match consumer.rng.below(14) {
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
                    events_to_observe: [1, 2, 4].map(protos::ObservableEventsType).to_vec(),
                    ..Default::default()
                };
                let call = self.send_consumer(index, Request::ObserveEvents(request), None);
                if let Actor::Consumer(consumer) = &mut self.actors[index] {
                    consumer.observe = Some(call);
                }
            }
            10 => {
                self.send_consumer(index, Request::GetTraceStats(Default::default()), None);
            }
            11 => self.change_config(index),
            12 if self.rng.chance(20) && idle => self.detach(index),
            13 if self.rng.chance(20) => {
                self.send_consumer(index, Request::SaveTraceForBugreport(Default::default()), None);
            }
            _ => {}
        }
    }

    fn ask_flush(&mut self, index: usize) {
        let session = self.session_of(index);
        let Actor::Consumer(consumer) = &mut self.actors[index] else { return };
        if !consumer.foreign {
            consumer.session = session.map_or(0, |s| s.get());
        }
        consumer.required = self
            .ledger
            .logs
            .iter()
            .filter(|(_, log)| log.session == consumer.session && !log.gone)
            .filter(|(_, log)| log.uid < HOSTILE_UID)
            .map(|(tag, log)| (*tag, log.written))
            .collect();
        let service = &self.service;
        let has_left = |client| service.uid_of_producer(client).is_none() && !service.has_work();
        consumer.left = self
            .ledger
            .logs
            .iter()
            .filter(|(_, log)| log.session == consumer.session && log.gone && log.drops == 0)
            .filter(|(_, log)| log.uid < HOSTILE_UID && has_left(log.client))
            .map(|(tag, _)| *tag)
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

    pub(super) fn session_of(&self, index: usize) -> Option<SessionId> {
        self.service.session_of(self.client_of[index]?)
    }

    fn enable(&mut self, index: usize) {
        let Actor::Consumer(consumer) = &mut self.actors[index] else { return };
        consumer.forget();
        consumer.config = random_config(&mut consumer.rng);
        consumer.reader = reader(&consumer.config);
        // Until there is a clone.
        consumer.reader.emptied = clears(&consumer.config);
        let by_path = consumer.config.output_path.is_some();
        let to_file = consumer.config.write_into_file == Some(true) && !by_path;
        let config = consumer.config.clone();
        let file = to_file.then(|| self.new_file(Some(index), &config));
        let request = EnableTracingRequest {
            trace_config: Some(config.into()),
            ..EnableTracingRequest::default()
        };
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
            let ended = reply.response.as_ref().and_then(|r| EnableTracingResponse::decode(r).ok());
            note_end(ended.map(|ended| ended.error.unwrap_or_default()), &mut self.report.marks);
            consumer.enable = None;
            return Ok(());
        }
        if consumer.fence == Some(reply.call) {
            consumer.fence = None;
            self.attempted(index, reply);
            return Ok(());
        }
        if consumer.observe == Some(reply.call) {
            let response = reply.response.as_deref().unwrap_or_default();
            let events = ObserveEventsResponse::decode(response).map_err(|e| e.to_string())?.events;
            let hit = events.and_then(|events| events.clone_trigger_hit);
            let marks = &mut self.report.marks;
            return hit.map_or(Ok(()), |hit| {
                self.prediction.hit(&self.sessions, &self.history, marks, hit)
            });
        }
        if consumer.flush == Some(reply.call) {
            consumer.flush = None;
            let to_file = consumer.config.write_into_file == Some(true);
            let all_is_shown = !to_file && !consumer.foreign && !consumer.hides();
            if reply.response.is_some() && consumer.session != 0 && all_is_shown {
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
                let (bytes, mut plain) = (std::mem::take(&mut consumer.packet), Vec::new());
                for packet in shape::unpack(&consumer.config, &bytes, &mut plain)? {
                    // Packets of hostile producers may be anything that passes the validator.
                    let Ok(packet) = TracePacket::decode(packet) else { continue };
                    if consumer.session == 0 {
                        consumer.session = self.ledger.session_of(&packet);
                    }
                    if consumer.is_own_transferred() && !consumer.reader.emptied {
                        consumer.reader.emptied =
                            is_cloned(consumer.session, &self.service, &self.sessions);
                    }
                    // Packets in the file are missing here, and this reader cannot know which.
                    if consumer.config.write_into_file == Some(true) {
                        continue;
                    }
                    consumer.reader.packet(&mut self.ledger, consumer.session, &packet)?;
                }
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

    /// After a successful flush, all packets written before it must have been read, or their buffer must have
    /// counted a loss.
    fn check_complete(&mut self, index: usize) -> Result<(), String> {
        let Actor::Consumer(consumer) = &mut self.actors[index] else { return Ok(()) };
        // What was in its transferred buffers is with its clones.
        let is_taken = consumer.is_own_transferred()
            && is_cloned(consumer.session, &self.service, &self.sessions);
        let Some(stats) = self.service.stats_of(SessionId::new(consumer.session)) else {
            return Ok(());
        };
        // Violations are chunks of hostile producers, so they do not explain a loss of an honest one. One exception:
        // a chunk that is larger than the whole buffer always counts as a violation.
        let lossy: Vec<bool> = stats
            .buffer_stats
            .iter()
            .zip(&consumer.config.buffers)
            .map(|(b, config)| {
                let lost = b.chunks_overwritten.unwrap_or(0) + b.chunks_discarded.unwrap_or(0);
                let small = b.buffer_size.unwrap_or(0) <= PAGE_BYTES_MAX;
                let transfers = config.transfer_on_clone == Some(true);
                lost > 0 || small && b.abi_violations.unwrap_or(0) > 0 || is_taken && transfers
            })
            .collect();
        self.check_left(index, &stats, &lossy)?;
        let Actor::Consumer(consumer) = &mut self.actors[index] else { return Ok(()) };
        self.report.complete_reads += 1;
        self.report.marks.event("a read after a flush was complete");
        for (tag, required) in &consumer.required {
            let Some(log) = self.ledger.logs.get(tag) else { continue };
            if log.gone || log.never_asked {
                continue;
            }
            let seen = consumer.reader.seen.get(tag).copied().unwrap_or(0);
            let gaps = consumer.reader.gaps.get(tag).copied().unwrap_or(0);
            // A filter may remove marks, and another consumer may have read them.
            let told = consumer.reader.is_tail_marked(*tag)
                || consumer.reader.filtered
                || consumer.reader.came_late;
            let is_tail_lost = seen < *required;
            let is_told = !is_tail_lost || told;
            // One each time that the writer began to drop packets, at most.
            let gaps = gaps + u64::from(is_tail_lost);
            let mut sources = consumer.config.data_sources.iter().filter_map(|s| s.config.as_ref());
            // A config may name a data source several times, each with another buffer.
            let counted = sources.any(|source| {
                source.name.as_ref() == Some(&log.source)
                    && lossy.get(target(&consumer.config, source)) == Some(&true)
            });
            if (!is_told || gaps > log.drops) && !counted {
                return Err(format!(
                    "session {}, writer {tag:#x}: {seen} of {required} packets after a flush, {gaps} gaps, {} drops, \
                     and its buffer counted no loss",
                    consumer.session, log.drops
                ));
            }
        }
        Ok(())
    }

    /// What processes wrote that are gone must have been read, too, or the ledger of the session has it.
    fn check_left(
        &mut self,
        index: usize,
        stats: &protos::TraceStats,
        lossy: &[bool],
    ) -> Result<(), String> {
        let Actor::Consumer(consumer) = &mut self.actors[index] else { return Ok(()) };
        let view = self.service.view(SessionId::new(consumer.session));
        let records = view.is_some_and(|view| view.state == "STARTED");
        if !records || consumer.reader.came_late || consumer.reader.emptied {
            return Ok(());
        }
        // By process.
        let mut tails: BTreeMap<i32, u64> = BTreeMap::new();
        for tag in &consumer.left {
            let Some(log) = self.ledger.logs.get(tag) else { continue };
            let mut sources = consumer.config.data_sources.iter().filter_map(|s| s.config.as_ref());
            let counted = sources.any(|source| {
                source.name.as_ref() == Some(&log.source)
                    && lossy.get(target(&consumer.config, source)) == Some(&true)
            });
            let seen = consumer.reader.seen.get(tag).copied().unwrap_or(0);
            if !counted && log.written > seen {
                *tails.entry(log.pid).or_default() += u64::from(log.written - seen);
            }
        }
        let entries = || stats.loss_ledger.iter().flat_map(|ledger| &ledger.entries);
        for (pid, tail) in tails {
            let of_process = entries().filter(|entry| {
                entry.pid == Some(pid)
                    && entry.reason == Some(LossLedgerReason::REASON_LEFT_UNFINISHED)
            });
            let (mut told, mut is_more) = (0, false);
            for entry in of_process {
                told += entry.count.unwrap_or(0);
                is_more |= entry.at_least == Some(true);
            }
            if told < tail && !is_more {
                return Err(format!(
                    "session {}: the last {tail} packets of process {pid} are missing, and the ledger has {told}",
                    consumer.session
                ));
            }
            self.report.marks.event("packets of a process that was killed are in the ledger");
        }
        Ok(())
    }
}

/// Whether clones have buffers of a session: they are made, or not yet, or its ledger tells that they were not.
fn is_cloned(session: u64, service: &Service, sessions: &Sessions) -> bool {
    let is_made = sessions.all().any(|facts| facts.origin == session && facts.is_clone());
    let view = service.view(SessionId::new(session));
    is_made || view.is_none_or(|view| view.clone_pending || view.clone_failed)
}

/// A session ended with this error, or with none; or its request was rejected.
fn note_end(error: Option<String>, marks: &mut Marks) {
    if error.as_ref().is_none_or(|text| !text.is_empty()) {
        marks.event("a session was refused");
    }
    if error.is_some_and(|text| text.contains("trace buffers too large")) {
        marks.event("a session had no room for its buffers");
    }
}
