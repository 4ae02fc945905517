//! What consumers ask for: any mixture of what a config can say, most of it legal.

use protos::{
    DataSourceConfig, TraceConfig, TraceConfigBufferConfig,
    TraceConfigBufferConfigExperimentalMode as Mode, TraceConfigBufferConfigFillPolicy as Policy,
    TraceConfigDataSource, TraceConfigTriggerConfig as TriggerConfig,
    TraceConfigTriggerConfigTrigger as Trigger, TraceConfigTriggerConfigTriggerMode as TriggerMode,
};

use super::guests::NAMES;
use crate::testing::check::Reader;
use crate::testing::rng::Rng;
use crate::testing::workload::{SOURCES, TRIGGERS};

/// A config nobody has seen before.
pub(in crate::testing) fn random_config(rng: &mut Rng) -> TraceConfig {
    let buffers: Vec<_> = (0..rng.within(1, 3)).map(|number| buffer(rng, number)).collect();
    let data_sources = (0..rng.below(5)).map(|_| data_source(rng, buffers.len() as u64)).collect();
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

fn data_source(rng: &mut Rng, buffers: u64) -> TraceConfigDataSource {
    // One past the end now and then: refused.
    let past_the_end = u64::from(rng.chance(5));
    TraceConfigDataSource {
        config: Some(DataSourceConfig {
            name: Some(rng.pick(&SOURCES).into()),
            target_buffer: Some(rng.below(buffers + past_the_end) as u32),
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
                skip_probability: rng.chance(20).then(|| rng.below(100) as f64 / 100.0),
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

/// What a reader of such a session has to expect.
pub(super) fn reader(config: &TraceConfig) -> Reader {
    let mut reader = Reader { emptied: empties(config), ..Reader::default() };
    for source in config.data_sources.iter().filter_map(|s| s.config.as_ref()) {
        let buffer = config.buffers.get(source.target_buffer.unwrap_or(0) as usize);
        let second = buffer.is_some_and(|b| b.experimental_mode == Some(Mode::TRACE_BUFFER_V2));
        let set = if second { &mut reader.begins_unmarked } else { &mut reader.repeats };
        set.insert(source.name.clone().unwrap_or_default());
    }
    reader
}

/// Whether buffers are emptied for clones.
pub(super) fn empties(config: &TraceConfig) -> bool {
    let empties = |b: &TraceConfigBufferConfig| {
        b.transfer_on_clone == Some(true) || b.clear_before_clone == Some(true)
    };
    config.buffers.iter().any(empties)
}

/// A reader of a session whose config is not known.
pub(super) fn reader_of_anything() -> Reader {
    let repeats = SOURCES.iter().map(|s| (*s).to_owned()).collect();
    // Emptied: no gap needs a mark.
    Reader { repeats, emptied: true, ..Reader::default() }
}
