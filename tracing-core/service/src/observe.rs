//! What a consumer hears of its session without asking again and again.
//!
//! Events of one turn of the service are put into one message, sent when the turn is over.

use protos::{
    ObservableEvents, ObservableEventsCloneTriggerHit,
    ObservableEventsDataSourceInstanceState as Seen, ObservableEventsDataSourceInstanceStateChange,
    ObserveEventsResponse,
};
use protozero::Message as _;

use super::consumers::Consumer;
use super::core::Service;
use super::session::state::{Instance, InstanceState, TriggerHit};
use crate::limits;
use abi::ids::{CallId, ClientId, InstanceId, ProducerId, SessionId};

/// `TYPE_DATA_SOURCES_INSTANCES`.
const INSTANCES: u32 = 1;
/// `TYPE_ALL_DATA_SOURCES_STARTED`.
const ALL_STARTED: u32 = 2;

/// `TYPE_CLONE_TRIGGER_HIT`.
const CLONE_TRIGGER_HIT: u32 = 4;

/// What a consumer wants to hear of, and what is to be told it next.
#[derive(Debug, Default)]
pub(super) struct Observer {
    mask: u32,
    call: Option<CallId>,
    events: ObservableEvents,
}

fn change(instance: &Instance) -> Option<ObservableEventsDataSourceInstanceStateChange> {
    let state = match instance.state {
        InstanceState::Configured | InstanceState::Stopped => {
            Seen::DATA_SOURCE_INSTANCE_STATE_STOPPED
        }
        InstanceState::Started => Seen::DATA_SOURCE_INSTANCE_STATE_STARTED,
        InstanceState::Starting | InstanceState::Stopping => return None,
    };
    Some(ObservableEventsDataSourceInstanceStateChange {
        producer_name: Some(instance.producer_name.clone()),
        data_source_name: Some(instance.source.clone()),
        state: Some(state),
        ..Default::default()
    })
}

impl Service {
    /// Replaces what a consumer observes. The stream before it ends; an empty mask ends the new one too.
    pub(super) fn observe_events(
        &mut self,
        client: ClientId,
        call: Option<CallId>,
        types: &[protos::ObservableEventsType],
    ) {
        let Some(consumer) = self.consumers.get_mut(&client) else { return };
        let mask = types.iter().fold(0u32, |mask, t| mask | t.0 as u32);
        let observer = &mut consumer.observer;
        if let Some(older) = observer.call.take() {
            self.out.stream(client, older, bytes::Bytes::new(), false);
        }
        observer.mask = mask;
        observer.events = ObservableEvents::default();
        if mask == 0 {
            return self.out.done(client, call);
        }
        observer.call = call;
        let Some(id) = consumer.session else { return };
        if mask & INSTANCES != 0
            && let Some(session) = self.sessions.get(&id)
        {
            let changes = session.instances.values().filter_map(change);
            observer.events.instance_state_changes.extend(changes);
            self.observed.insert(client);
        }
        if mask & ALL_STARTED != 0 {
            self.check_all_started(id);
        }
    }

    /// An instance has another state than before.
    pub(super) fn instance_changed(&mut self, id: SessionId, key: (ProducerId, InstanceId)) {
        let Some(session) = self.sessions.get(&id) else { return };
        let Some(client) = session.consumer else { return };
        let Some(consumer) = self.consumers.get_mut(&client) else { return };
        if consumer.observer.mask & INSTANCES != 0
            && let Some(change) = session.instances.get(&key).and_then(change)
        {
            consumer.observer.events.instance_state_changes.push(change);
            self.observed.insert(client);
        }
    }

    pub(super) fn observe_all_started(&mut self, client: ClientId) {
        let Some(consumer) = self.consumers.get_mut(&client) else { return };
        if consumer.observer.mask & ALL_STARTED != 0 {
            consumer.observer.events.all_data_sources_started = Some(true);
            self.observed.insert(client);
        }
    }

    /// A trigger asks the consumer to clone its session.
    pub(super) fn observe_clone_hit(&mut self, client: ClientId, id: SessionId, hit: &TriggerHit) {
        let has_one = |c: &Consumer| c.observer.events.clone_trigger_hit.is_some();
        if self.consumers.get(&client).is_some_and(has_one) {
            // A message has room for one.
            self.send_observed_to(client);
        }
        let Some(consumer) = self.consumers.get_mut(&client) else { return };
        if consumer.observer.mask & CLONE_TRIGGER_HIT == 0 {
            return;
        }
        consumer.observer.events.clone_trigger_hit = Some(ObservableEventsCloneTriggerHit {
            tracing_session_id: Some(id.0 as i64),
            trigger_name: Some(hit.name.to_string()),
            producer_name: Some(hit.producer.to_string()),
            producer_uid: Some(hit.uid),
            boot_time_ns: Some(hit.at_ns),
            trigger_delay_ms: Some(hit.delay_ms),
            ..Default::default()
        });
        self.observed.insert(client);
    }

    /// The turn is over: tells each observer what happened in it.
    pub(super) fn send_observed(&mut self) {
        while let Some(client) = self.observed.pop_first() {
            self.send_observed_to(client);
        }
    }

    fn send_observed_to(&mut self, client: ClientId) {
        let Some(consumer) = self.consumers.get_mut(&client) else { return };
        let mut events = std::mem::take(&mut consumer.observer.events);
        let Some(call) = consumer.observer.call else { return };
        // What does not fit into one frame goes ahead in frames of its own.
        let mut rest = events.instance_state_changes.as_slice();
        loop {
            let (part, behind) = rest.split_at(fitting(rest));
            if behind.is_empty() {
                break;
            }
            let changes = ObservableEvents {
                instance_state_changes: part.to_vec(),
                ..ObservableEvents::default()
            };
            self.out.stream(client, call, response(changes), true);
            rest = behind;
        }
        events.instance_state_changes = rest.to_vec();
        if events != ObservableEvents::default() {
            self.out.stream(client, call, response(events), true);
        }
    }
}

/// How many of these changes one frame takes: one at least, since names are short.
fn fitting(changes: &[ObservableEventsDataSourceInstanceStateChange]) -> usize {
    /// Tags, lengths and the state.
    const ENVELOPE_BYTES: usize = 32;
    let name = |name: &Option<String>| name.as_ref().map_or(0, String::len);
    let ends = changes.iter().scan(0, |end, change| {
        *end += name(&change.producer_name) + name(&change.data_source_name) + ENVELOPE_BYTES;
        Some(*end)
    });
    let count = ends.take_while(|end| *end <= limits::OBSERVED_BYTES_MAX).count();
    count.clamp(1.min(changes.len()), changes.len())
}

fn response(events: ObservableEvents) -> bytes::Bytes {
    let response = ObserveEventsResponse { events: Some(events), ..Default::default() };
    response.encode_to_vec().into()
}
