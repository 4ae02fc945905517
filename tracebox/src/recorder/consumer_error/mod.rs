//! Errors of the connection to the service, as failures for the user.

use std::io::{Error, ErrorKind};

use tracing_core::abi::error::OsError;
use tracing_core::client::consumer::ConsumerError;
use tracing_core::client::producer::ProducerError;

use crate::failure::{EXIT_INTERRUPTED, Failure};

/// The failure to connect. Without a service, it says how to start one, and how to record without.
#[must_use]
pub fn connect_failure(error: ConsumerError) -> Failure {
    let ConsumerError::Connect { error: cause, address } = &error else {
        return Failure::new(error);
    };
    match advice(&address.to_string(), cause) {
        Some(Advice::Start) => Failure::new(format_args!(
            "{error}; start it with `tracebox traced --background && tracebox traced_probes --background`, or record \
             without it: `tracebox` has the same options"
        )),
        Some(Advice::Rights) => Failure::new(format_args!("{error}; {RIGHTS}")),
        None => Failure::new(error),
    }
}

/// The failure of a program that fires triggers to connect.
#[must_use]
pub fn trigger_failure(error: ProducerError) -> Failure {
    let ProducerError::Connect { error: cause, address } = &error else {
        return Failure::new(error);
    };
    match advice(address, cause) {
        Some(Advice::Start) => {
            Failure::new(format_args!("{error}; start it with `tracebox traced --background`"))
        }
        Some(Advice::Rights) => Failure::new(format_args!("{error}; {RIGHTS}")),
        None => Failure::new(error),
    }
}

const RIGHTS: &str = "`tracebox doctor` says who may connect, and how to get that right";

/// What a user can do about a connection that was not made.
enum Advice {
    Start,
    Rights,
}

/// `None`: the error says it, or nobody knows.
fn advice(address: &str, cause: &OsError) -> Option<Advice> {
    match Error::from_raw_os_error(cause.errno).kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => Some(Advice::Start),
        // A service of another user is refused by this program, and the error says how to trust it.
        ErrorKind::PermissionDenied => cause
            .subject
            .as_ref()
            .is_none_or(|subject| subject == address)
            .then_some(Advice::Rights),
        _ => None,
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

#[cfg(test)]
mod tests;
