//! Who offers which data source, and the match between offers and configs.
//!
//! Registrations are kept by name and then in the order they came: a name may be registered many times,
//! by many producers or by one, and each registration is set up for each data source of a config that has
//! its name.

use std::collections::BTreeMap;

use bytes::Bytes;
use protos::{
    DataSourceConfig, DataSourceConfigSessionInitiator, DataSourceDescriptor,
    GetAsyncCommandResponse, GetAsyncCommandResponseCmd as Cmd, TraceConfigProducerConfig,
};
use protozero::Message as _;

use super::ServiceConfig;
use super::core::Service;
use super::matching::{Effort, Spent, TOO_MUCH};
use super::outbox::Outbox;
use super::producers::{Producer, make_smb, smb_sizes};
use super::session::config::target_buffer;
use super::session::flush::FlushFlags;
use super::session::state::{Instance, InstanceState, Session, State};
use super::timers::TimerKind;
use crate::limits;
use abi::ids::{FlushId, InstanceId, ProducerId, SessionId};

/// Names one registration for as long as it stands: whose it is, and a running number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SourceKey(ProducerId, u64);

impl SourceKey {
    pub(super) fn producer(self) -> ProducerId {
        self.0
    }
}

/// One registration.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) producer: ProducerId,
    pub(super) descriptor: DataSourceDescriptor,
    bytes: usize,
}

impl Source {
    pub(super) fn name(&self) -> &str {
        self.descriptor.name.as_deref().unwrap_or_default()
    }
}

/// All registrations.
#[derive(Debug, Default)]
pub(super) struct Sources {
    by_key: BTreeMap<SourceKey, Source>,
    by_name: BTreeMap<String, Vec<SourceKey>>,
    last: u64,
}

impl Sources {
    /// Registrations of exactly that name, oldest first.
    pub(super) fn of_name(&self, name: &str) -> Vec<SourceKey> {
        self.by_name.get(name).cloned().unwrap_or_default()
    }

    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// By name, then oldest first: the order of queries. With `after` only those behind that one, which need
    /// not be there any more.
    pub(super) fn iter_after(
        &self,
        after: Option<(String, SourceKey)>,
    ) -> impl Iterator<Item = (SourceKey, &Source)> {
        let from = after.as_ref().map_or(String::new(), |(name, _)| name.clone());
        let keys =
            self.by_name.range(from..).flat_map(|(name, keys)| keys.iter().map(move |k| (name, k)));
        keys.filter(move |(name, key)| {
            after.as_ref().is_none_or(|(last, seen)| *name != last || key.1 > seen.1)
        })
        .filter_map(|(_, key)| Some((*key, self.by_key.get(key)?)))
    }

    fn insert(&mut self, source: Source) -> SourceKey {
        self.last += 1;
        let key = SourceKey(source.producer, self.last);
        self.by_name.entry(source.name().to_owned()).or_default().push(key);
        self.by_key.insert(key, source);
        key
    }

    fn remove(&mut self, key: SourceKey) -> Option<Source> {
        let source = self.by_key.remove(&key)?;
        if let Some(keys) = self.by_name.get_mut(source.name()) {
            keys.retain(|k| *k != key);
            if keys.is_empty() {
                self.by_name.remove(source.name());
            }
        }
        Some(source)
    }

    fn of_producer(&self, producer: ProducerId) -> impl Iterator<Item = (SourceKey, &Source)> {
        let all = SourceKey(producer, 0)..=SourceKey(producer, u64::MAX);
        self.by_key.range(all).map(|(key, source)| (*key, source))
    }
}

fn encode(cmd: Cmd) -> Vec<u8> {
    GetAsyncCommandResponse { cmd: Some(cmd), ..Default::default() }.encode_to_vec()
}

/// The command that hands over the shared memory; without a page size when it is the producer's own.
pub(super) fn setup_tracing(page_bytes: usize) -> Vec<u8> {
    let kb = (page_bytes > 0).then_some((page_bytes / 1024) as u32);
    encode(Cmd::SetupTracing(protos::GetAsyncCommandResponseSetupTracing {
        shared_buffer_page_size_kb: kb,
        ..Default::default()
    }))
}

/// Set-up and start have one shape: `field { new_instance_id: 1, config: 2 }`, the config as encoded
/// before, so that a large one is encoded once.
fn with_config(field: u8, id: InstanceId, config: &[u8]) -> Vec<u8> {
    use super::session::sink::put_varint;
    let mut head = [0u8; 32];
    head[0] = 1 << 3;
    let mut len = 1 + put_varint(&mut head[1..], id.0);
    head[len] = 2 << 3 | 2;
    len += 1;
    len += put_varint(&mut head[len..], config.len() as u64);
    let mut out = Vec::with_capacity(len + config.len() + 8);
    let mut outer = [0u8; 16];
    outer[0] = field << 3 | 2;
    let outer_len = 1 + put_varint(&mut outer[1..], (len + config.len()) as u64);
    out.extend_from_slice(&outer[..outer_len]);
    out.extend_from_slice(&head[..len]);
    out.extend_from_slice(config);
    out
}

fn setup_command(id: InstanceId, config: &[u8]) -> Vec<u8> {
    with_config(6, id, config)
}

pub(super) fn start_command(id: InstanceId, config: &[u8]) -> Vec<u8> {
    with_config(1, id, config)
}

pub(super) fn stop_command(id: InstanceId) -> Vec<u8> {
    encode(Cmd::StopDataSource(protos::GetAsyncCommandResponseStopDataSource {
        instance_id: Some(id.0),
        ..Default::default()
    }))
}

pub(super) fn flush_command(id: FlushId, instances: &[InstanceId], flags: FlushFlags) -> Vec<u8> {
    encode(Cmd::Flush(protos::GetAsyncCommandResponseFlush {
        data_source_ids: instances.iter().map(|i| i.0).collect(),
        request_id: Some(id.0),
        flags: Some(flags.0),
        ..Default::default()
    }))
}

pub(super) fn clear_command(instances: &[InstanceId]) -> Vec<u8> {
    encode(Cmd::ClearIncrementalState(protos::GetAsyncCommandResponseClearIncrementalState {
        data_source_ids: instances.iter().map(|i| i.0).collect(),
        ..Default::default()
    }))
}

impl Service {
    pub(super) fn register_data_source(
        &mut self,
        id: ProducerId,
        descriptor: DataSourceDescriptor,
    ) {
        let Some(producer) = self.producers.get_mut(&id) else { return };
        let name = descriptor.name.clone().unwrap_or_default();
        if name.is_empty() {
            return producer.complain(&mut self.out, format_args!("data source without a name"));
        }
        let own_id = descriptor.id.unwrap_or(0);
        let taken = own_id != 0
            && self.sources.of_producer(id).any(|(_, s)| s.descriptor.id == Some(own_id));
        if taken {
            return producer.complain(
                &mut self.out,
                format_args!("data source {name} with id {own_id} is registered already"),
            );
        }
        let bytes = descriptor.encode_to_vec().len();
        if producer.sources >= limits::DATA_SOURCES_PER_PRODUCER_MAX
            || producer.source_bytes + bytes > limits::DESCRIPTORS_BYTES_PER_PRODUCER_MAX
        {
            return producer.complain(&mut self.out, format_args!("too many data sources"));
        }
        producer.sources += 1;
        producer.source_bytes += bytes;
        let key = self.sources.insert(Source { producer: id, descriptor, bytes });
        let live: Vec<SessionId> = self
            .sessions
            .values()
            .filter(|s| matches!(s.state, State::Configured | State::Started))
            .map(|s| s.id)
            .collect();
        for session_id in live {
            let Some(session) = self.sessions.get(&session_id) else { continue };
            let named = |s: &protos::TraceConfigDataSource| {
                s.config.as_ref().is_some_and(|c| c.name.as_deref() == Some(name.as_str()))
            };
            let sources = session.config.data_sources.iter().enumerate();
            let indices: Vec<usize> = sources.filter(|(_, s)| named(s)).map(|(i, _)| i).collect();
            let started = session.state == State::Started;
            for index in indices {
                if let Some(instance) = self.set_up_source(session_id, index, key)
                    && started
                {
                    self.start_instance(session_id, (id, instance));
                }
            }
        }
    }

    /// Replaces a descriptor; instances that run keep what they were set up with.
    pub(super) fn update_data_source(&mut self, id: ProducerId, descriptor: DataSourceDescriptor) {
        let Some(producer) = self.producers.get_mut(&id) else { return };
        let own_id = descriptor.id.unwrap_or(0);
        let name = descriptor.name.clone().unwrap_or_default();
        let found = self
            .sources
            .of_producer(id)
            .find(|(_, s)| s.descriptor.id == Some(own_id) && s.name() == name)
            .map(|(key, _)| key);
        let found = found.filter(|_| own_id != 0);
        let Some(source) = found.and_then(|key| self.sources.by_key.get_mut(&key)) else {
            return producer.complain(
                &mut self.out,
                format_args!("update of data source {name} with id {own_id}: not registered"),
            );
        };
        let bytes = descriptor.encode_to_vec().len();
        let sum = producer.source_bytes - source.bytes + bytes;
        if sum > limits::DESCRIPTORS_BYTES_PER_PRODUCER_MAX {
            return producer.complain(&mut self.out, format_args!("descriptor too large"));
        }
        producer.source_bytes = sum;
        source.bytes = bytes;
        source.descriptor = descriptor;
    }

    /// Takes back one registration of that name, and all instances of it.
    pub(super) fn unregister_data_source(&mut self, id: ProducerId, name: &str) {
        let found = self.sources.of_producer(id).find(|(_, s)| s.name() == name);
        let Some(key) = found.map(|(key, _)| key) else { return };
        self.remove_instances(id, Some(name));
        self.remove_source(id, key);
    }

    pub(super) fn unregister_all_data_sources(&mut self, id: ProducerId) {
        self.remove_instances(id, None);
        let keys: Vec<SourceKey> = self.sources.of_producer(id).map(|(key, _)| key).collect();
        for key in keys {
            self.remove_source(id, key);
        }
    }

    fn remove_source(&mut self, id: ProducerId, key: SourceKey) {
        if let Some(source) = self.sources.remove(key)
            && let Some(producer) = self.producers.get_mut(&id)
        {
            producer.sources -= 1;
            producer.source_bytes -= source.bytes;
        }
    }

    fn remove_instances(&mut self, id: ProducerId, name: Option<&str>) {
        let of_producer = (id, InstanceId(0))..=(id, InstanceId(u64::MAX));
        let mut doomed = Vec::new();
        for session in self.sessions.values() {
            for (key, instance) in session.instances.range(of_producer.clone()) {
                if name.is_none_or(|n| instance.source == n) {
                    doomed.push((session.id, *key));
                }
            }
        }
        for (session, key) in doomed {
            self.remove_instance(session, key);
        }
    }

    /// Sets up one registration for one data source of a session's config, if the config means it.
    pub(super) fn set_up_source(
        &mut self,
        session_id: SessionId,
        index: usize,
        key: SourceKey,
    ) -> Option<InstanceId> {
        let session = self.sessions.get_mut(&session_id)?;
        // First of all: one producer and one config can make hundreds of thousands of matches.
        if session.instances.len() >= limits::INSTANCES_PER_SESSION_MAX {
            return None;
        }
        let source = self.sources.by_key.get(&key)?;
        let producer = self.producers.get_mut(&source.producer)?;
        if self.lockdown && producer.peer.uid != self.config.uid {
            return None;
        }
        let work = (&mut self.regex_steps, self.now.boot_ns);
        if !is_meant(session, index, producer, &self.config, &mut self.out, work) {
            return None;
        }
        let mut config = session.config.data_sources.get(index)?.config.clone()?;
        let (buffer_index, buffer) = match target_buffer(&session.config, &config) {
            Ok(index) => (index, *session.buffers.get(index)?),
            Err(error) => {
                self.out.error(error);
                return None;
            }
        };
        provide_smb(&self.config, &mut self.out, producer, &session.config)?;
        self.last_instance_id += 1;
        let id = InstanceId(self.last_instance_id);
        complete(&mut config, session_id, &session.config);
        config.target_buffer = Some(buffer.0.into());
        let config = Bytes::from(config.encode_to_vec());
        if session.instance_bytes + config.len() > limits::INSTANCE_CONFIG_BYTES_PER_SESSION_MAX {
            let text = format_args!("its part of session {} is too large", session_id.0);
            producer.complain(&mut self.out, text);
            return None;
        }
        session.instance_bytes += config.len();
        producer.allowed.insert(buffer);
        producer.command(&mut self.out, setup_command(id, &config), None);
        let instance = Instance {
            id,
            producer: producer.id,
            producer_name: producer.name.clone(),
            source: source.name().to_owned(),
            state: InstanceState::Configured,
            notifies_start: source.descriptor.will_notify_on_start.unwrap_or(false),
            notifies_stop: source.descriptor.will_notify_on_stop.unwrap_or(false),
            clears_state: source.descriptor.handles_incremental_state_clear.unwrap_or(false),
            no_flush: source.descriptor.no_flush.unwrap_or(false),
            source_index: index,
            buffer_index,
            config,
        };
        let key = (producer.id, id);
        session.instances.insert(key, instance);
        if session.instances.len() == limits::INSTANCES_PER_SESSION_MAX {
            // Once, when it comes to that, and not for each that is left out.
            let text = "as many data source instances as there may be; others are not set up";
            self.out.error(format!("session {}: {text}", session_id.0));
        }
        self.instance_changed(session_id, key);
        Some(id)
    }

    /// Hands a timer that is due to its owner.
    pub(super) fn timer_due(&mut self, kind: TimerKind, id: u64) {
        let session = SessionId(id);
        match kind {
            TimerKind::FlushTimeout => self.flush_timed_out(FlushId(id)),
            TimerKind::StopTimeout => self.stop_timed_out(session),
            TimerKind::FileStall => self.file_stalled(session),
            TimerKind::CloneCopy => self.clone_copy_due(id),
            TimerKind::TriggerTimeout => self.trigger_timed_out(session),
            TimerKind::TriggerStop => self.trigger_stop_due(session),
            TimerKind::Duration => self.duration_over(session),
            TimerKind::CloneHit => self.clone_hit_due(id),
            TimerKind::SlowStart => self.slow_start_due(session),
            TimerKind::Snapshot => self.snapshot_due(session),
            TimerKind::FileWrite => self.file_write_due(session),
            TimerKind::Flush => self.periodic_flush_due(session),
            TimerKind::ClearState => self.clear_state_due(session),
        }
    }
}

/// Makes the shared memory of a producer that has none yet, and hands it over: of the size that the config
/// wishes, else the producer, else the default. None, with a word to the log, if it cannot be had.
fn provide_smb(
    service: &ServiceConfig,
    out: &mut Outbox,
    producer: &mut Producer,
    trace: &protos::TraceConfig,
) -> Option<()> {
    if producer.set_up {
        return Some(());
    }
    let named =
        |p: &&TraceConfigProducerConfig| p.producer_name.as_deref() == Some(&*producer.name);
    let wish = trace.producers.iter().find(named);
    // 64 bits: upstream multiplies in 32, and a large wish wraps around to a small one.
    let kb = |wish: Option<u32>| u64::from(wish.unwrap_or(0)) * 1024;
    let or_hint = |wish: u64, hint: u32| if wish > 0 { wish } else { hint.into() };
    let smb = or_hint(kb(wish.and_then(|p| p.shm_size_kb)), producer.smb_hints.0);
    let page = or_hint(kb(wish.and_then(|p| p.page_size_kb)), producer.smb_hints.1);
    let (smb_bytes, page_bytes) = smb_sizes(smb, page);
    if producer.emulated() {
        // It writes into memory of its own that we never see; upstream makes some here and never looks at it.
        producer.set_up = true;
        producer.command(out, setup_tracing(page_bytes), None);
        return Some(());
    }
    match service.regions.create(smb_bytes) {
        Ok(region) => {
            producer.set_up = true;
            producer.command(out, setup_tracing(page_bytes), Some(region.clone()));
            producer.smb = make_smb(region, page_bytes);
            Some(())
        }
        Err(error) => {
            let text = format_args!("no shared memory of {smb_bytes} bytes: {error}");
            producer.complain(out, text);
            None
        }
    }
}

/// Whether a data source of a session is for that producer. `work`: what was spent in this turn, and now.
fn is_meant(
    session: &mut Session,
    index: usize,
    producer: &mut Producer,
    service: &ServiceConfig,
    out: &mut Outbox,
    (turn, now_ns): (&mut Spent, u64),
) -> bool {
    let Some(filter) = session.filters.get(index) else { return false };
    let machine_id = if producer.in_process { 0 } else { producer.peer.machine_id };
    let machine = match producer.peer.machine_name.as_str() {
        "" if machine_id == 0 => service.host.machine_name.as_str(),
        name => name,
    };
    if !filter.wants_machine(machine_id, machine) {
        return false;
    }
    let uid = session.uid;
    let mut effort = Effort { purse: &mut producer.purse, turn, uid, now_ns, too_much: false };
    let meant = filter.wants_producer(&producer.name, &mut effort);
    if effort.too_much {
        session.too_much_to_match = true;
        producer.complain(out, format_args!("session {}: {TOO_MUCH}", session.id.0));
    }
    meant
}

/// What the service adds to a data source's config before its producer sees it; the rest, unknown fields
/// too, passes as the consumer wrote it.
fn complete(config: &mut DataSourceConfig, session: SessionId, trace: &protos::TraceConfig) {
    config.trace_duration_ms = Some(trace.duration_ms.unwrap_or(0));
    if trace.prefer_suspend_clock_for_duration == Some(true) {
        config.prefer_suspend_clock_for_duration = Some(true);
    }
    config.stop_timeout_ms = Some(match trace.data_source_stop_timeout_ms.unwrap_or(0) {
        0 => limits::STOP_TIMEOUT_MS as u32,
        ms => ms,
    });
    config.enable_extra_guardrails = Some(trace.enable_extra_guardrails.unwrap_or(false));
    // Trusted initiators exist on Android only; what a consumer claims is overwritten.
    config.session_initiator = Some(DataSourceConfigSessionInitiator(0));
    config.tracing_session_id = Some(session.0);
}
