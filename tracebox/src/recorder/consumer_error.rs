//! Errors of the connection to the service, as failures for the user.

use std::io::{Error, ErrorKind};

use tracing_core::client::consumer::ConsumerError;

use crate::failure::{EXIT_INTERRUPTED, Failure};

/// The failure to connect. Without a service, it says how to start one, and how to record without.
#[must_use]
pub fn connect_failure(error: ConsumerError) -> Failure {
    let ConsumerError::Connect { error: cause, .. } = &error else { return Failure::new(error) };
    match Error::from_raw_os_error(cause.errno).kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => Failure::new(format_args!(
            "{error}; start it with `tracebox traced --background && tracebox traced_probes --background`, or record \
             without it: `tracebox` has the same options"
        )),
        _ => Failure::new(error),
    }
}

/// The failure of a request to a session that runs.
#[must_use]
pub fn session_failure(error: ConsumerError) -> Failure {
    match error {
        ConsumerError::Service(text) => Failure::new(format_args!("service error: {text}")),
        ConsumerError::Disconnected => Failure::new("the service went away while recording"),
        ConsumerError::Interrupted => {
            Failure::new("interrupted before the trace was whole").with_code(EXIT_INTERRUPTED)
        }
        error => Failure::new(error),
    }
}

/// The failure of a request while no session runs.
#[must_use]
pub fn request_failure(error: ConsumerError) -> Failure {
    match error {
        ConsumerError::Disconnected => Failure::new(
            "the service closed the connection (has it ended, or is this not its consumer socket?)",
        ),
        error => session_failure(error),
    }
}
