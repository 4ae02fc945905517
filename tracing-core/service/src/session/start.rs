//! From `EnableTracing` to data that flows.
//!
//! Checks come in upstream's order; what happened before a check failed stays (lockdown, exclusive
//! aborts, guardrail times), as there. The session exists from when its number was taken; while a file is
//! being created for it the answer of the shell is awaited, then the last checks follow.

use protos::{TraceConfig, TraceConfigLockdownModeOperation as Lockdown};

use super::boost;
use super::config;
use super::file::SessionFile;
use super::flush::FlushStrategy;
use super::state::{InstanceState, Lifecycle, Session, State, push_concurrent};
use crate::FileError;
use crate::core::Service;
use crate::data_sources;
use crate::filter::TraceFilter;
use crate::limits;
use crate::timers::{Clock, TimerKind};
use crate::triggers::TriggerMode;
use abi::ids::{ClientId, FileId, SessionId};

impl Service {
    /// Makes a session for a consumer.
    ///
    /// # Errors
    /// One line for the user. The file is still the caller's to close then.
    pub(crate) fn enable_tracing(
        &mut self,
        client: ClientId,
        config: TraceConfig,
        file: Option<FileId>,
    ) -> Result<(), String> {
        let Some(consumer) = self.consumers.get(&client) else { return Ok(()) };
        let uid = consumer.peer.uid;
        let attached = consumer.session;
        let uuid = self.choose_uuid(&config);
        match config.lockdown_mode {
            Some(Lockdown::LOCKDOWN_SET) => self.lockdown = true,
            Some(Lockdown::LOCKDOWN_CLEAR) => self.lockdown = false,
            _ => {}
        }
        if attached.is_some() {
            return Err(
                "another tracing session is already active for this consumer; FreeBuffers \
                        was forgotten"
                    .into(),
            );
        }
        let mut checked = config::check(&config, self.config.codecs)?;
        self.check_exclusive(&config)?;
        self.check_others(&config, uid)?;
        let filter = config.trace_filter.as_ref().map(TraceFilter::from_config).transpose()?;
        let boost = boost::wish(&config)?;
        for note in std::mem::take(&mut checked.notes) {
            self.out.info(format!("trace config: {note}"));
        }

        self.last_session_id += 1;
        let id = SessionId(self.last_session_id);
        let mut session = Session::new(id, uid, client, config, uuid, checked);
        if session.wants_concurrent_events() {
            for other in self.sessions.values().filter(|s| !s.freed) {
                push_concurrent(&mut session.pending, other.as_concurrent_event());
            }
        }
        let write_into_file = session.config.write_into_file.unwrap_or(false);
        let has_path = session.config.output_path.as_deref().is_some_and(|p| !p.is_empty());
        if write_into_file && file.is_some() == has_path {
            return Err("write_into_file needs exactly one of a file descriptor and output_path \
                        (fd xor path)"
                .into());
        }
        session.filter = filter;
        session.compression = self.config.codecs.choose(&session.config);
        session.boost = boost;
        if write_into_file && let Some(file) = file {
            session.file = Some(SessionFile::new(file, &session.config));
        }
        self.sessions.insert(id, session);
        if let Some(consumer) = self.consumers.get_mut(&client) {
            consumer.session = Some(id);
        }
        if !write_into_file && let Some(file) = file {
            self.out.close_file(file);
        }
        // Before a file is created: a session that is refused leaves none behind.
        if let Err(error) = self.allocate_buffers(id) {
            // The session owned the file by now; it is closed here, so the caller must not.
            self.fail_enabling(id, error);
        } else if boost.is_none() || !self.boost_for(id) {
            self.make_session(id);
        }
        Ok(())
    }

    /// Sets a session up, once the file that it writes is there.
    pub(crate) fn make_session(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get(&id) else { return };
        let write_into_file = session.config.write_into_file.unwrap_or(false);
        if !write_into_file || session.file.is_some() {
            return self.finish_enabling(id);
        }
        let path = session.config.output_path.clone().unwrap_or_default();
        self.last_token += 1;
        self.files_wanted.insert(self.last_token, id);
        self.out.create_file(self.last_token, path);
    }

    /// The shell created the file that an `EnableTracing` waits for, or could not.
    pub(crate) fn file_created(&mut self, token: u64, result: Result<FileId, FileError>) {
        let wanted = self.files_wanted.remove(&token);
        let session = wanted.and_then(|id| self.sessions.get_mut(&id));
        let session = session.filter(|s| s.file.is_none() && !s.freed);
        match (session, result) {
            (None, Ok(file)) => self.out.close_file(file),
            (None, Err(_)) => {}
            (Some(session), Err(error)) => {
                let id = session.id;
                let path = session.config.output_path.clone().unwrap_or_default();
                self.fail_enabling(id, format!("failed to create {path}: {}", error.text));
            }
            (Some(session), Ok(file)) => {
                let id = session.id;
                session.file = Some(SessionFile::new(file, &session.config));
                self.finish_enabling(id);
            }
        }
    }

    /// Erases a session that never came to be, and tells its consumer why.
    pub(crate) fn fail_enabling(&mut self, id: SessionId, error: String) {
        let Some(session) = self.sessions.remove(&id) else { return };
        for buffer in &session.buffers {
            self.buffers.remove(buffer);
        }
        if let Some(file) = session.file {
            self.out.close_file(file.id);
        }
        self.unboost();
        let Some(client) = session.consumer else { return };
        if let Some(consumer) = self.consumers.get_mut(&client) {
            consumer.session = None;
        }
        self.complain_of(client, format!("EnableTracing: {error}"));
        self.say_disabled(client, &error);
    }

    #[allow(deprecated, reason = "older peers still send them")]
    fn choose_uuid(&mut self, config: &TraceConfig) -> (i64, i64) {
        let asked = (config.trace_uuid_lsb.unwrap_or(0), config.trace_uuid_msb.unwrap_or(0));
        if asked != (0, 0) {
            return asked;
        }
        (self.random() as i64, self.random() as i64)
    }

    /// Checks 18 and 19; then all other sessions end for the sake of an exclusive one.
    fn check_exclusive(&mut self, config: &TraceConfig) -> Result<(), String> {
        let priority = config.exclusive_prio.unwrap_or(0);
        let live = self.sessions.values().filter(|s| !s.freed);
        let highest = live.map(|s| s.config.exclusive_prio.unwrap_or(0)).max().unwrap_or(0);
        if highest > 0 && highest >= priority {
            return Err(format!(
                "an exclusive session of priority {highest} is active, the one asked for has \
                 priority {priority}"
            ));
        }
        if priority > 0 {
            let reason = format!("aborted by a higher-priority ({priority}) exclusive session");
            let ids: Vec<SessionId> = self.sessions.keys().copied().collect();
            for id in ids {
                self.free_session(id, &reason);
            }
            self.fail_all_clones(&reason);
        }
        Ok(())
    }

    /// Checks 20 to 24: those that look at other sessions.
    fn check_others(&mut self, config: &TraceConfig, uid: u32) -> Result<(), String> {
        let name = config.unique_session_name.as_deref().unwrap_or_default();
        let live = || self.sessions.values().filter(|s| !s.freed);
        let recording = || live().filter(|s| s.state != State::ClonedReadOnly);
        if !name.is_empty() && recording().any(|s| s.name() == name) {
            return Err(format!("a session with unique_session_name {name:?} already exists"));
        }
        for semaphore in &config.session_semaphores {
            let wanted = semaphore.name.as_deref().unwrap_or_default();
            let mut max = semaphore.max_other_session_count.unwrap_or(0);
            let mut count = 0u64;
            for other in recording().filter(|s| s.state != State::Disabled) {
                let held = other
                    .config
                    .session_semaphores
                    .iter()
                    .find(|s| s.name.as_deref().unwrap_or_default() == wanted);
                if let Some(held) = held {
                    count += 1;
                    max = max.min(held.max_other_session_count.unwrap_or(0));
                }
            }
            if count > max {
                return Err(format!(
                    "semaphore {wanted:?} is held by {count} other sessions, at most {max} may"
                ));
            }
        }
        self.check_spacing(config, name)?;
        // Those count, too, that are gone but for their file: they still hold memory. An exclusive session does
        // not wait for what it ended itself.
        let exclusive = config.exclusive_prio.unwrap_or(0) > 0;
        let counts = |s: &&Session| !(exclusive && s.freed);
        let of_uid = self.sessions.values().filter(counts).filter(|s| s.uid == uid).count();
        if of_uid >= limits::SESSIONS_PER_UID_MAX {
            return Err(format!("too many concurrent tracing sessions ({of_uid}) for uid {uid}"));
        }
        // Clones of others do not: else any user could take all that there are.
        let all =
            self.sessions.values().filter(counts).filter(|s| s.state != State::ClonedReadOnly);
        let all = all.count();
        if all >= limits::SESSIONS_MAX {
            return Err(format!("too many concurrent tracing sessions ({all})"));
        }
        Ok(())
    }

    fn check_spacing(&mut self, config: &TraceConfig, name: &str) -> Result<(), String> {
        if !config.enable_extra_guardrails.unwrap_or(false) {
            return Ok(());
        }
        let now_ns = self.now.boot_ns;
        self.session_starts
            .retain(|_, at| now_ns.saturating_sub(*at) <= limits::GUARDRAIL_SPACING_NS);
        if self.session_starts.contains_key(name)
            || self.session_starts.len() >= limits::GUARDRAIL_NAMES_MAX
        {
            let seconds = limits::GUARDRAIL_SPACING_NS / 1_000_000_000;
            return Err(format!(
                "a trace with unique session name {name:?} began less than {seconds} s ago: too recent"
            ));
        }
        self.session_starts.insert(name.to_owned(), now_ns);
        Ok(())
    }

    /// All was checked: the session is set up with all data sources that fit.
    fn finish_enabling(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let (strategy, note) = FlushStrategy::choose(&session.config);
        session.strategy = strategy;
        let deferred = session.config.deferred_start.unwrap_or(false);
        let mode = session.triggers.mode;
        let trigger = session.config.trigger_config.as_ref();
        let trigger_timeout_ms = trigger.and_then(|t| t.trigger_timeout_ms).unwrap_or(0);
        if matches!(mode, TriggerMode::Stop | TriggerMode::Clone) {
            // Before any set-up, so that all data sources are told the same.
            session.config.duration_ms = Some(trigger_timeout_ms);
        }
        let wanted: Vec<String> = session
            .config
            .data_sources
            .iter()
            .map(|s| s.config.as_ref().and_then(|c| c.name.clone()).unwrap_or_default())
            .collect();
        let line = format!(
            "configured session {}: uid {}, {} data sources, {} buffers, {} KB, duration {} ms",
            id.0,
            session.uid,
            session.config.data_sources.len(),
            session.config.buffers.len(),
            session.config.buffers.iter().map(|b| u64::from(b.size_kb.unwrap_or(0))).sum::<u64>(),
            session.config.duration_ms.unwrap_or(0),
        );
        if let Some(note) = note {
            self.out.info(note);
        }
        for (index, name) in wanted.iter().enumerate() {
            for source in self.sources.of_name(name) {
                self.set_up_source(id, index, source);
            }
        }
        self.set_state(id, State::Configured);
        if self.sessions.get(&id).is_some_and(|session| session.too_much_to_match) {
            let error = "the regular expressions for names of producers take too long to match those \
                         that there are: make them simpler, or fewer";
            self.complain_of_owner(id, format!("EnableTracing: {error}"));
            return self.free_session(id, error);
        }
        self.out.info(line);
        if mode == TriggerMode::Start {
            let wait = u64::from(trigger_timeout_ms) * 1_000_000;
            let now = self.now;
            self.timers.set_in(&now, Clock::Monotonic, wait, TimerKind::TriggerTimeout, id.0);
        } else if !deferred {
            self.start_tracing(id);
        }
    }

    /// Starts a configured session; harmless if it was started before.
    pub(crate) fn start_tracing(&mut self, id: SessionId) {
        let now = self.now;
        match self.sessions.get(&id).map(|s| s.state) {
            Some(State::Configured) => {}
            Some(state) => {
                let text =
                    format!("StartTracing: session {} is {}, not CONFIGURED", id.0, state.name());
                return self.complain_of_owner(id, text);
            }
            None => return,
        }
        self.set_state(id, State::Started);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.start_realtime_ns = Some(now.real_ns);
        if session.snapshots_clocks() {
            session.pending.first_snapshot = Some(now);
        }
        session.pending.lifecycle(Lifecycle::TracingStarted, now.boot_ns);
        let duration = u64::from(session.config.duration_ms.unwrap_or(0));
        let suspend_aware = session.config.prefer_suspend_clock_for_duration.unwrap_or(false);
        let clear = session.config.incremental_state_config.as_ref();
        let clear_ms = clear.and_then(|c| c.clear_period_ms).unwrap_or(0);
        let file_ms = session.file.as_ref().map(|f| f.period_ms);
        let strategy = session.strategy;
        let has_consumer = session.consumer.is_some();

        self.snapshot_due(id);
        self.timers.cancel(TimerKind::TriggerTimeout, id.0);
        let timers = &mut self.timers;
        if duration > 0 {
            let clock = if suspend_aware { Clock::Boot } else { Clock::Monotonic };
            timers.set_in(&now, clock, duration * 1_000_000, TimerKind::Duration, id.0);
        }
        if let Some(period) = file_ms {
            timers.set_aligned(&now, period, TimerKind::FileWrite, id.0);
        }
        if let FlushStrategy::Periodic(period) = strategy {
            timers.set_aligned(&now, period, TimerKind::Flush, id.0);
        }
        if clear_ms > 0 {
            timers.set_aligned(&now, clear_ms.into(), TimerKind::ClearState, id.0);
        }
        if has_consumer {
            let wait = limits::SLOW_START_MS * 1_000_000;
            timers.set_in(&now, Clock::Monotonic, wait, TimerKind::SlowStart, id.0);
        }
        let Some(session) = self.sessions.get(&id) else { return };
        let instances: Vec<_> = session.instances.keys().copied().collect();
        for key in instances {
            self.start_instance(id, key);
        }
        self.check_all_started(id);
    }

    /// Sends the start of one instance and counts it as started unless it will say so itself.
    pub(crate) fn start_instance(
        &mut self,
        id: SessionId,
        key: (abi::ids::ProducerId, abi::ids::InstanceId),
    ) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let Some(instance) = session.instances.get_mut(&key) else { return };
        instance.state =
            if instance.notifies_start { InstanceState::Starting } else { InstanceState::Started };
        let response = data_sources::start_command(instance.id, &instance.config);
        if let Some(producer) = self.producers.get_mut(&key.0) {
            producer.command(&mut self.out, response, None);
        }
        self.instance_changed(id, key);
    }

    /// A producer says that an instance of its runs.
    pub(crate) fn source_started(
        &mut self,
        producer: abi::ids::ProducerId,
        instance: abi::ids::InstanceId,
    ) {
        let key = (producer, instance);
        for session in self.sessions.values_mut() {
            let Some(found) = session.instances.get_mut(&key) else { continue };
            if session.state != State::Started || found.state != InstanceState::Starting {
                return;
            }
            found.state = InstanceState::Started;
            let id = session.id;
            self.instance_changed(id, key);
            self.check_all_started(id);
            return;
        }
    }

    /// Notes, once per session, that all of its data sources run.
    pub(crate) fn check_all_started(&mut self, id: SessionId) {
        let now = self.now;
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let Some(client) = session.consumer else { return };
        // Upstream would also say it of a session without instances before its start.
        if session.state != State::Started
            || session.all_started_said
            || session.instances.values().any(|i| i.state != InstanceState::Started)
        {
            return;
        }
        session.all_started_said = true;
        session.pending.lifecycle(Lifecycle::AllSourcesStarted, now.boot_ns);
        self.timers.cancel(TimerKind::SlowStart, id.0);
        self.snapshot_clocks(id);
        self.observe_all_started(client);
    }

    /// Names, in the trace and the log, who has not started although time went by.
    pub(crate) fn slow_start_due(&mut self, id: SessionId) {
        let at_ns = self.now.boot_ns;
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if session.all_started_said || session.state != State::Started {
            return;
        }
        let slow = session.instances.values().filter(|i| i.state != InstanceState::Started);
        let sources: Vec<(String, String)> = slow
            .take(limits::SLOW_SOURCES_MAX)
            .map(|i| (i.producer_name.clone(), i.source.clone()))
            .collect();
        for (producer, source) in &sources {
            self.out.error(format!("data source {source} of {producer} failed to start in time"));
        }
        // While nobody has the session, nobody was told that all started.
        session.pending.slow_start =
            (!sources.is_empty()).then_some(super::state::SlowSources { at_ns, sources });
    }
}
