//! Limits of what the service keeps: small ones for a part of the runs, and the check that none is exceeded.

use crate::rng::Rng;
use service::Footprint;
use service::limits::Limits;

/// So small that a few requests reach them.
pub(crate) fn small(mut few: impl FnMut() -> usize) -> Limits {
    Limits {
        producers_max: few(),
        data_sources_per_producer_max: few(),
        writers_per_producer_max: few(),
        commands_unsent_max: few(),
        command_window_bytes: few(),
        instances_per_session_max: 4 * few(),
        sequences_per_session_max: few(),
        flushes_pending_max: few(),
        flush_answers_per_user_max: few(),
        snapshots_pending_max: few(),
        lifecycle_events_max: few(),
        concurrent_events_max: few(),
        triggers_received_max: few(),
        clone_hits_pending_max: few(),
        trigger_names_max: few(),
        trigger_history_max: few(),
        guardrail_names_max: few(),
    }
}

/// Limits of a run: usually those of the service, else so small that a run reaches them.
pub(super) fn limits(rng: &mut Rng) -> Limits {
    if !rng.chance(25) {
        return Limits::DEFAULT;
    }
    // What the rules of the simulator rest on is not small: honest producers are accepted and get what they ask for,
    // what their writers leave behind is found, a sequence keeps its number, and triggers are not taken more often than
    // a config says.
    Limits {
        producers_max: Limits::DEFAULT.producers_max,
        data_sources_per_producer_max: 16,
        writers_per_producer_max: Limits::DEFAULT.writers_per_producer_max,
        sequences_per_session_max: Limits::DEFAULT.sequences_per_session_max,
        commands_unsent_max: Limits::DEFAULT.commands_unsent_max,
        instances_per_session_max: 256,
        trigger_names_max: Limits::DEFAULT.trigger_names_max,
        ..small(|| rng.pick(&[1, 2, 5, 16]))
    }
}

/// Memory of a run for buffers and clones, bytes: as much as is asked for, or so little that a run reaches it.
pub(super) fn memory_bytes(rng: &mut Rng) -> u64 {
    const MIB: u64 = 1 << 20;
    if rng.chance(50) { 0 } else { rng.pick(&[1, 2, 2, 3, 4, 6, 8, 16]) * MIB }
}

/// Whether limited users have more for buffers and clones than their shares of `memory_bytes`.
///
/// # Errors
/// What they have.
pub(crate) fn check_buffers(held: &Footprint, memory_bytes: u64) -> Result<(), String> {
    let (of_one, of_all) = held.buffer_bytes_limited;
    let (one_max, all_max) = (memory_bytes / 2, memory_bytes / 4 * 3);
    if memory_bytes > 0 && (of_one as u64 > one_max || of_all as u64 > all_max) {
        return Err(format!(
            "one user has {of_one} bytes of buffers, all {of_all}, of at most {one_max} and {all_max}"
        ));
    }
    Ok(())
}

/// The first kind of which more is kept than its limit allows, and whether a limit is reached.
///
/// # Errors
/// That kind.
pub(crate) fn check(held: &Limits, limits: &Limits) -> Result<bool, String> {
    let Limits {
        producers_max,
        data_sources_per_producer_max,
        writers_per_producer_max,
        commands_unsent_max,
        command_window_bytes,
        instances_per_session_max,
        sequences_per_session_max,
        flushes_pending_max,
        flush_answers_per_user_max,
        snapshots_pending_max,
        lifecycle_events_max,
        concurrent_events_max,
        triggers_received_max,
        clone_hits_pending_max,
        trigger_names_max,
        trigger_history_max,
        guardrail_names_max,
    } = *limits;
    let all = [
        ("producers", held.producers_max, producers_max),
        ("sources", held.data_sources_per_producer_max, data_sources_per_producer_max),
        ("writers", held.writers_per_producer_max, writers_per_producer_max),
        ("unsent commands", held.commands_unsent_max, commands_unsent_max),
        ("commands in flight", held.command_window_bytes, command_window_bytes),
        ("instances", held.instances_per_session_max, instances_per_session_max),
        ("sequences", held.sequences_per_session_max, sequences_per_session_max),
        // One more is refused once there are more than that.
        ("flushes", held.flushes_pending_max, flushes_pending_max + 1),
        ("answers to flushes", held.flush_answers_per_user_max, flush_answers_per_user_max),
        ("snapshots", held.snapshots_pending_max, snapshots_pending_max),
        ("events of one kind", held.lifecycle_events_max, lifecycle_events_max),
        ("events of other sessions", held.concurrent_events_max, concurrent_events_max),
        ("received triggers", held.triggers_received_max, triggers_received_max),
        ("delayed triggers", held.clone_hits_pending_max, clone_hits_pending_max),
        ("names of triggers", held.trigger_names_max, trigger_names_max),
        ("activations of a trigger", held.trigger_history_max, trigger_history_max),
        ("names of guarded sessions", held.guardrail_names_max, guardrail_names_max),
    ];
    match all.iter().find(|(_, held, max)| held > max) {
        Some((what, held, max)) => Err(format!("{held} {what} are kept, at most {max} may be")),
        None => Ok(all.iter().any(|(_, held, max)| held == max)),
    }
}
