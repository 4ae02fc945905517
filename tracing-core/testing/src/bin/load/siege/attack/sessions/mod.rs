//! Sessions for hostile producers that last a while, and counts of what they received: whether the attack reaches what
//! it is for.

use std::convert::Infallible;
use std::time::Duration;

use client::consumer::{Consumer, ConsumerError, Waited};
use protos::{
    CloneSessionRequest, CloneSessionRequestSelector, DataSourceConfig, TestEventField,
    TraceConfig, TraceConfigBufferConfig, TraceConfigBufferConfigExperimentalMode as Mode,
    TraceConfigCompressionConfig, TraceConfigDataSource, TraceConfigTriggerConfig,
    TraceConfigTriggerConfigTrigger, TraceConfigTriggerConfigTriggerMode as TriggerMode,
    TraceField, TracePacketField, TraceReader, TraceStats,
};
use tracing_core_testing::TRIGGERS;

use super::super::honest::inflate;
use super::super::{HOSTILE, is_root};
use super::{Target, consumers};
use crate::Outcome;
use crate::chunks::SCRAPED;
use crate::daemon::FOREVER;
use crate::hostile::Random;
use crate::requests::SOURCE;

/// How often such a session is flushed before it ends.
const FLUSHES: u64 = 8;
/// How long it waits for producers that do not answer.
const TIMEOUT: Duration = Duration::from_millis(100);
/// Buffers of a session, KiB: so small that chunks are overwritten.
const BUFFER_KB: u32 = 64;

/// Chunks and packets of hostile producers that the service took, and answers that they got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    counts: [u64; KINDS.len()],
}

/// What is counted, in the order of [`Seen`].
const KINDS: [&str; 13] = [
    "chunks written to buffers of version 1",
    "chunks overwritten in buffers of version 1",
    "patches of chunks in buffers of version 1",
    "chunks written to buffers of version 2",
    "chunks overwritten in buffers of version 2",
    "patches of chunks in buffers of version 2",
    "packets read",
    "packets read from chunks that were not handed over",
    "packets read from compressed bundles",
    "packets read from clones",
    "packets read through a filter",
    "flushes that all producers answered",
    "triggers",
];

const READ: usize = 6;
const SCRAPES: usize = 7;
const COMPRESSED: usize = 8;
const CLONED: usize = 9;
const FILTERED: usize = 10;
const FLUSHED: usize = 11;
const TRIGGERED: usize = 12;

impl Seen {
    /// The counts that another process printed.
    pub fn parse(line: &str) -> Option<Self> {
        let counts: Result<Vec<u64>, _> = line.split(' ').map(str::parse).collect();
        Some(Self { counts: counts.ok()?.try_into().ok()? })
    }

    pub fn line(&self) -> String {
        self.counts.map(|count| count.to_string()).join(" ")
    }

    pub fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
    }

    /// All counts, for people.
    pub fn text(&self) -> String {
        let all = KINDS.iter().zip(self.counts);
        all.map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ")
    }

    /// # Errors
    /// Something has not happened at all.
    pub fn check(&self) -> Outcome {
        match KINDS.iter().zip(self.counts).find(|(_, count)| *count == 0) {
            None => Ok(()),
            Some((kind, _)) => Err(format!("the attack is none: no {kind}; {}", self.text())),
        }
    }

    /// Counts what a session says of its buffers, each of which has a version.
    fn stats(&mut self, stats: &TraceStats) {
        for (index, buffer) in stats.buffer_stats.iter().take(2).enumerate() {
            let counts =
                [buffer.chunks_written, buffer.chunks_overwritten, buffer.patches_succeeded];
            for (kind, count) in counts.into_iter().enumerate() {
                self.counts[index * counts.len() + kind] += count.unwrap_or_default();
            }
        }
    }

    /// Counts packets of hostile producers as `kind`.
    fn trace(&mut self, trace: &[u8], kind: usize) {
        for packet in TraceReader::new(trace).into_iter().map_while(Result::ok) {
            let TraceField::Packet(packet) = packet else { return };
            let (mut uid, mut is_scraped) = (None, false);
            for field in packet.into_iter().map_while(Result::ok) {
                match field {
                    TracePacketField::TrustedUid(id) => uid = Some(id.cast_unsigned()),
                    TracePacketField::Trigger(_) => self.counts[TRIGGERED] += 1,
                    TracePacketField::CompressedPackets(bytes) => {
                        self.trace(&inflate(bytes).unwrap_or_default(), COMPRESSED)
                    }
                    TracePacketField::ForTesting(fields) => {
                        is_scraped = fields
                            .into_iter()
                            .map_while(Result::ok)
                            .any(|field| matches!(field, TestEventField::Str(SCRAPED)));
                    }
                    _ => {}
                }
            }
            if uid.is_some_and(|uid| HOSTILE.contains(&uid) || !is_root() && uid != 0) {
                self.counts[kind] += 1;
                self.counts[SCRAPES] += u64::from(is_scraped);
            }
        }
    }
}

/// What is done with the data of a session.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Compress,
    Filter,
    Clone,
    Trigger,
}

/// Records hostile producers, again and again, and prints what has been seen so far.
pub(super) fn attack(target: &Target, mut random: Random) -> Infallible {
    let mut seen = Seen::default();
    for what in
        [Use::Read, Use::Compress, Use::Filter, Use::Clone, Use::Trigger].into_iter().cycle()
    {
        // The daemon refuses what it likes.
        let _ = record(target, &mut random, what, &mut seen);
        println!("{}", seen.line());
    }
    unreachable!("the list has no end")
}

fn record(
    target: &Target,
    random: &mut Random,
    what: Use,
    seen: &mut Seen,
) -> Result<(), ConsumerError> {
    let mut consumer = Consumer::connect(&target.consumers)?;
    let state = consumer.query_service_state(false)?;
    let sources =
        state.data_sources.into_iter().filter_map(|source| source.ds_descriptor?.name.clone());
    target.learn(sources);
    let config = config(target, random, what);
    consumer.enable_tracing(&config, None)?;
    let name = config.unique_session_name.as_deref();
    let read = if what == Use::Filter { FILTERED } else { READ };
    for _ in 0..FLUSHES {
        let state = consumer.query_service_state(true)?;
        let asks = state.tracing_sessions.iter().any(|session| {
            session.unique_session_name.as_deref() == name && session.num_data_sources > Some(0)
        });
        // Some producer does not answer in time.
        let is_answered = consumer.flush(TIMEOUT).is_ok();
        seen.counts[FLUSHED] += u64::from(asks && is_answered);
        let mut trace = Vec::new();
        match what {
            Use::Clone => trace = clone(target, &config)?,
            _ if random.below(2) == 0 => drop(consumer.read_into(&mut trace, FOREVER)?),
            _ => {}
        }
        seen.trace(&trace, if what == Use::Clone { CLONED } else { read });
    }
    consumer.disable_tracing()?;
    while consumer.wait(Some(FOREVER))? != Waited::Ended {}
    let mut trace = Vec::new();
    consumer.read_into(&mut trace, FOREVER)?;
    seen.trace(&trace, read);
    seen.stats(&consumer.get_trace_stats()?);
    consumer.free_buffers()
}

/// What a clone of the session has.
fn clone(target: &Target, config: &TraceConfig) -> Result<Vec<u8>, ConsumerError> {
    let mut consumer = Consumer::connect(&target.consumers)?;
    let name = config.unique_session_name.clone().unwrap_or_default();
    let selector = Some(CloneSessionRequestSelector::UniqueSessionName(name));
    let request = CloneSessionRequest { selector, ..CloneSessionRequest::default() };
    let mut trace = Vec::new();
    // So many clones as there may be are there already, perhaps.
    if consumer.clone_session(request, None).is_ok() {
        consumer.read_into(&mut trace, FOREVER)?;
    }
    Ok(trace)
}

/// A session with a buffer of each version, into which all hostile producers write.
fn config(target: &Target, random: &mut Random, what: Use) -> TraceConfig {
    let buffer = |mode| TraceConfigBufferConfig {
        size_kb: Some(BUFFER_KB),
        experimental_mode: mode,
        ..Default::default()
    };
    let source = |buffer| TraceConfigDataSource {
        config: Some(DataSourceConfig {
            name: Some(SOURCE.into()),
            target_buffer: Some(buffer),
            ..Default::default()
        }),
        ..Default::default()
    };
    let timeout = Some(TIMEOUT.as_millis() as u32);
    let mut config = TraceConfig {
        buffers: vec![buffer(None), buffer(Some(Mode::TRACE_BUFFER_V2))],
        data_sources: vec![source(0), source(1)],
        data_source_stop_timeout_ms: timeout,
        flush_timeout_ms: timeout,
        unique_session_name: Some(format!("{}.{}", consumers::NAME, std::process::id())),
        ..Default::default()
    };
    match what {
        Use::Read | Use::Clone => {}
        Use::Compress => {
            config.compression = Some(TraceConfigCompressionConfig {
                deflate: Some(Default::default()),
                ..Default::default()
            });
        }
        Use::Filter => {
            while config.trace_filter.is_none() {
                config.trace_filter = consumers::config(target, random).trace_filter;
            }
        }
        Use::Trigger => {
            let triggers = TRIGGERS.map(|name| TraceConfigTriggerConfigTrigger {
                name: Some(name.into()),
                stop_delay_ms: Some(10_000),
                ..Default::default()
            });
            config.trigger_config = Some(TraceConfigTriggerConfig {
                trigger_mode: Some(TriggerMode::STOP_TRACING),
                triggers: triggers.into(),
                trigger_timeout_ms: Some(20_000),
                ..Default::default()
            });
        }
    }
    config
}

#[cfg(test)]
mod tests;
