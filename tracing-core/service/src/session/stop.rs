//! The end of a session: asked for, timed, or forced.

use super::flush::{FlushFlags, FlushThen};
use super::state::{InstanceState, Lifecycle, State};
use crate::core::Service;
use crate::data_sources;
use crate::limits;
use crate::timers::{Clock, TimerKind};
use abi::ids::{InstanceId, ProducerId, SessionId};

impl Service {
    /// The duration is over: flush, then end.
    pub(crate) fn flush_and_disable(&mut self, id: SessionId) {
        self.flush(id, 0, FlushFlags::STOP, FlushThen::Disable);
    }

    /// Ends a session for its consumer, or for good if it has none.
    pub(crate) fn disable_or_free(&mut self, id: SessionId) {
        match self.sessions.get(&id).map(|s| s.consumer.is_some()) {
            Some(true) => self.disable_tracing(id, false, ""),
            Some(false) => self.free_session(id, ""),
            None => {}
        }
    }

    /// Stops all instances; the session is over when those that want to have said that they stopped,
    /// or after `data_source_stop_timeout_ms`. With `immediate` nobody is waited for.
    ///
    /// `error` reaches the consumer with the end of the session; empty means none.
    pub(crate) fn disable_tracing(&mut self, id: SessionId, immediate: bool, error: &str) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if !error.is_empty() && session.end_note.is_none() {
            session.end_note = Some(error.to_owned());
        }
        let immediate = match session.state {
            State::Disabled | State::ClonedReadOnly => return,
            State::Stopping if immediate => return self.finalise(id),
            State::Stopping => return,
            State::Configured => true,
            State::Started => immediate,
        };
        let mut changed = Vec::new();
        for instance in session.instances.values_mut() {
            let waits = instance.notifies_stop && !immediate;
            instance.state = if waits { InstanceState::Stopping } else { InstanceState::Stopped };
            changed.push((instance.producer, instance.id));
        }
        for key in &changed {
            self.stop_command(*key);
            self.instance_changed(id, *key);
        }
        for kind in [TimerKind::Snapshot, TimerKind::Flush, TimerKind::ClearState] {
            self.timers.cancel(kind, id.0);
        }
        let Some(session) = self.sessions.get(&id) else { return };
        if session.instances.values().all(|i| i.state == InstanceState::Stopped) {
            return self.finalise(id);
        }
        let wait_ms = match session.config.data_source_stop_timeout_ms.unwrap_or(0) {
            0 => limits::STOP_TIMEOUT_MS,
            ms => ms.into(),
        };
        let now = self.now;
        self.set_state(id, State::Stopping);
        self.timers.set_in(
            &now,
            Clock::Monotonic,
            wait_ms.saturating_mul(1_000_000),
            TimerKind::StopTimeout,
            id.0,
        );
    }

    /// The timer: those who have not said that they stopped have now.
    pub(crate) fn stop_timed_out(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get(&id) else { return };
        if session.state == State::Stopping {
            let silent = session.instances.values();
            let silent = silent.filter(|i| i.state == InstanceState::Stopping).count();
            self.out.error(format!("session {}: {silent} data sources did not stop in time", id.0));
            self.finalise(id);
        }
    }

    /// A producer says that an instance of its stopped.
    pub(crate) fn source_stopped(&mut self, producer: ProducerId, instance: InstanceId) {
        let key = (producer, instance);
        for session in self.sessions.values_mut() {
            let Some(found) = session.instances.get_mut(&key) else { continue };
            if found.state != InstanceState::Stopping {
                return;
            }
            found.state = InstanceState::Stopped;
            let id = session.id;
            self.instance_changed(id, key);
            return self.finalise_if_stopped(id);
        }
    }

    /// Forces one instance out of its session: its source is not registered any more.
    pub(crate) fn remove_instance(&mut self, id: SessionId, key: (ProducerId, InstanceId)) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let Some(instance) = session.instances.get_mut(&key) else { return };
        let was = std::mem::replace(&mut instance.state, InstanceState::Stopped);
        if !matches!(was, InstanceState::Stopping | InstanceState::Stopped) {
            self.stop_command(key);
        }
        if was != InstanceState::Stopped {
            self.instance_changed(id, key);
        }
        if let Some(session) = self.sessions.get_mut(&id) {
            let removed = session.instances.remove(&key);
            session.instance_bytes -= removed.map_or(0, |i| i.config.len());
        }
        self.check_all_started(id);
        self.finalise_if_stopped(id);
    }

    fn finalise_if_stopped(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get(&id) else { return };
        if session.state == State::Stopping
            && session.instances.values().all(|i| i.state == InstanceState::Stopped)
        {
            self.finalise(id);
        }
    }

    fn stop_command(&mut self, (producer, instance): (ProducerId, InstanceId)) {
        if let Some(producer) = self.producers.get_mut(&producer) {
            producer.command(&mut self.out, data_sources::stop_command(instance), None);
        }
    }

    /// Everything stopped, or forced so: writes what is left into the file and tells the consumer.
    fn finalise(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let mut forced = Vec::new();
        for instance in session.instances.values_mut() {
            if instance.state != InstanceState::Stopped {
                instance.state = InstanceState::Stopped;
                forced.push((instance.producer, instance.id));
            }
        }
        for key in forced {
            self.instance_changed(id, key);
        }
        self.set_state(id, State::Disabled);
        self.scrape_all(id);
        for kind in [
            TimerKind::TriggerTimeout,
            TimerKind::TriggerStop,
            TimerKind::StopTimeout,
            TimerKind::Duration,
            TimerKind::SlowStart,
            TimerKind::Snapshot,
            TimerKind::FileWrite,
            TimerKind::Flush,
            TimerKind::ClearState,
        ] {
            self.timers.cancel(kind, id.0);
        }
        let boot_ns = self.now.boot_ns;
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.pending.lifecycle(Lifecycle::TracingDisabled, boot_ns);
        session.end_note.get_or_insert_default();
        self.snapshot_clocks(id);
        self.hurry_copies_of(id);
        self.finish_file(id);
        self.say_end_if_due(id);
    }

    /// Tells the consumer of the end, once, when the file (if any) is closed.
    pub(crate) fn say_end_if_due(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if session.state != State::Disabled || session.file.is_some() {
            return;
        }
        // While it is detached, or taken over and not asked about yet, there is nobody to tell.
        let Some(client) = session.consumer else { return };
        if self.consumers.get(&client).is_some_and(|c| c.waits_for_end())
            && let Some(error) = session.end_note.take()
        {
            session.end_said.clone_from(&error);
            self.say_disabled(client, &error);
        }
    }

    /// Destroys a session. Its consumer, if still there, hears of the end and may enable another one; a
    /// file is completed in the background.
    pub(crate) fn free_session(&mut self, id: SessionId, reason: &str) {
        if self.sessions.get(&id).is_none_or(|s| s.freed) {
            return;
        }
        // Answered before the end is said: whoever waits for a flush learns that first.
        self.fail_flushes(id);
        self.fail_clones_of(id, reason);
        self.fail_clone_being_written(id, reason);
        self.disable_tracing(id, true, reason);
        if self.sessions.get(&id).is_some_and(|s| s.state == State::ClonedReadOnly) {
            self.set_state(id, State::Disabled);
        }
        let being_made = self.is_being_made(id);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if being_made && let Some(file) = session.file.take() {
            // It was not set up, so nothing was written and nobody is at work on the file.
            self.out.close_file(file.id);
        }
        session.freed = true;
        let consumer = session.consumer.take();
        let error = session.end_note.take();
        session.instances.clear();
        session.instance_bytes = 0;
        for producer in self.producers.values_mut() {
            for buffer in &session.buffers {
                producer.allowed.remove(buffer);
            }
        }
        let waits = session.file.is_some();
        if let Some(client) = consumer {
            // Also when it never got as far as having an end to say: its file is still being created.
            self.say_disabled(client, error.as_deref().unwrap_or(reason));
            self.end_read(client);
            if let Some(consumer) = self.consumers.get_mut(&client) {
                consumer.session = None;
            }
        }
        if waits {
            self.expect_progress(id);
        } else {
            self.erase_session(id);
        }
    }

    /// The file of a session that is gone gets some time for what is left, from now on.
    pub(crate) fn expect_progress(&mut self, id: SessionId) {
        let wait_ns = limits::FREED_FILE_STALL_MS * 1_000_000;
        self.timers.set_in(&self.now, Clock::Monotonic, wait_ns, TimerKind::FileStall, id.0);
    }

    /// The timer of that: whatever the file does, its session holds nothing any more.
    pub(crate) fn file_stalled(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id).filter(|s| s.freed) else { return };
        if let Some(file) = session.file.take() {
            self.out.abandon_file(file.id);
            self.out.error(format!("session {id}: its file takes nothing, the rest is dropped"));
        }
        self.erase_session(id);
    }

    /// The last step: memory and buffer ids are free again.
    pub(crate) fn erase_session(&mut self, id: SessionId) {
        let Some(session) = self.sessions.remove(&id) else { return };
        for buffer in &session.buffers {
            self.retire(*buffer, None);
        }
        for token in session.delayed_hits.keys() {
            self.timers.cancel(TimerKind::CloneHit, *token);
        }
        self.timers.cancel(TimerKind::FileStall, id.0);
        self.unboost();
        self.out.info(format!("session {} ended, {} sessions left", id.0, self.sessions.len()));
    }
}
