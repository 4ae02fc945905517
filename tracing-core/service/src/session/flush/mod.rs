//! Asking producers for what they still hold.
//!
//! A flush has a number, unique in the service. A producer acknowledges a number in a commit, and with
//! it all older flushes of its own. The flush is over when all asked producers acknowledged, or at
//! its timeout; a late acknowledgement's data is kept all the same.
//!
//! A producer that disconnects is not waited for any more, as it cannot answer: upstream keeps it on
//! the list until the timeout (and says so in a comment), which makes its user wait for nothing.

use std::collections::{BTreeMap, BTreeSet};

use protos::TraceConfig;

use super::clone::{BufferGroup, group_of};
use super::state::{FinalFlush, InstanceState, Lifecycle, SlowSources, State};
use crate::core::Service;
use crate::data_sources;
use crate::limits;
use crate::timers::{Clock, TimerKind};
use abi::ids::{CallId, ClientId, FlushId, InstanceId, ProducerId, SessionId};

/// Reason and initiator of a flush, packed as producers get it (`flush_flags.h`): bits 0-3 the
/// reason, 4-7 who started it, 8-11 what a clone is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlushFlags(pub(crate) u64);

impl FlushFlags {
    /// Started by the service itself, now and then.
    pub(crate) const PERIODIC: Self = Self(0x11);
    /// Started by the service before it stops a session.
    pub(crate) const STOP: Self = Self(0x12);

    /// Started by the service for a clone.
    pub(crate) fn clone_of(for_bugreport: bool) -> Self {
        Self(if for_bugreport { 0x113 } else { 0x13 })
    }

    fn is_for_stop(self) -> bool {
        matches!(self.0 & 0xf, 2 | 3)
    }
}

/// When a session flushes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlushStrategy {
    /// Never.
    None,
    /// Every so many ms.
    Periodic(u64),
    /// Before each write into the file.
    OnWrite,
}

impl FlushStrategy {
    /// As the config asks, and a line for the log if a field of it is without effect.
    pub(crate) fn choose(config: &TraceConfig) -> (Self, Option<&'static str>) {
        let period = u64::from(config.flush_period_ms.unwrap_or(0));
        let by_period = if period > 0 { Self::Periodic(period) } else { Self::None };
        if !config.write_into_file.unwrap_or(false) {
            return (by_period, None);
        }
        let ignored = "flush_period_ms is ignored: write_flush_mode decides when a file is flushed";
        let note = (period > 0).then_some(ignored);
        match config.write_flush_mode.map_or(0, |m| m.0) {
            2 => (by_period, None),
            3 => (Self::OnWrite, note),
            _ if super::file::period_ms(config) <= limits::AUTO_FLUSH_PERIOD_MS => {
                (Self::Periodic(limits::AUTO_FLUSH_PERIOD_MS), note)
            }
            _ => (Self::OnWrite, note),
        }
    }
}

/// What waits for a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlushThen {
    /// Nobody.
    Nothing,
    /// A consumer's call.
    Reply(ClientId, Option<CallId>),
    /// A write into the file.
    WriteFile,
    /// The end of the session.
    Disable,
    /// A clone, by its number, takes these buffers.
    Clone(u64, BufferGroup),
}

/// Whom to ask for what.
type Asked = BTreeMap<ProducerId, Vec<InstanceId>>;

/// A flush on its way.
#[derive(Debug)]
pub(crate) struct PendingFlush {
    waiting_for: BTreeSet<ProducerId>,
    flags: FlushFlags,
    then: FlushThen,
}

impl Service {
    /// Starts a flush; zero `timeout_ms` means the config's, else [`limits::FLUSH_TIMEOUT_MS`].
    /// Whatever `then` says happens exactly once, at once if the flush is refused.
    pub(crate) fn flush(
        &mut self,
        id: SessionId,
        timeout_ms: u64,
        flags: FlushFlags,
        then: FlushThen,
    ) {
        let now = self.now;
        let Some(session) = self.sessions.get_mut(&id) else {
            return self.after_flush(id, then, false);
        };
        session.pending.lifecycle(Lifecycle::FlushStarted, now.boot_ns);
        let mut asked = Asked::new();
        for instance in session.instances.values() {
            let held =
                || self.producers.get(&instance.producer).is_some_and(|p| p.scrapes_itself());
            if !instance.no_flush {
                asked.entry(instance.producer).or_default().push(instance.id);
            } else if held() {
                // Nothing to do but to send what its writers hold, which we cannot look at.
                asked.entry(instance.producer).or_default();
            }
        }
        self.flush_producers(id, timeout_ms, flags, then, asked);
    }

    /// Flushes the data sources that write to the buffers a clone takes together.
    pub(crate) fn flush_group(&mut self, id: SessionId, flags: FlushFlags, then: FlushThen) {
        let (Some(session), FlushThen::Clone(_, group)) = (self.sessions.get(&id), then) else {
            return self.after_flush(id, then, false);
        };
        let is_in = |i: &&super::state::Instance| {
            let config = session.config.buffers.get(i.buffer_index);
            !i.no_flush && config.is_some_and(|config| group_of(config) == group)
        };
        let mut asked = Asked::new();
        for instance in session.instances.values().filter(is_in) {
            asked.entry(instance.producer).or_default().push(instance.id);
        }
        self.flush_producers(id, 0, flags, then, asked);
    }

    fn flush_producers(
        &mut self,
        id: SessionId,
        timeout_ms: u64,
        flags: FlushFlags,
        then: FlushThen,
        asked: Asked,
    ) {
        let now = self.now;
        let Some(session) = self.sessions.get_mut(&id) else {
            return self.after_flush(id, then, false);
        };
        if session.flushes.len() > limits::FLUSHES_PENDING_MAX {
            self.complain_of_owner(id, format!("session {}: too many flushes pending", id.0));
            return self.after_flush(id, then, false);
        }
        if session.state != State::Started {
            let text = format!("flush of session {} refused: it is not started", id.0);
            self.complain_of_owner(id, text);
            return self.after_flush(id, then, false);
        }
        let timeout_ms = match timeout_ms {
            0 => match session.config.flush_timeout_ms.unwrap_or(0) {
                0 => limits::FLUSH_TIMEOUT_MS,
                ms => ms.into(),
            },
            ms => ms,
        };
        session.pending.flush_slow = None;
        session.counters.flushes_requested += 1;
        self.last_flush_id += 1;
        let flush = FlushId(self.last_flush_id);
        let waiting_for: BTreeSet<ProducerId> = asked.keys().copied().collect();
        let nobody = waiting_for.is_empty();
        session.flushes.insert(flush, PendingFlush { waiting_for, flags, then });
        for (producer, instances) in asked {
            if let Some(producer) = self.producers.get_mut(&producer) {
                let command = data_sources::flush_command(flush, &instances, flags);
                producer.command(&mut self.out, command, None);
            }
        }
        if nobody {
            self.flush_done(id, flush);
        } else {
            let wait = timeout_ms.saturating_mul(1_000_000);
            self.timers.set_in(&now, Clock::Monotonic, wait, TimerKind::FlushTimeout, flush.0);
        }
    }

    /// A producer acknowledges `upto` and all flushes before it.
    pub(crate) fn flush_acked(&mut self, producer: ProducerId, upto: FlushId) {
        self.stop_waiting(producer, upto);
    }

    /// A producer is gone and will acknowledge nothing.
    pub(crate) fn flush_producer_gone(&mut self, producer: ProducerId) {
        self.stop_waiting(producer, FlushId(u64::MAX));
    }

    fn stop_waiting(&mut self, producer: ProducerId, upto: FlushId) {
        let mut over = Vec::new();
        for session in self.sessions.values_mut() {
            for (flush, pending) in session.flushes.range_mut(..=upto) {
                if pending.waiting_for.remove(&producer) && pending.waiting_for.is_empty() {
                    over.push((*flush, session.id));
                }
            }
        }
        // In the order they were asked for, whichever session they belong to.
        over.sort_unstable();
        for (flush, session) in over {
            self.flush_done(session, flush);
        }
    }

    /// The timer of a flush: over, whoever has not answered.
    pub(crate) fn flush_timed_out(&mut self, flush: FlushId) {
        let found = self.sessions.values().find(|s| s.flushes.contains_key(&flush));
        if let Some(id) = found.map(|s| s.id) {
            self.flush_done(id, flush);
        }
    }

    fn flush_done(&mut self, id: SessionId, flush: FlushId) {
        self.timers.cancel(TimerKind::FlushTimeout, flush.0);
        let now = self.now;
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let Some(pending) = session.flushes.remove(&flush) else { return };
        let success = pending.waiting_for.is_empty();
        if success {
            session.counters.flushes_succeeded += 1;
        } else {
            session.counters.flushes_failed += 1;
            if pending.flags.is_for_stop() {
                let slow = session
                    .instances
                    .values()
                    .filter(|i| !i.no_flush && pending.waiting_for.contains(&i.producer));
                let sources: Vec<_> = slow
                    .take(limits::SLOW_SOURCES_MAX)
                    .map(|i| (i.producer_name.clone(), i.source.clone()))
                    .collect();
                // They may be gone by now, or were asked for what they hold only.
                session.pending.flush_slow =
                    (!sources.is_empty()).then_some(SlowSources { at_ns: now.boot_ns, sources });
            }
        }
        session.pending.lifecycle(Lifecycle::AllSourcesFlushed, now.boot_ns);
        self.scrape_all(id);
        self.snapshot_clocks(id);
        self.after_flush(id, pending.then, success);
    }

    fn after_flush(&mut self, id: SessionId, then: FlushThen, success: bool) {
        match then {
            FlushThen::Nothing if success => {}
            FlushThen::Nothing => self.out.error(format!("session {}: flush failed", id.0)),
            FlushThen::Reply(client, call) if success => self.out.done(client, call),
            FlushThen::Reply(client, call) => self.out.reject(client, call),
            FlushThen::WriteFile => self.write_file(id),
            FlushThen::Clone(token, group) => self.clone_group(token, group, success),
            FlushThen::Disable => {
                if let Some(session) = self.sessions.get_mut(&id) {
                    session.final_flush =
                        if success { FinalFlush::Succeeded } else { FinalFlush::Failed };
                    let outcome = if success { "succeeded" } else { "failed" };
                    self.out.info(format!("session {}: final flush {outcome}", id.0));
                    self.disable_or_free(id);
                }
            }
        }
    }

    /// Answers all that wait for flushes of a session which is about to vanish.
    pub(crate) fn fail_flushes(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        for (flush, pending) in std::mem::take(&mut session.flushes) {
            self.timers.cancel(TimerKind::FlushTimeout, flush.0);
            if let FlushThen::Reply(client, call) = pending.then {
                self.out.reject(client, call);
            }
        }
    }

    /// The timer of the periodic flush.
    pub(crate) fn periodic_flush_due(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get(&id) else { return };
        let (State::Started, FlushStrategy::Periodic(period)) = (session.state, session.strategy)
        else {
            return;
        };
        self.timers.set_aligned(&self.now, period, TimerKind::Flush, id.0);
        self.flush(id, 0, FlushFlags::PERIODIC, FlushThen::Nothing);
    }

    /// The timer of the periodic clear: each producer gets one list of its instances that can.
    pub(crate) fn clear_state_due(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get(&id) else { return };
        let config = session.config.incremental_state_config.as_ref();
        let period = config.and_then(|c| c.clear_period_ms).unwrap_or(0);
        if session.state != State::Started || period == 0 {
            return;
        }
        self.timers.set_aligned(&self.now, period.into(), TimerKind::ClearState, id.0);
        let mut asked: BTreeMap<ProducerId, Vec<InstanceId>> = BTreeMap::new();
        for instance in session.instances.values() {
            let runs = matches!(instance.state, InstanceState::Starting | InstanceState::Started);
            if instance.clears_state && runs {
                asked.entry(instance.producer).or_default().push(instance.id);
            }
        }
        for (producer, instances) in asked {
            if let Some(producer) = self.producers.get_mut(&producer) {
                producer.command(&mut self.out, data_sources::clear_command(&instances), None);
            }
        }
    }
}

#[cfg(test)]
mod tests;
