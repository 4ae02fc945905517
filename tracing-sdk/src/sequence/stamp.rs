//! The time of a packet, on the clock of its sequence where that is possible.

use crate::clock::event_time::{CustomClock, When};
use crate::source::settings::{ABSOLUTE_CLOCK, INCREMENTAL_CLOCK, Settings, TRACE_CLOCK};

/// The time of a packet, as it is written.
pub(super) struct Stamp {
    pub(super) value: u64,
    /// None: the default of the sequence.
    pub(super) clock: Option<u32>,
}

/// The time of a packet (`NewTracePacket` in `track_event_internal.cc`).
#[inline(always)]
pub(super) fn stamp(last_ns: &mut u64, settings: &Settings, now_ns: u64, when: When<'_>) -> Stamp {
    if settings.counts_ns() && when.time.is_none() && now_ns >= *last_ns {
        let value = now_ns - *last_ns;
        *last_ns = now_ns;
        return Stamp { value, clock: None };
    }
    stamp_slow(last_ns, settings, now_ns, when)
}

#[cold]
fn stamp_slow(last_ns: &mut u64, settings: &Settings, now_ns: u64, when: When<'_>) -> Stamp {
    let Settings { clock, unit_ns, .. } = *settings;
    if let Some(value) = when.time {
        let own = when.clock.and_then(CustomClock::id).unwrap_or(TRACE_CLOCK);
        return Stamp { value, clock: Some(own).filter(|own| *own != clock) };
    }
    match clock {
        INCREMENTAL_CLOCK if now_ns >= *last_ns => {
            let value = (now_ns - *last_ns) / unit_ns;
            // What is left over counts for the next packet.
            *last_ns += value * unit_ns;
            Stamp { value, clock: None }
        }
        // The clock went back. That does not happen to clocks of the kernel.
        INCREMENTAL_CLOCK if unit_ns == 1 => Stamp { value: now_ns, clock: Some(TRACE_CLOCK) },
        INCREMENTAL_CLOCK => Stamp { value: now_ns / unit_ns, clock: Some(ABSOLUTE_CLOCK) },
        _ => Stamp { value: now_ns / unit_ns, clock: None },
    }
}
