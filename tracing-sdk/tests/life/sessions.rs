//! Sessions with a service outside, as the program that starts them sees them.

use std::time::Duration;

use client::consumer::Consumer;
use tracing_sdk::session::{Session, Trigger};

use crate::{Place, Service, address, config};

/// A trigger that comes right after `start` must find the session.
pub(crate) fn a_session_that_a_trigger_starts_is_there_after_its_start() {
    let place = Place::new("armed");
    let _service = Service::start(&place.0);
    let socket = address(&place.0.join("consumer"));
    let config = config().trigger(Trigger::Start, "jank", Duration::from_secs(60));
    let session = Session::system_at(socket.clone(), &config).expect("a session");
    session.start().expect("a start");
    let mut other = Consumer::connect(&socket).expect("a service");
    let state = other.query_service_state(false).expect("an answer");
    assert_eq!(state.tracing_sessions.len(), 1);
}
