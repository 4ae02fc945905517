use tracing_core::abi::error::OsError;

use super::*;

/// Whatever keeps the data sources from the service is in the log, with what to do.
#[test]
fn lines_about_the_connection() {
    let failed = |error: OsError| {
        let error = ProducerError::Connect { address: "/s".to_owned(), error };
        connection_line(&ConnectionEvent::Failed(error)).unwrap()
    };
    for errno in [2, 111] {
        let line = failed(OsError::new("connect", errno));
        assert_eq!(line, "No tracing service at /s yet: waiting for one");
    }
    let line = failed(OsError::new("connect", 11));
    assert_eq!(line, "The tracing service at /s takes no connection: trying again");
    let line = failed(OsError::new("connect", 13));
    assert!(line.contains("/s: Permission denied") && line.ends_with(": trying again"), "{line}");
    let line =
        failed(OsError::new("connect", 13).on("/s of user 7 (to trust that user, set N=/s)"));
    assert!(line.contains("set N=/s"), "{line}");
    for event in [ConnectionEvent::Accepted, ConnectionEvent::Refused, ConnectionEvent::Closed] {
        assert!(connection_line(&event).is_some(), "{event:?}");
    }
}
