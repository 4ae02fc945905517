//! Random trace configs, most of them valid.

use protos::{
    DataSourceConfig, TraceConfig, TraceConfigBufferConfig,
    TraceConfigBufferConfigExperimentalMode as Mode, TraceConfigBufferConfigFillPolicy as Policy,
    TraceConfigDataSource, TraceConfigLockdownModeOperation as Lockdown,
    TraceConfigTriggerConfig as TriggerConfig, TraceConfigTriggerConfigTrigger as Trigger,
    TraceConfigTriggerConfigTriggerMode as TriggerMode,
};

use super::detach_clone::NAMES;
use super::shape::Filter;
use crate::check::Reader;
use crate::rng::Rng;
use crate::workload::{HONEST_UID, SOURCES, TRIGGERS, producer_name};

/// A random config.
pub(crate) fn random_config(rng: &mut Rng) -> TraceConfig {
    let buffers: Vec<_> = (0..rng.within(1, 3)).map(|number| buffer(rng, number)).collect();
    let data_sources = (0..rng.below(5)).map(|_| data_source(rng, &buffers)).collect();
    let to_file = rng.chance(30);
    let trigger_config = rng.chance(25).then(|| triggers(rng));
    TraceConfig {
        buffers,
        data_sources,
        duration_ms: (rng.chance(40) && (trigger_config.is_none() || rng.chance(5)))
            .then(|| rng.within(1, 5_000) as u32),
        trigger_config,
        deferred_start: Some(rng.chance(20)),
        flush_period_ms: rng.chance(30).then(|| rng.within(1, 1000) as u32),
        flush_timeout_ms: rng.chance(30).then(|| rng.within(1, 2000) as u32),
        data_source_stop_timeout_ms: rng.chance(50).then(|| rng.within(1, 3000) as u32),
        write_into_file: Some(to_file),
        output_path: (to_file && rng.chance(40)).then(|| "/sim/trace".into()),
        file_write_period_ms: Some(rng.pick(&[0, 1, 300, 6000])),
        max_file_size_bytes: rng.chance(20).then(|| rng.below(200_000)),
        fflush_post_write: rng.chance(30).then_some(protos::TraceConfigFFlushMode(2)),
        unique_session_name: rng.chance(15).then(|| rng.pick(&NAMES).into()),
        exclusive_prio: rng.chance(3).then(|| rng.below(3) as u32),
        prefer_suspend_clock_for_duration: Some(rng.chance(30)),
        session_semaphores: rng.chance(5).then(|| semaphore(rng)).into_iter().collect(),
        priority_boost: rng.chance(10).then(|| protos::PriorityBoostConfig {
            policy: Some(protos::PriorityBoostConfigBoostPolicy(rng.below(3) as i32)),
            priority: Some(rng.below(30) as u32),
            ..Default::default()
        }),
        builtin_data_sources: rng.chance(30).then(|| protos::TraceConfigBuiltinDataSource {
            enable_concurrent_session_events: Some(true),
            snapshot_interval_ms: Some(rng.pick(&[0, 1, 50])),
            disable_clock_snapshotting: rng.chance(10).then_some(true),
            disable_trace_config: rng.chance(10).then_some(true),
            disable_system_info: rng.chance(10).then_some(true),
            disable_service_events: rng.chance(10).then_some(true),
            disable_chunk_usage_histograms: rng.chance(10).then_some(true),
            prefer_suspend_clock_for_snapshot: rng.chance(10).then_some(true),
            ..Default::default()
        }),
        incremental_state_config: rng.chance(20).then(|| {
            protos::TraceConfigIncrementalStateConfig {
                clear_period_ms: Some(rng.within(1, 500) as u32),
                ..Default::default()
            }
        }),
        compression: rng.chance(15).then(|| compression(rng)),
        trace_filter: rng.chance(15).then(|| Filter::random(rng).config()),
        lockdown_mode: match rng.below(50) {
            0 => Some(Lockdown::LOCKDOWN_SET),
            1..=10 => Some(Lockdown::LOCKDOWN_CLEAR),
            _ => None,
        },
        notify_traceur: rng.chance(5).then_some(true),
        statsd_metadata: rng.chance(5).then(Default::default),
        producers: (0..rng.pick(&[0, 0, 0, 3])).map(|_| producer(rng)).collect(),
        ..Default::default()
    }
}

fn compression(rng: &mut Rng) -> protos::TraceConfigCompressionConfig {
    let zstd = rng.chance(50).then(|| protos::TraceConfigCompressionConfigZstd {
        level: Some(rng.pick(&[0, 1, 3])),
        ..Default::default()
    });
    let deflate = zstd.is_none() || rng.chance(10);
    protos::TraceConfigCompressionConfig {
        zstd,
        deflate: deflate.then(Default::default),
        ..Default::default()
    }
}

/// Sizes of shared memory, valid and invalid, for one of the first producers.
fn producer(rng: &mut Rng) -> protos::TraceConfigProducerConfig {
    protos::TraceConfigProducerConfig {
        producer_name: Some(producer_name(HONEST_UID.cast_unsigned() + rng.below(20) as u32)),
        shm_size_kb: rng.chance(80).then(|| rng.pick(&[0, 3, 32, 64, 1024])),
        page_size_kb: rng.chance(80).then(|| rng.pick(&[0, 3, 4, 16, 32, 64])),
        ..Default::default()
    }
}

fn buffer(rng: &mut Rng, number: u64) -> TraceConfigBufferConfig {
    TraceConfigBufferConfig {
        size_kb: Some(rng.pick(&[8, 64, 512, 4096, 4096])),
        fill_policy: Some(rng.pick(&[Policy::RING_BUFFER, Policy::DISCARD])),
        experimental_mode: rng.chance(50).then_some(Mode::TRACE_BUFFER_V2),
        name: rng.chance(30).then(|| format!("buffer{}", number % 2)),
        transfer_on_clone: rng.chance(10).then_some(true),
        clear_before_clone: rng.chance(10).then_some(true),
        ..Default::default()
    }
}

fn data_source(rng: &mut Rng, buffers: &[TraceConfigBufferConfig]) -> TraceConfigDataSource {
    // Sometimes a buffer that does not exist, by index or name, or index and name of two buffers: refused.
    let past_the_end = u64::from(rng.chance(5));
    let index = rng.below(buffers.len() as u64 + past_the_end);
    let name = match rng.below(100) {
        0 => Some("no buffer".into()),
        1 => buffers[0].name.clone(),
        2..50 => buffers.get(index as usize).and_then(|buffer| buffer.name.clone()),
        _ => None,
    };
    let by_name_only = name.is_some() && rng.chance(50);
    TraceConfigDataSource {
        config: Some(DataSourceConfig {
            name: Some(rng.pick(&SOURCES).into()),
            target_buffer: (!by_name_only).then_some(index as u32),
            target_buffer_name: name,
            ..Default::default()
        }),
        producer_name_regex_filter: match rng.below(20) {
            0 => vec!["producer[0-9]*[02468]".into()],
            _ => Vec::new(),
        },
        ..Default::default()
    }
}

fn triggers(rng: &mut Rng) -> TriggerConfig {
    use TriggerMode as Mode;
    let modes = [Mode::START_TRACING, Mode::STOP_TRACING, Mode::CLONE_SNAPSHOT];
    TriggerConfig {
        trigger_mode: Some(rng.pick(&modes)),
        triggers: (0..rng.within(1, 2))
            .map(|number| Trigger {
                name: Some(TRIGGERS[number as usize].into()),
                producer_name_regex: rng.chance(20).then(|| "producer[0-9]*[13579]".into()),
                stop_delay_ms: rng.chance(80).then(|| rng.within(0, 2000) as u32),
                max_per_24_h: rng.chance(20).then(|| rng.below(3) as u32),
                skip_probability: rng.chance(20).then(|| rng.pick(&[0.0, 0.3, 0.9, 1.0, 1.0])),
                ..Default::default()
            })
            .collect(),
        trigger_timeout_ms: Some(rng.within(100, 20_000) as u32),
        use_clone_snapshot_if_available: rng.chance(10).then_some(true),
        ..Default::default()
    }
}

fn semaphore(rng: &mut Rng) -> protos::TraceConfigSessionSemaphore {
    protos::TraceConfigSessionSemaphore {
        name: Some("simulated".into()),
        max_other_session_count: Some(rng.below(3)),
        ..Default::default()
    }
}

/// A reader for a session with that config.
pub(super) fn reader(config: &TraceConfig) -> Reader {
    let filtered = config.trace_filter.is_some();
    let mut reader = Reader { emptied: empties(config), filtered, ..Reader::default() };
    for source in config.data_sources.iter().filter_map(|s| s.config.as_ref()) {
        let buffer = config.buffers.get(target(config, source));
        let second = buffer.is_some_and(|b| b.experimental_mode == Some(Mode::TRACE_BUFFER_V2));
        let set = if second { &mut reader.begins_unmarked } else { &mut reader.repeats };
        set.insert(source.name.clone().unwrap_or_default());
    }
    reader
}

/// The index of the buffer that a data source writes into.
pub(super) fn target(config: &TraceConfig, source: &DataSourceConfig) -> usize {
    let named = |b: &TraceConfigBufferConfig| b.name == source.target_buffer_name;
    let by_name =
        source.target_buffer_name.as_ref().and_then(|_| config.buffers.iter().position(named));
    by_name.unwrap_or(source.target_buffer.unwrap_or(0) as usize)
}

/// Whether a clone that is made empties some buffer, or one that is asked for.
pub(super) fn empties(config: &TraceConfig) -> bool {
    let transfers = |b: &TraceConfigBufferConfig| b.transfer_on_clone == Some(true);
    clears(config) || config.buffers.iter().any(transfers)
}

/// Whether asking for a clone empties some buffer.
pub(super) fn clears(config: &TraceConfig) -> bool {
    config.buffers.iter().any(|buffer| buffer.clear_before_clone == Some(true))
}
