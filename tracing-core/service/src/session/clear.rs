//! Asking producers to begin their sequences anew: to forget their incremental state, and to write again what later
//! packets need.
//!
//! A config says how often (`incremental_state_config`). Without it, rings decide: one that goes round overwrites what
//! its sequences began with, and no packet after that could be read.

use super::instance::InstanceState;
use super::life::SessionState;
use super::state::Session;
use crate::command_queue::Command;
use crate::context::Context;
use crate::limits;
use crate::producers::Producers;
use crate::timers::Timer;
use abi::ids::{BufferId, InstanceId, ProducerId};
use abi::map::BlockMap;

/// The timer of the periodic clear.
pub(crate) fn handle_timer(session: &Session, producers: &mut Producers, cx: &mut Context) {
    let config = session.config.incremental_state_config.as_ref();
    let period_ms = config.and_then(|c| c.clear_period_ms).unwrap_or(0);
    debug_assert!(session.state() == SessionState::Started, "the timer ends with the recording");
    cx.set_aligned_timer(period_ms.into(), Timer::ClearState(session.id));
    spend(session, cx);
    clear(session, None, producers, cx);
}

/// So many more quarters of this ring were written. Nothing is asked for if the config says when.
pub(crate) fn handle_ring_written(
    session: &mut Session,
    (ring, quarters): (BufferId, u64),
    producers: &mut Producers,
    cx: &mut Context,
) {
    let (now_ns, has_file) = (cx.now.boot_ns, session.file.is_some());
    if session.config.incremental_state_config.is_some()
        || !session.rings.note_quarters(ring, quarters, now_ns, has_file)
    {
        return;
    }
    // The producer that wrote pays for it.
    spend(session, cx);
    let index = session.buffers.iter().position(|id| *id == ring);
    clear(session, index, producers, cx);
}

/// All instances are looked at.
fn spend(session: &Session, cx: &mut Context) {
    cx.spend(limits::WORK_PER_ENTRY.saturating_mul(session.instances.len() as u64));
}

/// Asks for all instances that can do it, or for those of them that write into the buffer with this index. Each
/// producer gets one list.
fn clear(session: &Session, buffer: Option<usize>, producers: &mut Producers, cx: &mut Context) {
    let mut asked: BlockMap<ProducerId, Vec<InstanceId>> = BlockMap::new();
    for instance in session.instances.values() {
        let runs = matches!(instance.state(), InstanceState::Starting | InstanceState::Started);
        let is_meant = buffer.is_none_or(|index| index == instance.buffer_index);
        if instance.behaviour.clears_state && runs && is_meant {
            asked.get_or_insert_with(instance.producer, Vec::new).push(instance.id);
        }
    }
    for (producer, instances) in asked {
        let command = Command::Clear([(session.id, instances)].into_iter().collect());
        producers.command(producer, &mut cx.out, command);
    }
}
