//! Events of its session that a consumer receives without asking again and again.
//!
//! Events of one turn of the service are put into one message, which is sent when the turn is over.

use protos::{
    ObservableEvents, ObservableEventsCloneTriggerHit,
    ObservableEventsDataSourceInstanceState as ObservedState,
    ObservableEventsDataSourceInstanceStateChange, ObserveEventsResponse,
};
use protozero::Message as _;

use super::effect_queue::{Caller, EffectQueue};
use super::session::events::TriggerHit;
use super::session::instance::{Instance, InstanceState};
use crate::limits;
use crate::matching::clip_name;
use abi::ids::{CallId, ClientId, SessionId};

/// `TYPE_DATA_SOURCES_INSTANCES`.
const INSTANCES: u32 = 1;
/// `TYPE_ALL_DATA_SOURCES_STARTED`.
const ALL_STARTED: u32 = 2;
/// `TYPE_CLONE_TRIGGER_HIT`.
const CLONE_TRIGGER_HIT: u32 = 4;

/// The events that a consumer wants, and those that it gets next.
#[derive(Debug, Default)]
pub(crate) struct Observer {
    mask: u32,
    call: Option<CallId>,
    events: ObservableEvents,
}

fn change(instance: &Instance) -> Option<ObservableEventsDataSourceInstanceStateChange> {
    let state = match instance.state() {
        InstanceState::Configured | InstanceState::Stopped => {
            ObservedState::DATA_SOURCE_INSTANCE_STATE_STOPPED
        }
        InstanceState::Started => ObservedState::DATA_SOURCE_INSTANCE_STATE_STARTED,
        InstanceState::Starting | InstanceState::Stopping => return None,
    };
    Some(ObservableEventsDataSourceInstanceStateChange {
        producer_name: Some(instance.producer_name.to_string()),
        data_source_name: Some(clip_name(&instance.source).to_owned()),
        state: Some(state),
        ..Default::default()
    })
}

impl Observer {
    /// Replaces what the consumer observes. The stream before it ends, behind what was noted for it; an empty mask ends
    /// the new one, too.
    pub(crate) fn observe(
        &mut self,
        caller: Caller,
        types: &[protos::ObservableEventsType],
        out: &mut EffectQueue,
    ) {
        self.send(caller.client, out);
        if let Some(older) = self.call.take() {
            out.stream(caller.client, older, bytes::Bytes::new(), false);
        }
        // Without a call nobody would get them.
        let wanted = types.iter().fold(0u32, |mask, t| mask | t.0 as u32);
        self.mask = if caller.call.is_some() { wanted } else { 0 };
        if self.mask == 0 {
            return out.reply_empty(caller);
        }
        self.call = caller.call;
    }

    pub(crate) fn observes_instances(&self) -> bool {
        self.mask & INSTANCES != 0
    }

    pub(crate) fn observes_all_started(&self) -> bool {
        self.mask & ALL_STARTED != 0
    }

    pub(crate) fn observes_clone_hits(&self) -> bool {
        self.mask & CLONE_TRIGGER_HIT != 0
    }

    /// Notes the state of an instance. Returns whether there is something to tell.
    pub(crate) fn note_instance_state(&mut self, instance: &Instance) -> bool {
        let change = if self.observes_instances() { change(instance) } else { None };
        let changed = change.is_some();
        self.events.instance_state_changes.extend(change);
        changed
    }

    pub(crate) fn note_all_started(&mut self) -> bool {
        if self.observes_all_started() {
            self.events.all_data_sources_started = Some(true);
        }
        self.observes_all_started()
    }

    /// A trigger asks the consumer to clone its session. A message has room for one such request, so an
    /// earlier one is sent first.
    pub(crate) fn ask_for_clone(
        &mut self,
        client: ClientId,
        id: SessionId,
        hit: &TriggerHit,
        out: &mut EffectQueue,
    ) {
        if self.events.clone_trigger_hit.is_some() {
            self.send(client, out);
        }
        self.events.clone_trigger_hit = Some(ObservableEventsCloneTriggerHit {
            tracing_session_id: Some(id.get() as i64),
            trigger_name: Some(hit.name.to_string()),
            producer_name: Some(hit.producer.to_string()),
            producer_uid: Some(hit.uid),
            boot_time_ns: Some(hit.at_ns),
            trigger_delay_ms: Some(hit.delay_ms),
            ..Default::default()
        });
    }

    /// Sends what was noted.
    pub(crate) fn send(&mut self, client: ClientId, out: &mut EffectQueue) {
        let mut events = std::mem::take(&mut self.events);
        let Some(call) = self.call else { return };
        // Changes that do not fit into one frame are sent ahead in frames of their own.
        let mut rest = events.instance_state_changes.as_slice();
        while let Some((part, behind)) = rest.split_at_checked(fitting(rest))
            && !behind.is_empty()
        {
            let changes = ObservableEvents {
                instance_state_changes: part.to_vec(),
                ..ObservableEvents::default()
            };
            out.stream(client, call, response(changes), true);
            rest = behind;
        }
        events.instance_state_changes = rest.to_vec();
        if events != ObservableEvents::default() {
            out.stream(client, call, response(events), true);
        }
    }
}

/// How many of these changes one frame takes: one at least. It fits, since names are short.
fn fitting(changes: &[ObservableEventsDataSourceInstanceStateChange]) -> usize {
    /// Tags, lengths and the state.
    const ENVELOPE_BYTES: usize = 32;
    let name = |name: &Option<String>| name.as_ref().map_or(0, String::len);
    let ends = changes.iter().scan(0usize, |end, change| {
        let names = name(&change.producer_name).saturating_add(name(&change.data_source_name));
        *end = end.saturating_add(names).saturating_add(ENVELOPE_BYTES);
        Some(*end)
    });
    let count = ends.take_while(|end| *end <= limits::OBSERVED_BYTES_MAX).count();
    // With none the caller would make no progress.
    count.max(1).min(changes.len())
}

fn response(events: ObservableEvents) -> bytes::Bytes {
    let response = ObserveEventsResponse { events: Some(events), ..Default::default() };
    response.encode_to_vec().into()
}
