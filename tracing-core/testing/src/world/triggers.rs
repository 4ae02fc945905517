//! Predicts the effect of a trigger, and checks that it happens.
//!
//! A session may refuse a trigger that has an expression, a probability or a limit; for those only packets and
//! events are checked. The effect of all others is known:
//!
//! ```text
//!   START_TRACING    the session runs once the request is handled
//!   STOP_TRACING     it ends after the delay, plus the timeout of a flush
//!   CLONE_SNAPSHOT   its consumer is notified, and may clone it
//! ```

use std::collections::BTreeMap;

use protos::producer_port::Request;
use protos::{
    ObservableEventsCloneTriggerHit as Hit, TraceConfigTriggerConfigTriggerMode as Mode, Trigger,
};

use super::history::History;
use super::service_packets::{takes, wanted};
use super::sessions::{Facts, Sessions};
use crate::marks::Marks;
use abi::ids::SessionId;
use abi::time::Now;
use service::limits;
use service::{Input, Service};

/// The time in which a session has to end.
struct StopWindow {
    /// The trigger does not end it earlier; monotonic ns.
    from_ns: u64,
    /// Latest end, monotonic ns.
    until_ns: u64,
}

/// Effects that have to happen.
#[derive(Default)]
pub(super) struct TriggerPrediction {
    stopping: BTreeMap<u64, StopWindow>,
    /// Sessions that have to run once the request is handled.
    starting: Vec<u64>,
    /// Requests for a clone that no consumer has handled yet.
    pub(super) hits: Vec<Hit>,
}

impl TriggerPrediction {
    /// An input is about to be handled.
    pub(super) fn before(
        &mut self,
        (service, sessions, history): (&Service, &Sessions, &mut History),
        now: &Now,
        input: &Input,
    ) {
        let Input::ProducerRequest { client, request: Request::ActivateTriggers(request), .. } =
            input
        else {
            return;
        };
        let Some(uid) = service.uid_of_producer(*client) else { return };
        for name in &request.trigger_names {
            history.fired.insert((now.boot_ns, uid, name.clone()));
            for session in sessions.all() {
                self.predict(service, session, now, name);
            }
        }
    }

    fn predict(&mut self, service: &Service, session: &Facts, now: &Now, name: &str) {
        let Some(wanted) = wanted(session, name) else { return };
        let sure = wanted.producer_name_regex.is_none()
            && wanted.max_per_24_h.unwrap_or(0) == 0
            && wanted.skip_probability.unwrap_or(0.0) == 0.0;
        let view =
            service.view(SessionId::new(session.id)).filter(|v| !v.freed && !v.is_being_made);
        let (true, Some(view), false) = (sure, view, session.is_clone()) else { return };
        let config = session.config.trigger_config.clone().unwrap_or_default();
        let clones = config.use_clone_snapshot_if_available == Some(true);
        match config.trigger_mode {
            Some(Mode::START_TRACING) if view.state == "CONFIGURED" => {
                self.starting.push(session.id);
            }
            Some(Mode::STOP_TRACING)
                if !clones && matches!(view.state, "CONFIGURED" | "STARTED") =>
            {
                let ms = |ms: Option<u32>, default| match ms.unwrap_or(0) {
                    0 => default,
                    ms => u64::from(ms),
                };
                let flush_ms = ms(session.config.flush_timeout_ms, limits::FLUSH_TIMEOUT_MS);
                // The delay of the first trigger counts, which may be one whose effect was not predicted.
                let delays =
                    config.triggers.iter().map(|t| u64::from(t.stop_delay_ms.unwrap_or(0)));
                let (min_ms, max_ms) =
                    (delays.clone().min().unwrap_or(0), delays.max().unwrap_or(0));
                let from_ns = now.mono_ns + min_ms * 1_000_000;
                let until_ns = now.mono_ns + (max_ms + flush_ms + 1) * 1_000_000;
                self.stopping.entry(session.id).or_insert(StopWindow { from_ns, until_ns });
            }
            _ => {}
        }
    }

    /// An input or a timer was handled.
    ///
    /// # Errors
    /// The effect that did not happen.
    pub(super) fn after(
        &mut self,
        service: &Service,
        now: &Now,
        by_itself: bool,
        marks: &mut Marks,
    ) -> Result<(), String> {
        let state = |id: u64| service.view(SessionId::new(id)).map_or("", |view| view.state);
        for id in self.starting.drain(..) {
            if state(id) != "STARTED" {
                return Err(format!("session {id} is {:?} although it was triggered", state(id)));
            }
            marks.event("a trigger started a session");
        }
        let has_ended = |id: u64| !matches!(state(id), "CONFIGURED" | "STARTED");
        for (id, stopping) in &self.stopping {
            if has_ended(*id) && by_itself && now.mono_ns >= stopping.from_ns {
                marks.event("a trigger stopped a session");
            }
            // Its stop may wait for other work of the session.
            if !has_ended(*id) && now.mono_ns > stopping.until_ns && !service.has_work() {
                return Err(format!("session {id} goes on although a trigger stopped it"));
            }
        }
        self.stopping.retain(|id, _| !has_ended(*id));
        Ok(())
    }

    /// A consumer was notified that a trigger requests a clone.
    ///
    /// # Errors
    /// No trigger did.
    pub(super) fn hit(
        &mut self,
        sessions: &Sessions,
        history: &History,
        marks: &mut Marks,
        hit: Hit,
    ) -> Result<(), String> {
        let session = hit.tracing_session_id.unwrap_or(0).cast_unsigned();
        let session = sessions.get(session).ok_or("a trigger of no session")?;
        let trigger = Trigger {
            trigger_name: hit.trigger_name.clone(),
            producer_name: hit.producer_name.clone(),
            trusted_producer_uid: hit.producer_uid.map(u32::cast_signed),
            stop_delay_ms: hit.trigger_delay_ms,
            ..Trigger::default()
        };
        takes(session, &trigger)?;
        let at_ns = hit.boot_time_ns.unwrap_or(0);
        if !history.has_fired(at_ns, &trigger) {
            return Err(format!("no producer fired {hit:?}"));
        }
        marks.event("a trigger requested a clone");
        self.hits.push(hit);
        Ok(())
    }
}
