//! What a config says about how events are written.

use protos::TrackEventConfig;

/// The clock of packets where nothing else is said (`BUILTIN_CLOCK_BOOTTIME`).
pub(crate) const TRACE_CLOCK: u32 = 6;
/// `SEQ_INCREMENTAL_STATE_CLEARED`: a reader forgets what it knows of the sequence.
pub(crate) const CLEARED: u32 = 1;
/// `SEQ_NEEDS_INCREMENTAL_STATE`: the packet cannot be read without those before it.
pub(crate) const NEEDS_STATE: u32 = 2;

/// A clock of each sequence whose values are differences (`track_event_internal.h`).
pub(crate) const INCREMENTAL_CLOCK: u32 = 64;
/// A clock of each sequence with a unit of the session's choice.
pub(crate) const ABSOLUTE_CLOCK: u32 = 65;

/// How one instance writes its events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) clock: u32,
    /// Nanoseconds per unit of a timestamp, at least 1.
    pub(crate) unit_ns: u64,
    pub(crate) drop_annotations: bool,
    pub(crate) drop_dynamic_names: bool,
    /// Events have the processor time of their thread, if they are so far from each other; 0 is all of them.
    pub(crate) thread_time_period_ns: Option<u64>,
}

impl Settings {
    pub(crate) fn new(config: Option<&TrackEventConfig>) -> Self {
        let nothing = TrackEventConfig::default();
        let config = config.unwrap_or(&nothing);
        // Zero counts as one, as in the C SDK; the C++ SDK divides by it.
        let unit_ns = config.timestamp_unit_multiplier.unwrap_or(1).max(1);
        let clock = match (config.disable_incremental_timestamps == Some(true), unit_ns) {
            (false, _) => INCREMENTAL_CLOCK,
            (true, 1) => TRACE_CLOCK,
            (true, _) => ABSOLUTE_CLOCK,
        };
        Self {
            clock,
            unit_ns,
            drop_annotations: config.filter_debug_annotations == Some(true),
            drop_dynamic_names: config.filter_dynamic_event_names == Some(true),
            thread_time_period_ns: (config.enable_thread_time_sampling == Some(true))
                .then(|| config.thread_time_subsampling_ns.unwrap_or(0)),
        }
    }

    /// Whether timestamps are differences in nanoseconds, as they are by default.
    #[inline(always)]
    pub(crate) fn counts_ns(&self) -> bool {
        self.clock == INCREMENTAL_CLOCK && self.unit_ns == 1
    }
}

/// Whether both configs record the same events with the same arguments (`track_event_internal.cc`). They may write
/// times in different ways.
pub(crate) fn select_the_same(one: &TrackEventConfig, other: &TrackEventConfig) -> bool {
    // Order and repetition mean nothing. There are few patterns, and this runs once for a session.
    let same = |one: &[String], other: &[String]| {
        one.iter().all(|pattern| other.contains(pattern))
            && other.iter().all(|pattern| one.contains(pattern))
    };
    let is = |field: Option<bool>| field == Some(true);
    same(&one.enabled_categories, &other.enabled_categories)
        && same(&one.disabled_categories, &other.disabled_categories)
        && same(&one.enabled_tags, &other.enabled_tags)
        && same(&one.disabled_tags, &other.disabled_tags)
        && is(one.filter_debug_annotations) == is(other.filter_debug_annotations)
        && is(one.filter_dynamic_event_names) == is(other.filter_dynamic_event_names)
}

#[cfg(test)]
mod tests;
